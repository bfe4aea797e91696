"""Made-up references, and outputs of made-up systems: references with some of their words damaged."""

import random

WORDS = [a + b for a in ("ba", "ku", "ti", "lo", "me", "sa") for b in ("n", "r", "lt", "sch", "de", "go", "ki", "pa")]


def sentences(number: int, *, seed: int = 0) -> list[str]:
    """Sentences of 3 to 20 words, some of which are far more frequent than others."""
    chance = random.Random(seed)  # noqa: S311
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [
        " ".join(chance.choices(WORDS, weights, k=chance.randint(3, 20))).capitalize() + chance.choice(".!?")
        for _ in range(number)
    ]


def damaged(references: list[str], *, rate: float, seed: int) -> list[str]:
    """Each word is dropped or replaced at this rate; the same rate with another seed is as good a system."""
    chance = random.Random(seed)  # noqa: S311

    def line(reference: str) -> str:
        words = []
        for word in reference.split():
            fate = chance.random()
            if fate >= rate:
                words.append(word)
            elif fate >= rate / 2:
                words.append(chance.choice(WORDS))
        return " ".join(words)

    return [line(reference) for reference in references]
