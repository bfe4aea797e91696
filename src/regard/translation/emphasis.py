"""The pass for `**emphasis**` in running text: shown to the other passes as a pair of tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.placeholders import Placeholder
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader

_PAIR = re.compile(r"\*\*(?=[^\s*])([^*\n]+?)(?<=\S)\*\*")
_TAG = re.compile(r"</?strong-emphasis>")


class Emphasis:
    """Marks of emphasis as tags."""

    def __init__(self, inner: Pass, reader: Reader) -> None:
        self._inner, self._reader = inner, reader

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the emphasis of their sentences."""
        special = [n for n, one in enumerate(sentences) if "**" in one.text and _marked(one) != one.text]
        if not special:
            return self._inner.translated(sentences, settings)
        shown = self._reader.read([_marked(sentences[n]) for n in special], [sentences[n] for n in special])
        by_number = dict(zip(special, shown, strict=True))
        found = self._inner.translated([by_number.get(n, one) for n, one in enumerate(sentences)], settings)
        for n in special:
            found[n] = [other._replace(text=_TAG.sub("**", other.text)) for other in found[n]]
        return found


def _marked(sentence: Sentence) -> str:
    """The text with tags; a pair that overlaps a placeholder stays as it is."""

    def tagged(pair: re.Match[str]) -> str:
        if any(_overlap(pair, one) for one in sentence.placeholders):
            return pair.group()
        return f"<strong-emphasis>{pair[1]}</strong-emphasis>"

    return _PAIR.sub(tagged, sentence.text)


def _overlap(pair: re.Match[str], one: Placeholder) -> bool:
    edges = (pair.start(), pair.start() + 1, pair.end() - 2, pair.end() - 1)
    return any(one.start <= edge < one.end for edge in edges)
