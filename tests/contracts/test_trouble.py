"""What happens to long runs, injected: numbers that are none, memory and disks that are full."""

import math
import time
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest
import torch

from regard import TrainingError
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import Batch
from regard.models.transformer import ARCHITECTURE, Transformer, TransformerSettings
from regard.tasks.translation import TASK, batch_of
from regard.training.captured_steps import Captures
from regard.training.checkpoints import Checkpoints, Progress
from regard.training.distribution import Processes
from regard.training.events import Event, Journal, Said, Saved, Stepped, Validated
from regard.training.loop import Trainer
from regard.training.loss import LeanCrossEntropy, Losses, LossOf, smoothed_cross_entropy
from regard.training.machine.precision import Precision
from regard.training.optimisation import Optimisation
from regard.training.schedule import rate
from regard.training.training_settings import TrainingSettings, ValidationSettings
from small import store, transformer

CPU = torch.device("cpu")


class Watching:
    """Remembers what it was shown."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def show(self, event: Event) -> None:
        self.events.append(event)

    def said(self) -> str:
        return "\n".join(event.message for event in self.events if isinstance(event, Said))


class Run:
    """A small trainer with everything around it."""

    def __init__(
        self, folder: Path, *, steps: int = 12, validation: ValidationSettings | None = None, **more: Any
    ) -> None:
        pairs = [([2 + n % 9] * (n % 4 + 1), [2 + n % 7] * (n % 5 + 1)) for n in range(60)]
        corpus = store(folder / "corpus", pairs, begin=0, end=1, vocabulary=23)
        self.view = Watching()
        self.settings = TrainingSettings(
            steps=steps,
            batch_tokens=48,
            row_lengths=(16,),
            warmup=4,
            checkpoint_every=2,
            averaged_checkpoints=3,
            **more,
        )
        self.optimisation = Optimisation(
            transformer(dtype=torch.float32),
            self.settings,
            device=CPU,
            precision=Precision("float32", None, ""),
            processes=Processes(),
            say=Journal(None, self.view).say,
            kind=ARCHITECTURE,
        )
        self.trainer = Trainer(
            self.optimisation,
            Loader(corpus, LoaderSettings(batch_tokens=48, row_lengths=(16,)), TASK),
            self.settings,
            validation or ValidationSettings(every=100),
            width=16,
            checkpoints=Checkpoints(folder / "checkpoints"),
            journal=Journal(folder / "metrics.jsonl", self.view),
            stop=Flag(),
        )

    def go(self, losses: Any = None) -> bool:
        numbers = iter(losses or [])
        return self.trainer.run(lambda step: Validated(step, next(numbers, 1.0), math.e, False, 0.0, {}, []))


def poison(run: Run, *, steps: range) -> None:
    """Makes the gradients of these steps, counted by calls, no numbers."""
    honest, calls = run.optimisation.loss.forward, iter(range(1, 10**6))

    def forward(batch: Batch) -> Losses:
        losses = honest(batch)
        return losses._replace(smoothed=losses.smoothed * math.nan) if next(calls) in steps else losses

    run.optimisation.loss.forward = forward  # type: ignore[method-assign]


def test_a_gradient_that_is_no_number_costs_one_step_and_says_which_batch(tmp_path: Path) -> None:
    run = Run(tmp_path)
    poison(run, steps=range(3, 4))
    assert run.go()
    assert run.trainer.progress.skipped == 1
    assert (
        "Step 3: the norm of the gradient is nan, so this update was skipped (epoch 0, pool 0, batch 2)."
        in run.view.said()
    )
    assert all(torch.isfinite(weight).all() for weight in run.optimisation.weights.values())


def test_repeated_trouble_goes_back_to_the_last_checkpoint_with_a_lower_rate(tmp_path: Path) -> None:
    run = Run(tmp_path)
    poison(run, steps=range(5, 10))
    assert run.go()
    assert "Restarting from step 4 with 0.5 times the learning rate." in run.view.said()
    assert run.trainer.progress.rate_factor == 0.5
    assert run.trainer.progress.step == 12
    assert all(torch.isfinite(weight).all() for weight in run.optimisation.weights.values())


def test_trouble_that_never_ends_ends_the_run_with_advice(tmp_path: Path) -> None:
    run = Run(tmp_path, steps=200)
    poison(run, steps=range(5, 10**6))
    with pytest.raises(TrainingError, match=r"was NaN or infinite for 5 steps in a row.*\n  Lower the rate or clip"):
        run.go()


def test_out_of_memory_halves_the_rows_and_gives_the_same_gradients(tmp_path: Path) -> None:
    whole, halves = Run(tmp_path / "a"), Run(tmp_path / "b")
    honest, failed = halves.optimisation.loss.forward, []

    def forward(batch: Batch) -> Losses:
        if batch.labels.size(0) > 1 and len(failed) < 1:
            failed.append(batch.labels.size(0))
            raise torch.cuda.OutOfMemoryError
        return honest(batch)

    halves.optimisation.loss.forward = forward  # type: ignore[method-assign]
    for run in (whole, halves):
        run.optimisation.loss.eval()
        batch, _ = next(run.trainer.loader.batches())
        torch.manual_seed(0)
        for module in run.optimisation.loss.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        run.optimisation.step(batch, number=1, rate=0.01)
    assert failed == [3]
    assert halves.optimisation.parts == 2
    assert "it is computed in 2 parts" in halves.view.said()
    for name, weight in whole.optimisation.weights.items():
        torch.testing.assert_close(halves.optimisation.weights[name], weight, rtol=0, atol=1e-4)


def test_rows_grow_back_after_enough_good_steps_and_failures_double_the_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.training.optimisation._GROW_AFTER", 3)
    run = Run(tmp_path, steps=20)
    honest, rows, room = run.optimisation.loss.forward, [], iter([False, False])

    def forward(batch: Batch) -> Losses:
        """Another program holds the memory at the first batch and when whole batches are tried again."""
        if batch.labels.size(0) == 3 and not next(room, True):
            raise torch.cuda.OutOfMemoryError
        rows.append(batch.labels.size(0))
        return honest(batch)

    run.optimisation.loss.forward = forward  # type: ignore[method-assign]
    assert run.go()
    halves, wholes = [2, 1], [3]
    assert rows == halves * 3 + halves * 6 + wholes * (20 - 9)
    assert run.view.said().count("it is computed in 2 parts") == 2
    assert "Memory was sufficient for 3 steps, so batches are computed as a whole again." in run.view.said()
    assert "Memory was sufficient for 6 steps, so batches are computed as a whole again." in run.view.said()


def test_a_captured_step_that_finds_no_memory_is_captured_again_in_more_parts(tmp_path: Path) -> None:
    run = Run(tmp_path)
    batch, _ = next(run.trainer.loader.batches())
    captures = Captures(gradients=run.optimisation._backward, update=run.optimisation._update, forget=lambda: None)
    tried: list[int] = []

    def capture(_: Batch) -> Any:
        tried.append(run.optimisation.parts)
        raise torch.cuda.OutOfMemoryError if len(tried) == 1 else RuntimeError("this is enough")

    captures._capture = capture  # type: ignore[method-assign]
    run.optimisation.captures = captures
    run.optimisation.adam.param_groups[0]["lr"] = torch.zeros(())
    assert run.optimisation.step(batch, number=1, rate=0.01).made
    assert tried == [1, 2]


def test_not_enough_memory_for_a_single_row_is_told(tmp_path: Path) -> None:
    run = Run(tmp_path)

    def forward(_: Batch) -> Losses:
        raise torch.cuda.OutOfMemoryError

    run.optimisation.loss.forward = forward  # type: ignore[method-assign]
    with pytest.raises(TrainingError, match=r"not have enough memory for a single row\.\n  Choose a smaller preset"):
        run.go()


def test_a_compiler_that_fails_is_done_without(tmp_path: Path) -> None:
    run = Run(tmp_path, compile="yes")

    def fail(*_: Any) -> None:
        raise RuntimeError("there is no C compiler\nand more about that")

    run.optimisation.loss._compiled_call_impl = fail
    run.optimisation.try_shapes({16: 3}, longest=5, streams=("source", "target"))
    told = "Compilation failed (RuntimeError: there is no C compiler). Training continues without it, more slowly."
    assert told in run.view.said()
    assert run.go()
    assert all(torch.isfinite(weight).all() for weight in run.optimisation.weights.values())


def test_what_fails_without_a_compiler_is_an_error(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.optimisation.loss.forward = lambda _: 1 / 0  # type: ignore[method-assign,assignment]
    with pytest.raises(ZeroDivisionError):
        run.optimisation.try_shapes({16: 3}, longest=5, streams=("source", "target"))


def test_a_step_that_cannot_be_captured_is_made_without(tmp_path: Path) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("operation not permitted when stream is capturing\nand more about that")

    run, plain = Run(tmp_path / "captured"), Run(tmp_path / "plain")
    captures = Captures(gradients=fail, update=fail, forget=fail)
    captures._capture = fail  # type: ignore[method-assign]
    run.optimisation.captures = captures
    run.optimisation.adam.param_groups[0]["lr"] = torch.zeros(())
    run.optimisation.adam.found_inf = torch.ones(())  # type: ignore[attr-defined]  # what it may leave behind
    assert run.go()
    assert plain.go()
    told = "Capturing a CUDA graph failed (RuntimeError: operation not permitted when stream is capturing)."
    assert run.view.said().count(told) == 1
    for name, weight in plain.optimisation.weights.items():
        assert torch.equal(weight, run.optimisation.weights[name])


def test_training_goes_on_while_a_checkpoint_is_written_and_does_not_change_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (plain := Run(tmp_path / "plain")).go()
    run, honest, reached = Run(tmp_path / "slow"), Checkpoints.save, []

    def save(self: Checkpoints, progress: Progress, *rest: Any, **more: Any) -> Path:
        until = time.monotonic() + 20
        while run.trainer.progress.step <= progress.step < 12 and time.monotonic() < until:
            time.sleep(0.001)
        reached.append(run.trainer.progress.step)
        return honest(self, progress, *rest, **more)

    monkeypatch.setattr(Checkpoints, "save", save)
    assert run.go()
    assert [step > number for step, number in zip(reached, range(2, 12, 2), strict=False)] == [True] * 5
    told = [event.step for event in run.view.events if isinstance(event, Saved)]
    assert told == [2, 4, 6, 8, 10, 12]
    kept = sorted(place.name for place in (tmp_path / "plain" / "checkpoints").glob("step-*"))
    assert kept == ["step-00000008", "step-00000010", "step-00000012"]
    for name in kept:
        slow, fast = (
            folder / "checkpoints" / name / "weights.safetensors" for folder in (tmp_path / "slow", tmp_path / "plain")
        )
        assert slow.read_bytes() == fast.read_bytes()
    assert plain.trainer.progress.step == run.trainer.progress.step


def test_a_full_disk_costs_a_checkpoint_and_not_the_last_good_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, failing = Run(tmp_path), iter([False, True, True, False, False, False, False])
    honest = Checkpoints.save

    def save(self: Checkpoints, progress: Progress, *rest: Any, **more: Any) -> Path:
        if next(failing, False):
            raise OSError(28, "No space left on device")
        return honest(self, progress, *rest, **more)

    monkeypatch.setattr(Checkpoints, "save", save)
    assert run.go()
    assert "Step 4: the checkpoint could not be written: No space left on device." in run.view.said()
    assert run.trainer.checkpoints.newest(print) is not None


def test_a_disk_that_stays_full_ends_the_run_and_keeps_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path)
    honest = Checkpoints.save

    def save(self: Checkpoints, progress: Progress, *rest: Any, **more: Any) -> Path:
        if progress.step > 2:
            raise OSError(28, "No space left on device")
        return honest(self, progress, *rest, **more)

    monkeypatch.setattr(Checkpoints, "save", save)
    with pytest.raises(TrainingError, match=r"3 checkpoints in a row could not be written: No space left on device"):
        run.go()
    newest = run.trainer.checkpoints.newest(print)
    assert newest is not None
    assert newest[0].step == 2


def test_an_interrupted_write_leaves_no_checkpoint_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path)
    monkeypatch.setattr("regard.files.os.fsync", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        run.trainer.checkpoints.save(Progress(step=1), run.trainer.weights(), run.optimisation.moments())
    assert list((tmp_path / "checkpoints").iterdir()) == []


def test_patience_ends_a_run_whose_validation_loss_does_not_fall(tmp_path: Path) -> None:
    run = Run(tmp_path, steps=100, validation=ValidationSettings(every=2, patience=3))
    assert run.go([5.0, 4.0, 4.5, 4.2, 4.1, 1.0])
    assert run.trainer.progress.step == 10
    assert run.trainer.progress.best_step == 4
    assert "has not fallen for 3 validations" in run.view.said()


def test_minutes_end_a_run(tmp_path: Path) -> None:
    run = Run(tmp_path, steps=10**6, minutes=0.02)
    assert run.go()
    assert 0 < run.trainer.progress.step < 10**6


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.9])
def test_the_loss_is_that_of_torch_and_its_lean_form_has_the_same_gradient(epsilon: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(40, 11, dtype=torch.float64, requires_grad=True)
    labels = torch.randint(0, 11, (40,))
    expected = torch.nn.functional.cross_entropy(logits, labels, label_smoothing=epsilon, reduction="sum")
    smoothed, likelihood = smoothed_cross_entropy(logits, labels, epsilon)
    torch.testing.assert_close(smoothed.sum(), expected)
    torch.testing.assert_close(
        likelihood.sum(), torch.nn.functional.cross_entropy(logits, labels, reduction="sum").detach()
    )
    (gradient,) = torch.autograd.grad(3 * expected, logits)
    lean, plain = LeanCrossEntropy.apply(logits * 1.0, labels, epsilon)
    torch.testing.assert_close(lean, expected)
    torch.testing.assert_close(plain, likelihood.sum())
    torch.testing.assert_close(torch.autograd.grad(3 * lean, logits)[0], gradient)


def test_the_rate_is_the_papers() -> None:
    settings = TrainingSettings()
    for step in (1, 100, 4000, 4001, 100_000):
        assert rate(step, settings, d_model=512) == pytest.approx(512**-0.5 * min(step**-0.5, step * 4000**-1.5))


def test_a_peak_a_constant_and_a_cooldown_change_the_rate_as_they_say() -> None:
    settings = TrainingSettings(steps=1000, warmup=100, peak_rate=0.01, cooldown=0.2)
    assert rate(50, settings, d_model=512) == pytest.approx(0.005)
    assert rate(400, settings, d_model=512) == pytest.approx(0.005)
    assert rate(900, settings, d_model=512) == pytest.approx(0.01 * (100 / 900) ** 0.5 * 0.5)
    assert rate(1000, settings, d_model=512) == 0.0
    constant = TrainingSettings(steps=1000, warmup=100, peak_rate=0.01, schedule="constant")
    assert rate(100, constant, d_model=512) == rate(1000, constant, d_model=512) == 0.01


def test_steps_are_reported_however_often_validation_comes_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("regard.training.loop._LOG_SECONDS", 0.05)
    run = Run(tmp_path, steps=60, validation=ValidationSettings(every=1))
    assert run.go()
    assert len([event for event in run.view.events if isinstance(event, Stepped)]) >= 2


def test_consistency_adds_the_divergence_of_two_predictions_and_nothing_where_there_is_no_dropout() -> None:
    batch = batch_of([[([3, 4], [5, 6])], [([7], [8]), ([9], [3])]], begin=0, end=1)
    for dropout in (0.0, 0.5):
        torch.manual_seed(0)
        sizes = {"source_vocabulary": 12, "target_vocabulary": 12, **SIZES}
        model = Transformer(TransformerSettings.read(sizes, where="model"))
        plain = LossOf(model, label_smoothing=0.1).eval()(batch)
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = dropout
        torch.manual_seed(1)
        twice = LossOf(model, label_smoothing=0.1, consistency=2.0).train()(batch)
        torch.manual_seed(1)
        without = LossOf(model, label_smoothing=0.1, consistency=1e-9).train()(batch)
        if dropout:
            assert twice.smoothed.item() > without.smoothed.item() + 0.01
            torch.testing.assert_close(twice.likelihood, without.likelihood)
        else:
            torch.testing.assert_close(twice.smoothed, plain.smoothed)
            torch.testing.assert_close(twice.likelihood, plain.likelihood)


SIZES = {"d_model": 8, "d_ff": 16, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.5}
