"""The command line: one thin file per command, found by its file name. Nothing heavy is imported before a command runs.

A command's file has a function `command`; its parameters are the options, its docstring the help. Files without
one hold what commands share.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, NoReturn

import typer

from regard import RegardError
from regard.cli import output
from regard.version import __version__

_SPINS = "2000"  # some microseconds


def _share_processors() -> None:
    """Threads that wait for each other yield their processor soon; set before PyTorch is imported.

    By default they spin for milliseconds. Where another program needs the same processors, the thread that the others
    wait for then hardly ever runs, and two trainings side by side nearly stand still.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"regard {__version__}")
        raise typer.Exit


def _application() -> typer.Typer:
    application = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)

    @application.callback()
    def regard(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Train your own translator, evaluate it, look inside it and export it."""

    for file in iter_modules(__path__):
        module = import_module(f"{__name__}.{file.name}")
        if hasattr(module, "command"):
            application.command(file.name)(module.command)
    return application


def main() -> None:
    """Runs the command line. Errors that a person can mend are printed as a message, without a traceback."""
    _share_processors()
    output.spell_what_the_terminal_lacks()
    try:
        _application()()
    except RegardError as error:
        _fail(str(error))
    except OSError as error:
        _fail(output.in_words(error))


def _fail(message: str) -> NoReturn:
    output.give_up_standard_output()
    typer.echo(f"error: {message}", err=True)
    sys.exit(1)
