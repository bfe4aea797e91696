"""Beam search in two kernels against the plain way: the same hypotheses, also where candidates are equal."""

from typing import Any

import pytest
import torch
from torch import Tensor

from kernel_inputs import DEVICE, HALF, needs_a_place, needs_triton
from regard.kernels import trusted
from regard.search import Request, SearchSettings, beam, build
from regard.search.search import Search

END, PLACES, ROOM = 1, 2, 11


def logits_of(kind: str, vocabulary: int, rows: int, step: int) -> Tensor:
    """What a made-up model gives at a step."""
    draw = torch.Generator().manual_seed(step)
    logits = 2 * torch.randn(rows, vocabulary, generator=draw)
    logits[:, END] += 1.5
    if kind == "ties":
        logits = (logits / 2).round()
    if kind == "repeating":
        logits[:, 5 + step % 2] += 20.0
    if kind == "forbidden":
        logits[torch.rand(rows, vocabulary, generator=draw) < 0.9] = -torch.inf
        logits[rows // 2 :] = -torch.inf
    if kind == "damaged" and step == 4:
        logits[: rows // 2] = torch.nan
    return logits.to(DEVICE)


def searched(
    settings: SearchSettings, kind: str, vocabulary: int, dtype: torch.dtype
) -> tuple[list[Any], list[list[Tensor]]]:
    """The results of some requests that enter a search one after the other, and what is alive and over at each step."""
    search: Search = build(settings, begin=0, end=END, device=DEVICE)
    search.reserve(PLACES, room=ROOM)
    waiting = [Request(source_length=length) for length in (6, 2, 4)]
    results, states = [], []
    for step in range(40):
        free = search.free
        while waiting and free:
            search.admit([waiting.pop(0)], places=[free.pop(0)])
        if not search.is_busy:
            break
        rows = search.move(logits_of(kind, vocabulary, PLACES * search.width, step).to(dtype))
        assert rows is not None
        there = search.live.exist
        states.append(
            [there, search.over.clone(), search.tokens.view(there.shape)[there], rows.view(there.shape)[there]]
        )
        for found in (search.live, search.finished):
            real = found.exist
            states[-1] += [field[real] for field in found]
        try:
            results += search.conclude().items()
        except Exception as error:  # noqa: BLE001  damaged logits
            results.append((-1, str(error)))
    return results, states


CASES: list[dict[str, Any]] = [
    {},
    {"beam_size": 3, "n_best": 3},
    {"beam_size": 2, "n_best": 2, "early_stop": False},
    {"beam_size": 5, "length_penalty": 0.0, "min_length": 3},
    {"beam_size": 8, "n_best": 4, "repetition_copies": 2, "repetition_cycle": 3},
    {"repetition_copies": 2, "repetition_cycle": 2, "min_length": 2, "length_penalty": 1.3},
    {"repetition_cycle": 0},
]
KINDS = ["ties", "repeating", "forbidden", "damaged"]


@needs_triton
@needs_a_place
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # Triton's interpreter warns of infinities
@pytest.mark.parametrize(
    ("number", "kind"), [(number, KINDS[(number + more) % 4]) for number in range(len(CASES)) for more in (0, 1)]
)
def test_a_step_by_kernels_is_that_of_the_plain_way(number: int, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = CASES[number]
    vocabulary, dtype = ((40, torch.float32), (300, HALF))[number % 2]
    settings = SearchSettings(**({"max_length_offset": 4} | choices))
    found = []
    for kernel in (None, trusted("beam_step")):
        monkeypatch.setattr(beam, "_kernel", lambda _, kernel=kernel: kernel)
        found.append(searched(settings, kind, vocabulary, dtype))
    (theirs, their_states), (ours, our_states) = found
    assert len(our_states) == len(their_states) > 5
    for our_state, their_state in zip(our_states, their_states, strict=True):
        for our, their in zip(our_state, their_state, strict=True):
            torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-5, equal_nan=True)
    assert [place for place, _ in ours] == [place for place, _ in theirs]
    for (_, our), (_, their) in zip(ours, theirs, strict=True):
        if isinstance(our, str):
            assert our == their
            continue
        for one, other in zip(our.hypotheses, their.hypotheses, strict=True):
            assert (one.ids, one.length_limited, one.repetition_stopped) == (
                other.ids, other.length_limited, other.repetition_stopped
            )  # fmt: skip
