"""The pass for texts in capitals and in Title Case: the model sees a sentence, and people see what they wrote.

A title may be a name, which the model knows only as it is written. So titles are translated in both ways, and the
likelier translation is taken.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.casing import Case, as_sentence, as_title, case_of, in_capitals
from regard.text.placeholders import placeholders
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader


class Recasing:
    """Writes texts as sentences, and translations as the texts were."""

    def __init__(self, inner: Pass, reader: Reader, *, source: str, target: str) -> None:
        self._inner, self._reader, self._source, self._target = inner, reader, source, target

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, in the case of their sentences."""
        cases = [case_of(sentence.text, self._source, sentence.placeholders) for sentence in sentences]
        special = [n for n, case in enumerate(cases) if case is not Case.ORDINARY]
        if not special:
            return self._inner.translated(sentences, settings)
        chosen = [sentences[n] for n in special]
        written = self._reader.read([as_sentence(one.text, one.placeholders) for one in chosen], chosen)
        as_they_are = [n for n, case in enumerate(cases) if case is not Case.CAPITALS]
        found = self._inner.translated([*written, *(sentences[n] for n in as_they_are)], settings)
        recased = dict(zip(special, found, strict=False))
        results = dict(zip(as_they_are, found[len(special) :], strict=True))
        for n, others in recased.items():
            back = [self._recased(sentences[n], cases[n], other) for other in others]
            if n not in results or back[0].likelihood > results[n][0].likelihood:
                results[n] = back
        return [results[n] for n in range(len(sentences))]

    def _recased(self, sentence: Sentence, case: Case, found: Found) -> Found:
        apart = placeholders(found.text, sentence.syntax)
        if case is Case.CAPITALS:
            return found.saying(in_capitals(found.text, apart))
        return found.saying(as_title(found.text, sentence.text, self._target, apart))
