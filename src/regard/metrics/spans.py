"""Spans of tagged words, by the rules of conlleval (Tjong Kim Sang and Buchholz, 2000).

A tag is `O` or a prefix and a type, such as `B-NP`. `B` and `S` begin a span, `E` and `S` end one; `I` continues a span
of its type, or begins one after `O` or another type. A span is right if its first word, its last word and its type are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from regard.metrics.labels import Counts

_OUTSIDE = "O"
_ENDS, _BEGINS = ("E", "S", "]"), ("B", "S", "[")
_OPEN, _CONTINUES = ("B", "I"), ("I", "E")

Tags = Sequence[str]


class Span(NamedTuple):
    """A span of words, the last one included."""

    type: str
    first: int
    last: int


class SpanScores(NamedTuple):
    """How well spans were found."""

    overall: Counts
    by_type: dict[str, Counts]
    accuracy: float  # of tags, of 100


def are_spans(labels: Sequence[str]) -> bool:
    """Whether these tags mark spans: all but `O` have a prefix and a type."""
    others = [label for label in labels if label != _OUTSIDE]
    return bool(others) and all(label[:2] in ("B-", "I-", "E-", "S-") for label in others)


def may_follow(before: str, tag: str, labels: Tags) -> bool:
    """Whether a tag may stand after another one if every span begins with `B-` or `S-`.

    `I` and `E` continue a span of their type. Where `labels` have an `E` or `S`, every span also has its end.
    """
    prefix, _, kind = tag.partition("-")
    prefix_before, _, kind_before = before.partition("-")
    is_open = prefix_before in _OPEN
    if prefix in _CONTINUES:
        return is_open and kind == kind_before
    return not (is_open and any(label[:2] in ("E-", "S-") for label in labels))


def are_legal(sequences: Sequence[Tags], labels: Tags) -> bool:
    """Whether all spans of these sentences begin with `B-` or `S-`, and end where they have to."""
    pairs = {pair for tags in sequences for pair in pairwise((_OUTSIDE, *tags, _OUTSIDE))}
    return are_spans(labels) and all(may_follow(before, tag, labels) for before, tag in pairs)


def spans(tags: Tags) -> list[Span]:
    """The spans that the tags of a sentence mark."""
    found: list[Span] = []
    first: int | None = None
    before, kind_before = _OUTSIDE, ""
    for place, tag in enumerate([*tags, _OUTSIDE]):
        prefix, _, kind = tag.partition("-")
        if first is not None and _ends(before, prefix, same=kind == kind_before):
            found.append(Span(kind_before, first, place - 1))
            first = None
        if prefix != _OUTSIDE and (first is None or _begins(before, prefix)):
            first = place
        before, kind_before = prefix, kind
    return found


def _ends(before: str, prefix: str, *, same: bool) -> bool:
    """Whether the span that is open ends before this tag."""
    return before in _ENDS or prefix in (_OUTSIDE, *_BEGINS) or not same


def _begins(before: str, prefix: str) -> bool:
    return prefix in _BEGINS or before in (*_ENDS, _OUTSIDE)


def span_scores(predicted: Sequence[Tags], right: Sequence[Tags]) -> SpanScores:
    """The scores of the spans of tagged sentences, each beside the right tags."""
    hits: Counter[str] = Counter()
    found: Counter[str] = Counter()
    there: Counter[str] = Counter()
    same = words = 0
    for own, reference in zip(predicted, right, strict=True):
        ours, theirs = set(spans(own)), set(spans(reference))
        found.update(span.type for span in ours)
        there.update(span.type for span in theirs)
        hits.update(span.type for span in ours & theirs)
        same += sum(one == other for one, other in zip(own, reference, strict=True))
        words += len(reference)
    types = sorted(found.keys() | there.keys())
    by_type = {kind: Counts(hits[kind], found[kind], there[kind]) for kind in types}
    overall = Counts(hits.total(), found.total(), there.total())
    return SpanScores(overall, by_type, 100 * same / max(1, words))
