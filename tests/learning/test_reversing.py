"""The tiny model learns to reverse strings of digits, and does it with strings that it never saw."""

import random
import time

import torch
from torch.nn import functional as F

from regard import models, presets
from regard.models.transformer import Transformer
from small import packed, padded

BEGIN, END, ZERO = 0, 1, 2
LONGEST = 5
STEPS = 500


def tiny() -> Transformer:
    vocabularies = {"source_vocabulary": 12, "target_vocabulary": 12}
    settings = models.read_settings(presets.load("tiny").model | vocabularies | {"dropout": 0.0}, where="tiny")
    model = models.build("transformer", settings)
    assert isinstance(model, Transformer)
    return model


def strings(count: int, random_: random.Random) -> list[list[int]]:
    return [[ZERO + random_.randrange(10) for _ in range(random_.randint(1, LONGEST))] for _ in range(count)]


def held_out(string: list[int]) -> bool:
    return sum(string) % 7 == 3 and len(string) > 2


def reversed_by(model: Transformer, sources: list[list[int]]) -> list[list[int]]:
    """Greedy search, through the verbs."""
    rows = padded([(source, []) for source in sources]).source
    state = model.start(model.encode(rows))
    tokens, said = torch.full((len(sources),), BEGIN), []
    for _ in range(LONGEST + 1):
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(-1)
        said.append(tokens)
    answers = torch.stack(said, dim=1).tolist()
    return [answer[: answer.index(END)] if END in answer else answer for answer in answers]


def test_the_tiny_model_learns_to_reverse_digits_within_a_minute() -> None:
    torch.manual_seed(1)
    random_ = random.Random(1)  # noqa: S311
    model, began = tiny().train(), time.process_time()
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(1, STEPS + 1):
        for group in optimiser.param_groups:
            group["lr"] = 2e-3 * min(step / 50, (STEPS - step) / STEPS)
        train = [string for string in strings(80, random_) if not held_out(string)]
        rows = [[(string, string[::-1]) for string in train[n : n + 4]] for n in range(0, len(train), 4)]
        batch = packed(rows)
        real = batch.target.segments != 0
        loss = F.cross_entropy(model(batch)[real], batch.labels[real])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    seconds = time.process_time() - began
    test = [string for string in strings(5000, random_) if held_out(string)]
    answers = reversed_by(model.eval(), test)
    correct = sum(answer == string[::-1] for answer, string in zip(answers, test, strict=True)) / len(test)
    assert len(test) > 400
    assert correct > 0.99
    assert seconds < 60  # of one core, so that busy neighbours do not count
