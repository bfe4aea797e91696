"""The pass for numbers, units and the order of directives: what a model wrote wrongly is written right.

A model mostly puts a number where it belongs, and gets some of its digits wrong. So the right number takes the place of
the wrong one. Where that cannot be done, the sentence is translated again with simple numbers in the place of the hard
ones (`stand_ins.py`), and at last without numbers, which are put back beside their words.
"""

from __future__ import annotations

from collections.abc import Sequence

from regard.search import SearchSettings
from regard.text.directives import arguments, numbered
from regard.text.numbers import (
    Number,
    localised,
    mended,
    numbers,
    unmatched,
    with_months_that_exist,
    with_ordinals,
    with_versions,
)
from regard.text.placeholders import Placeholder, placeholders
from regard.text.units import is_sign, lost_units, whole, with_units
from regard.translation.alignment import Aligner
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader
from regard.translation.putting_back import Bare, alignments, put_back
from regard.translation.stand_ins import Span, stand_ins

_MOST = 12  # numbers of a sentence that stand-ins are made for


class Numbering:
    """Numbers that survive."""

    def __init__(self, inner: Pass, reader: Reader, aligner: Aligner, *, languages: tuple[str, str]) -> None:
        self._inner, self._reader, self._aligner, self._languages = inner, reader, aligner, languages
        self._language = languages[1]

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the numbers of their sentences."""
        found = self._inner.translated(sentences, settings)
        asked = [_numbers(sentence) for sentence in sentences]
        for n, sentence in enumerate(sentences):
            found[n] = [self._in_place(sentence, asked[n], other) for other in found[n]]
        for way in (self._with_stand_ins, self._cut_out):
            damaged = [n for n, sentence in enumerate(sentences) if _damaged(sentence, asked[n], found[n][0].text)]
            damaged = [n for n in damaged if 0 < len(asked[n]) <= _MOST]
            if damaged:
                others = way([sentences[n] for n in damaged], [asked[n] for n in damaged], settings)
                for n, other in zip(damaged, others, strict=True):
                    found[n] = _filled_up(other or [], found[n], settings.n_best)
        return [
            [self._with_units(sentence, own, other) for other in others] if own else others
            for sentence, own, others in zip(sentences, asked, found, strict=True)
        ]

    def _in_place(self, sentence: Sentence, asked: Sequence[Number], found: Found) -> Found:
        """A translation mended without another search, as far as this can be done."""
        text = found.text
        if sentence.syntax == "c-format" and arguments(sentence.text, "c-format") != arguments(text, "c-format"):
            found = found.saying(numbered(sentence.text, text, "c-format") or text)
            text = found.text
        if not asked and text.isascii() and not any(map(str.isdigit, text)):
            return found
        lost, invented = unmatched(asked, _said(sentence, text))
        if lost:
            text = mended(text, lost, invented, self._language) or text
        units = [lost for lost in lost_units(sentence.text, asked, text) if is_sign(lost[1])]
        if units:
            text = with_units(text, _said(sentence, text), units)
        if asked:
            text = with_versions(sentence.text, with_months_that_exist(text))
            text = with_ordinals(text) if self._language == "en" else text
        return found.saying(text)

    def _with_units(self, sentence: Sentence, asked: Sequence[Number], found: Found) -> Found:
        """A translation with all units that no other way has brought back, and numbers as its language writes them."""
        units = lost_units(sentence.text, asked, found.text)
        text = with_units(found.text, _said(sentence, found.text), units) if units else found.text
        return found.saying(localised(asked, text, _said(sentence, text), self._languages))

    def _with_stand_ins(
        self, sentences: Sequence[Sentence], asked: Sequence[Sequence[Number]], settings: SearchSettings
    ) -> list[list[Found] | None]:
        """What is found with simple numbers in the place of all that are not."""
        plans = [
            stand_ins(sentence.text, [Span(*whole(sentence.text, number)) for number in own], lambda _: "number")
            for sentence, own in zip(sentences, asked, strict=True)
        ]
        possible = [n for n, plan in enumerate(plans) if plan]
        texts = [plan.text for plan in plans if plan]
        inner = self._inner.translated(self._reader.read(texts, [sentences[n] for n in possible]), settings)
        results: list[list[Found] | None] = [None] * len(sentences)
        for n, others in zip(possible, inner, strict=True):
            plan = plans[n]
            said = [(other, plan.put_back(other.text)) for other in others] if plan else []
            kept = [
                self._in_place(sentences[n], asked[n], other.saying(text)) for other, text in said if text is not None
            ]
            results[n] = [other for other in kept if not _damaged(sentences[n], asked[n], other.text)] or None
        return results

    def _cut_out(
        self, sentences: Sequence[Sentence], asked: Sequence[Sequence[Number]], settings: SearchSettings
    ) -> list[list[Found] | None]:
        """What is found without the numbers, which are put back beside the words that they stood by."""
        bare = [
            Bare.of(sentence.text, [Placeholder(*number) for number in own])
            for sentence, own in zip(sentences, asked, strict=True)
        ]
        plain = self._reader.read([words.text for words in bare], sentences)
        inner = self._inner.translated(plain, settings)
        pairs = [
            self._reader.said(sentence, other)
            for sentence, others in zip(plain, inner, strict=True)
            for other in others
        ]
        links = iter(alignments(self._aligner, pairs))
        results = list[list[Found] | None]()
        for sentence, own, words, others in zip(sentences, asked, bare, inner, strict=True):
            whole = [other.saying(put_back(words, other.text, next(links))[0]) for other in others]
            whole = [self._in_place(sentence, own, other) for other in whole]
            results.append([other for other in whole if not _damaged(sentence, own, other.text)] or None)
        return results


def _filled_up(sound: Sequence[Found], before: Sequence[Found], most: int) -> list[Found]:
    """The mended translations, and behind them what was found before, as long as more are asked for."""
    texts = {other.text for other in sound}
    return [*sound, *(other for other in before if other.text not in texts)][:most]


def _numbers(sentence: Sentence) -> list[Number]:
    return numbers(sentence.text, sentence.placeholders)


def _said(sentence: Sentence, text: str) -> list[Number]:
    return numbers(text, placeholders(text, sentence.syntax))


def _damaged(sentence: Sentence, asked: Sequence[Number], text: str) -> bool:
    if not asked and not any(map(str.isdigit, text)):
        return False
    return any(unmatched(asked, _said(sentence, text))) or bool(lost_units(sentence.text, asked, text))
