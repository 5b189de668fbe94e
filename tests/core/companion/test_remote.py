"""A model behind an OpenAI-compatible server: pieces, and every way it can fail, over real HTTP."""

from __future__ import annotations

import json
import socket
import threading

import pytest

from memorybank.companion.remote import RemoteModel, endpoint
from memorybank.errors import InvalidInputError, LLMError
from tests.core.companion.llm_http import Script, event, serving, stream

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "我的秘密 secret words"}]
KEY = "sk-test-0123456789"


def test_a_reply_comes_in_pieces() -> None:
    """The messages go out as they are, with model and key; the pieces come back in order."""
    script = Script(stream("Hel", "lo ", "小满"))
    with serving(script) as url:
        assert list(RemoteModel(url, "small", KEY, most=50)(ASKED)) == ["Hel", "lo ", "小满"]
    (sent,) = script.requests
    assert (sent["path"], sent["key"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert (sent["model"], sent["stream"], sent["max_tokens"], sent["messages"]) == ("small", True, 50, ASKED)


def test_a_server_that_does_not_stream() -> None:
    """A whole JSON reply is one piece; ``ask`` gives it to one prompt."""
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hello."}}]}).encode()
    with serving(Script(body, headers={"Content-Type": "application/json"})) as url:
        assert RemoteModel(url).ask("Hi") == "Hello."


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (Script(b"secret words", 500), "answered 500"),
        (Script(b"", 401), "answered 401"),
        (Script(b"", 307, {"Location": "http://127.0.0.1:9/v1"}), "answered 307"),
        (Script(event("Hel")), "in the middle"),
        (Script(b"data: secret words\n\n"), "no JSON"),
        (Script(b'data: {"error": {"message": "secret words"}}\n\n'), "reported an error"),
        (Script(b"{}", headers={"Content-Type": "application/json"}), "without a message"),
        (Script(b"[1]", headers={"Content-Type": "application/json"}), "reported an error"),
        (Script(stream("x" * 600_000, "y" * 600_000)), "broken off"),
    ],
)
def test_failures_are_one_kind_and_tell_no_secret(script: Script, reason: str) -> None:
    """Whatever the server does is an LLMError in one line, without the key, the prompt or the server's text."""
    with serving(script) as url, pytest.raises(LLMError, match=reason) as caught:
        list(RemoteModel(url, key=KEY)(ASKED))
    told = str(caught.value)
    assert "\n" not in told
    assert not any(secret in told for secret in (KEY, "secret", "秘密"))


def test_a_silent_server_is_left_after_the_timeout() -> None:
    """No reply within ``timeout`` seconds is a failure."""
    with (
        serving(Script(stream("late"), hold=threading.Event())) as url,
        pytest.raises(LLMError, match="silent"),
    ):
        list(RemoteModel(url, timeout=0.2)(ASKED))


def test_no_server() -> None:
    """A refused connection is told as such."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with pytest.raises(LLMError, match="cannot be reached"):
            list(RemoteModel(url)(ASKED))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("https://h/api/v3/", "https://h/api/v3/chat/completions"),
        ("https://h/v1/chat/completions", "https://h/v1/chat/completions"),
        ("https://h/v1?version=2", "https://h/v1/chat/completions?version=2"),
    ],
)
def test_addresses(given: str, meant: str) -> None:
    """A host, a base or the whole address: the same place."""
    assert endpoint(given) == meant


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "file:///etc/passwd", "ftp://h", "http://", "http://u:p@h"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """Only http and https, and no password in the address."""
    with pytest.raises(InvalidInputError, match="--url"):
        RemoteModel(url)


def test_keys_are_checked_and_never_shown() -> None:
    """A key that would break a header is refused without being repeated; repr holds none."""
    with pytest.raises(InvalidInputError) as caught:
        RemoteModel("http://h", key="sk-bad\nX: y")
    assert "sk-bad" not in str(caught.value)
    assert KEY not in repr(RemoteModel("http://h", key=KEY))
