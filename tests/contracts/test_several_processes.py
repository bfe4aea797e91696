"""Several processes that train together: a card for each, and one reduction a step."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, distributed

from regard import SettingsError
from regard.batches.loader import Loader, LoaderSettings
from regard.models.transformer import ARCHITECTURE
from regard.tasks.translation import TASK
from regard.training import distribution
from regard.training.distribution import Processes, card_for, own_card
from regard.training.machine.precision import Precision
from regard.training.optimisation import Optimisation
from regard.training.training_settings import TrainingSettings
from runs import command, corpus, environment, events
from small import store, transformer


@pytest.mark.parametrize(("processes", "cards"), [(1, 1), (2, 2), (2, 8), (8, 8)])
def test_each_process_of_a_machine_gets_a_card_of_its_own(processes: int, cards: int) -> None:
    chosen = [card_for(number, processes=processes, cards=cards) for number in range(processes)]
    assert chosen == [torch.device("cuda", number) for number in range(processes)]


def test_more_processes_than_cards_are_refused_with_a_command_that_works() -> None:
    told = r"has started 3 processes on this machine, but PyTorch sees 2 GPUs\.\n.*torchrun with at most 2 processes,"
    with pytest.raises(SettingsError, match=told):
        card_for(0, processes=3, cards=2)
    with pytest.raises(SettingsError, match=r"sees 1 GPU\."):
        card_for(1, processes=2, cards=1)


def test_the_card_is_that_of_the_local_rank_and_becomes_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    gpu, cpu = torch.device("cuda"), torch.device("cpu")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert own_card(gpu) == gpu
    for name, value in {"RANK": "6", "WORLD_SIZE": "8", "LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "4"}.items():
        monkeypatch.setenv(name, value)
    assert own_card(cpu) == cpu
    assert current == []
    assert own_card(gpu) == torch.device("cuda", 2)
    assert current == [torch.device("cuda", 2)]


def optimisation(processes: Processes) -> Optimisation:
    return Optimisation(
        transformer(dtype=torch.float32),
        TrainingSettings(batch_tokens=48, row_lengths=(16,), warmup=4),
        device=torch.device("cpu"),
        precision=Precision("float32", None, ""),
        processes=processes,
        say=print,
        kind=ARCHITECTURE,
    )


def test_a_step_makes_one_reduction_for_gradients_losses_and_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process is made up: it has the same gradients and losses, and raises the second flag."""
    reduced: list[int] = []

    def all_reduce(flat: Tensor) -> None:
        reduced.append(flat.numel())
        flat.mul_(2)
        flat[-1] += 1

    monkeypatch.setattr(distribution.distributed, "all_reduce", all_reduce)
    pairs = [([2 + n % 9] * (n % 4 + 1), [2 + n % 7] * (n % 5 + 1)) for n in range(60)]
    stored = store(tmp_path / "corpus", pairs, begin=0, end=1, vocabulary=23)
    batch, _ = next(Loader(stored, LoaderSettings(batch_tokens=48, row_lengths=(16,)), TASK).batches())
    alone, grouped = optimisation(Processes()), optimisation(Processes(0, 2, grouped=True))
    one = alone.step(batch, number=1, rate=0.0, flags=[True, False])
    both = grouped.step(batch, number=1, rate=0.0, flags=[True, False])
    assert reduced == [sum(weight.numel() for weight in grouped.weights.values()) + 2 + 2]
    assert (one.flags, both.flags) == ([True, False], [True, True])
    assert both.norm == pytest.approx(2 * one.norm, rel=1e-5)
    assert float(both.losses.smoothed) == pytest.approx(2 * float(one.losses.smoothed))


@pytest.mark.skipif(not (torch.cuda.is_available() and distributed.is_nccl_available()), reason="needs a GPU and NCCL")
def test_one_process_of_torchrun_on_a_gpu_has_the_losses_of_a_run_without(tmp_path: Path) -> None:
    data = corpus(tmp_path / "data.tsv")
    more = ("--steps", "20", "--device", "cuda", "--set", "training.precision=float32")
    settings = ("model.dropout=0.0", "validation.every=5")
    alone = command(data, tmp_path / "alone", *more, settings=settings)
    started = command(data, tmp_path / "torchrun", *more, settings=settings)[1:]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "1", *started]
    for arguments in (alone, torchrun):
        told = subprocess.run(
            arguments, capture_output=True, text=True, env=environment(tmp_path / "cache"), check=False, timeout=300
        )
        assert told.returncode == 0, told.stderr
    losses = [[event["loss"] for event in events(tmp_path / name, "validated")] for name in ("alone", "torchrun")]
    assert len(losses[0]) == 4
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
