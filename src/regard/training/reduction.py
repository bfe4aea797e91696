"""The sums of gradients over all processes, which begin while the backward pass still goes on.

Gradients are gathered in buckets, in about the order in which the backward pass finishes them: from the last weight to
the first. A bucket whose gradients are all there is summed in the background. All processes sum the same buckets in the
same order. The last bucket also has the losses and flags of the step, so a small model makes one reduction.

A model that is compiled as a whole hands over all gradients at the end of its backward pass; then nothing overlaps.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, distributed, nn

BUCKET = 25 * 2**20  # bytes; smaller ones begin earlier, larger ones waste less time on each


class Exchange(NamedTuple):
    """What a number of steps have exchanged with other processes."""

    steps: int = 0
    bytes: int = 0  # of the values that were summed
    waited: float = 0.0  # seconds between the end of a backward pass and the sums


class Bucket:
    """Some weights, and room for their gradients side by side."""

    def __init__(self, weights: Sequence[nn.Parameter]) -> None:
        self.flat = torch.zeros(
            sum(weight.numel() for weight in weights), dtype=weights[0].dtype, device=weights[0].device
        )
        parts = torch.split(self.flat, [weight.numel() for weight in weights])
        self.places = {weight: part.view_as(weight) for weight, part in zip(weights, parts, strict=True)}
        self.gathered: set[nn.Parameter] = set()
        self.begun = False  # the sum

    @property
    def is_full(self) -> bool:
        """Whether all gradients are there."""
        return len(self.gathered) == len(self.places)

    def gather(self, weight: nn.Parameter) -> None:
        """Takes the gradient of a weight, zeros where it has none."""
        if weight.grad is None:
            self.places[weight].zero_()
        else:
            self.places[weight].copy_(weight.grad)
        self.gathered.add(weight)


def buckets_of(weights: Sequence[nn.Parameter], size: int) -> list[Bucket]:
    """Buckets of about so many bytes, from the last weight to the first."""
    groups: list[list[nn.Parameter]] = [[]]
    room = size
    for weight in reversed(weights):
        needed = weight.numel() * weight.element_size()
        if groups[-1] and needed > room:
            groups.append([])
            room = size
        groups[-1].append(weight)
        room -= needed
    return [Bucket(group) for group in groups]


class Reduction:
    """Sums gradients over all processes, step by step: `begin`, backward passes, `finish`."""

    def __init__(self, weights: Sequence[nn.Parameter], *, size: int = BUCKET) -> None:
        self.buckets = buckets_of(weights, size)
        self._bucket = {weight: bucket for bucket in self.buckets for weight in bucket.places}
        self._works: list[Any] = []
        self._open = self._last = False
        self._told, self._events = Exchange(), list[tuple[torch.cuda.Event, torch.cuda.Event]]()
        for weight in weights:
            weight.register_post_accumulate_grad_hook(self._gather)  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """The backward passes of a step follow."""
        self._open, self._last, self._works = True, False, []
        for bucket in self.buckets:
            bucket.begun = False
            bucket.gathered.clear()

    def listen(self, *, last: bool) -> None:
        """A backward pass follows; after the `last` one of a step, gradients are complete.

        If memory ran out and the step is computed again in more parts, sums that have begun stay as they are: their
        gradients were complete.
        """
        self._last = last
        for bucket in self.buckets:
            if not bucket.begun:
                bucket.gathered.clear()

    def finish(self, more: Sequence[Tensor]) -> list[Tensor]:
        """Leaves the sums in the gradients; the sums of `more` tensors are returned."""
        *former, final = self.buckets
        for bucket in self.buckets:
            if not bucket.begun:
                for weight in bucket.places.keys() - bucket.gathered:
                    bucket.gather(weight)
        for bucket in former:
            self._sum(bucket)
        sizes = [tensor.numel() for tensor in more]
        flat = torch.cat([final.flat, *(tensor.flatten() for tensor in more)])
        self._works.append(distributed.all_reduce(flat, async_op=True))
        self._wait(flat)
        summed, *rest = torch.split(flat, [final.flat.numel(), *sizes])
        final.flat.copy_(summed)
        for weight, bucket in self._bucket.items():
            weight.grad = bucket.places[weight]
        self._open = False
        exchanged = sum(bucket.flat.nbytes for bucket in former) + flat.nbytes
        steps, so_far, waited = self._told
        self._told = Exchange(steps + 1, so_far + exchanged, waited)
        return [part.view_as(tensor) for part, tensor in zip(rest, more, strict=True)]

    def exchange(self) -> Exchange:
        """What was exchanged since this was asked the last time."""
        for begin, end in self._events:
            end.synchronize()
            self._told = self._told._replace(waited=self._told.waited + begin.elapsed_time(end) / 1000)
        told, self._told, self._events = self._told, Exchange(), []
        return told

    def _gather(self, weight: nn.Parameter) -> None:
        """Called by the backward pass when the gradient of a weight is there."""
        bucket = self._bucket[weight]
        if not (self._open and self._last) or bucket.begun:
            return
        bucket.gather(weight)
        for waiting in self.buckets[:-1]:  # in order, so that all processes sum the same
            if not waiting.begun and not waiting.is_full:
                return
            self._sum(waiting)

    def _sum(self, bucket: Bucket) -> None:
        if not bucket.begun:
            bucket.begun = True
            self._works.append(distributed.all_reduce(bucket.flat, async_op=True))

    def _wait(self, flat: Tensor) -> None:
        """Waits for the sums. A GPU waits for itself, and two events in its stream measure how long."""
        began = time.monotonic()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2 * flat.is_cuda)]  # type: ignore[no-untyped-call]
        if events:
            events[0].record()
        for work in self._works:
            work.wait()
        if events:
            events[1].record()
            self._events.append((events[0], events[1]))
        else:
            self._told = self._told._replace(waited=self._told.waited + time.monotonic() - began)
