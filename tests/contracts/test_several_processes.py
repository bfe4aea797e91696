"""Several processes that train together: a card for each, and sums that begin during the backward pass."""

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
from regard.training.reduction import Exchange, Reduction
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

    def all_reduce(flat: Tensor, *, async_op: bool) -> "Ended":
        reduced.append(flat.numel())
        flat.mul_(2)
        flat[-1] += 1
        return Ended()

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


class Ended:
    def wait(self) -> None:
        pass


def test_gradients_are_summed_once_in_buckets_that_begin_before_the_backward_pass_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three layers, a bucket each. The gradient of the first weight is there last."""
    order: list[str] = []

    def all_reduce(flat: Tensor, *, async_op: bool) -> Ended:
        order.append(f"sum of {flat.numel()}")
        flat.mul_(2)
        return Ended()

    monkeypatch.setattr(distribution.distributed, "all_reduce", all_reduce)
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 5), torch.nn.Linear(5, 6))
    unused = torch.nn.Parameter(torch.ones(7))
    weights = [unused, *layers.parameters()]
    batch = torch.arange(24.0).view(8, 3) / 24
    layers(batch).square().sum().backward()
    alone = [None if weight.grad is None else weight.grad.clone() for weight in weights]
    reduction = Reduction(weights, size=4 * 25)
    assert [bucket.flat.numel() for bucket in reduction.buckets] == [6, 30, 25, 23]
    layers[0].weight.register_post_accumulate_grad_hook(lambda _: order.append("the first layer is done"))
    for parts in (1, 2):
        order.clear()
        reduction.begin()
        for number, part in enumerate(batch.chunk(parts), 1):
            for weight in weights if number == 1 else ():
                weight.grad = None
            reduction.listen(last=number == parts)
            layers(part).square().sum().backward()
        (flags,) = reduction.finish([torch.tensor([0.0, 1.0])])
        early = [f"sum of {count}" for count in (6, 30, 25)]
        assert order == [*["the first layer is done"] * (parts - 1), *early, "the first layer is done", "sum of 25"]
        assert flags.tolist() == [0.0, 2.0]
        for weight, before in zip(weights, alone, strict=True):
            expected = torch.zeros(7) if before is None else 2 * before
            assert weight.grad is not None
            torch.testing.assert_close(
                weight.grad, expected, rtol=0 if parts == 1 else 1e-5, atol=0 if parts == 1 else 1e-6
            )
    assert reduction.exchange()[:2] == (2, 2 * 4 * (61 + 25))
    assert reduction.exchange() == Exchange()


_SUMS = """
import hashlib, sys
import torch
from torch import distributed
from regard.training.reduction import Reduction

rank, ranks, meeting = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=ranks)
torch.manual_seed(0)
layers = torch.nn.Sequential(*(torch.nn.Linear(30, 30) for _ in range(6)))
weights = list(layers.parameters())
torch.manual_seed(rank + 1)
batch = torch.randn(16, 30)
layers(batch).square().sum().backward()
flat = torch.cat([weight.grad.flatten() for weight in weights])
distributed.all_reduce(flat)
for weight in weights:
    weight.grad = None
reduction = Reduction(weights, size=4 * 1000)
assert len(reduction.buckets) == 6
reduction.begin()
reduction.listen(last=True)
layers(batch).square().sum().backward()
reduction.finish([torch.ones(1)])
summed = torch.cat([weight.grad.flatten() for weight in weights])
torch.testing.assert_close(summed, flat, rtol=1e-6, atol=1e-6)
print(hashlib.sha256(summed.numpy().tobytes()).hexdigest())
"""


def test_all_processes_have_the_same_sums_bit_for_bit_and_those_of_one_reduction_to_rounding(tmp_path: Path) -> None:
    ranks, meeting = 3, str(tmp_path / "meeting")
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _SUMS, str(rank), str(ranks), meeting], stdout=subprocess.PIPE, text=True
        )
        for rank in range(ranks)
    ]
    told = [process.communicate(timeout=120)[0] for process in started]
    assert [process.returncode for process in started] == [0] * ranks
    assert len(told[0]) > 60
    assert told == [told[0]] * ranks


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
