"""The loop: batches in, weights changed, and nothing lost whatever happens on the way.

What is random is a function of the seed, the step and the process, and the loader's place is three numbers, so a run
that goes on from a checkpoint does exactly what it would have done.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from enum import Enum, auto
from threading import Event as Flag
from typing import NamedTuple

import torch
from torch import Tensor

from regard.batches.loader import Loader, Place
from regard.batches.rows import Batch
from regard.errors import TrainingError
from regard.training import source_use
from regard.training.background import Writer
from regard.training.checkpoints import Checkpoints, Progress
from regard.training.events import Journal, Planned, Saved, Stepped, Validated
from regard.training.merit import merit
from regard.training.optimisation import Optimisation, Update
from regard.training.pace import Pace
from regard.training.plan import Course, after_overfitting, for_minutes
from regard.training.schedule import rate
from regard.training.training_settings import TrainingSettings, ValidationSettings
from regard.training.window import Window, memory_used, perplexity

_LOG_SECONDS = 2.0
_BAD_STEPS = 5  # so many in a row without an update send training back to the last checkpoint
_LOWER = 0.5  # what the rate is multiplied by then
_LOWEST = 0.05

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
        may_restart: bool = False,
    ) -> None:
        self.optimisation, self.loader, self.settings, self.validation = optimisation, loader, settings, validation
        self.width, self.checkpoints, self.journal, self.stop = width, checkpoints, journal, stop
        self.processes, self.device = optimisation.processes, optimisation.device
        self.may_restart, self.wants_restart = may_restart, False  # with safer settings
        self.progress = Progress()
        self._began = self._saved = time.monotonic()
        self._bad = 0
        self._begun: _Begun | None = None
        self._writer = Writer(checkpoints.folder, journal)
        self._norm = math.nan  # of the last gradient
        self._agreed = _Flags()
        self._window = Window(self.device)
        self._pace = Pace()

    def resume(self) -> bool:
        """Goes back to the newest whole checkpoint, if there is one."""
        self._writer.settle()
        self.processes.wait()  # all go back to the same one
        found = self.checkpoints.newest(self.journal.say)
        if found is None:
            return False
        self.progress, weights, moments = found
        self.optimisation.restore(weights, moments)
        self._enter()
        return True

    def _enter(self) -> None:
        """Goes on from where `progress` stands."""
        self._began = time.monotonic() - self.progress.seconds
        self._bad, self._begun, self._writer.saved_step = 0, None, self.progress.step
        self._window, self._pace = Window(self.device), Pace()
        if self.course.plan:
            self.journal.tell(Planned(self.progress.step, self.course.steps))

    @property
    def course(self) -> Course:
        """The schedule."""
        return Course(self.settings, self.progress.plan)

    def run(self, validate: Validate) -> bool:
        """Trains; True at the end or where it `wants_restart`, False where it was stopped before."""
        if self.device.type == "cuda":
            corpus = self.loader.corpus
            self.optimisation.try_shapes(
                self.loader.shapes(),
                longest=corpus.longest,
                streams=self.loader.task.streams,
                features=corpus.features,
            )
        self._agreed = self._agree_at_the_start()
        ended = None
        while ended is None:
            place = Place(self.progress.epoch, self.progress.pool, self.progress.batch)
            stream = self.loader.prefetched(place, pin=self.device.type == "cuda")
            try:
                ended = self._follow(stream, validate)
            finally:
                stream.close()
                self._writer.settle()
        return ended

    def _follow(self, stream: Iterator[tuple[Batch, Place]], validate: Validate) -> bool | None:
        """Trains along a stream of batches; None where training went back to a checkpoint and needs another stream."""
        while self._goes_on():
            batch, after = next(stream)
            self._train(batch, after)
            if self._bad >= _BAD_STEPS:
                self._go_back()
                return None
            verdict = self._look(validate) if self.progress.step % self.validation.every == 0 else _Next.STEP
            if verdict is not _Next.STEP:
                if verdict is _Next.END:
                    break
                return self._restart() if verdict is _Next.RESTART else self._return_to_best()
            self._replan()
            if self._is_time_to_save():
                self.save()
            self._writer.settle(wait=False)
            if self._agreed.stop:
                self.save(stopped=True)
                return False
        if self.progress.step % self.validation.every and self._look(validate) is _Next.RESTART:
            return self._restart()
        self.save()
        return True

    def _restart(self) -> bool:
        self.wants_restart = True
        return True

    def _train(self, batch: Batch, after: Place) -> None:
        number = self.progress.step + 1
        now = rate(number, self.settings, d_model=self.width, plan=self.course.plan) * self.progress.rate_factor
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
        if self._agreed.log or number == self.course.steps:
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
        return self.progress.step < self.course.steps and not self._agreed.over

    def _look(self, validate: Validate) -> _Next:
        """Looks at the validation set, and says how to go on."""
        self._settle()
        began = time.monotonic()
        told = validate(self.progress.step)
        best, learning = merit(told, self.progress, by_worth=self._may_return)
        before, worth = self.progress, told.source_worth
        update = {
            "best_step": told.step if best else before.best_step,
            "best_loss": told.loss if before.best_loss is None else min(told.loss, before.best_loss),
            "best_worth": before.best_worth if worth is None else max(worth, before.best_worth or 0.0),
            "waited": 0 if learning else before.waited + 1,
            "losses": (*before.losses, told.loss)[-source_use.REMEMBERED :],
        }
        self.progress = before.model_copy(update=update)
        self.journal.tell(told._replace(best=best))
        if best and self.processes.first:
            progress, weights = self.progress, self.weights()
            moments = self.optimisation.moments() if self._may_return else None
            self._writer.write(progress.step, lambda: self.checkpoints.save_best(progress, weights, moments))
        self._window.began += time.monotonic() - began  # it is not training that took so long
        if self._ignores_the_source(told) and self.may_restart:
            return _Next.RESTART
        return self._after_waiting()

    def _ignores_the_source(self, told: Validated) -> bool:
        """Whether the model ignores its source; this is reported once."""
        ignored = not self.progress.warned and source_use.is_ignored(
            self.progress.losses,
            told.source_worth,
            step=told.step,
            steps=self.course.steps,
            warmup=self.course.warmup,
        )
        if ignored:
            self.journal.say(source_use.message(told.step, told.loss, told.source_worth or 0.0))
            self.progress = self.progress.model_copy(update={"warned": True})
        return ignored

    @property
    def _may_return(self) -> bool:
        """Whether a run whose patience ends goes back to its best weights and lets the rate fall."""
        return self.validation.patience is not None and self.settings.cooldown > 0

    def _after_waiting(self) -> _Next:
        """How to go on after a validation, by the patience that is left; the end of a schedule is not cut off."""
        patience = self.validation.patience
        if patience is None or self.progress.waited < patience:
            return _Next.STEP
        if not self._may_return:
            self.journal.say(f"The validation loss has not fallen for {patience} validations, so training ends.")
            return _Next.END
        return _Next.STEP if self.course.cools(self.progress.step) else _Next.BEST

    def _return_to_best(self) -> bool | None:
        """Goes back to the best weights, from where the rate falls to zero; None: along another stream of batches."""
        self._writer.settle()
        self.processes.wait()
        found = self.checkpoints.best_to_go_on_from(self.journal.say)
        patience = (
            f"{self.validation.patience} validations brought neither a lower loss nor a source that is worth more"
        )
        if found is None:
            self.journal.say(f"{patience}, so training ends.")
            self.save()
            return True
        now, before = self.progress, self.course.plan
        best, weights, moments = found
        plan = after_overfitting(self.settings, before, best=best.step, at_least=self.validation.every)
        kept = {"seconds": now.seconds, "skipped": now.skipped, "warned": now.warned, "waited": 0, "plan": plan}
        self.progress = best.model_copy(update=kept)
        self.optimisation.restore(weights, moments)
        if self.processes.first:
            self.checkpoints.save(self.progress, weights, moments)
            self.checkpoints.forget_after(best.step)
        self.processes.wait()
        self.journal.say(
            f"{patience}. Going back to step {best.step:,}, the best; the learning rate falls to zero over the "
            f"{plan.cooling:,} steps after it."
        )
        self._enter()
        return None

    def _replan(self) -> None:
        """Where minutes limit the run, fits the schedule to the speed, until the rate begins to fall."""
        step, course = self.progress.step, self.course
        due = self._pace.is_due(step)
        if course.is_fixed or course.cools(step) or not due:
            return
        before = course.plan
        per_step, seconds = self.processes.share((self._pace.per_step(), self.progress.seconds))
        plan = for_minutes(self.settings, step=step, seconds=seconds, per_step=per_step)
        self.progress = self.progress.model_copy(update={"plan": plan})
        self.journal.tell(Planned(step, self.course.steps))
        if plan and not before:
            self.journal.say(
                f"A step takes {per_step:.3g} s, so {self.settings.minutes:g} minutes are enough for about "
                f"{plan.steps:,} steps. The learning rate falls to zero over the last {plan.cooling:,}."
            )

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
        self._writer.settle()
        if self.processes.first and self.progress.step != self._writer.saved_step:
            began, progress = time.monotonic(), self.progress
            weights, moments = self.weights(), self.optimisation.moments()

            def write() -> Saved:
                place = self.checkpoints.save(progress, weights, moments, stopped=stopped)
                self.checkpoints.prune(keep=self.settings.averaged_checkpoints)
                return Saved(progress.step, str(place), time.monotonic() - began)

            self._writer.write(self.progress.step, write)
        self.processes.wait()
        self._saved, self._agreed = time.monotonic(), self._agreed._replace(save=False)

    def weights(self) -> dict[str, Tensor]:
        """A copy of the weights as they are."""
        weights = self.optimisation.stored.items()
        return {name: weight.detach().to("cpu", copy=True).contiguous() for name, weight in weights}

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
        exchange = self.optimisation.exchange()
        left = (self.course.steps - self.progress.step) * seconds / window.steps
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
                memory=memory_used(self.device),
                epoch=self.progress.epoch,
                skipped=self.progress.skipped,
                exchanged=exchange.bytes // max(1, exchange.steps),
                waited=exchange.waited / max(1, exchange.steps),
            )
        )
        self._window, self._agreed = Window(self.device), self._agreed._replace(log=False)


class _Next(Enum):
    """How to go on after a validation."""

    STEP = auto()
    END = auto()
    BEST = auto()  # from the best weights, with a falling rate
    RESTART = auto()  # from the beginning, with safer settings


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
