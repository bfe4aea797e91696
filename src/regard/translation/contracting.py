"""The pass for contractions without their apostrophes: the model sees `don't` where a text has `dont`.

A model that has hardly seen such a word may overlook it, and with it the negation of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.apostrophes import with_apostrophes
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader


class Contracting:
    """Writes contractions as they are spelt, for a model that knows apostrophes."""

    def __init__(self, inner: Pass, reader: Reader, *, source: str, known: frozenset[str] | None) -> None:
        self._inner, self._reader = inner, reader
        self._language = source if known is not None and "'" in known else ""

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations of the sentences with their apostrophes."""
        texts = [with_apostrophes(one.text, self._language, one.placeholders) for one in sentences]
        changed = [n for n, sentence in enumerate(sentences) if texts[n] != sentence.text]
        if not changed:
            return self._inner.translated(sentences, settings)
        read = self._reader.read([texts[n] for n in changed], [sentences[n] for n in changed])
        shown = dict(zip(changed, read, strict=True))
        return self._inner.translated([shown.get(n, one) for n, one in enumerate(sentences)], settings)
