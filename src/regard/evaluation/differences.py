"""Which words of a text differ from those of a reference, and how a page marks them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import Enum
from html import escape
from typing import NamedTuple

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"  # scripts without spaces
_WORD = re.compile(rf"(?:[{_UNSPACED}]|[^\W{_UNSPACED}]+|\W)\s*")


class Change(Enum):
    """What became of words on the way from the reference to the text."""

    KEPT = "in both"
    ADDED = "only in the text"
    MISSING = "only in the reference"


_TAGS = {Change.KEPT: "", Change.ADDED: "ins", Change.MISSING: "del"}


class Piece(NamedTuple):
    """Neighbouring words with the same fate, and the spaces after them."""

    text: str
    change: Change


def word_differences(text: str, reference: str) -> list[Piece]:
    """The words of both: those kept and added make up the text, those kept and missing the words of the reference."""
    made, wanted = _WORD.findall(text), _WORD.findall(reference)
    matcher = SequenceMatcher(None, _bare(wanted), _bare(made), autojunk=False)
    pieces = []
    for kind, wanted_start, wanted_end, made_start, made_end in matcher.get_opcodes():
        there, here = "".join(wanted[wanted_start:wanted_end]), "".join(made[made_start:made_end])
        if kind == "equal":
            pieces.append(Piece(here, Change.KEPT))
        else:
            pieces += [Piece(there, Change.MISSING)] * bool(there) + [Piece(here, Change.ADDED)] * bool(here)
    return pieces


def _bare(words: list[str]) -> list[str]:
    return [word.strip() for word in words]


def marked(text: str, references: Sequence[str]) -> str:
    """The text with what differs from the reference marked; of several references, from the one that differs least."""
    candidates = [word_differences(text, reference) for reference in references]
    pieces = min(candidates, key=lambda pieces: sum(len(p.text) for p in pieces if p.change is not Change.KEPT))
    result = "" if text.strip() else '<em class="nothing">nothing</em> '
    for piece in pieces:
        tag = _TAGS[piece.change]
        body = escape(piece.text.rstrip())
        before = " " if piece.change is Change.MISSING and result and not result.endswith(" ") else ""
        after = " " if piece.change is Change.MISSING or piece.text[-1:].isspace() else ""
        result += f"{before}<{tag}>{body}</{tag}>{after}" if tag else f"{body}{after}"
    return result.strip()
