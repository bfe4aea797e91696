"""The pass for a glossary: its terms are used where the sentence stays as good as without them.

Each sentence is translated with its terms required, and freely. The search can always say a term somewhere, and fill
the rest with nonsense. So the constrained translation is taken only if it is nearly as likely as the free one and about
as long. Otherwise the term takes the place of the words that say it in the free translation, if those are known.
Otherwise the term is refused, and `constraints_met` is false.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.word_spans import word_spans
from regard.translation.belonging import Asked, Belonging, best_run
from regard.translation.finding import Found, Sentence
from regard.translation.glossary import says
from regard.translation.passes import Pass, Reader, without_request

_LESS_LIKELY = 1.0  # in natural logarithms for each piece
_SURE = 0.6  # the share of a run of words that says a term


class Terms:
    """Terms that are used, or refused."""

    def __init__(self, inner: Pass, reader: Reader, belonging: Belonging) -> None:
        self._inner, self._reader, self._belonging = inner, reader, belonging

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations; `constraints_met` tells of each whether it has its terms."""
        special = [n for n, one in enumerate(sentences) if one.phrases]
        if not special:
            return self._inner.translated(sentences, settings)
        free = [without_request(sentences[n]) for n in special]
        found = self._inner.translated([*sentences, *free], settings)
        results = found[: len(sentences)]
        for n, others in zip(special, found[len(sentences) :], strict=True):
            if not _as_good(sentences[n], results[n][0], others[0]):
                results[n] = self._replaced(sentences[n], others)
        return results

    def _replaced(self, sentence: Sentence, free: Sequence[Found]) -> list[Found]:
        """The free translations, with the terms in the place of the words that say them."""
        return [self._with_terms(sentence, found) for found in free]

    def _with_terms(self, sentence: Sentence, found: Found) -> Found:
        for phrase in sentence.phrases:
            if not says(found.text, phrase):
                found = self._with_term(sentence, found, phrase)
        return found._replace(constraints_met=all(says(found.text, phrase) for phrase in sentence.phrases))

    def _with_term(self, sentence: Sentence, found: Found, phrase: str) -> Found:
        source = dict(sentence.terms).get(phrase, "")
        if source and found.text.count(source) == 1:
            return found.saying(found.text.replace(source, phrase))
        words = _numbers_of(sentence.text, source)
        spans = word_spans(found.text)
        if not words or not spans:
            return found
        said = self._reader.said(sentence, found)
        (shares,) = self._belonging.shares([Asked(*said, words)])
        run = best_run(shares, range(len(spans)), len(words))
        if run is None or sum(shares[run[0] : run[1] + 1]) < _SURE or run[1] - run[0] > len(words):
            return found
        start, end = spans[run[0]][0], spans[run[1]][1]
        while end > start and not found.text[end - 1].isalnum():
            end -= 1
        return found.saying(found.text[:start] + phrase + found.text[end:])


def _as_good(sentence: Sentence, bound: Found, free: Found) -> bool:
    """Whether a translation with its terms is nearly as likely as the free one, and about as long."""
    extra = sum(len(phrase) for phrase in sentence.phrases)
    return (
        bound.constraints_met
        and not bound.hypothesis.length_limited
        and bound.likelihood >= free.likelihood - _LESS_LIKELY
        and len(bound.text) <= 1.3 * len(free.text) + extra
    )


def _numbers_of(text: str, phrase: str) -> list[int]:
    start = text.lower().find(phrase.lower()) if phrase else -1
    if start < 0:
        return []
    end = start + len(phrase)
    return [n for n, (first, last) in enumerate(word_spans(text)) if first < end and last > start]
