"""Apostrophes that people leave out when they type: `dont` is `don't`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from regard.text.placeholders import Placeholder

_BEFORE_T = "aren can couldn didn doesn don hadn hasn haven isn mustn needn shouldn wasn weren wouldn"
_OTHERS = "I'm I've you're you've they're they've we've that's what's there's who's where's he's she's"
_ABBREVIATION = 3  # letters: in capitals, IM and IVE are none of these words


def with_apostrophes(text: str, language: str, apart: Sequence[Placeholder] = ()) -> str:
    """The text with the apostrophes of its contractions, except in placeholders and names for computers.

    Only of words that are nothing else without one: `its`, `were`, `wont` and `lets` stay as they are.
    """
    if language != "en":
        return text

    def restored(found: re.Match[str]) -> str:
        if any(one.start < found.end() and found.start() < one.end for one in apart):
            return found[0]
        return _in_case_of(found[0], _english()[found[0].lower()])

    return _pattern().sub(restored, text)


@cache
def _english() -> dict[str, str]:
    """Each contraction by what it is without its apostrophe."""
    return {
        word.replace("'", "").lower(): word for word in [f"{stem}'t" for stem in _BEFORE_T.split()] + _OTHERS.split()
    }


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.@/\\'’-])(?:{'|'.join(_english())})(?![\w@/\\'’-]|\.\w)", re.IGNORECASE)


def _in_case_of(found: str, word: str) -> str:
    if found.isupper():
        return word.upper() if len(found) > _ABBREVIATION else found
    return word[0].upper() + word[1:] if found[0].isupper() else word
