"""Who may see what: the address, the hook, the cookie, and pages that are not one's own."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from memorybank.app.auth import (
    Identify,
    Knock,
    check_bind,
    is_loopback,
    new_owner,
    right_host,
    trusted_header,
)
from memorybank.app.gate import Gate
from memorybank.app.visits import Visits
from memorybank.errors import InvalidInputError
from tests.app.conftest import Server, serve

HEADER = trusted_header("X-Forwarded-User")


class Asked:
    """A gate before an application that notes what comes through."""

    def __init__(self, identify: Identify | None = None, *, local: bool = True) -> None:
        self.visits = Visits("visit")
        self.seen: list[Any] = []
        self._gate = Gate(self._app, visits=self.visits, identify=identify, local=local)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope["memorybank.visit"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def get(
        self,
        *,
        kind: str = "http",
        peer: str = "127.0.0.1",
        query: str = "",
        path: str = "/",
        **headers: str,
    ) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer (for a refused websocket its code)."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        named = {"host": "localhost:8090", **{key.replace("_", "-"): value for key, value in headers.items()}}
        scope = {
            "type": kind,
            "client": (peer, 1),
            "path": path,
            "query_string": query.encode(),
            "headers": [(key.encode(), value.encode()) for key, value in named.items()],
        }
        await self._gate(scope, None, send)  # type: ignore[arg-type]  # nothing is received
        first = sent[0]
        told = {name.decode(): value.decode() for name, value in first.get("headers", [])}
        return first.get("status") or first["code"], told


def test_beyond_loopback_only_with_a_hook() -> None:
    """A page that others can reach and that asks nobody who they are is refused."""
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        assert not is_loopback(host)
        with pytest.raises(InvalidInputError, match="--auth"):
            check_bind(host, None)
        check_bind(host, HEADER)
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        check_bind(host, None)


def test_a_header_counts_from_a_proxy_alone() -> None:
    """Anybody can send a header; only the proxy's is believed."""
    said = {"x-forwarded-user": "ann@example.org"}
    assert HEADER(Knock(said, "127.0.0.1")) == "ann@example.org"
    assert HEADER(Knock(said, "::ffff:127.0.0.1")) == "ann@example.org"
    assert HEADER(Knock(said, "10.0.0.9")) is None
    assert HEADER(Knock(said, "")) is None
    assert HEADER(Knock({"x-forwarded-user": "  "}, "127.0.0.1")) is None
    assert trusted_header("X-User", ["10.0.0.9"])(Knock({"x-user": "bob"}, "10.0.0.9")) == "bob"
    with pytest.raises(InvalidInputError, match="no IP address"):
        trusted_header("X-User", ["proxy"])
    with pytest.raises(InvalidInputError, match="blank"):
        trusted_header(" ")


def test_a_loopback_page_answers_to_loopback_names() -> None:
    """No other site's name, bent to this machine, and no page of another site gets through."""
    assert right_host({"host": "localhost:8090"}, True)
    assert right_host({"host": "[::1]:8090"}, True)
    assert right_host({"host": "127.0.0.1:8090", "origin": "http://127.0.0.1:8090"}, True)
    assert not right_host({"host": "evil.example:8090"}, True)
    assert not right_host({}, True)
    assert not right_host({"host": "localhost:8090", "origin": "http://evil.example"}, True)
    assert right_host({"host": "memory.example", "origin": "https://memory.example"}, False)
    assert not right_host({"host": "memory.example", "origin": "null"}, False)


def test_owners_that_are_not_chosen_are_not_guessed() -> None:
    """Random ones differ and are long."""
    made = {new_owner() for _ in range(50)}
    assert len(made) == 50
    assert min(map(len, made)) >= 20


async def test_a_cookie_is_a_visit() -> None:
    """The first answer brings a cookie that scripts cannot read; with it one is the same visitor, without another."""
    asked = Asked()
    status, told = await asked.get()
    assert status == 200
    cookie = told["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    _, again = await asked.get(cookie=cookie.partition(";")[0])
    assert "set-cookie" not in again
    await asked.get()
    await asked.get(cookie="visit=made-up")
    assert asked.seen[0] is asked.seen[1]
    assert len({id(visit) for visit in asked.seen}) == 3


async def test_nothing_is_fetched_from_elsewhere_and_nobody_frames_the_page() -> None:
    """The browser itself is told so."""
    _, told = await Asked().get()
    policy = told["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy
    assert told["referrer-policy"] == "no-referrer"


async def test_a_hook_decides_and_a_cookie_is_no_identity() -> None:
    """Without a name one is refused; another's cookie brings a visit of one's own."""
    asked = Asked(HEADER, local=False)
    assert (await asked.get())[0] == 401
    assert (await asked.get(kind="websocket"))[0] == 1008
    assert (await asked.get(peer="10.0.0.9", x_forwarded_user="ann"))[0] == 401
    _, told = await asked.get(x_forwarded_user="ann")
    cookie = told["set-cookie"].partition(";")[0]
    await asked.get(x_forwarded_user="bob", cookie=cookie)
    await asked.get(x_forwarded_user="ann", cookie=cookie)
    assert [visit.owner for visit in asked.seen] == ["ann", "bob", "ann"]
    assert asked.seen[0] is asked.seen[2]


async def test_a_page_is_joined_by_its_own_visit_alone() -> None:
    """Who learns the id of another's page does not get into it."""
    asked = Asked()
    _, told = await asked.get()
    asked.visits.show("page-1", asked.seen[0])
    own = told["set-cookie"].partition(";")[0]
    assert (await asked.get(query="client_id=page-1", cookie=own))[0] == 200
    assert (await asked.get(query="client_id=page-1"))[0] == 403
    assert (await asked.get(kind="websocket", query="client_id=page-1"))[0] == 1008
    socket = "/_nicegui_ws/socket.io/"
    assert (await asked.get(kind="websocket", path=socket, cookie=own))[0] == 1008
    assert (await asked.get(path=socket, query="client_id=page-1", cookie=own))[0] == 200


async def test_strange_requests_are_answered() -> None:
    """Broken cookies and hosts are no errors of ours."""
    asked = Asked()
    assert (await asked.get(cookie='visit="a; b=c; {}\x01'))[0] == 200
    assert (await asked.get(host="evil.example"))[0] == 403
    assert (await asked.get(origin="http://evil.example"))[0] == 403


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("nicegui", reason="needs the extra: app")
    folder = tmp_path_factory.mktemp("behind") / "memory"
    yield from serve(folder, "--trusted-header", "X-Forwarded-User")


def test_there_is_one_page(server: Server) -> None:
    """Any other path answers 404, and nothing of the page; the page itself says its language from the first byte."""

    def ask(path: str, language: str) -> tuple[int, str]:
        headers = {"X-Forwarded-User": "ann@example.org", "Accept-Language": language}
        request = urllib.request.Request(server.address + path, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, str(answer.read(1_000_000).decode())
        except urllib.error.HTTPError as error:
            return error.code, error.read(1_000_000).decode()

    for path in ("nothing", "a/b", "index.html", "docs", "openapi.json", "_nicegui/nothing"):
        status, text = ask(path, "en")
        assert (status, "<html" in text) == (404, False), path
    for language, html, title in (
        ("en", "en-US", "a companion that remembers"),
        ("zh", "zh-CN", "有记忆的伙伴"),
    ):
        status, text = ask("?from=elsewhere", language)
        assert status == 200
        assert f'<html lang="{html}"' in text
        assert f"{title}</title>" in text


def test_behind_a_proxy(server: Server) -> None:
    """The served page refuses who has no name, and shows who has one no list of profiles."""

    def ask(**headers: str) -> str:
        request = urllib.request.Request(server.address, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return str(answer.read(1_000_000).decode())

    with pytest.raises(urllib.error.HTTPError, match="401"):
        ask()
    page = ask(**{"X-Forwarded-User": "ann@example.org", "Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"})
    assert "撤回上一轮" in page or "\\u64a4" in page
    assert "Whose memory" not in page
    assert "打开谁的记忆" not in page
