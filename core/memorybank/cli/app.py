"""The application: which commands there are, and how errors become one line and an exit code.

Exit codes: 0 done; 1 it failed, or a problem was found; 2 the command was given wrongly.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from memorybank.cli import (
    chat,
    companion_app,
    consolidate,
    demo,
    editing,
    evaluate,
    forgetting,
    importing,
    picturing,
    recalling,
    showing,
    upkeep,
)
from memorybank.cli.output import error_json, error_line, note
from memorybank.errors import ImportFormatError, InvalidInputError, MemoryBankError

FAILED, USAGE = 1, 2
JSON = "--json"
DEBUG_VARIABLE = "MEMORYBANK_DEBUG"

# A new group of commands is a module with ``register(app)`` and its name here; this is their order in --help.
GROUPS = (
    demo,
    chat,
    companion_app,
    importing,
    recalling,
    showing,
    picturing,
    consolidate,
    forgetting,
    editing,
    upkeep,
    evaluate,
)


class ErrorGroup(TyperGroup):
    """Errors raised on purpose become one line on stderr; anything else too, unless debugging."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read the options that stand before the command. Raises ``typer.Exit`` for those there are not."""
        json = JSON in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except Exception as error:  # typer's usage errors have no public base; all others are raised again
            if _is_usage(error):
                raise _misused(error, json) from None
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises ``typer.Exit`` with the code for an error."""
        json = _wants_json(ctx)
        try:
            return super().invoke(ctx)
        except InvalidInputError as error:
            # A defect of a file is found while working; what else is not allowed was typed.
            raise _failed(
                error, str(error), FAILED if isinstance(error, ImportFormatError) else USAGE, json
            ) from None
        except (MemoryBankError, ImportError) as error:
            raise _failed(error, str(error), FAILED, json) from None
        except Exception as error:  # the last line of defence: one line for the user instead of a traceback
            if _is_usage(error):
                raise _misused(error, json) from None
            if _is_control_flow(error) or os.environ.get(DEBUG_VARIABLE):
                raise
            message = f"{_place(error)} (a defect of memorybank; {DEBUG_VARIABLE}=1 shows the traceback)"
            raise _failed(error, message, FAILED, json) from None


def _wants_json(ctx: Any) -> bool:
    """Whether ``--json`` was typed for the command that comes, which has not read its options yet."""
    return JSON in [*getattr(ctx, "_protected_args", ()), *ctx.args]


def _failed(error: Exception, message: str, code: int, json: bool) -> typer.Exit:
    """Say it on stderr, as one line or as one JSON object, and give the exit that follows."""
    if json:
        error_json(message, kind=type(error).__name__, code=code)
    else:
        error_line(message)
    return typer.Exit(code)


def _is_usage(error: Exception) -> bool:
    """Typer's own: what was typed is no command, option or value of one. A group without a command shows its help."""
    return hasattr(error, "format_message") and type(error).__name__ != "NoArgsIsHelpError"


def _misused(error: Any, json: bool) -> typer.Exit:
    """One line says what is wrong, the next how to see what there is."""
    said = error.format_message().rstrip(".")
    exit_ = _failed(error, said, USAGE, json)
    context = getattr(error, "ctx", None)
    if not json and context is not None:
        shows = "lists the commands" if hasattr(context.command, "commands") else "shows what can be given"
        note(f"hint: {context.command_path} --help {shows}")
    return exit_


def _is_control_flow(error: Exception) -> bool:
    """Exits, aborts, usage errors and closed pipes belong to typer."""
    return isinstance(error, typer.Exit | typer.Abort | OSError) or hasattr(error, "exit_code")


def _place(error: Exception) -> str:
    """Kind and place only: the message of an unknown error may carry memory texts."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {os.path.basename(frame.filename)}:{frame.lineno}"


app: typer.Typer = typer.Typer(
    cls=ErrorGroup,
    name="memorybank",
    help="Long-term memory for companions and agents: what was said is kept, found again, and fades unless used.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if not wanted:
        return
    try:
        typer.echo(f"memorybank {version('memorybank-core')}")
    except PackageNotFoundError:
        typer.echo("memorybank (not installed, run from its sources)")
    raise typer.Exit


@app.callback()
def settings(
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say what is done, on stderr.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of every command."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
    logger = logging.getLogger("memorybank")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)


for _group in GROUPS:
    _group.register(app)


def main() -> None:
    """Entry point. Characters that the terminal's encoding lacks are escaped instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    app(_arguments(), prog_name="memorybank")


def _arguments() -> list[str]:
    """What was typed, read as UTF-8 even where the locale is plain C: a shell passes bytes."""
    if os.name == "nt":
        return sys.argv[1:]
    return [os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in sys.argv[1:]]
