"""A made-up model for tests of search: logits are an arbitrary function of the sentence and of what was said."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from random import Random

import torch
from torch import Tensor

from regard.search import Request, SearchSettings
from regard.search.length import limit
from regard.search.request import contains

BEGIN, END = 0, 1  # every other id is a word; BEGIN is one, too, once something was said


@dataclass(frozen=True)
class Told:
    """The state of the made-up model: what each row was told."""

    rows: list[tuple[int, tuple[int, ...]]]  # the sentence, and all tokens, each
    width: int

    def reorder(self, rows: Tensor) -> "Told":
        chosen = rows.tolist()
        assert len(chosen) == len(self.rows)
        assert all(row // self.width == r // self.width for r, row in enumerate(chosen))
        return Told([self.rows[row] for row in chosen], self.width)

    def keep(self, sentences: Tensor) -> "Told":
        return Told([self.rows[n * self.width + w] for n in sentences.tolist() for w in range(self.width)], self.width)

    def put(self, places: Tensor, newcomers: "Told") -> "Told":
        rows = list(self.rows)
        for n, place in enumerate(places.tolist()):
            for w in range(self.width):
                rows[place * self.width + w] = newcomers.rows[n * self.width + w]
        return Told(rows, self.width)

    def append(self, newcomers: "Told") -> "Told":
        return Told([*self.rows, *newcomers.rows], self.width)


class MadeUp:
    """Logits in float64; with `levels`, whole numbers below that, so that there are ties."""

    def __init__(self, *, seed: int, vocabulary: int, spread: float = 2.0, levels: int | None = None) -> None:
        self.seed, self.vocabulary, self.spread, self.levels = seed, vocabulary, spread, levels
        self.steps = self.rows = 0

    def logits(self, sentence: int, told: tuple[int, ...]) -> list[float]:
        random = Random(f"{self.seed} {sentence} {told}")  # noqa: S311
        if self.levels:
            return [float(random.randrange(self.levels)) for _ in range(self.vocabulary)]
        return [random.gauss(0, self.spread) for _ in range(self.vocabulary)]

    def start(self, sentences: list[int], *, width: int) -> Told:
        return Told([(sentence, ()) for sentence in sentences for _ in range(width)], width)

    def step(self, tokens: Tensor, state: Told) -> tuple[Tensor, Told]:
        rows = [(n, (*told, token)) for (n, told), token in zip(state.rows, tokens.tolist(), strict=True)]
        self.steps, self.rows = self.steps + 1, self.rows + len(rows)
        return torch.tensor([self.logits(*row) for row in rows], dtype=torch.float64), Told(rows, state.width)

    def logprobs(self, sentence: int, ids: tuple[int, ...]) -> list[float]:
        """Of each word and of the end."""
        told, found = (BEGIN,), []
        for token in (*ids, END):
            found.append(torch.tensor(self.logits(sentence, told), dtype=torch.float64).log_softmax(-1)[token].item())
            told = (*told, token)
        return found


def every(vocabulary: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Every sentence."""
    for length in range(longest + 1):
        yield from product([token for token in range(vocabulary) if token != END], repeat=length)


def brute_force(
    model: MadeUp, sentence: int, request: Request, settings: SearchSettings
) -> list[tuple[float, tuple[int, ...]]]:
    """Every sentence that the request allows with its score, the best first."""
    found = []
    for ids in every(model.vocabulary, limit(request, settings)):
        if (
            len(ids) >= settings.min_length
            and ids[: len(request.prefix)] == request.prefix
            and all(contains(ids, phrase) for phrase in request.required)
            and not any(contains(ids, phrase) for phrase in request.banned)
        ):
            penalty = ((5 + len(ids) + 1) / 6) ** settings.length_penalty
            found.append((sum(model.logprobs(sentence, ids)) / penalty, ids))
    return sorted(found, key=lambda pair: (-pair[0], pair[1]))
