"""Accelerators, the underlined letters of menus and buttons: `_Open` in GTK, `Op&en` in Qt and on Windows.

The mark is taken out of a text before it is translated, and put before a letter of the translation: the same letter if
it has one, at the start of a word if possible; else its first letter. Where the translation is in a script without
letters of a keyboard, the letter is added in brackets, as is usual there: 打开(_O).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from regard.text.placeholders import placeholders

_LONGEST = 80
_MARKED = {
    "_": re.compile(r"(?<![A-Za-z0-9_])_(?=[^\W_])|(?<=[A-Za-z])_(?=[a-z])"),
    "&": re.compile(r"&(?=[^\W_])"),
}
_BRACKETED = re.compile(r"\s*\([_&]\w\)")
_END = re.compile(r"(?:\.\.\.|…|:)?$")


class Accelerator(NamedTuple):
    """The mark and the letter behind it."""

    mark: str
    letter: str


def split(text: str, marks: str) -> tuple[str, Accelerator | None]:
    """A text without its accelerator, and the accelerator; the text as it is where it has none, or more than one."""
    for mark in marks:
        if text.count(mark) != 1 or len(text) > _LONGEST or "\n" in text or "<" in text:
            continue
        found = _MARKED[mark].search(text)
        if found and _is_meant(text, mark, found.start()):
            bracketed = _BRACKETED.search(text)
            bare = _BRACKETED.sub("", text) if bracketed else text[: found.start()] + text[found.end() :]
            return bare, Accelerator(mark, text[found.start() + 1])
    return text, None


def joined(text: str, accelerator: Accelerator | None) -> str:
    """A translation with the accelerator."""
    if accelerator is None:
        return text
    taken = {position for found in placeholders(text) for position in range(found.start, found.end)}
    letters = [place for place, character in enumerate(text) if character.isalnum() and place not in taken]
    usable = [place for place in letters if not _is_ideograph(text[place])]
    if not usable:
        bracketed = f"({accelerator.mark}{accelerator.letter.upper()})"
        return _END.sub(lambda end: bracketed + end[0], text, count=1)
    same = [place for place in usable if text[place].lower() == accelerator.letter.lower()]
    at_starts = [place for place in same if place == 0 or not text[place - 1].isalnum()]
    chosen = (at_starts or same or usable)[0]
    return text[:chosen] + accelerator.mark + text[chosen:]


def _is_meant(text: str, mark: str, place: int) -> bool:
    """Whether a mark is one, and not part of a name such as file_name, R&D or &amp;."""
    before = text[place - 1 : place]
    if mark == "&":
        entity = re.match(r"&#?\w+;", text[place:])
        return not entity and not (before.isupper() and text[place + 1].isupper())
    word = text[:place].split()[-1] if before.strip() else ""
    return not word or (word.isalpha() and word[0].isupper())


def _is_ideograph(character: str) -> bool:
    return character >= "\u1100" and not "\u1e00" <= character < "\u2000"
