"""The words of a text, as people count them and as alignments number them.

A word is what stands between white space. Scripts that put no space between words (Chinese, Japanese, Thai, Lao,
Khmer, Burmese) are counted by their characters: each is a word.
"""

from __future__ import annotations

import re

_UNSPACED = (
    "\u2e80-\u2eff\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\u0e01-\u0e30\u0e32-\u0e33\u0e40-\u0e46\u0e81-\u0eb0\u0ec0-\u0ec6\u1000-\u102a\u1780-\u17b3\U00020000-\U0003ffff"
)
_MARKS = "\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f\u300c-\u300f\u3008-\u300b\uff08\uff09"
_WORD = re.compile(rf"[{_UNSPACED}][^\s{_UNSPACED}\w]*|[^\s{_UNSPACED}]+")
_ANY_UNSPACED = re.compile(f"[{_UNSPACED}]")
_CLOSE = re.compile(f"[{_UNSPACED}{_MARKS}]")


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word starts and ends; punctuation belongs to the word that it touches."""
    return [match.span() for match in _WORD.finditer(text)]


def count_words(text: str) -> int:
    """How many words there are."""
    return len(text.split()) if text.isascii() else len(word_spans(text))


def has_unspaced(text: str) -> bool:
    """Whether some of the text is in a script without spaces between words."""
    return not text.isascii() and _ANY_UNSPACED.search(text) is not None


def sticks(character: str) -> bool:
    """Whether no space stands beside this character: a letter or a mark of a script without spaces."""
    return _CLOSE.fullmatch(character) is not None
