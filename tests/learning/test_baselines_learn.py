"""Every architecture learns to copy strings of digits that it never saw; those that can, to reverse them."""

import random
import time
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from digits import answers, held_out, strings
from regard import models
from small import padded

BATCH = 64

RECURRENT = {"architecture": "recurrent", "d_model": 48, "encoder_layers": 1, "decoder_layers": 1}
GRU = RECURRENT | {"cell": "gru", "attention": "additive", "feeding": False}
CONVS2S = {"architecture": "convs2s", "d_model": 32, "width": 32, "encoder_layers": 2, "decoder_layers": 2}
BYTENET = {"architecture": "bytenet", "d_model": 48, "inner": 24, "encoder_sets": 1, "decoder_sets": 1}
NEURAL_GPU = {"architecture": "neural_gpu", "d_model": 32, "lines": 1, "encoder_layers": 1, "decoder_layers": 1}

# what, model, rate, steps
TASKS: dict[str, tuple[str, dict[str, Any], float, int]] = {
    "rnn copies": ("copy", RECURRENT | {"cell": "rnn"}, 5e-3, 220),
    "lstm reverses": ("reverse", RECURRENT | {"attention": "none", "feeding": False, "d_model": 96}, 1e-2, 480),
    "lstm-attention reverses": ("reverse", RECURRENT, 1e-2, 220),
    "gru-additive reverses": ("reverse", GRU, 1e-2, 220),
    "convs2s reverses": ("reverse", CONVS2S, 5e-3, 220),
    "bytenet copies": ("copy", BYTENET | {"dilations": [1, 2]}, 5e-3, 150),
    "bytenet reverses": ("reverse", BYTENET | {"dilations": [1, 2, 4]}, 5e-3, 450),
    "neural-gpu copies": ("copy", NEURAL_GPU | {"memory_offset": 1}, 5e-3, 150),
}


def learned(table: dict[str, Any], *, reverse: bool, rate: float, steps: int) -> float:
    """The share of strings that come out right after training."""
    torch.manual_seed(1)
    draw = random.Random(1)  # noqa: S311
    vocabularies = {"source_vocabulary": 12, "target_vocabulary": 12, "dropout": 0.0}
    settings = models.read_settings(table | vocabularies, where="test")
    model: Any = models.build(table["architecture"], settings)
    optimiser = torch.optim.Adam(model.train().parameters(), betas=(0.9, 0.98))
    order = -1 if reverse else 1
    for step in range(1, steps + 1):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(step / 20, (steps + 1 - step) / steps)
        batch = padded([(string, string[::order]) for string in strings(BATCH, draw) if not held_out(string)])
        real = batch.streams["target"].segments != 0
        loss = F.cross_entropy(model(batch)[real], batch.labels[real])
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    test = [string for string in strings(2000, draw) if held_out(string)]
    assert len(test) > 150
    told = answers(model.eval(), test)
    return sum(answer == string[::order] for answer, string in zip(told, test, strict=True)) / len(test)


@pytest.mark.parametrize("name", TASKS)
def test_it_learns_what_strings_have_in_common(name: str) -> None:
    task, table, rate, steps = TASKS[name]
    began = time.process_time()
    assert learned(table, reverse=task == "reverse", rate=rate, steps=steps) > 0.9
    assert time.process_time() - began < 20  # of one core
