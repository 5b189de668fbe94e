"""A companion in a conversation: a chat model with a memory bank behind it, without a terminal."""
