"""The normal form of a line of text: what every tokeniser sees, and what a round trip gives back.

Composed characters (NFC), one space between words and none around them, no control characters. Everything that carries
meaning stays: no-break and thin spaces of French typography, joiners of Indic scripts and emoji, letter case, width.
"""

from __future__ import annotations

import re
from enum import Enum
from unicodedata import is_normalized, normalize

_BREAK = r"\n\x0b\x0c\r\x1c-\x1e\x85\u2028\u2029"  # they end a line or more: they become a space
_SPACE = rf"\t \x1f{_BREAK}"  # breaks and blanks: they become one space
_CONTROL = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff"  # they carry no text: they go

_TO_CHANGE = re.compile(f"[{_SPACE}{_CONTROL}](?<! )|  |^ | $")
_BREAKS = re.compile(f"[{_BREAK}]")
_SPACES = re.compile(f"[{_SPACE}]+")
_CONTROLS = re.compile(f"[{_CONTROL}]+")
_MARK = "\u00b6"  # printable, composes with nothing, and rare; where a text has it, a second look may be needed


class Change(Enum):
    """What the normal form can change in a text."""

    COMPOSED = "characters were composed (Unicode NFC)"
    CONTROLS = "control characters were removed"
    BREAKS = "line breaks within a line became spaces"
    SPACES = "spaces were collapsed or trimmed"


def normalise(text: str) -> str:
    """The normal form of `text`; applying it twice changes nothing more. A text in normal form comes back as it is."""
    ascii_only = text.isascii()
    if not ascii_only and not is_normalized("NFC", text):
        text = normalize("NFC", text)
    if text.isprintable():  # only spaces can be wrong: all else that changes is not printable
        if "  " not in text and text[:1] != " " and text[-1:] != " ":
            return text
    elif not _TO_CHANGE.search(text):
        return text
    text = _SPACES.sub(" ", _CONTROLS.sub("", text)).strip(" ")
    return text if ascii_only or is_normalized("NFC", text) else normalize("NFC", text)


def normalise_all(texts: list[str]) -> list[str]:
    """The normal form of each of `texts`. Where all have it already, as is common, one look at all is enough."""
    joined = f"{_MARK}{_MARK.join(texts)}{_MARK}"
    clean = joined.isprintable() and not any(spaces in joined for spaces in ("  ", f"{_MARK} ", f" {_MARK}"))
    return texts if clean and is_normalized("NFC", joined) else list(map(normalise, texts))


def changes(text: str) -> list[Change]:
    """What `normalise` changes in `text`, by kind."""
    without_controls = _CONTROLS.sub("", text)
    in_one_line = _BREAKS.sub(" ", without_controls)
    steps = {
        Change.COMPOSED: not is_normalized("NFC", text),
        Change.CONTROLS: without_controls != text,
        Change.BREAKS: in_one_line != without_controls,
        Change.SPACES: _SPACES.sub(" ", in_one_line).strip(" ") != in_one_line,
    }
    return [change for change, happens in steps.items() if happens]
