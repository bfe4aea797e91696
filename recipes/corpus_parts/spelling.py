"""German spelling from before the reform of 1996, as the earlier years of the Parliament's records have it.

Which words changed is read off the text itself: a word with ß is replaced by the one with ss if that one is the more
frequent in the whole. So `daß` becomes `dass`, and `Maße`, which is not `Masse`, stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_WORDS = re.compile(r"\w*(?:ß|ss)\w*")
_WITH_SHARP_S = re.compile(r"\w*ß\w*")


class Reform:
    """The changes that a text asks for."""

    def __init__(self, texts: Iterable[str]) -> None:
        found: Counter[str] = Counter()
        for text in texts:
            found.update(_WORDS.findall(text))
        new = {word: word.replace("ß", "ss") for word in found if "ß" in word}
        self.changed = {old: now for old, now in new.items() if found[now] > found[old]}

    def applied(self, text: str) -> str:
        """The text in today's spelling."""
        return _WITH_SHARP_S.sub(lambda word: self.changed.get(word[0], word[0]), text)
