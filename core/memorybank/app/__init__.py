"""The companion as a web page: the chat, and the memory beside it (extra ``app``; ``memorybank app``)."""
