"""Characters that tell of an accident: a wrong encoding, a private font, letters that only look right."""

from __future__ import annotations

import re
from enum import Enum

from regard.text.pairs import Chunk
from regard.text.tally import Tally

_SECOND = "\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ"  # second bytes of UTF-8, read as Latin-1 or Windows-1252
_LATIN, _CYRILLIC = "A-Za-z\u00c0-\u024f", "\u0400-\u052f"


class Odd(Enum):
    """What is odd, and by which pattern it is found."""

    REPLACED = ("U+FFFD, which replaces a character that another program could not decode", "\ufffd")
    MOJIBAKE = (
        "UTF-8 decoded as Latin-1, such as Ã¼ for ü",
        f"Ã[{_SECOND}]|Â[\u00a0-\u00bf]|â€[{_SECOND}]|(?:[ÐÑ][{_SECOND}]){{2}}|ï»¿",
    )
    PRIVATE = ("private-use characters, which only special fonts can show", "[\ue000-\uf8ff\U000f0000-\U0010fffd]")
    MIXED = (
        "words that mix Latin and Cyrillic letters, which look alike",
        f"(?<=[{_LATIN}])[{_CYRILLIC}]|[{_CYRILLIC}](?=[{_LATIN}])",
    )

    def __init__(self, label: str, pattern: str) -> None:
        self.label = label
        self.pattern = re.compile(pattern)


def count_oddities(chunk: Chunk, tallies: dict[Odd, Tally]) -> None:
    """Add the pairs with something odd in them, as they stand in the file."""
    whole = "\n".join((*chunk.sources, *chunk.targets))
    if whole.isascii():
        return
    for odd in Odd:
        if odd.pattern.search(whole):
            for pair in chunk.pairs():
                if odd.pattern.search(pair.source) or odd.pattern.search(pair.target):
                    tallies.setdefault(odd, Tally()).add(pair.path, pair.line)
