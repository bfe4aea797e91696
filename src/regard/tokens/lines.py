"""Texts of several lines as ids: each line by itself, and an id for the line breaks between them.

Tokenisers know lines, not line breaks. Most kinds have an id for the byte of a line break; words get a symbol of
their own (`BREAK` among their protected strings). Where there is neither, a line break is read as a space.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import SettingsError
from regard.text.normalisation import normalise
from regard.tokens.tokeniser import Tokeniser

BREAK = "␤"  # U+2424, the symbol for a new line
_BYTE = "<0x0A>"


class Lines:
    """A tokeniser for texts of several lines."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self.tokeniser = tokeniser
        pieces = tokeniser.pieces(range(tokeniser.size))
        self.break_id = next((pieces.index(piece) for piece in (_BYTE, BREAK) if piece in pieces), None)

    def encode(self, text: str) -> list[int]:
        """The ids of any one text."""
        return self.encode_batch(["\n".join(map(normalise, text.split("\n")))])[0]

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> list[list[int]]:
        """The ids of each of `texts`, whose lines are in normal form."""
        if self.break_id is None:
            return self.tokeniser.encode_batch([" ".join(text.split()) for text in texts], threads)
        lines = [text.split("\n") for text in texts]
        encoded = iter(self.tokeniser.encode_batch([line for text in lines for line in text], threads))
        found = []
        for text in lines:
            ids = list(next(encoded))
            for _ in text[1:]:
                ids.append(self.break_id)
                ids += next(encoded)
            found.append(ids)
        return found

    def decode(self, ids: Sequence[int]) -> str:
        """The text of `ids`."""
        lines: list[list[int]] = [[]]
        for token in ids:
            if token == self.break_id:
                lines.append([])
            else:
                lines[-1].append(token)
        return "\n".join(self.tokeniser.decode(line) for line in lines)


def id_of(tokeniser: Tokeniser, string: str) -> int:
    """The id of a protected string."""
    for token in tokeniser.encode(string):
        if tokeniser.pieces([token]) == [string]:
            return token
    raise SettingsError(
        f"tokeniser.kind = {tokeniser.kind!r}: this kind has no id for {string!r}, which this task needs.\n"
        "  Choose another kind: subwords, characters or words."
    )
