"""What to train on a corpus: rules of thumb, each with its reason. Measuring is always better.

The numbers are in choices.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from regard import shipped
from regard.text.inspection.statistics import RARE, SideStatistics
from regard.text.pairs import Languages
from regard.tokens.tokeniser_settings import TokeniserSettings
from regard.training import choices
from regard.training.token_estimate import tokens_of_pairs, words_a_text
from regard.training.training_settings import TrainingSettings

_FEW = 5_000
_KINDS = {
    "characters": "the {} is single words, so each character becomes a token",
    "words": "the {} has few distinct words, so each word becomes a token",
    "split": "the {} is already split into subwords (@@), so each of these becomes a token",
}

Tables = dict[str, dict[str, Any]]


class Budget(NamedTuple):
    """So many minutes on a machine that trains so many tokens of a preset's model in a second."""

    minutes: float
    tokens_per_second: Callable[[str, TokeniserSettings], float]

    def tokens(self, preset: str, tokeniser: TokeniserSettings) -> float:
        """How many tokens can be trained on."""
        return 60 * self.minutes * self.tokens_per_second(preset, tokeniser)


class Advice(NamedTuple):
    """What to start with, and why."""

    preset: str
    dropout: float
    tokeniser: TokeniserSettings
    reasons: tuple[str, ...]
    start_from: str | None = None  # a shipped model that is better adapted than a new one trained
    steps: int = 8_000
    batch_tokens: int = 8_192
    peak_rate: float = 1e-3
    tokens: float = 0.0  # of the corpus, about
    possible_steps: int | None = None  # in the time that there is

    @property
    def vocabulary(self) -> int:
        """The largest number of ids of the tokeniser, or of the larger one."""
        return max(self.tokeniser.vocabulary, self.tokeniser.target_vocabulary or 0)

    @property
    def expected_steps(self) -> int:
        """How many steps the run will probably have."""
        return max(1, min(self.steps, self.possible_steps or self.steps))

    @property
    def tables(self) -> Tables:
        """What the advice sets in a recipe, on top of the preset."""
        expected = self.expected_steps
        return {
            "model": {"norm": "pre", "dropout": self.dropout},
            "tokeniser": self.tokeniser.model_dump(mode="json", exclude_none=True),
            "training": {
                "steps": self.steps,
                "batch_tokens": self.batch_tokens,
                "peak_rate": self.peak_rate,
                "warmup": choices.warmup_for(self.steps, tokens=self.tokens, batch=self.batch_tokens),
                "cooldown": choices.COOLDOWN,
                "averaged_checkpoints": choices.AVERAGED,
                "checkpoint_every": max(10, round(choices.COOLDOWN / 2 / choices.AVERAGED * expected)),
            },
            "validation": {"every": self._validated_every(expected), "patience": choices.PATIENCE},
        }

    def _validated_every(self, steps: int) -> int:
        """Validation takes time that a short run does not have."""
        if self.possible_steps is not None and self.possible_steps < self.steps:
            return max(50, steps // choices.FEWER_LOOKS)
        return max(20, steps // choices.LOOKS)

    def table(self) -> dict[str, Any]:
        """The advice for programs; `tokeniser` is a recipe's table."""
        return {
            "preset": self.preset,
            "vocabulary": self.vocabulary,
            "dropout": self.dropout,
            "tokeniser": self.tokeniser.model_dump(mode="json", exclude_none=True, exclude_defaults=True),
            "reasons": list(self.reasons),
        }


def advise(
    pairs: int,
    *,
    source: SideStatistics | None = None,
    target: SideStatistics | None = None,
    languages: Languages | None = None,
    fast: bool = True,
    budget: Budget | None = None,
) -> Advice:
    """What to train on so many pairs whose sides are like this; prose, where nothing is known of them.

    `fast` is a machine with a GPU. With a `budget`, the model is one that the time is enough for.
    """
    words, sides = words_a_text(source, target), (source, target)
    size = choices.size_for(pairs, long=words >= choices.LONG_SENTENCES, fast=fast)
    kinds = [_kind(side) for side in sides]
    letters = _letters(side for side, kind in zip(sides, kinds, strict=True) if side and kind == "subwords")
    vocabulary = choices.with_letters(size.vocabulary, letters)
    tokeniser = _tokeniser(kinds, sides, vocabulary)
    tokens = tokens_of_pairs(pairs, source, target, tokeniser)
    preset, batch, possible = _within(budget, size.preset, tokeniser, tokens)
    known = _shipped_for(languages) if languages and pairs < _FEW else None
    return Advice(
        preset=preset,
        dropout=size.dropout,
        tokeniser=tokeniser,
        reasons=(
            *_of_size(pairs, words, size, preset, budget),
            *_of_few(pairs, known),
            *_of_tokens(kinds, sides, vocabulary, letters),
            *_of_training(tokens, preset, batch, possible),
        ),
        start_from=known,
        steps=choices.steps_for(tokens, batch),
        batch_tokens=batch,
        peak_rate=choices.peak_rate(preset, batch),
        tokens=tokens,
        possible_steps=None if possible is None else int(possible / batch),
    )


def suitable_vocabulary(count: int, own: int, sides: Iterable[SideStatistics] = ()) -> tuple[int, str] | None:
    """A smaller vocabulary than a preset's own for a corpus of few pairs, and the reason; None where its own suits."""
    largest = choices.SHORT[-2].below
    size = next(size for size in choices.SHORT if count < size.below)
    vocabulary = choices.with_letters(size.vocabulary, _letters(sides))
    if count >= largest or vocabulary >= own:
        return None
    reason = f"{count:,} pairs: a vocabulary of {vocabulary:,}, because the preset's {own:,} needs more text"
    return vocabulary, f"{reason}; --set tokeniser.vocabulary={own} restores the preset's"


def warnings(training: TrainingSettings) -> list[str]:
    """What is unlikely to be meant, as sentences."""
    steps, warmup = training.steps, training.warmup
    if training.schedule == "constant" or warmup <= steps:
        return []
    low = f"Warning: {steps:,} steps are fewer than the {warmup:,} warm-up steps, so the learning rate stays low."
    mend = f"Train for more steps, or shorten the warm-up: --set training.warmup={max(1, steps // 4)}"
    return [f"{low}\n  {mend}"]


def _within(
    budget: Budget | None, preset: str, tokeniser: TokeniserSettings, tokens: float
) -> tuple[str, int, float | None]:
    """The preset or a smaller one that the time is enough for, its batch, and on how many tokens it can be trained."""
    if budget is None:
        return preset, choices.batch_tokens(preset, tokens), None
    possible = budget.tokens(preset, tokeniser)
    while preset in choices.SMALLER and not choices.is_worthwhile(possible, tokens):
        preset = choices.SMALLER[preset]
        possible = budget.tokens(preset, tokeniser)
    return preset, choices.hurried_batch(choices.batch_tokens(preset, tokens), possible), possible


def _of_size(pairs: int, words: float, size: choices.Size, preset: str, budget: Budget | None) -> list[str]:
    kind = "long" if words >= choices.LONG_SENTENCES else "short"
    chosen = f"{pairs:,} pairs of {kind} texts ({words:.0f} words on average)"
    if preset != size.preset and budget:
        why = f"the size of the preset {preset}, because {budget.minutes:g} minutes are too short for {size.preset}"
    elif preset == "base":
        why = "the size of the paper's base model, which these are enough for"
    else:
        why = f"the size of the preset {preset}, because a larger model would memorise them or take too long"
    return [
        f"{chosen}: {why}",
        "pre-norm instead of the paper's post-norm, because it also learns where post-norm ignores the source",
        f"dropout {size.dropout}: the fewer the pairs, the higher the dropout",
    ]


def _of_few(pairs: int, known: str | None) -> list[str]:
    if pairs >= _FEW:
        return []
    adapt = (
        f"the model {known}, which knows these languages: --from {known}"
        if known
        else "an existing model: --from MODEL"
    )
    return [f"so few pairs are not enough to learn a language: find more, or adapt {adapt}"]


def _of_tokens(kinds: list[str], sides: tuple[SideStatistics | None, ...], vocabulary: int, letters: int) -> list[str]:
    if kinds == ["subwords", "subwords"]:
        room = choices.with_letters(0, letters)
        told = f"a vocabulary of {vocabulary:,} subwords, so that each occurs often enough to be learned"
        return [f"{told}; {room:,} of them are room for the {letters:,} characters of this text" if room else told]
    return [
        _KINDS["split" if side and side.split_already else kind].format(name)
        for kind, side, name in zip(kinds, sides, ("source", "target"), strict=True)
        if kind != "subwords"
    ]


def _of_training(tokens: float, preset: str, batch: int, possible: float | None) -> list[str]:
    steps, rate = choices.steps_for(tokens, batch), choices.peak_rate(preset, batch)
    reasons = [
        (
            f"a peak rate of {rate:g}: higher for small models, lower for small batches; it falls to zero over the "
            f"last {100 * choices.COOLDOWN:.0f}% of the steps"
        ),
        (
            f"at most {steps:,} steps of {batch:,} tokens, about {steps * batch / max(1.0, tokens):,.0f} epochs; "
            f"{choices.PATIENCE} validations without progress end the run earlier, at its best weights"
        ),
    ]
    if possible is not None and possible < steps * batch:
        reasons.append(f"the time is enough for about {possible / batch:,.0f} steps, so the schedule is planned for it")
    return reasons


def _shipped_for(languages: Languages) -> str | None:
    """The shipped model that translates these languages."""
    from regard.modelfolder import read_description

    for name in shipped.names():
        known = read_description(name).languages
        if languages.of(Languages(known.get("source", ""), known.get("target", ""))):
            return name
    return None


def _letters(sides: Iterable[SideStatistics]) -> int:
    """The number of characters of these sides that are frequent enough to be tokens."""
    alphabet = Counter[str]()
    for side in sides:
        alphabet.update(side.alphabet)
    return sum(count >= RARE for count in alphabet.values())


def _kind(side: SideStatistics | None) -> str:
    if side and (side.split_already or side.closed):
        return "words"
    return "characters" if side and side.single_words else "subwords"


def _tokeniser(
    kinds: list[str], sides: tuple[SideStatistics | None, SideStatistics | None], subwords: int
) -> TokeniserSettings:
    """One tokeniser for both sides if they are of the same kind, else one for each."""
    vocabularies = [_vocabulary(kind, side, subwords) for kind, side in zip(kinds, sides, strict=True)]
    join: dict[str, bool | int | float | str] = {"join": "@@"}
    options = [join if side and side.split_already else {} for side in sides]
    if kinds[0] == kinds[1] and options[0] == options[1]:
        together = subwords if kinds[0] == "subwords" else sum(vocabularies)
        return TokeniserSettings(kind=kinds[0], vocabulary=together, options=options[0])
    return TokeniserSettings(
        kind=kinds[0],
        vocabulary=vocabularies[0],
        options=options[0],
        target_kind=kinds[1],
        target_vocabulary=vocabularies[1],
        target_options=options[1],
    )


def _vocabulary(kind: str, side: SideStatistics | None, subwords: int) -> int:
    """How many ids a side needs, its special ones included."""
    special, spelt = 3, 256
    if side is None or kind == "subwords":
        return subwords
    return special + (spelt + len(side.alphabet) if kind == "characters" else len(side.strings))
