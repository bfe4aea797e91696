"""The means of a few steps, for reports: losses, speed and memory."""

from __future__ import annotations

import math
import resource
import time

import torch

from regard.training.optimisation import Update


class Window:
    """Sums over the steps since the last report."""

    def __init__(self, device: torch.device) -> None:
        self.began = time.monotonic()
        self.sums = torch.zeros(2, device=device, dtype=torch.float64)
        self.tokens = self.steps = 0

    def add(self, update: Update, tokens: int) -> None:
        """One more step."""
        if update.made:
            self.sums += torch.stack(update.losses).double()
            self.tokens += tokens
        self.steps += 1

    def seconds(self) -> float:
        """Since the window began."""
        return max(1e-9, time.monotonic() - self.began)

    def means(self) -> tuple[float, float]:
        """The smoothed and the plain loss for each token."""
        smoothed, likelihood = (self.sums / max(1, self.tokens)).tolist()
        return smoothed, likelihood


def perplexity(likelihood: float) -> float:
    """Of a mean -log probability; where it is beyond all measure, infinite."""
    return math.exp(likelihood) if likelihood < 700 else math.inf


def memory_used(device: torch.device) -> int:
    """The most memory that was in use so far, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
