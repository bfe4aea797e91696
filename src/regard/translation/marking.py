"""The pass for inline markup: the plain sentence is translated, and its tags are put around the right words.

Tags within a sentence disturb a model. The sentence is also translated with its tags, and that is taken only if its
words are those of the plain translation: then the model itself has put the tags where they belong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from regard.search import SearchSettings
from regard.text.placeholders import Placeholder, placeholders
from regard.text.tags import Tag, same_tags, tags_of, tree
from regard.text.word_spans import word_spans
from regard.translation.belonging import Asked, Belonging, best_run
from regard.translation.finding import Finder, Found, Sentence
from regard.translation.passes import Pass, Reader
from regard.translation.putting_back import AFTER_WORDS, Bare, between_marks, spaced

_APART = re.compile(
    r"(?<=[\w.!?])((?:</[\w:.-]+>)+)(?=<[A-Za-z][^<>]*>\w)|(?<=\w)()(?=<br ?/?>\w)"
)  # One</b><i>two</i>
_SENTENCE_END = re.compile(r"[.!?]\s")
_OPENING = "\"'“„‚‘«‹([¿¡"
_CLOSING = "".join(mark for mark in AFTER_WORDS + _OPENING if mark not in "}")


class _Marked(NamedTuple):
    """A sentence with tags, and what is left without them."""

    bare: Bare
    tags: list[Tag]
    plain: Sentence

    def every(self) -> Iterator[Tag]:
        """All tags, outer ones before what they contain."""
        waiting = list(self.tags)
        while waiting:
            tag = waiting.pop(0)
            waiting = [*tag.within, *waiting]
            yield tag

    def words(self, tag: Tag) -> list[int]:
        """The numbers of the words of the plain text between a pair of tags; of a tag alone, of the word behind it."""
        start, spans = self.bare.gaps[tag.first].place, list(enumerate(word_spans(self.bare.text)))
        if tag.last is None:
            return [n for n, (first, _) in spans if first >= start][:1]
        end = self.bare.gaps[tag.last].place
        return [n for n, (first, last) in spans if first < end and last > start]


class Marking:
    """Tags that survive, around the right words."""

    def __init__(self, inner: Pass, finder: Finder, reader: Reader, belonging: Belonging) -> None:
        self._inner, self._finder, self._reader, self._belonging = inner, finder, reader, belonging

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the tags of their sentences."""
        special = [n for n, one in enumerate(sentences) if any(found.is_tag for found in one.placeholders)]
        if not special:
            return self._inner.translated(sentences, settings)
        apart = [_APART.sub(r"\1 ", sentences[n].text) for n in special]
        bare = [Bare.of(text, tags_of(text)) for text in apart]
        plain = self._reader.read([one.text for one in bare], [sentences[n] for n in special])
        marked = [
            _Marked(one, tree([gap.placeholder for gap in one.gaps]), sentence)
            for one, sentence in zip(bare, plain, strict=True)
        ]
        ordinary = [sentences[n] for n in range(len(sentences)) if n not in special]
        results = self._inner.translated([*plain, *ordinary], settings)
        own = results[: len(special)]
        tagged = self._finder.find([sentences[n] for n in special], settings)
        whole = [
            [other.saying(_close_again(sentences[n].text, other.text)) for other in others]
            if text != sentences[n].text
            else others
            for n, text, others in zip(special, apart, self._with_tags(marked, own), strict=True)
        ]
        for n, (others, rivals) in enumerate(zip(own, tagged, strict=True)):
            if same_tags(sentences[special[n]].text, rivals[0].text) and _words(rivals[0].text) == others[0].text:
                whole[n][0] = rivals[0]
        by_number, rest = dict(zip(special, whole, strict=True)), iter(results[len(special) :])
        return [by_number[n] if n in by_number else next(rest) for n in range(len(sentences))]

    def _with_tags(self, marked: Sequence[_Marked], found: Sequence[list[Found]]) -> list[list[Found]]:
        flat = [(one, other) for one, others in zip(marked, found, strict=True) for other in others]
        said = [self._reader.said(one.plain, other) for one, other in flat]
        asked = [
            Asked(source, target, one.words(tag))
            for (one, _), (source, target) in zip(flat, said, strict=True)
            for tag in one.every()
        ]
        shares = iter(self._belonging.shares(asked))
        texts = iter(
            _Placing(one, other.text, {id(tag): next(shares) for tag in one.every()}).text() for one, other in flat
        )
        return [[other.saying(next(texts)) for other in others] for others in found]


class _Span(NamedTuple):
    """Where a tag goes: two places of the translation for a pair, one for a tag alone."""

    start: int
    end: int
    tag: Tag


class _Placing:
    """Puts the tags of one sentence into one translation of it."""

    def __init__(self, marked: _Marked, said: str, shares: dict[int, list[float]]) -> None:
        self._bare, self._marked, self._said, self._shares = marked.bare, marked, said, shares
        self._source, self._target = word_spans(marked.bare.text), word_spans(said)
        self._kept = placeholders(said, marked.plain.syntax)

    def text(self) -> str:
        """The translation with its tags."""
        return self._written(self._marked.tags, 0, len(self._said)).strip()

    def _written(self, tags: Sequence[Tag], start: int, end: int) -> str:
        """The translation from `start` to `end` with these tags in it."""
        parts, last = list[str](), start
        for place in sorted(self._spans(tags, start, end), key=lambda span: (span.start, span.tag.first)):
            parts.append(self._said[last : max(last, place.start)])
            parts.append(self._one(place._replace(start=max(last, place.start), end=max(last, place.end))))
            last = max(last, place.end)
        return "".join([*parts, self._said[last:end]])

    def _one(self, span: _Span) -> str:
        gap = self._bare.gaps[span.tag.first]
        if span.tag.last is None:
            return spaced(gap, self._said, span.start, after=span.start == len(self._said))
        closing = self._bare.gaps[span.tag.last].placeholder.string
        return f"{gap.placeholder.string}{self._written(span.tag.within, span.start, span.end)}{closing}"

    def _spans(self, tags: Sequence[Tag], start: int, end: int) -> list[_Span]:
        """Where the tags go, within these limits; pairs do not overlap, and no single tag stands within one of them."""
        free = [n for n, (first, last) in enumerate(self._target) if first < end and last > start]
        spans = list[_Span]()
        for tag in tags:
            if tag.last is not None:
                run = self._run(tag, free)
                free = [n for n in free if run is None or not run[0] <= n <= run[1]]
                first, last = self._edges(tag, run) if run else (end, end)
                spans.append(_Span(min(max(first, start), end), max(min(last, end), start), tag))
        for tag in tags:
            if tag.last is None:
                place = min(max(self._alone(tag), start), end)
                inside = next((span for span in spans if span.start < place < span.end), None)
                place = inside.end if inside else place
                spans.append(_Span(place, place, tag))
        return spans

    def _alone(self, tag: Tag) -> int:
        """Where a tag without a pair goes: before the words that say what stands behind it, or to the end."""
        gap = self._bare.gaps[tag.first]
        if gap.place == 0:
            return 0
        if (inside := between_marks(gap, self._bare.text, self._said)) is not None:
            return inside
        words = self._marked.words(tag)
        run = best_run(self._shares[id(tag)], range(len(self._target)), 1) if words else None
        return self._target[run[0]][0] if run else len(self._said)

    def _run(self, tag: Tag, free: Sequence[int]) -> tuple[int, int] | None:
        words = self._marked.words(tag)
        if not words or not free:
            return None
        if len(words) == len(self._source):
            return free[0], free[-1]
        run = best_run(self._shares[id(tag)], free, len(words))
        return self._within_a_sentence(tag, run) if run else None

    def _within_a_sentence(self, tag: Tag, run: tuple[int, int]) -> tuple[int, int]:
        """The words, cut where a sentence ends unless one does between the tags in the source: the likelier part."""
        if _SENTENCE_END.search(self._inside(tag)):
            return run
        shares = self._shares[id(tag)]
        ends = [n for n in range(*run) if self._said[self._target[n][1] - 1] in ".!?"]
        parts = list(zip([run[0], *(end + 1 for end in ends)], [*ends, run[1]], strict=True))
        return max(parts, key=lambda part: sum(shares[part[0] : part[1] + 1]))

    def _inside(self, tag: Tag) -> str:
        assert tag.last is not None
        return self._bare.text[self._bare.gaps[tag.first].place : self._bare.gaps[tag.last].place].strip()

    def _edges(self, tag: Tag, run: tuple[int, int]) -> tuple[int, int]:
        """From and to where a pair encloses these words; marks at their ends stay outside unless they were inside."""
        inside = self._inside(tag)
        start, end = self._target[run[0]][0], self._target[run[1]][1]
        if not inside[-1:] or inside[-1] not in _CLOSING:
            while end > start + 1 and self._said[end - 1] in _CLOSING:
                end -= 1
        if not inside[:1] or inside[0] not in _OPENING:
            while start < end - 1 and self._said[start] in _OPENING:
                start += 1
        return self._outside(start), self._outside(end)

    def _outside(self, place: int) -> int:
        """The place, or the end of the placeholder in which it would be."""
        return next((one.end for one in self._kept if one.start < place < one.end), place)


def _close_again(source: str, text: str) -> str:
    """The text without spaces between tags that touch each other in the source."""
    for found in _APART.finditer(source):
        behind = source[found.end() :].partition(">")[0] + ">"
        text = text.replace(f"{found[0]} {behind}", f"{found[0]}{behind}", 1)
    return text


def _words(text: str) -> str:
    return Bare.of(text, [Placeholder(*tag) for tag in tags_of(text)]).text
