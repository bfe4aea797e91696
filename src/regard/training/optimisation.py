"""One step: a batch's gradients, in as many parts as memory asks for, and Adam's update (section 5.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from regard import kernels
from regard.batches.rows import Batch, Rows
from regard.errors import TrainingError
from regard.models.fast import fast_form
from regard.models.protocols import Architecture, Model
from regard.training.captured import Captures, NotCapturedError
from regard.training.distribution import Processes
from regard.training.loss import Losses, LossOf
from regard.training.precision import Precision, worth_compiling
from regard.training.settings import TrainingSettings

_FIRST_SCALE = 1024.0  # of fp16's loss: low enough not to lose the first steps, and it grows

_COMPILING = {"comprehensive_padding": False}  # padded logits would be copied for the kernel that reads them

Say = Callable[[str], None]


class Update:
    """What a step did. On a GPU the step may still be going on; whoever asks for the norm waits for it."""

    def __init__(self, losses: Losses, norm: Tensor) -> None:
        self.losses = losses  # sums over the labels that this process saw
        self._norm = norm.to("cpu", non_blocking=True)
        self._there = torch.cuda.current_stream().record_event() if norm.is_cuda else None

    @cached_property
    def norm(self) -> float:
        """Of the gradient; where it is not finite, no update was made."""
        if self._there:
            self._there.synchronize()
        return float(self._norm)

    @property
    def made(self) -> bool:
        """Whether the weights were changed."""
        return math.isfinite(self.norm)


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
        self.weights: dict[str, nn.Parameter] = dict(model.named_parameters())
        self.scaler = torch.amp.GradScaler(device.type, init_scale=_FIRST_SCALE, enabled=precision.name == "fp16")
        on_a_gpu = device.type == "cuda"
        self.captures: Captures | None = None
        if on_a_gpu and kind.captured and processes.ranks == 1 and not self.scaler.is_enabled():
            self.captures = Captures(gradients=self._backward, update=self._update, forget=self._forget)
        self.adam = torch.optim.Adam(
            self.weights.values(),
            lr=torch.zeros((), device=device) if self.captures else 0.0,
            betas=(settings.adam_beta1, settings.adam_beta2),
            eps=settings.adam_epsilon,
            fused=True,
            capturable=on_a_gpu,
        )
        self._start_moments()
        loss = precision.around(
            LossOf(
                fast_form(model, "training"),
                label_smoothing=settings.label_smoothing,
                consistency=settings.consistency,
                output_weight=kind.output_weight,
            )
        )
        self._compiled: nn.Module | None = None
        if worth_compiling(device, settings.compile, work=self._work()):
            loss.compile(dynamic=False, options=_COMPILING | kernels.introduce())
            self._compiled = loss
        self.loss = processes.together(loss, device)

    def step(self, batch: Batch, *, number: int, rate: float) -> Update:
        """One update. What is random in it depends on the seed, the step's number and the process alone."""
        self._set_rate(rate)
        self._seed(number)
        if self.captures:
            try:
                outcome = self.captures.step(batch, 1 / batch.tokens, device=self.device)
                return Update(Losses(*(loss.clone() for loss in outcome.losses)), outcome.norm)
            except NotCapturedError as error:
                self._capture_no_more(error)
                self._set_rate(rate)
                self._seed(number)
        losses = self._gradients_or_more_parts(batch)
        self.scaler.unscale_(self.adam)
        update = Update(losses, self._clip())
        if update.made or self.scaler.is_enabled():
            self.scaler.step(self.adam)
            self.scaler.update()
        self.adam.zero_grad()
        return update

    def try_shapes(self, shapes: Mapping[int, int]) -> None:
        """Runs a full batch of every shape, rows by their length, the longest first: memory runs out now or never."""
        for length, rows in sorted(shapes.items(), reverse=True):
            ones = torch.ones(rows, length, dtype=torch.long)
            side = Rows(ones, ones, torch.arange(length).expand_as(ones).clone())
            self._seed(0)
            self._compiled_or_plain(Batch(side, side, ones, ones.numel()))
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
            for name, weight in self.weights.items():
                weight.copy_(weights[name])
        for key, value in moments.items():
            part, _, name = key.partition("/")
            self.adam.state[self.weights[name]][part].copy_(value)  # in place: captured steps know these tensors

    def _work(self) -> float:
        """About how many operations the whole training takes: six for each weight and token."""
        weights = sum(weight.numel() for weight in self.weights.values())
        return 6.0 * weights * self.settings.batch_tokens * self.settings.steps

    def _start_moments(self) -> None:
        """Adam's state before the first step, made now, so that its tensors stay the same for ever."""
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
            self.say(f"Compiling did not work here ({told}). Training goes on without it, more slowly.")
            self.adam.zero_grad()
            self._gradients_or_more_parts(batch)

    def _capture_no_more(self, error: NotCapturedError) -> None:
        """From now on the processor starts kernel after kernel."""
        self.say(f"A step could not be captured ({error}). Training goes on without that, more slowly.")
        self.captures = None
        self.adam.__dict__.pop("found_inf", None)  # a tensor of the step that failed
        self.adam.zero_grad()

    def _gradients_or_more_parts(self, batch: Batch) -> Losses:
        while True:
            try:
                share = self.processes.ranks / batch.tokens  # the gradients of processes are averaged
                return self._backward(batch.to(self.device), torch.tensor(share, device=self.device))
            except torch.cuda.OutOfMemoryError:
                self._use_more_parts(batch.labels.size(0))

    def _backward(self, batch: Batch, share: Tensor) -> Losses:
        """Adds up the gradients of the mean loss over all labels of all processes; `share` is that of one label."""
        self.loss.train()
        parts = batch.parts(self.parts)
        smoothed, likelihood = torch.zeros(2, device=self.device)
        for place, part in enumerate(parts):
            with self._alone(last=place == len(parts) - 1):
                with self.precision.cast(self.device):
                    losses = self.loss(part._replace(tokens=0))  # a number that changes would be compiled anew
                self.scaler.scale(losses.smoothed * share).backward()
            smoothed, likelihood = smoothed + losses.smoothed.detach(), likelihood + losses.likelihood.detach()
        return Losses(smoothed, likelihood)

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

    def _alone(self, *, last: bool) -> AbstractContextManager[Any]:
        """The processes exchange their gradients with the last part only."""
        if last or self.processes.ranks == 1:
            return nullcontext()
        context: AbstractContextManager[Any] = self.loss.no_sync()  # type: ignore[operator]
        return context

    def _use_more_parts(self, rows: int) -> None:
        self.adam.zero_grad()
        torch.cuda.empty_cache()
        if self.parts >= rows:
            raise TrainingError(
                "the GPU has not enough memory for a single row.\n"
                "  Choose a smaller preset, or shorter rows: --set training.row_lengths=[64,128]"
            )
        self.parts *= 2
        self.say(f"The GPU's memory is too small for a whole batch: it is computed in {self.parts} parts.")
