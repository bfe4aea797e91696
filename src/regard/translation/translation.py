"""What a Translator gives: translations, and how likely given ones are."""

from __future__ import annotations

from dataclasses import dataclass

from regard.translation.checks import Finding

Alignment = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One translation of a text.

    A text that was translated in parts has the pieces of all of them, the log-probabilities of each part with its end,
    and as its score the sum of theirs.
    """

    text: str
    score: float  # the sum of the log-probabilities over the length penalty; larger is better
    tokens: tuple[str, ...]  # the pieces of the text
    logprobs: tuple[float, ...] = ()  # on request: of each piece, and of the end
    length_limited: bool = False  # it is as long as was allowed, so perhaps cut off
    repetition_stopped: bool = False  # a loop of repetitions was stopped
    constraints_met: bool = True  # it begins with the prefix and says what the glossary asks for
    lost: tuple[str, ...] = ()  # placeholders of the source that are missing here
    confidence: float = 1.0  # the probability that it is good, calibrated on validation if the model folder says how
    findings: tuple[Finding, ...] = ()  # what the checks found; empty without checks
    refused: bool = False  # no translation of it, or of a part of it, passed the checks: the source text stays


@dataclass(frozen=True, kw_only=True)
class Translation(Alternative):
    """The best translation of a text, and what else was asked for."""

    source: str
    alternatives: tuple[Alternative, ...] = ()  # the best first, this one among them; empty unless n_best > 1
    alignment: Alignment = ()  # on request: (source word, target word), counted from 0


@dataclass(frozen=True, kw_only=True)
class Scored:
    """How likely a model finds a translation that it is given."""

    total: float  # the sum of the log-probabilities
    logprobs: tuple[float, ...]  # of each piece of the target, and of the end
    tokens: tuple[str, ...]
