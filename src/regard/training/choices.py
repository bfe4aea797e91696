"""The numbers behind `--preset auto`, in one place: sizes by the corpus, and how long to train them.

`benchmarks/defaults.py` holds them against fixed configurations; docs/defaults.md says which were measured.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple


class Size(NamedTuple):
    """What serves corpora of fewer pairs than `below`."""

    below: float
    preset: str
    vocabulary: int
    dropout: float


class Manner(NamedTuple):
    """How a model of a preset's size is trained, pre-norm; the rate is for batches of this size."""

    peak_rate: float
    batch_tokens: int


LONG_SENTENCES = 13.0  # words on the average; from here on, text is prose rather than captions, messages or phrases

# Captions, messages, everyday sentences: few words each, which come again and again.
SHORT = (
    Size(5_000, "tiny", 2_000, 0.3),
    Size(20_000, "tiny", 4_000, 0.3),
    Size(75_000, "tiny", 8_000, 0.3),
    Size(300_000, "base", 8_000, 0.3),
    Size(1_000_000, "base", 16_000, 0.2),
    Size(inf, "base", 32_000, 0.1),
)
# Prose: news, speeches, documentation.
LONG = (
    Size(10_000, "small", 2_000, 0.3),
    Size(75_000, "small", 4_000, 0.3),
    Size(300_000, "base", 8_000, 0.3),
    Size(1_000_000, "base", 16_000, 0.2),
    Size(inf, "base", 32_000, 0.1),
)

MANNERS = {
    "tiny": Manner(peak_rate=5e-3, batch_tokens=8_192),
    "small": Manner(peak_rate=2e-3, batch_tokens=8_192),
    "base": Manner(peak_rate=1e-3, batch_tokens=16_384),
}
SMALLER = {"base": "small", "small": "tiny"}

COOLDOWN = 0.3  # the last share of the steps, in which the rate falls to zero
PATIENCE = 8  # validations without progress (merit.py), after which training goes back to the best and cools down
LOOKS, FEWER_LOOKS = 60, 10  # validations in a run, and in one that there is little time for
AVERAGED = 5  # checkpoints of the second half of the cooldown

_USUAL_LETTERS = 200  # frequent characters of two languages that are written in alphabets
_ROUND = 200

_TOKENS = 1_000_000  # a corpus of so many tokens ...
_TRAINED = 65_000_000  # ... is trained on so many,
_GROWTH = 0.6  # a larger one on so many times the power of its size,
_SHRINKAGE = 0.6  # a smaller one on this power
_STEPS = (1_000, 200_000)
_WARMUP = (100, 4_000)
_WARMUP_SHARE = 0.2
_SHORT_WARMUP = (300, 6)  # steps, or epochs if these are more: small corpora overfit in what would be a long warm-up
_BATCHES_AN_EPOCH = 40  # of a small corpus, at the least
_SMALLEST_BATCH = 2_048
_ENOUGH_STEPS = 1_500  # where time is short, smaller batches make so many
_WORTHWHILE = 0.25  # the share of a training that there must be time for; otherwise a smaller model is better


def size_for(pairs: int, *, long: bool, fast: bool) -> Size:
    """The row of the table; without a GPU, base is too slow for what it gains."""
    size = next(size for size in (LONG if long else SHORT) if pairs < size.below)
    return size if fast or size.preset != "base" else size._replace(preset="small", dropout=min(size.dropout, 0.2))


def with_letters(vocabulary: int, letters: int) -> int:
    """A vocabulary with room for a large alphabet: each frequent character is a token of its own."""
    return vocabulary + -(-max(0, letters - _USUAL_LETTERS) // _ROUND) * _ROUND


def trained_tokens(tokens: float) -> float:
    """On how many tokens to train, all epochs together, where the corpus has so many."""
    share = max(1.0, tokens) / _TOKENS
    return float(_TRAINED * share ** (_GROWTH if share > 1 else _SHRINKAGE))


def batch_tokens(preset: str, tokens: float) -> int:
    """The batch of a preset, or a smaller one where an epoch would be a few batches."""
    batch = MANNERS[preset].batch_tokens
    while batch > _SMALLEST_BATCH and tokens < _BATCHES_AN_EPOCH * batch:
        batch //= 2
    return batch


def peak_rate(preset: str, batch: int) -> float:
    """The rate of a preset, lower with the square root of a smaller batch, whose gradients are noisier."""
    manner = MANNERS[preset]
    return float(f"{manner.peak_rate * (batch / manner.batch_tokens) ** 0.5:.2g}")


def steps_for(tokens: float, batch: int) -> int:
    """The number of steps, rounded to hundreds."""
    return int(min(_STEPS[1], max(_STEPS[0], round(trained_tokens(tokens) / batch, -2))))


def warmup_for(steps: int, *, tokens: float, batch: int) -> int:
    """A fifth of the steps, within bounds, and a few epochs of a corpus whose batches are smaller than others'."""
    most, (least, epochs) = float(_WARMUP[1]), _SHORT_WARMUP
    if tokens < _BATCHES_AN_EPOCH * MANNERS["small"].batch_tokens:
        most = max(least, epochs * tokens / batch)
    return int(max(1, min(most, max(_WARMUP[0], _WARMUP_SHARE * steps))))


def is_worthwhile(possible: float, tokens: float) -> bool:
    """Whether training on `possible` tokens is long enough for a model of this size."""
    return possible >= _WORTHWHILE * trained_tokens(tokens)


def hurried_batch(batch: int, possible: float) -> int:
    """A batch that leaves enough steps where only so many tokens can be trained on."""
    while batch > _SMALLEST_BATCH and possible < _ENOUGH_STEPS * batch:
        batch //= 2
    return batch
