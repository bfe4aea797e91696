"""One step: a batch's gradients, in as many parts as memory asks for, and Adam's update (section 5.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from regard import kernels, models
from regard.batches.rows import Batch, Rows
from regard.errors import TrainingError
from regard.models.fast import fast_form
from regard.models.protocols import Architecture, Model
from regard.training.captured_steps import Captures, NotCapturedError
from regard.training.distribution import Processes
from regard.training.loss import Losses, LossOf
from regard.training.machine.precision import Precision, worth_compiling
from regard.training.reduction import Exchange, Reduction
from regard.training.training_settings import TrainingSettings

_FIRST_SCALE = 1024.0  # of fp16's loss: low enough not to lose the first steps, and it grows

_GROW_AFTER = 500  # good steps; then a batch that was divided for lack of memory is computed in fewer parts again
_COMPILING = {"comprehensive_padding": False}  # padded logits would be copied for the kernel that reads them

Say = Callable[[str], None]


class Update:
    """What a step did. On a GPU the step may not be finished yet; reading the norm or the flags waits for it."""

    def __init__(self, losses: Losses, norm: Tensor, flags: Tensor) -> None:
        self.losses = losses  # sums over the labels of all processes
        self._numbers = torch.cat([norm.view(1), flags.to(norm.device)]).to("cpu", non_blocking=True)
        self._there = torch.cuda.current_stream().record_event() if norm.is_cuda else None

    @cached_property
    def _values(self) -> list[float]:
        if self._there:
            self._there.synchronize()
        values: list[float] = self._numbers.tolist()
        return values

    @property
    def norm(self) -> float:
        """The norm of the gradient; where it is not finite, no update was made."""
        return self._values[0]

    @property
    def flags(self) -> list[bool]:
        """For each flag given to the step, whether it was up in any process."""
        return [value > 0 for value in self._values[1:]]

    @property
    def made(self) -> bool:
        """Whether the weights were changed."""
        return math.isfinite(self.norm)


def work(model: Model[Any, Any], settings: TrainingSettings) -> float:
    """About how many operations the whole training takes: six for each weight and token."""
    weights = sum(weight.numel() for weight in model.parameters())
    return 6.0 * weights * settings.batch_tokens * settings.steps


class Optimisation:
    """A model, its loss and Adam."""

    def __init__(
        self,
        model: Model[Any, Any],
        settings: TrainingSettings,
        *,
        device: torch.device,
        precision: Precision,
        processes: Processes,
        say: Say,
        kind: Architecture,
    ) -> None:
        self.settings, self.say = settings, say
        self.device, self.precision, self.processes = device, precision, processes
        self.parts = settings.parts
        self._good, self._enough = 0, _GROW_AFTER  # steps since memory was short, and after how many to try again
        self.weights: dict[str, nn.Parameter] = dict(model.named_parameters())
        self.stored = models.tensors(model)  # with buffers
        self.scaler = torch.amp.GradScaler(device.type, init_scale=_FIRST_SCALE, enabled=precision.name == "fp16")
        on_a_gpu = device.type == "cuda"
        self.captures: Captures | None = None
        if on_a_gpu and kind.captured and not processes.grouped and not self.scaler.is_enabled():
            self.captures = Captures(gradients=self._backward, update=self._update, forget=self._forget)
        self.adam = torch.optim.Adam(
            self.weights.values(),
            lr=torch.zeros((), device=device) if self.captures else 0.0,
            betas=(settings.adam_beta1, settings.adam_beta2),
            eps=settings.adam_epsilon,
            weight_decay=settings.weight_decay,
            decoupled_weight_decay=True,
            fused=True,
            capturable=on_a_gpu,
        )
        self._start_moments()
        self._reduction = Reduction(list(self.weights.values())) if processes.grouped else None
        self.loss = precision.around(
            LossOf(
                fast_form(model, "training"),
                label_smoothing=settings.label_smoothing,
                consistency=settings.consistency,
                output_weight=kind.output_weight,
            ),
            at_once=not processes.grouped,
        )
        self._compiled: nn.Module | None = None
        if worth_compiling(device, settings.compile, work=work(model, settings)):
            self.loss.compile(dynamic=False, options=_COMPILING | kernels.introduce())
            self._compiled = self.loss

    def step(self, batch: Batch, *, number: int, rate: float, flags: Sequence[bool] = ()) -> Update:
        """One update. What is random in it depends on the seed, the step's number and the process alone.

        The flags of all processes are exchanged together with the gradients.
        """
        raised = torch.tensor([float(flag) for flag in flags])
        self._fewer_parts_again()
        while self.captures:
            self._set_rate(rate)
            self._seed(number)
            try:
                outcome = self.captures.step(batch, 1 / batch.tokens, device=self.device)
                return Update(Losses(*(loss.clone() for loss in outcome.losses)), outcome.norm, raised)
            except torch.cuda.OutOfMemoryError:
                self._use_more_parts(batch.labels.size(0))
            except NotCapturedError as error:
                self._capture_no_more(error)
        self._set_rate(rate)
        self._seed(number)
        if self._reduction:
            self._reduction.begin()
        losses = self._gradients_or_more_parts(batch)
        losses, raised = self._summed(losses, raised.to(self.device))
        self.scaler.unscale_(self.adam)
        update = Update(losses, self._clip(), raised)
        if update.made or self.scaler.is_enabled():
            self.scaler.step(self.adam)
            self.scaler.update()
        self.adam.zero_grad()
        return update

    def try_shapes(
        self,
        shapes: Mapping[int, int],
        *,
        longest: int,
        streams: Iterable[str],
        features: Mapping[str, int] | None = None,
    ) -> None:
        """Runs a full batch of every shape, rows by their length, the longest first: memory runs out now or never.

        `longest` is the number of tokens of the corpus's longest sentence. `features` are the streams of vectors, and
        the size of these.
        """
        for length, rows in sorted(shapes.items(), reverse=True):
            ones, places = torch.ones(rows, length, dtype=torch.long), torch.arange(length)
            segments, positions = (
                numbers.expand_as(ones).clone() for numbers in (places // longest + 1, places % longest)
            )
            sides = dict.fromkeys(streams, Rows(ones, segments, positions))
            for name, width in (features or {}).items():
                sides[name] = sides[name]._replace(tokens=torch.ones(rows, length, width))
            self._seed(0)
            everywhere = torch.ones_like(ones, dtype=torch.bool)
            self._compiled_or_plain(Batch(sides, ones, everywhere, ones.numel()))
            self.adam.zero_grad()

    def moments(self) -> dict[str, Tensor]:
        """A copy of Adam's state, as tensors with names."""
        tensors = {}
        for name, weight in self.weights.items():
            for part, value in self.adam.state[weight].items():
                tensors[f"{part}/{name}"] = value.detach().to("cpu", copy=True).contiguous()
        return tensors

    def restore(self, weights: Mapping[str, Tensor], moments: Mapping[str, Tensor]) -> None:
        """Goes back to weights and a state that were saved."""
        with torch.no_grad():
            for name, tensor in self.stored.items():
                tensor.copy_(weights[name])
        for key, value in moments.items():
            part, _, name = key.partition("/")
            self.adam.state[self.weights[name]][part].copy_(value)  # in place: captured steps know these tensors

    def _start_moments(self) -> None:
        """Adam's state before the first step, made now, so that its tensors never change."""
        for weight in self.weights.values():
            self.adam.state[weight] = {
                "step": torch.zeros((), device=self.device),
                "exp_avg": torch.zeros_like(weight),
                "exp_avg_sq": torch.zeros_like(weight),
            }

    def _set_rate(self, rate: float) -> None:
        for group in self.adam.param_groups:
            if self.captures:
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate

    def _seed(self, number: int) -> None:
        torch.manual_seed((self.settings.seed * 1_000_003 + number) * 1_009 + self.processes.rank)

    def _compiled_or_plain(self, batch: Batch) -> None:
        """Gradients for the first time; a compiler that fails is done without."""
        try:
            self._gradients_or_more_parts(batch)
        except TrainingError:
            raise
        except Exception as error:
            if self._compiled is None:
                raise
            self._compiled._compiled_call_impl, self._compiled = None, None  # noqa: SLF001
            told = f"{type(error).__name__}: {error}".split("\n")[0]
            self.say(f"Compilation failed ({told}). Training continues without it, more slowly.")
            self.adam.zero_grad()
            self._gradients_or_more_parts(batch)

    def _capture_no_more(self, error: NotCapturedError) -> None:
        """From now on the processor starts kernel after kernel."""
        self.say(f"Capturing a CUDA graph failed ({error}). Training continues without it, more slowly.")
        self.captures = None
        self.adam.__dict__.pop("found_inf", None)  # a tensor of the step that failed
        self.adam.zero_grad()

    def _gradients_or_more_parts(self, batch: Batch) -> Losses:
        while True:
            try:
                return self._backward(batch.to(self.device), torch.tensor(1 / batch.tokens, device=self.device))
            except torch.cuda.OutOfMemoryError:
                self._use_more_parts(batch.labels.size(0))

    def _backward(self, batch: Batch, share: Tensor) -> Losses:
        """Adds up this process's share of the gradients of the mean loss; `share` is that of one label."""
        self.loss.train()
        parts = batch.parts(self.parts)
        smoothed, likelihood = torch.zeros(2, device=self.device)
        for number, part in enumerate(parts, 1):
            if self._reduction:
                self._reduction.listen(last=number == len(parts))
            with self.precision.cast(self.device):
                losses = self.loss(part._replace(tokens=0))  # a number that changes would be compiled again
            self.scaler.scale(losses.smoothed * share).backward()
            smoothed, likelihood = smoothed + losses.smoothed.detach(), likelihood + losses.likelihood.detach()
        return Losses(smoothed, likelihood)

    def _summed(self, losses: Losses, flags: Tensor) -> tuple[Losses, Tensor]:
        """Sums gradients, losses and flags over all processes."""
        if not self._reduction:
            return losses, flags
        smoothed, likelihood, flags = self._reduction.finish([*losses, flags])
        return Losses(smoothed, likelihood), flags

    def exchange(self) -> Exchange:
        """What was exchanged with other processes since this was asked the last time."""
        return self._reduction.exchange() if self._reduction else Exchange()

    def _forget(self) -> None:
        self.adam.zero_grad()

    def _update(self) -> Tensor:
        """Adam's update, without asking the GPU: where the gradient is not finite, Adam itself leaves it out."""
        norm = self._clip()
        self.adam.found_inf = (~norm.isfinite()).float()  # type: ignore[attr-defined]
        self.adam.step()
        return norm

    def _clip(self) -> Tensor:
        """The gradient's norm; the gradient is made shorter where a limit was set, and not touched where none was."""
        weights = list(self.weights.values())
        norm = nn.utils.get_total_norm([weight.grad for weight in weights if weight.grad is not None])
        if self.settings.gradient_clip:
            nn.utils.clip_grads_with_norm_(weights, self.settings.gradient_clip, norm)
        return norm

    def _fewer_parts_again(self) -> None:
        """Tries as many parts as were set after enough good steps, since other programs may have freed memory.

        Each further attempt waits for twice as many steps as the last.
        """
        if self.parts == self.settings.parts:
            return
        self._good += 1
        if self._good >= self._enough:
            self.parts = self.settings.parts
            self._recapture()
            again = "as a whole" if self.parts == 1 else f"in {self.parts} parts"
            self.say(f"Memory was sufficient for {self._enough} steps, so batches are computed {again} again.")
            self._good, self._enough = 0, 2 * self._enough

    def _recapture(self) -> None:
        """Captured steps have a fixed number of parts."""
        if self.captures:
            self.captures.graphs.clear()
        torch.cuda.empty_cache()

    def _use_more_parts(self, rows: int) -> None:
        self.adam.zero_grad()
        self._recapture()
        self._good = 0
        if self.parts >= rows:
            raise TrainingError(
                "the GPU does not have enough memory for a single row.\n"
                "  Choose a smaller preset, or shorter rows: --set training.row_lengths=[64,128]"
            )
        self.parts *= 2
        self.say(f"A whole batch does not fit into GPU memory, so it is computed in {self.parts} parts.")
