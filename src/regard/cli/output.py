"""What commands print: on terminals of any encoding, to programs, and onto disks that may be full."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
from typing import Any

import typer

_SPELT = {"↑": "^", "↓": "v", "±": "+-", "→": "->", "…": "...", "–": "-", "—": "-", "‘": "'", "’": "'"}
_ADVICE = {
    errno.ENOSPC: "Free some disk space, or write to another disk.",
    errno.EDQUOT: "Your disk quota is used up. Delete some files, or write to another disk.",
    errno.EACCES: "Check the permissions, or choose another path.",
    errno.EROFS: "The file system is read-only. Choose another path.",
}


def spell_what_the_terminal_lacks() -> None:
    """From now on, characters that the encoding of a terminal lacks are spelt in ASCII, or become question marks."""
    codecs.register_error("regard.spelt", _spelt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="regard.spelt")


def print_json(table: dict[str, Any], *, indent: int | None = 2) -> None:
    """One JSON object for programs; where the encoding is not UTF-8, with escapes, so that nothing is lost."""
    utf8 = codecs.lookup(sys.stdout.encoding or "ascii").name == "utf-8"
    typer.echo(json.dumps(table, ensure_ascii=not utf8, indent=indent))


def in_words(error: OSError) -> str:
    """What the system refused, where, and what to do."""
    place = error.filename if isinstance(error.filename, str) else "output"
    advice = _ADVICE.get(error.errno or 0, "Check the path and its permissions.")
    return f"{place}: {error.strerror or error}.\n  {advice}"


def give_up_standard_output() -> None:
    """What could not be written is not tried again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _spelt(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    spelt = (_SPELT.get(character, "?") for character in error.object[error.start : error.end])
    return "".join(spelt), error.end
