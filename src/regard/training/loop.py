"""The loop: batches in, weights changed, and nothing lost whatever happens on the way.

What is random is a function of the seed, the step and the process, and the loader's place is three numbers, so a run
that goes on from a checkpoint does exactly what it would have done.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event as Flag
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from torch import Tensor

from regard.batches.loader import Loader, Place
from regard.batches.rows import Batch
from regard.errors import TrainingError
from regard.training.checkpoints import Checkpoints, Progress
from regard.training.events import Journal, Saved, Stepped, Validated
from regard.training.optimisation import Optimisation, Update
from regard.training.schedule import rate
from regard.training.training_settings import TrainingSettings, ValidationSettings

_LOG_SECONDS = 2.0
_BAD_STEPS = 5  # so many in a row without an update send training back to the last checkpoint
_LOWER = 0.5  # what the rate is multiplied by then
_LOWEST = 0.05
_FAILURES = 3  # so many checkpoints in a row that cannot be written end the run

Validate = Callable[[int], Validated]


class Trainer:
    """Trains to the end of the settings, or until `stop` is set."""

    def __init__(
        self,
        optimisation: Optimisation,
        loader: Loader,
        settings: TrainingSettings,
        validation: ValidationSettings,
        *,
        width: int,
        checkpoints: Checkpoints,
        journal: Journal,
        stop: Flag,
    ) -> None:
        self.optimisation, self.loader, self.settings, self.validation = optimisation, loader, settings, validation
        self.width, self.checkpoints, self.journal, self.stop = width, checkpoints, journal, stop
        self.processes, self.device = optimisation.processes, optimisation.device
        self.progress = Progress()
        self._began = self._saved = time.monotonic()
        self._bad = self._failures = self._saved_step = 0
        self._begun: _Begun | None = None
        self._writer = ThreadPoolExecutor(max_workers=1)
        self._writing: _Writing | None = None
        self._norm = math.nan  # of the last gradient
        self._agreed = _Flags()
        self._window = _Window(self.device)

    def resume(self) -> bool:
        """Goes back to the newest whole checkpoint, if there is one."""
        self._written()
        self.processes.wait()  # all go back to the same one
        found = self.checkpoints.newest(self.journal.say)
        if found is None:
            return False
        self.progress, weights, moments = found
        self.optimisation.restore(weights, moments)
        self._began = time.monotonic() - self.progress.seconds
        self._bad, self._saved_step, self._begun = 0, self.progress.step, None
        self._window = _Window(self.device)
        return True

    def run(self, validate: Validate) -> bool:
        """Trains; True at the end, False where it was stopped before."""
        if self.device.type == "cuda":
            longest, streams = self.loader.corpus.longest, self.loader.task.streams
            self.optimisation.try_shapes(self.loader.shapes(), longest=longest, streams=streams)
        self._agreed = self._agree_at_the_start()
        ended = None
        while ended is None:
            place = Place(self.progress.epoch, self.progress.pool, self.progress.batch)
            stream = self.loader.prefetched(place, pin=self.device.type == "cuda")
            try:
                ended = self._follow(stream, validate)
            finally:
                stream.close()
                self._written()
        return ended

    def _follow(self, stream: Iterator[tuple[Batch, Place]], validate: Validate) -> bool | None:
        """Trains along a stream of batches; None where training went back to a checkpoint and needs another stream."""
        while self._goes_on():
            batch, after = next(stream)
            self._train(batch, after)
            if self._bad >= _BAD_STEPS:
                self._go_back()
                return None
            if self.progress.step % self.validation.every == 0 and not self._look(validate):
                break
            if self._is_time_to_save():
                self.save()
            self._written(wait=False)
            if self._agreed.stop:
                self.save(stopped=True)
                return False
        if self.progress.step % self.validation.every:
            self._look(validate)
        self.save()
        return True

    def _train(self, batch: Batch, after: Place) -> None:
        number = self.progress.step + 1
        now = rate(number, self.settings, d_model=self.width) * self.progress.rate_factor
        update = self.optimisation.step(batch, number=number, rate=now, flags=self._flags())
        begun = _Begun(number, update, batch.tokens, self._place())
        self.progress = self.progress.model_copy(
            update={
                "step": number,
                "tokens": self.progress.tokens + batch.tokens,
                "seconds": time.monotonic() - self._began,
                **after._asdict(),
            }
        )
        self._settle()
        self._begun = begun
        if self.device.type == "cpu":  # which has done it already
            self._settle()
        if self._agreed.log or number == self.settings.steps:
            self._log(now)

    def _settle(self) -> None:
        """Takes note of what the last step did. A GPU is waited for here, while it has the next step to do."""
        if self._begun is None:
            return
        (number, update, tokens, place), self._begun = self._begun, None
        self._norm, self._agreed = update.norm, _Flags(*update.flags)
        if not update.made:
            self.journal.say(
                f"Step {number}: the norm of the gradient is {update.norm}, so this update was skipped ({place})."
            )
            self.progress = self.progress.model_copy(update={"skipped": self.progress.skipped + 1})
        self._bad = 0 if update.made else self._bad + 1
        self._window.add(update, tokens)

    def _place(self) -> str:
        return f"epoch {self.progress.epoch}, pool {self.progress.pool}, batch {self.progress.batch}"

    def _flags(self) -> _Flags:
        """What the clocks and the user of this process ask for; of the log, the first process's clock decides."""
        minutes, save_minutes, now = self.settings.minutes, self.settings.checkpoint_minutes, time.monotonic()
        return _Flags(
            over=minutes is not None and now - self._began >= 60 * minutes,
            save=save_minutes is not None and now - self._saved >= 60 * save_minutes,
            log=self.processes.first and self._window.seconds() >= _LOG_SECONDS,
            stop=self.stop.is_set(),
        )

    def _agree_at_the_start(self) -> _Flags:
        """The flags of all processes before the first step; afterwards each step's reduction carries them."""
        flags = torch.tensor([float(flag) for flag in self._flags()], device=self.device)
        return _Flags(*(value > 0 for value in self.processes.sum(flags).tolist()))

    def _goes_on(self) -> bool:
        return self.progress.step < self.settings.steps and not self._agreed.over

    def _look(self, validate: Validate) -> bool:
        """Looks at the validation set; False where patience is at its end."""
        self._settle()
        began = time.monotonic()
        told = validate(self.progress.step)
        best = self.progress.best_loss is None or told.loss < self.progress.best_loss
        if best:
            update = {"best_step": told.step, "best_loss": told.loss, "waited": 0}
        else:
            update = {"waited": self.progress.waited + 1}
        self.progress = self.progress.model_copy(update=update)
        self.journal.tell(told._replace(best=best))
        if best and self.processes.first:
            progress, weights = self.progress, self.weights()
            self._write(lambda: self.checkpoints.save_best(progress, weights))
        self._window.began += time.monotonic() - began  # it is not training that took so long
        patience = self.validation.patience
        if patience is None or self.progress.waited < patience:
            return True
        self.journal.say(f"The validation loss has not fallen for {patience} validations, so training ends.")
        return False

    def _is_time_to_save(self) -> bool:
        """By steps or by the clock; not in the midst of trouble, which is gone back from."""
        every = self.settings.checkpoint_every
        due = self._agreed.save if every is None else self.progress.step % every == 0
        if due:
            self._settle()
        return due and not self._bad

    def save(self, *, stopped: bool = False) -> None:
        """Writes a checkpoint. A failure costs nothing but this one, unless it happens again and again."""
        self._settle()
        self._written()
        if self.processes.first and self.progress.step != self._saved_step:
            began, progress = time.monotonic(), self.progress
            weights, moments = self.weights(), self.optimisation.moments()

            def write() -> Saved:
                place = self.checkpoints.save(progress, weights, moments, stopped=stopped)
                self.checkpoints.prune(keep=self.settings.averaged_checkpoints)
                return Saved(progress.step, str(place), time.monotonic() - began)

            self._write(write)
        self.processes.wait()
        self._saved, self._agreed = time.monotonic(), self._agreed._replace(save=False)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights as they are."""
        weights = self.optimisation.stored.items()
        return {name: weight.detach().to("cpu", copy=True).contiguous() for name, weight in weights}

    def _write(self, write: Callable[[], Saved | None]) -> None:
        """Writes in another thread, while training goes on; one thing at a time."""
        self._written()
        self._writing = _Writing(self.progress.step, self._writer.submit(write))

    def _written(self, *, wait: bool = True) -> None:
        """Takes note of what became of the last thing that was to be written."""
        if self._writing is None or not (wait or self._writing.future.done()):
            return
        (step, future), self._writing = self._writing, None
        try:
            saved = future.result()
        except (OSError, SafetensorError) as error:
            self._failures += 1
            why = getattr(error, "strerror", None) or str(error)
            if self._failures >= _FAILURES:
                raise TrainingError(
                    f"{self.checkpoints.folder}: {_FAILURES} checkpoints in a row could not be written: {why}.\n"
                    "  The last good checkpoint is intact. Free some disk space, then continue with --resume."
                ) from None
            self.journal.say(
                f"Step {step}: the checkpoint could not be written: {why}.\n"
                "  The last good checkpoint is intact, and training continues. Free some disk space."
            )
            return
        self._failures = 0
        if saved:
            self._saved_step = saved.step
            self.journal.tell(saved)

    def _go_back(self) -> None:
        """To the last good checkpoint, with a lower rate."""
        failed, factor, skipped = self.progress.step, self.progress.rate_factor * _LOWER, self.progress.skipped
        if factor < _LOWEST or not self.resume():
            raise TrainingError(
                f"step {failed}: the gradient was NaN or infinite for {_BAD_STEPS} steps in a row. Restarting from a "
                "checkpoint with a lower learning rate did not help or was not possible.\n"
                "  Lower the rate or clip gradients: --set training.peak_rate=0.0003 --set training.gradient_clip=1.0\n"
                "  Also check the data: regard check"
            )
        self.progress = self.progress.model_copy(update={"rate_factor": factor, "skipped": skipped})
        self.journal.say(f"Restarting from step {self.progress.step} with {factor:g} times the learning rate.")

    def _log(self, now: float) -> None:
        self._settle()
        window, seconds = self._window, self._window.seconds()
        loss, likelihood = window.means()
        left = (self.settings.steps - self.progress.step) * seconds / window.steps
        if self.settings.minutes is not None:
            left = min(left, 60 * self.settings.minutes - self.progress.seconds)
        self.journal.tell(
            Stepped(
                step=self.progress.step,
                loss=loss,
                perplexity=perplexity(likelihood),
                rate=now,
                gradient=self._norm,
                tokens_per_second=window.tokens / seconds,
                seconds=self.progress.seconds,
                seconds_left=max(0.0, left),
                memory=_memory(self.device),
                epoch=self.progress.epoch,
                skipped=self.progress.skipped,
            )
        )
        self._window, self._agreed = _Window(self.device), self._agreed._replace(log=False)


class _Flags(NamedTuple):
    """What any process asks for, agreed on by all in each step's reduction."""

    over: bool = False  # the minutes are over
    save: bool = False  # it is time for a checkpoint
    log: bool = False  # it is time for a report
    stop: bool = False


class _Begun(NamedTuple):
    """A step that a GPU may still be doing."""

    number: int
    update: Update
    tokens: int
    place: str  # of its batch in the corpus


class _Writing(NamedTuple):
    """What another thread writes of this step."""

    step: int
    future: Future[Saved | None]


class _Window:
    """Sums over the steps since the last report."""

    def __init__(self, device: torch.device) -> None:
        self.began = time.monotonic()
        self.sums = torch.zeros(2, device=device, dtype=torch.float64)
        self.tokens = self.steps = 0

    def add(self, update: Update, tokens: int) -> None:
        if update.made:
            self.sums += torch.stack(update.losses).double()
            self.tokens += tokens
        self.steps += 1

    def seconds(self) -> float:
        return max(1e-9, time.monotonic() - self.began)

    def means(self) -> tuple[float, float]:
        smoothed, likelihood = (self.sums / max(1, self.tokens)).tolist()
        return smoothed, likelihood


def perplexity(likelihood: float) -> float:
    """Of a mean -log probability; where it is beyond all measure, infinite."""
    return math.exp(likelihood) if likelihood < 700 else math.inf


def _memory(device: torch.device) -> int:
    """The most memory that was in use so far, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
