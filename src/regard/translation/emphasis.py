"""The pass for `**emphasis**`, `*emphasis*`, `_emphasis_` and `~~deletions~~` in running text: shown as tags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.placeholders import Placeholder
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader

_MARKS = ("**", "***", "__", "~~", "*", "_")
_PAIR = re.compile(
    r"(?P<mark>\*\*)(?=[^\s*])(?P<words>[^*\n]+?)(?<=\S)\*\*(?!\*)"
    r"|(?<![\w*_~\\])(?P<other>\*\*\*|__|~~|[*_])(?=[^\s*_~])(?=[^*_~\n]*[^\W\d_])(?P<more>[^*_~\n]+)(?<=[^\s\\])(?P=other)(?![\w*_~])"
)
_TAG = re.compile(r"</?emphasis-(\d)>")


class Emphasis:
    """Marks of emphasis as tags."""

    def __init__(self, inner: Pass, reader: Reader) -> None:
        self._inner, self._reader = inner, reader

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the emphasis of their sentences."""
        special = [n for n, one in enumerate(sentences) if _may_have(one.text) and _marked(one) != one.text]
        if not special:
            return self._inner.translated(sentences, settings)
        shown = self._reader.read([_marked(sentences[n]) for n in special], [sentences[n] for n in special])
        by_number = dict(zip(special, shown, strict=True))
        found = self._inner.translated([by_number.get(n, one) for n, one in enumerate(sentences)], settings)
        for n in special:
            found[n] = [other._replace(text=_unmarked(other.text)) for other in found[n]]
        return found


def _may_have(text: str) -> bool:
    return any(mark in text for mark in "*_~")


def _marked(sentence: Sentence) -> str:
    """The text with tags; a pair that overlaps a placeholder stays as it is."""

    def tagged(pair: re.Match[str]) -> str:
        if any(_overlap(pair, one) for one in sentence.placeholders):
            return pair.group()
        number = _MARKS.index(pair["mark"] or pair["other"])
        return f"<emphasis-{number}>{pair['words'] or pair['more']}</emphasis-{number}>"

    return _PAIR.sub(tagged, sentence.text)


def _unmarked(text: str) -> str:
    return _TAG.sub(lambda tag: _MARKS[int(tag[1])], text)


def _overlap(pair: re.Match[str], one: Placeholder) -> bool:
    size = len(pair["mark"] or pair["other"])
    edges = (*range(pair.start(), pair.start() + size), *range(pair.end() - size, pair.end()))
    return any(one.start <= edge < one.end for edge in edges)
