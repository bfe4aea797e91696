"""The pass for characters that the model does not know: they are carried past it.

Symbols at the ends of a text stay there. A word with an unknown letter, or a symbol between words, is replaced by a
name that every model copies, and a number with an unknown unit by a number; symbols beside marks are taken out and put
back beside their words. Where stand-ins are lost, everything is taken out and put back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.search import SearchSettings
from regard.text.placeholders import Placeholder
from regard.text.unknown_characters import Kind, Unknown, unknown, visible
from regard.translation.alignment import Aligner
from regard.translation.finding import Found, Sentence
from regard.translation.passes import Pass, Reader
from regard.translation.putting_back import Bare, alignments, put_back
from regard.translation.stand_ins import Span, StandIns, stand_ins


class _Plan(NamedTuple):
    """A sentence without unknown characters at its ends, and what stands in for those within."""

    before: str
    after: str
    text: str  # without the ends
    within: tuple[Unknown, ...]  # of the text
    names: StandIns | None  # None where everything is taken out
    bare: Bare  # what the model sees: the text with stand-ins, and without all else that is unknown


class Carrying:
    """Unknown characters that survive."""

    def __init__(self, inner: Pass, reader: Reader, aligner: Aligner, *, known: frozenset[str] | None) -> None:
        self._inner, self._reader, self._aligner, self._known = inner, reader, aligner, known

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations, with the unknown characters of their sentences."""
        found = [unknown(sentence.text, self._known, sentence.placeholders) for sentence in sentences]
        hidden = [n for n, one in enumerate(sentences) if visible(one.text) != one.text]
        special = sorted({n for n, spans in enumerate(found) if spans} | set(hidden))
        if not special:
            return self._inner.translated(sentences, settings)
        shown = self._reader.read([visible(sentences[n].text) for n in special], [sentences[n] for n in special])
        plans = [_plan(one, unknown(one.text, self._known, one.placeholders)) for one in shown]
        ordinary = [sentences[n] for n in range(len(sentences)) if n not in special]
        asked = self._reader.read([plan.bare.text for plan in plans], shown)
        results = self._inner.translated([*asked, *ordinary], settings)
        carried = self._carried(asked, plans, results[: len(special)])
        again = [n for n, others in enumerate(carried) if not others]
        if again:
            bare = [_all_out(plans[n]) for n in again]
            plain = self._reader.read([plan.bare.text for plan in bare], [shown[n] for n in again])
            others = self._carried(plain, bare, self._inner.translated(plain, settings))
            carried = [others.pop(0) if n in again else one for n, one in enumerate(carried)]
        by_number = dict(zip(special, carried, strict=True))
        rest = iter(results[len(special) :])
        return [by_number[n] if n in by_number else next(rest) for n in range(len(sentences))]

    def _carried(
        self, asked: Sequence[Sentence], plans: Sequence[_Plan], found: Sequence[list[Found]]
    ) -> list[list[Found]]:
        """The translations with all that is unknown; none of a sentence whose stand-ins were lost."""
        pairs = [
            self._reader.said(sentence, other)
            for sentence, plan, others in zip(asked, plans, found, strict=True)
            for other in others
            if plan.bare.gaps
        ]
        links = iter(alignments(self._aligner, pairs) if pairs else ())
        carried: list[list[Found]] = []
        for plan, others in zip(plans, found, strict=True):
            whole: list[Found] = []
            for other in others:
                said = put_back(plan.bare, other.text, next(links))[0] if plan.bare.gaps else other.text
                text = plan.names.put_back(said) if plan.names and plan.names.strings else said
                if text is not None:
                    whole.append(other.saying(f"{plan.before}{text}{plan.after}"))
            carried.append(whole)
        return carried


def _plan(sentence: Sentence, spans: Sequence[Unknown]) -> _Plan:
    """How a sentence is shown to the model."""
    first, last = 0, len(sentence.text)
    rest = list(spans)
    while rest and rest[0].kind is Kind.SYMBOL and not sentence.text[first : rest[0].start].strip():
        first = _skipped(sentence.text, rest.pop(0).end)
    while rest and rest[-1].kind is Kind.SYMBOL and not sentence.text[rest[-1].end : last].strip():
        last = len(sentence.text[: rest.pop().start].rstrip())
    text = sentence.text[first:last]
    within = tuple(_as_a_word(text, one._replace(start=one.start - first, end=one.end - first)) for one in rest)
    before, after = sentence.text[:first], sentence.text[last:]
    plan = _Plan(before, after, text, within, None, Bare.of(text, []))
    return _with_names(plan) or _all_out(plan)


def _as_a_word(text: str, one: Unknown) -> Unknown:
    """A symbol between two words is translated as a word."""
    sides = text[: one.start].rstrip(" ")[-1:], text[one.end :].lstrip(" ")[:1]
    apart = text[one.start - 1 : one.start] == " " and text[one.end : one.end + 1] == " "
    return one._replace(kind=Kind.WORD) if one.kind is Kind.SYMBOL and apart and all(map(str.isalnum, sides)) else one


def _with_names(plan: _Plan) -> _Plan | None:
    """The plan with stand-ins for words and numbers; None where there are not enough."""
    named = [one for one in plan.within if one.kind is not Kind.SYMBOL]
    numbers = {one.string for one in named if one.kind is Kind.NUMBER}
    spans = [Span(one.string, one.start, one.end) for one in named]
    names = stand_ins(plan.text, spans, lambda span: "number" if span.string in numbers else "name")
    if names is None:
        return None
    symbols, longer, following = list[Placeholder](), 0, iter(names.strings)
    for one in plan.within:
        if one.kind is Kind.SYMBOL:
            symbols.append(Placeholder(one.string, one.start + longer, one.end + longer))
        else:
            longer += len(next(following)[0]) - len(one.string)
    return plan._replace(names=names, bare=Bare.of(names.text, symbols))


def _all_out(plan: _Plan) -> _Plan:
    """The plan for a text without anything unknown."""
    spans = [Placeholder(one.string, one.start, one.end) for one in plan.within]
    return plan._replace(names=None, bare=Bare.of(plan.text, spans))


def _skipped(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place
