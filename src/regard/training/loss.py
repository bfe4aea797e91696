"""The loss of section 5.4: cross-entropy against labels smoothed by epsilon.

With the label's share 1 - epsilon and the rest spread evenly over the vocabulary, the cross-entropy of logits z is
logsumexp(z) - (1 - epsilon) z[label] - epsilon mean(z): three reductions, and no array of log-probabilities. On a GPU a
kernel of our own does them in one pass; where a model learns in bf16, together with the product that gives the logits,
in whose place their gradient is written at once.

Beyond the paper, for small corpora: `consistency` lets every row through twice, with other dropout, and adds the
divergence of the two predictions (R-Drop: Liang et al., 2021).

Shapes: B rows, T positions, V vocabulary, P positions that have a label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.batches.rows import Batch, Rows
from regard.kernels import works
from regard.models.fast.blocks import ROUND
from regard.models.protocols import Learns, no_single_matrix

_IN_CACHE = 1 << 20  # numbers


class Losses(NamedTuple):
    """Sums over all labels of a batch."""

    smoothed: Tensor  # what is minimised
    likelihood: Tensor  # -log of the labels' probabilities: what perplexity is made of


def smoothed_cross_entropy(logits: Tensor, labels: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """[..., V] and [...] -> the smoothed cross-entropy and the plain one, [...] each, in float32 or better."""
    logits = logits if logits.dtype == torch.float64 else logits.float()
    normaliser = logits.logsumexp(dim=-1)
    said = logits.gather(-1, labels[..., None])[..., 0]
    likelihood = normaliser - said
    return likelihood + epsilon * (said - logits.mean(dim=-1)), likelihood.detach()


class LeanCrossEntropy(torch.autograd.Function):
    """The same sums for [P, V] on a CPU, where memory is slow: logits are overwritten by their gradient at once."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
        """[P, V] and [P] -> the sums of the smoothed and of the plain cross-entropy."""
        losses = _to_gradients(logits, labels, epsilon)
        ctx.save_for_backward(logits)
        return losses

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        """The plain cross-entropy is for people, and has no gradient."""
        (gradient,) = ctx.saved_tensors
        return gradient.mul_(gradients[0].item()), None, None


class ProjectedCrossEntropy(torch.autograd.Function):
    """The same on a CPU, with the product that gives the logits. Their gradients are used at once, so that a step's
    logits can take the memory of the last step's.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, labels: Tensor, epsilon: float, room: Room
    ) -> tuple[Tensor, Tensor]:
        """[P or more, D], [V, D] and [P] -> the sums of the smoothed and of the plain cross-entropy."""
        logits = torch.mm(states, weight.t(), out=room.take(len(states), len(weight), states.dtype))
        losses = _to_gradients(logits[: len(labels)], labels, epsilon)
        logits[len(labels) :] = 0  # padding has no loss
        ctx.save_for_backward(logits @ weight, logits.t() @ states)
        return losses

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        """What is asked for a sum of losses is one number."""
        for_states, for_weight = ctx.saved_tensors
        share = gradients[0].item()
        return for_states.mul_(share), for_weight.mul_(share), None, None, None


class Room:
    """Memory for logits that is kept from step to step: allocating it page by page takes time on a CPU."""

    def __init__(self) -> None:
        self._kept = torch.empty(0)

    def take(self, positions: int, vocabulary: int, dtype: torch.dtype) -> Tensor:
        """[P, V], to be written to."""
        if self._kept.dtype != dtype or len(self._kept) < positions * vocabulary:
            self._kept = torch.empty(positions * vocabulary, dtype=dtype)
        return self._kept[: positions * vocabulary].view(positions, vocabulary)


def _to_gradients(logits: Tensor, labels: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Overwrites [P, V] logits by the gradients of their losses; the sums of the smoothed and the plain ones.

    So many rows at a time as stay in the processor's cache; logits in bf16 are computed with in float32 there.
    """
    rows = max(1, _IN_CACHE // logits.size(-1))
    sums = torch.zeros(2, dtype=torch.float32 if logits.dtype == torch.bfloat16 else logits.dtype)
    for part in (slice(first, first + rows) for first in range(0, len(logits), rows)):
        sums += _rows_to_gradients(logits[part], labels[part], epsilon)
    smoothed, likelihood = sums
    return smoothed, likelihood


def _rows_to_gradients(logits: Tensor, labels: Tensor, epsilon: float) -> Tensor:
    """The same for rows that fit in the cache; [2] both sums."""
    wide = logits.float() if logits.dtype == torch.bfloat16 else logits
    vocabulary, labels = wide.size(-1), labels[:, None]
    said, highest, means = wide.gather(-1, labels).sum(), wide.amax(-1), wide.sum() / vocabulary
    probabilities = torch.softmax(wide, -1, out=wide)
    likelihood = (highest - probabilities.amax(-1).log()).sum() - said
    wide.sub_(epsilon / vocabulary).scatter_add_(1, labels, wide.new_full(labels.shape, epsilon - 1))
    if wide is not logits:
        logits.copy_(wide)
    return torch.stack([likelihood + epsilon * (said - means), likelihood])


class LossOf(nn.Module):
    """A model and its loss as one module: what is compiled, and what processes share."""

    def __init__(
        self,
        model: Learns,
        *,
        label_smoothing: float,
        consistency: float = 0.0,
        output_weight: Callable[[Any], Tensor | None] = no_single_matrix,
    ) -> None:
        super().__init__()
        self.model = model
        self.label_smoothing, self.consistency, self.output_weight = label_smoothing, consistency, output_weight
        self._room = Room()

    def forward(self, batch: Batch) -> Losses:
        """The sums over all labels of the batch. Padding has none; where shapes may vary, it is left out early."""
        if self.consistency and self.training:
            return self._twice(batch)
        states, labels, real = self.model.states(batch), batch.labels, batch.labelled
        flat, weight = (labels.flatten(), real.flatten(), self.label_smoothing), self.output_weight(self.model)
        if weight is not None and _learns_in_bf16(states, weight) and works("projected_loss"):
            smoothed, likelihood, *_ = torch.ops.regard.projected_cross_entropy(states.flatten(0, 1), weight, *flat)
            return Losses(smoothed, likelihood)
        if states.device.type == "cpu":
            return Losses(*self._lean(states, weight, labels, real))
        logits = self.model.logits(states)
        if logits.is_cuda and logits.dtype != torch.float64 and works("loss"):
            smoothed, likelihood, _ = torch.ops.regard.smoothed_cross_entropy(logits.flatten(0, 1), *flat)
            return Losses(smoothed.sum(), likelihood.detach().sum())
        smoothed, likelihood = smoothed_cross_entropy(logits, labels, self.label_smoothing)
        return Losses((smoothed * real).sum(), (likelihood * real).sum())

    def _lean(self, states: Tensor, weight: Tensor | None, labels: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """On a CPU. Without gradients, or if the model computes its own logits, the logits come first."""
        sums: tuple[Tensor, Tensor]
        if weight is None or torch.is_autocast_enabled("cpu") or not torch.is_grad_enabled():
            sums = LeanCrossEntropy.apply(self.model.logits(states[real]), labels[real], self.label_smoothing)  # type: ignore[no-untyped-call]
            return sums
        places = real.flatten().nonzero()[:, 0]
        labels = labels.flatten()[places]
        states = states.flatten(0, 1)[torch.cat([places, places.new_zeros(-len(places) % ROUND)])]
        sums = ProjectedCrossEntropy.apply(states, weight, labels, self.label_smoothing, self._room)  # type: ignore[no-untyped-call]
        return sums

    def _twice(self, batch: Batch) -> Losses:
        """Every row twice, with other dropout: the means of both losses, and how far the two predictions are apart."""
        streams = {name: _doubled(rows) for name, rows in batch.streams.items()}
        labels, labelled = (torch.cat([tensor] * 2) for tensor in (batch.labels, batch.labelled))
        doubled = Batch(streams, labels, labelled, 0)
        real = batch.labelled
        logits = self.model.logits(self.model.states(doubled)).float()
        smoothed, likelihood = smoothed_cross_entropy(logits, doubled.labels, self.label_smoothing)
        one, other = logits.log_softmax(-1).chunk(2)
        apart = ((one.exp() - other.exp()) * (one - other)).sum(-1) / 2  # the mean of both divergences
        losses, plain = (part.view(2, *batch.labels.shape).mean(0) for part in (smoothed, likelihood))
        return Losses(((losses + self.consistency * apart) * real).sum(), (plain * real).sum())


def _learns_in_bf16(states: Tensor, weight: Tensor) -> bool:
    """Whether a GPU learns, such that logits need not be kept. Unscaled gradients may leave the range of fp16, and
    products with other vocabularies than multiples of eight are slow, unless who compiles them knows of them.
    """
    halves = states.dtype == weight.dtype == torch.bfloat16
    return torch.is_grad_enabled() and states.is_cuda and halves and weight.size(0) % 8 == 0


def _doubled(rows: Rows) -> Rows:
    return Rows(*(torch.cat([tensor, tensor]) for tensor in rows))
