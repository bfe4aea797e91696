"""Strings of digits for models that are to learn something: which are held out, and what a model says."""

import random
from typing import Any

import torch

from small import padded

BEGIN, END, ZERO = 0, 1, 2
LONGEST = 5


def strings(count: int, draw: random.Random) -> list[list[int]]:
    return [[ZERO + draw.randrange(10) for _ in range(draw.randint(1, LONGEST))] for _ in range(count)]


def held_out(string: list[int]) -> bool:
    return sum(string) % 7 == 3 and len(string) > 2


def answers(model: Any, sources: list[list[int]]) -> list[list[int]]:
    """Greedy search, through the verbs."""
    rows = padded([(source, []) for source in sources]).streams["source"]
    state = model.start(model.encode(rows))
    tokens, said = torch.full((len(sources),), BEGIN), []
    for _ in range(LONGEST + 1):
        logits, state = model.step(tokens, state)
        tokens = logits.argmax(-1)
        said.append(tokens)
    told = torch.stack(said, dim=1).tolist()
    return [answer[: answer.index(END)] if END in answer else answer for answer in told]
