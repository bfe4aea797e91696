"""Characters in HTML: as people read them, and as references such as `&nbsp;`, which stay references."""

from __future__ import annotations

import re
from html.entities import html5

REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]*));")


def unescaped(text: str) -> str:
    """A text as people read it; references to no known character stay."""
    return REFERENCE.sub(lambda found: character_of(found) or found[0], text)


def escaped(text: str, kept: dict[str, str]) -> str:
    """A text as it is written; characters that were written as references are again."""
    written = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character, reference in kept.items():
        if character not in "&<>;#" and not character.isalnum():
            written = written.replace(character, reference)
    return written


def references(raw: str) -> dict[str, str]:
    """The characters that a text writes as references, with the references."""
    found = ((character_of(one), one[0]) for one in REFERENCE.finditer(raw))
    return {character: reference for character, reference in found if character and len(character) == 1}


def character_of(found: re.Match[str]) -> str | None:
    """The character that a reference stands for; None for an unknown or unfit one."""
    decimal, hexadecimal, name = found.groups()
    if name:
        return html5.get(f"{name};")
    code = int(decimal) if decimal else int(hexadecimal, 16)
    ordinary = 0x20 <= code < 0x110000 and not 0xD800 <= code < 0xE000 and not 0x7F <= code < 0xA0
    return chr(code) if ordinary else None
