"""Words, each encoded by itself, so that every word has a first token of its own."""

from __future__ import annotations

from collections.abc import Sequence

from regard.tokens.tokeniser import Tokeniser


def first_tokens(tokeniser: Tokeniser, words: Sequence[str]) -> tuple[list[int], list[int]]:
    """The ids of all words one after the other, and the place of the first id of each.

    Kinds that spell a space give one to every word but the first; a word that has no id gets the unknown one.
    """
    spaced = tokeniser.kind in ("characters", "utf8")
    space = tokeniser.encode("a b")[1:2] if spaced else []
    ids: list[int] = []
    places: list[int] = []
    for word in words:
        if ids:
            ids += space
        places.append(len(ids))
        ids += tokeniser.encode(word) or [tokeniser.unknown]
    return ids, places
