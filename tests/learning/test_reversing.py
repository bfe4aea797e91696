"""The tiny model learns to reverse strings of digits, and does it with strings that it never saw."""

import random
import time

import torch
from torch.nn import functional as F

from digits import answers, held_out, strings
from regard import models, presets
from regard.models.fast import fast_form
from regard.models.transformer import Transformer
from small import packed

STEPS = 500


def tiny() -> Transformer:
    vocabularies = {"source_vocabulary": 12, "target_vocabulary": 12}
    settings = models.read_settings(presets.load("tiny").model | vocabularies | {"dropout": 0.0}, where="tiny")
    model = models.build("transformer", settings)
    assert isinstance(model, Transformer)
    return model


def test_the_tiny_model_learns_to_reverse_digits_within_a_minute() -> None:
    torch.manual_seed(1)
    random_ = random.Random(1)  # noqa: S311
    model, began = fast_form(tiny(), "training").train(), time.process_time()
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, STEPS + 1):
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * min(step / 50, (STEPS - step) / STEPS)
        train = [string for string in strings(80, random_) if not held_out(string)]
        rows = [[(string, string[::-1]) for string in train[n : n + 4]] for n in range(0, len(train), 4)]
        batch = packed(rows)
        real = batch.streams["target"].segments != 0
        loss = F.cross_entropy(model(batch)[real], batch.labels[real])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = time.process_time() - began
    test = [string for string in strings(5000, random_) if held_out(string)]
    told = answers(model.eval(), test)
    correct = sum(answer == string[::-1] for answer, string in zip(told, test, strict=True)) / len(test)
    assert len(test) > 400
    assert correct > 0.99
    assert seconds < 60  # of one core, so that busy neighbours do not count
