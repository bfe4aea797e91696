"""Tokenisers from a corpus: a sample, the strings to protect in it, and one call that makes the pair."""

from __future__ import annotations

from collections.abc import Iterable

from regard.errors import TextError
from regard.text.normalisation import normalise
from regard.tokens.pair import Tokenisers
from regard.tokens.protected import protected_strings
from regard.tokens.reversal import Reversed
from regard.tokens.tokeniser import Tokeniser, find_kind, utf8
from regard.tokens.tokeniser_settings import Side, TokeniserSettings


def train(source: Iterable[str], target: Iterable[str], settings: TokeniserSettings) -> Tokenisers:
    """The tokenisers of a corpus, given one side after the other, each read once.

    The same texts and settings give the same files, byte for byte, on every machine.
    """
    sides = settings.sides()
    if settings.is_joint:
        half = settings.sample // 2
        texts = sampled(source, limit=half) + sampled(target, limit=half)
        both = _trained(sides[0], texts, settings, "both sides")
        return Tokenisers(source=both, target=both, settings=settings)
    return Tokenisers(
        source=_trained(sides[0], sampled(source, limit=settings.sample), settings, "the source side"),
        target=_trained(sides[1], sampled(target, limit=settings.sample), settings, "the target side"),
        settings=settings,
    )


def sampled(texts: Iterable[str], *, limit: int) -> list[str]:
    """At most `limit` and at least half as many of `texts`, evenly spread over them, in normal form and not empty.

    These are the texts at multiples of `spread(their number, limit)`; a sample of a sample is the same sample.
    """
    assert limit > 0
    kept: list[str] = []
    step = 1
    for place, text in enumerate(texts):
        if place % step == 0:
            if len(kept) == limit:
                kept = kept[::2]
                step *= 2
            if place % step == 0:
                kept.append(text)
    normal = [normalise(text) for text in kept]
    for text in normal:
        utf8(text)
    return [text for text in normal if text]


def spread(count: int, limit: int) -> int:
    """How many texts further the next one of a sample of at most `limit` of so many texts stands: a power of two."""
    step = 1
    while -(-count // step) > limit:
        step *= 2
    return step


def _trained(side: Side, texts: list[str], settings: TokeniserSettings, name: str) -> Tokeniser:
    if not texts:
        raise TextError(
            f"The tokeniser of {name} has no text to train on.\n  Give at least one line that is not empty."
        )
    protected = protected_strings(
        texts, literals=settings.protected, patterns=settings.patterns, limit=settings.patterns_limit
    )
    kind = find_kind(side.kind)
    options = kind.Options.read(side.options, where=f"options of {side.kind}")
    tokeniser = kind.train(texts, vocabulary=side.vocabulary, protected=protected, options=options)
    return Reversed(tokeniser) if settings.reversed else tokeniser
