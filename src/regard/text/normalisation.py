"""The normal form of a line of text: what every tokeniser sees, and what a round trip gives back.

Composed characters (NFC), one space between words and none around them, no control characters. Everything that carries
meaning stays: no-break and thin spaces of French typography, joiners of Indic scripts and emoji, letter case, width.
"""

from __future__ import annotations

import re
from unicodedata import is_normalized, normalize

_SPACE = r"\t\n\x0b\x0c\r \x1c-\x1f\x85\u2028\u2029"  # breaks and blanks: they become one space
_CONTROL = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff"  # they carry no text: they go

_TO_CHANGE = re.compile(f"[{_SPACE}{_CONTROL}](?<! )|  |^ | $")
_SPACES = re.compile(f"[{_SPACE}]+")
_CONTROLS = re.compile(f"[{_CONTROL}]+")


def normalise(text: str) -> str:
    """The normal form of `text`; applying it twice changes nothing more."""
    if not text.isascii() and not is_normalized("NFC", text):
        text = normalize("NFC", text)
    if _TO_CHANGE.search(text):
        text = _SPACES.sub(" ", _CONTROLS.sub("", text)).strip(" ")
    return normalize("NFC", text) if not text.isascii() and not is_normalized("NFC", text) else text
