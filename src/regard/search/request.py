"""What is asked of a search for one sentence, and what it answers. All ids are the target vocabulary's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import SettingsError

Phrase = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One sentence: how long its source is, and what its translation must and must not say."""

    source_length: int
    number: int = 0  # its own number, which its samples are drawn by
    prefix: Phrase = ()  # comes first
    banned: tuple[Phrase, ...] = ()  # none of these appears
    required: tuple[Phrase, ...] = ()  # each of these appears

    @property
    def is_plain(self) -> bool:
        """Whether anything may be said."""
        return not (self.prefix or self.banned or self.required)

    def __post_init__(self) -> None:
        if not all((*self.banned, *self.required)):
            raise SettingsError("A banned or required phrase is empty.\n  Leave it out, or give its words.")
        for banned in self.banned:
            if contains(self.prefix, banned):
                raise SettingsError(
                    f"The prefix {self.prefix} contains the banned phrase {banned}.\n  Remove one of them."
                )
            for required in self.required:
                if contains(required, banned):
                    raise SettingsError(
                        f"The required phrase {required} contains the banned phrase {banned}.\n  Remove one of them."
                    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Hypothesis:
    """One answer."""

    ids: Phrase  # without begin and end
    score: float  # total / length penalty
    total: float  # the sum of the log-probabilities
    logprobs: tuple[float, ...]  # the model's, of each word and of the end
    length_limited: bool  # it is as long as was allowed, so perhaps cut off
    repetition_stopped: bool  # the guard took a word away that the model wanted
    constraints_met: bool  # the prefix, the phrases and the minimum length are as asked


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The answers for one sentence: at least one, n_best unless constraints leave fewer, the best first.

    Samples stand in the order in which they were drawn.
    """

    request: Request
    hypotheses: tuple[Hypothesis, ...]


def contains(words: Sequence[int], phrase: Phrase) -> bool:
    """Whether the phrase stands somewhere in the words."""
    return any(tuple(words[i : i + len(phrase)]) == phrase for i in range(len(words) - len(phrase) + 1))
