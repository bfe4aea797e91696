"""The characters that a tokeniser knows, and a model has therefore met often enough to use them.

Subwords spell a rare character in bytes, or drop it. A model that meets such bytes answers with other bytes. Letters
count as known if longer pieces have them: a letter that only stands alone was too rare to become part of any word.
Symbols (½, ★, →, emoji) never count, however frequent: they mean the same in every language, and a model may lose them.
"""

from __future__ import annotations

import re
from unicodedata import category

from regard.tokens.tokeniser import SPACE, Tokeniser

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")
_MARKS = frozenset("–—…“”„‘’‚«»‹›°€§·×¡¿、。「」\u00a0\u202f")  # typographic marks that any text may have


def known_characters(tokeniser: Tokeniser) -> frozenset[str] | None:
    """The known characters; None where pieces do not say, as with bytes and with whole words."""
    special = {tokeniser.begin, tokeniser.end, tokeniser.unknown}
    pieces = [
        piece.replace(SPACE, "")
        for piece in tokeniser.pieces([number for number in range(tokeniser.size) if number not in special])
        if not _BYTE.fullmatch(piece)
    ]
    alone = {piece for piece in pieces if len(piece) == 1}
    if tokeniser.kind == "characters":
        return frozenset(alone) | {" "}
    if tokeniser.kind == "words" or not alone:
        return None
    within = {character for piece in pieces if len(piece) > 1 for character in piece}
    of_words = {one for one in within if category(one)[0] in "LM" or category(one) == "Nd"}
    return frozenset(of_words | {one for one in within | alone if one.isascii() or one in _MARKS}) | {" "}
