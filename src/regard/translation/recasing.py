"""The pass for texts in capitals and in Title Case: the model sees a sentence, and people see what they wrote.

A title may be a name, which the model knows only as it is written, and a short word in capitals an abbreviation. So
these are translated in both ways, and the likelier translation is taken. Where only the words between a pair of tags
are in capitals, or a word of a sentence that the model knows in small letters, the model sees these as the words of a
sentence, and they are written in capitals wherever they go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.search import SearchSettings
from regard.text.casing import Case, as_sentence, as_title, case_of, in_capitals
from regard.text.placeholders import Placeholder, placeholders, without
from regard.text.tags import Tag, tags_of, tree
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader

_LOUD_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{4,}(?![\w'’-])")
_PAIR = re.compile(r"<capitals-(\d+)>(.*?)</capitals-\1>", re.DOTALL)


class Recasing:
    """Writes texts as sentences, and translations as the texts were."""

    def __init__(self, inner: Pass, reader: Reader, *, source: str, target: str) -> None:
        self._inner, self._reader, self._source, self._target = inner, reader, source, target

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, in the case of their sentences."""
        cases = [case_of(sentence.text, self._source, sentence.placeholders) for sentence in sentences]
        special = [n for n, case in enumerate(cases) if case is not Case.ORDINARY]
        if not special:
            return self._in_parts(sentences, settings)
        chosen = [sentences[n] for n in special]
        written = self._reader.read([as_sentence(one.text, one.placeholders) for one in chosen], chosen)
        as_they_are = [n for n, case in enumerate(cases) if case is not Case.CAPITALS]
        found = self._in_parts([*written, *(sentences[n] for n in as_they_are)], settings)
        recased = dict(zip(special, found, strict=False))
        results = dict(zip(as_they_are, found[len(special) :], strict=True))
        for n, others in recased.items():
            back = [self._recased(sentences[n], cases[n], other) for other in others]
            if n not in results or back[0].likelihood > results[n][0].likelihood:
                results[n] = back
        return [results[n] for n in range(len(sentences))]

    def _recased(self, sentence: Sentence, case: Case, found: Found) -> Found:
        apart = placeholders(found.text, sentence.syntax)
        if case is not Case.TITLE:
            return found.saying(in_capitals(found.text, apart))
        return found.saying(as_title(found.text, sentence.text, self._target, apart))

    def _in_parts(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations; what is in capitals between tags is shown in small letters.

        A short word in capitals may be a name. There, both ways are tried, and the likelier translation is taken.
        """
        plans = {n: plan for n, one in enumerate(sentences) if (plan := _plan(one, self._reader))}
        if not plans:
            return self._inner.translated(sentences, settings)
        shown = self._reader.read([plan.text for plan in plans.values()], [sentences[n] for n in plans])
        as_they_are = [n for n in range(len(sentences)) if n not in plans or plans[n].doubtful]
        found = self._inner.translated([*shown, *(sentences[n] for n in as_they_are)], settings)
        results = dict(zip(as_they_are, found[len(shown) :], strict=True))
        for (n, plan), others in zip(plans.items(), found, strict=False):
            back = [other.saying(plan.put_back(other.text, sentences[n].syntax)) for other in others]
            if n not in results or back[0].likelihood > results[n][0].likelihood:
                results[n] = back
        return [results[n] for n in range(len(sentences))]


class _Plan(NamedTuple):
    """A text whose pairs of tags around capitals have names of their own, and the tags in whose place these stand."""

    text: str
    pairs: list[tuple[str, str]]
    doubtful: bool  # some may be abbreviations

    def put_back(self, said: str, syntax: str) -> str:
        """A translation with its own tags, and in capitals between them."""

        def written(found: re.Match[str]) -> str:
            opening, closing = self.pairs[int(found[1])]
            return f"{opening}{in_capitals(found[2], placeholders(found[2], syntax))}{closing}"

        return _PAIR.sub(written, said)


def _plan(sentence: Sentence, reader: Reader) -> _Plan | None:
    """How a sentence is shown; None where no pair of tags is around capitals alone, and no long word in capitals."""
    tags = tags_of(sentence.text) if any(found.is_tag for found in sentence.placeholders) else []
    loud = list(_loud(sentence, tags, tree(tags))) if tags else _loud_words(sentence, reader)
    parts, pairs, last, doubtful = list[str](), list[tuple[str, str]](), 0, not tags
    for number, (first, end) in enumerate(loud):
        within = sentence.text[first.end : end.start]
        apart = placeholders(within, sentence.syntax)
        before = without(sentence.text[: first.start], [tag for tag in tags if tag.start < first.start])
        shown = as_sentence(within, apart, before)
        parts += [sentence.text[last : first.start], f"<capitals-{number}>{shown}</capitals-{number}>"]
        pairs.append((first.string, end.string))
        doubtful = doubtful or case_of(within, "", apart) is not Case.CAPITALS
        last = end.end
    return _Plan("".join([*parts, sentence.text[last:]]), pairs, doubtful) if pairs else None


def _loud_words(sentence: Sentence, reader: Reader) -> list[tuple[Placeholder, Placeholder]]:
    """The words in capitals of a sentence without tags that has other words; each between two empty strings.

    Most words in capitals are abbreviations. Only those count that the model knows as a word in small letters.
    """
    if sentence.text.islower() or sentence.text.isupper():
        return []
    loud = [match for match in _LOUD_WORD.finditer(sentence.text) if match.group().isupper()]
    found = [match.span() for match in loud if reader.knows_word(match.group().lower())]
    return [
        (Placeholder("", start, start), Placeholder("", end, end))
        for start, end in found
        if not any(one.start < end and start < one.end for one in sentence.placeholders)
    ]


def _loud(
    sentence: Sentence, tags: Sequence[Placeholder], some: Sequence[Tag]
) -> Iterator[tuple[Placeholder, Placeholder]]:
    """The outermost pairs of tags around capitals alone, in their order."""
    for tag in some:
        if tag.last is not None:
            first, end = tags[tag.first], tags[tag.last]
            within = sentence.text[first.end : end.start]
            words = without(within, placeholders(within, sentence.syntax))
            if words.isupper() and sum(map(str.isalpha, words)) > 1:
                yield first, end
            else:
                yield from _loud(sentence, tags, tag.within)
