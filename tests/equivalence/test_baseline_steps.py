"""`step`, one token at a time, against `forward`, for every architecture that the Transformer replaced."""

from random import Random
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines import MODELS, model
from regard.search import SearchSettings, build
from regard.translation.engines.engine import plain_requests
from regard.translation.engines.torch import TorchEngine, _Order
from small import BEGIN, END, padded, pairs

LENGTH = 12


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8)
@given(st.lists(pairs, min_size=1, max_size=4))
def test_step_by_step_is_what_forward_gives(name: str, batch: list[Any]) -> None:
    small, rows = model(name, dtype=torch.float32), padded(batch)
    with torch.no_grad():
        expected = small(rows)
    state = small.start(small.encode(rows.streams["source"]))
    for t in range(rows.streams["target"].tokens.size(1)):
        logits, state = small.step(rows.streams["target"].tokens[:, t], state)
        real = rows.streams["target"].segments[:, t] != 0
        torch.testing.assert_close(logits[real], expected[real, t], rtol=0, atol=2e-5)


class Decoding:
    """Sentences that are being decoded, and by hand what every row of them was told."""

    def __init__(self, small: Any, sources: list[list[int]], *, width: int, random: Random) -> None:
        self.small, self.width, self.random = small, width, random
        rows = padded([(source, []) for source in sources]).streams["source"]
        self.state = small.start(small.encode(rows), width=width)
        self.sources = [source for source in sources for _ in range(width)]
        self.told: list[list[int]] = [[] for _ in self.sources]
        self.tokens = [BEGIN] * len(self.sources)

    def step(self) -> None:
        """One word more, the logits compared with those of `forward` over each row's own history."""
        logits, self.state = self.small.step(torch.tensor(self.tokens), self.state)
        batch = padded(list(zip(self.sources, self.told, strict=True)))
        with torch.no_grad():
            whole = self.small(batch)
        last = torch.tensor([len(told) for told in self.told])
        expected = whole[torch.arange(len(last)), last]
        torch.testing.assert_close(logits, expected, rtol=0, atol=5e-5)
        self.tokens = [self.random.randrange(2, 20) for _ in self.sources]
        self.told = [[*told, token] for told, token in zip(self.told, self.tokens, strict=True)]

    def reorder(self) -> None:
        order = [r - r % self.width + self.random.randrange(self.width) for r in range(len(self.sources))]
        self.state = self.state.reorder(torch.tensor(order))
        self.told = [[*self.told[r][:-1], token] for r, token in zip(order, self.tokens, strict=True)]

    def keep(self, sentences: list[int]) -> None:
        self.state = self.state.keep(torch.tensor(sentences))
        rows = [n * self.width + w for n in sentences for w in range(self.width)]
        self.sources, self.told = [self.sources[r] for r in rows], [self.told[r] for r in rows]
        self.tokens = [self.tokens[r] for r in rows]

    def put(self, places: list[int], other: "Decoding") -> None:
        self.state = self.state.put(torch.tensor(places), other.state)
        for n, place in enumerate(places):
            for w in range(self.width):
                row, new = place * self.width + w, n * self.width + w
                self.sources[row], self.told[row] = other.sources[new], other.told[new]
                self.tokens[row] = other.tokens[new]


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_rows_that_were_reordered_dropped_and_replaced_go_on_as_if_alone(name: str, width: int) -> None:
    random = Random(f"{name} {width}")  # noqa: S311
    small = model(name, dtype=torch.float32)

    def sentences(*lengths: int) -> list[list[int]]:
        return [[random.randrange(2, 20) for _ in range(length)] for length in lengths]

    decoding = Decoding(small, sentences(4, 1, 6), width=width, random=random)
    for t in range(LENGTH):
        decoding.step()
        if t % 3 == 1:
            decoding.reorder()
        if t == 3:
            decoding.put([1, 2], Decoding(small, sentences(9, 2), width=width, random=random))  # one is longer than all
        if t == 5:
            decoding.keep([2, 0])
        if t == 8:
            decoding.put([1], Decoding(small, sentences(1), width=width, random=random))
    assert [len(told) for told in decoding.told] == [8] * width + [3] * width


class Tokenisers:
    """As much of tokenisers as an engine needs."""

    class Side:
        begin, end = BEGIN, END

    source = target = Side()


@pytest.mark.parametrize("name", MODELS)
def test_searching_in_places_that_are_filled_again_finds_what_is_found_alone(name: str) -> None:
    """As a GPU does it: sources padded to one length, places that are free at first and are filled in groups."""
    random = Random(name)  # noqa: S311
    engine = TorchEngine(
        model(name, dtype=torch.float32),
        Tokenisers(),  # type: ignore[arg-type]
        device=torch.device("cpu"),
        gpu_rows=16,
    )
    sentences = [[random.randrange(2, 20) for _ in range(random.randint(1, 6))] for _ in range(9)]
    settings = SearchSettings(beam_size=2, max_length=7)
    search = build(settings, begin=BEGIN, end=END)
    order = _Order(sentences, END, plain_requests(sentences), lambda _, result: result)
    together = dict(engine._on_a_gpu(order, search))
    for number, sentence in enumerate(sentences):
        (alone,) = engine.search([sentence], settings)
        assert together[number].hypotheses[0].ids == alone.hypotheses[0].ids
        assert together[number].hypotheses[0].score == pytest.approx(alone.hypotheses[0].score, abs=1e-4)
