"""What to train on a corpus of a given size: rules of thumb, each with its reason. Measuring is always better."""

from __future__ import annotations

from typing import Any, NamedTuple

from regard import shipped
from regard.text.inspection.statistics import SideStatistics
from regard.text.pairs import Languages
from regard.tokens.tokeniser_settings import TokeniserSettings
from regard.training.training_settings import TrainingSettings


class _Size(NamedTuple):
    """What serves corpora of fewer pairs than `below`."""

    below: float
    preset: str
    vocabulary: int
    dropout: float


_SIZES = (
    _Size(5_000, "tiny", 2_000, 0.3),
    _Size(20_000, "tiny", 4_000, 0.3),
    _Size(75_000, "tiny", 8_000, 0.3),
    _Size(300_000, "small", 8_000, 0.2),
    _Size(1_000_000, "small", 16_000, 0.2),
    _Size(float("inf"), "base", 32_000, 0.1),
)
_FEW = 5_000
_KINDS = {
    "characters": "the {} is single words, so each character becomes a token",
    "words": "the {} has few distinct words, so each word becomes a token",
    "split": "the {} is already split into subwords (@@), so each of these becomes a token",
}


class Advice(NamedTuple):
    """What to start with, and why."""

    preset: str
    dropout: float
    tokeniser: TokeniserSettings
    reasons: tuple[str, ...]
    start_from: str | None = None  # a shipped model that is better adapted than a new one trained

    @property
    def vocabulary(self) -> int:
        """The largest number of ids of the tokeniser, or of the larger one."""
        return max(self.tokeniser.vocabulary, self.tokeniser.target_vocabulary or 0)

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
) -> Advice:
    """What to train on so many pairs whose sides are like this; sentences, where nothing is known of them."""
    size = next(size for size in _SIZES if pairs < size.below)
    reasons = [
        f"{pairs:,} pairs: the preset {size.preset}, because a larger model would memorise them"
        if size.preset != "base"
        else f"{pairs:,} pairs are enough for the paper's base model; try big if your machine is fast enough",
        f"dropout {size.dropout}: the fewer the pairs, the higher the dropout",
    ]
    known = _shipped_for(languages) if languages and pairs < _FEW else None
    if pairs < _FEW:
        adapt = (
            f"the model {known}, which knows these languages: --from {known}"
            if known
            else "an existing model: --from MODEL"
        )
        reasons.append(f"so few pairs are not enough to learn a language: find more, or adapt {adapt}")
    kinds = [_kind(side) for side in (source, target)]
    if kinds == ["subwords", "subwords"]:
        reasons.append(f"a vocabulary of {size.vocabulary:,} subwords, so that each occurs often enough to be learned")
    for kind, side, name in zip(kinds, (source, target), ("source", "target"), strict=True):
        if kind != "subwords":
            reasons.append(_KINDS["split" if side and side.split_already else kind].format(name))
    tokeniser = _tokeniser(kinds, (source, target), size.vocabulary)
    return Advice(size.preset, size.dropout, tokeniser, tuple(reasons), known)


def suitable_vocabulary(count: int, own: int) -> tuple[int, str] | None:
    """A smaller vocabulary than a preset's own for a corpus of few pairs, and the reason; None where its own suits."""
    largest = _SIZES[-2].below
    size = next(size for size in _SIZES if count < size.below)
    if count >= largest or size.vocabulary >= own:
        return None
    reason = f"{count:,} pairs: a vocabulary of {size.vocabulary:,}, because the preset's {own:,} needs more text"
    return size.vocabulary, f"{reason}; --set tokeniser.vocabulary={own} restores the preset's"


def warnings(training: TrainingSettings) -> list[str]:
    """What is unlikely to be meant, as sentences."""
    steps, warmup = training.steps, training.warmup
    if training.schedule == "constant" or warmup <= steps:
        return []
    low = f"Warning: {steps:,} steps are fewer than the {warmup:,} warm-up steps, so the learning rate stays low."
    mend = f"Train for more steps, or shorten the warm-up: --set training.warmup={max(1, steps // 4)}"
    return [f"{low}\n  {mend}"]


def _shipped_for(languages: Languages) -> str | None:
    """The shipped model that translates these languages."""
    from regard.modelfolder import read_description

    for name in shipped.names():
        known = read_description(name).languages
        if languages.of(Languages(known.get("source", ""), known.get("target", ""))):
            return name
    return None


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
