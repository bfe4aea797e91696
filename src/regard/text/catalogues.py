"""Message catalogues of programs: which of their values are language, and which are addresses, names or formats."""

from __future__ import annotations

import re

_NOT_LANGUAGE = re.compile(
    r"[a-z][a-z0-9+.-]*://\S+|mailto:\S+|[\w.+-]+@[\w-]+\.[\w.-]+"  # addresses
    r"|\.{0,2}/[\w./-]*|[\w-]+(?:/[\w.-]+){2,}|[\w-]+\.[a-z0-9]{2,4}"  # paths and names of files
    r"|[\w-]+(?:[_.][\w-]+)+|[a-z]+(?:[A-Z][a-z0-9]*)+|\$[\w.]+"  # names in programs
    r"|#[0-9A-Fa-f]{3,8}"  # colours
    r"|(?:%[-a-zA-Z]|[dDmMyYhHsSaAEeuwWzZ]{1,5})(?:[-/.,: ]{1,2}(?:%[-a-zA-Z]|[dDmMyYhHsSaAEeuwWzZ]{1,5}))+"  # dates
)


def is_language(value: str) -> bool:
    """Whether people read this value."""
    core = value.strip()
    return any(map(str.isalpha, core)) and not _NOT_LANGUAGE.fullmatch(core)
