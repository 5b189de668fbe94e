"""``app``: the companion as a web page on this machine, or behind a proxy that knows who asks."""

from __future__ import annotations

import webbrowser
from importlib import import_module
from typing import Annotated

import typer

from memorybank.app.auth import Identify, check_bind, trusted_header
from memorybank.cli.chat import quiet_summaries
from memorybank.cli.models import ModelOption, UrlOption, chat_model_named, model_named
from memorybank.cli.options import (
    DEFAULT_STORE,
    EmbedderOption,
    MaxTokensOption,
    PolicyOption,
    StoreOption,
    TimeoutOption,
    any_store,
    checked_zone,
    policy_named,
)
from memorybank.cli.output import note
from memorybank.errors import InvalidInputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("app")(companion)


def companion(
    model: ModelOption = None,
    url: UrlOption = None,
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen at.")] = 8090,
    auth: Annotated[
        str | None,
        typer.Option(
            "--auth",
            help="package.module:name of a function that is given a Knock (headers, peer) and returns the owner "
            "or None.",
            metavar="WHICH",
        ),
    ] = None,
    header: Annotated[
        str | None,
        typer.Option(
            "--trusted-header",
            help="The owner is what your reverse proxy says in this header.",
            metavar="NAME",
        ),
    ] = None,
    proxies: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy", help="Address of a proxy whose header counts (default: this machine).", metavar="IP"
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    max_tokens: MaxTokensOption = 1500,
    timeout: TimeoutOption = 120.0,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="IANA zone of the owners' days (default: as kept).")
    ] = None,
    policy: PolicyOption = "companion",
    store: StoreOption = DEFAULT_STORE,
    embedder: EmbedderOption = "default",
) -> None:
    """Talk with the companion in the browser, its memory beside it.

    It listens on this machine alone, and nothing leaves it but what a model that you name is asked. Without a
    model the companion only quotes what it remembers.
    """
    zone = checked_zone(timezone)
    identify = _identify(auth, header, proxies)
    check_bind(host, identify)
    try:
        serving = import_module("memorybank.app.serving")
        house = import_module("memorybank.app.house")
    except ImportError as error:
        raise ImportError("The page needs the extra: pip install 'memorybank-core[app]'") from error
    answering = chat_model_named(model, url, timeout)

    def ready(address: str) -> None:
        note(f"{address} (Ctrl-C ends)")
        if browser and identify is None:
            webbrowser.open(address)

    with quiet_summaries(), any_store(store, embedder, llm=model_named(model, url, timeout)) as opened:
        made = house.House(
            opened,
            answering,
            model or url or "",
            identify,
            policy=policy_named(policy),
            timezone=zone,
            memories=max_tokens,
        )
        serving.serve(made, host=host, port=port, ready=ready)


def _identify(auth: str | None, header: str | None, proxies: list[str] | None) -> Identify | None:
    if auth is not None and header is not None:
        raise InvalidInputError("give --auth or --trusted-header, not both")
    if proxies and header is None:
        raise InvalidInputError("--proxy says whose header counts; give --trusted-header as well")
    if header is not None:
        return trusted_header(header, proxies) if proxies else trusted_header(header)
    if auth is None:
        return None
    module, colon, name = auth.partition(":")
    try:
        found = getattr(import_module(module), name) if colon else None
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidInputError(f"--auth {auth!r} cannot be imported: {error}") from None
    if not callable(found):
        raise InvalidInputError(f"--auth {auth!r} is no function; give package.module:name")
    return found  # type: ignore[no-any-return]  # a function of the user's; None and "" are refused at the gate
