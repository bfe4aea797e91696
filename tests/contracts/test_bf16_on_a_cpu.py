"""Training in bf16 on a CPU: where it is asked for or much faster, and where a process that tries it survives."""

from pathlib import Path

import pytest
import torch

from regard import presets
from regard.errors import SettingsError
from regard.training.loss import LossOf
from regard.training.machine import abilities as machine
from regard.training.machine import probes
from regard.training.machine.precision import Precision, advised, precision_for
from regard.training.machine.probes import Probe
from regard.training.recipe import DataSettings
from regard.training.tasks import work
from runs import corpus, events, run
from small import packed, transformer

CPU = torch.device("cpu")


def has_bf16() -> bool:
    """Whether the CPU announces instructions for bf16; unknown where the system does not say."""
    described = Path("/proc/cpuinfo")
    return not described.exists() or "bf16" in described.read_text()


@pytest.fixture(scope="session")
def bf16() -> None:
    """Whether this CPU has it; a process of its own finds out."""
    probe = probes.bf16_beside_float32()
    if not probe.works:
        pytest.skip(f"products in bf16 fail on this CPU: {probe.trouble}")


@pytest.fixture(autouse=True)
def nothing_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))


def told(monkeypatch: pytest.MonkeyPatch, probe: Probe) -> None:
    monkeypatch.setattr(probes, "bf16_beside_float32", lambda: probe)
    monkeypatch.setattr(probes, "remembered_bf16", lambda: probe)


def test_float32_stays_the_choice_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "remembered_bf16", None)  # nothing is tried that was not asked for
    for wanted in ("auto", "float32"):
        assert precision_for(CPU, wanted)[:2] == ("float32", None)


def test_what_was_tried_says_how_fast_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Probe("bf16", told="2.24"))
    precision = precision_for(CPU, "bf16")
    assert precision[:2] == ("bf16", torch.bfloat16)
    assert precision.why == "matrix products are 2.2 times as fast as in float32"
    (part,) = machine._bf16_on_a_cpu()
    assert part[:2] == ("bf16 on cpu", "2.2 times as fast as float32")
    assert "--set training.precision=bf16" in part.follows
    told(monkeypatch, Probe("bf16", told="0.31"))
    assert machine._bf16_on_a_cpu()[0].follows == "so Regard uses float32"


def test_a_cpu_that_stops_at_it_is_told_of_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Probe("bf16", "it kills the process (SIGILL)"))
    with pytest.raises(SettingsError, match=r"fail on this CPU: it kills the process \(SIGILL\)\.\n  Leave it at"):
        precision_for(CPU, "bf16")
    assert machine._bf16_on_a_cpu() == []


def test_auto_asks_for_bf16_where_it_is_much_faster_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    told(monkeypatch, Probe("bf16", told="2.24"))
    precision, reason = advised(CPU)
    assert precision == "bf16"
    assert "this CPU is much faster in it" in reason
    assert "--set training.precision=float32" in reason
    for slow in (Probe("bf16", told="1.4"), Probe("bf16", "it kills the process (SIGILL)")):
        told(monkeypatch, slow)
        assert advised(CPU) == ("auto", "")
    assert advised(torch.device("cuda")) == ("auto", "")


def test_auto_keeps_a_precision_that_was_set_and_a_named_preset_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, Probe("bf16", told="5.0"))
    data = DataSettings(files=(str(corpus(tmp_path / "pairs.tsv")),), source="en", target="de")

    def chosen(**training: str) -> str:
        return str(work("translation").advise(data, training, CPU)[1]["training"]["precision"])

    assert (chosen(), chosen(precision="float32")) == ("bf16", "float32")
    assert presets.load("tiny").tables["training"].get("precision", "auto") == "auto"


def test_what_was_tried_is_remembered_for_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([Probe("bf16", probes._TOO_LONG), Probe("bf16", told="3.0"), Probe("bf16", told="9.0")])
    monkeypatch.setattr(probes, "bf16_beside_float32", lambda: next(answers))
    assert not probes.remembered_bf16().works  # a busy machine; not remembered
    assert [probes.remembered_bf16().told for _ in range(2)] == ["3.0", "3.0"]
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")  # other instructions, another trial
    assert probes.remembered_bf16().told == "9.0"


@pytest.mark.parametrize("wanted", ["fp16", "tf32"])
def test_other_formats_are_for_gpus(wanted: str) -> None:
    with pytest.raises(SettingsError, match=f"precision = '{wanted}': a CPU trains in float32 or bf16"):
        precision_for(CPU, wanted)


def test_a_process_that_dies_is_only_a_probe_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_BESIDE_FLOAT32", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    probe = probes.bf16_beside_float32()
    assert (probe.works, probe.trouble) == (False, "it kills the process (SIGILL)")


@pytest.mark.usefixtures("bf16")
def test_gradients_are_those_of_float32_but_for_rounding() -> None:
    batch = packed([[([5, 7, 2], [3, 4]), ([9], [8, 6, 2])], [([4, 4], [11, 12])]])
    model = transformer(dtype=torch.float32, dropout=0.0)
    found = []
    for precision in (Precision("float32", None, ""), Precision("bf16", torch.bfloat16, "")):
        model.zero_grad()
        losses = precision.around(LossOf(model, label_smoothing=0.1)).train()(batch)
        losses.smoothed.backward()
        gradient = torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])
        found.append((losses.smoothed.detach(), losses.likelihood.detach(), gradient))
    exact, rounded = found
    assert rounded[2].dtype == torch.float32
    torch.testing.assert_close(rounded[:2], exact[:2], rtol=0.01, atol=0)
    assert 1e-4 < (rounded[2] - exact[2]).norm() / exact[2].norm() < 0.03  # rounded, and not by much


@pytest.mark.usefixtures("bf16")
@pytest.mark.skipif(not has_bf16(), reason="this CPU has no bf16 instructions: without them, bf16 takes minutes")
def test_a_run_in_bf16_learns_what_one_in_float32_learns_and_goes_on_exactly(tmp_path: Path) -> None:
    data, more = corpus(tmp_path / "pairs.tsv"), ("--device", "cpu", "--checkpoint-every", "20")
    rounded = ("training.precision=bf16",)
    told = run(data, tmp_path / "rounded", "--steps", "40", *more, settings=rounded)
    assert told.returncode == 0, told.stderr
    assert "Training on cpu in bf16: matrix products are" in told.stdout + told.stderr
    assert run(data, tmp_path / "exact", "--steps", "40", *more).returncode == 0
    losses = [[event["loss"] for event in events(tmp_path / name, "validated")] for name in ("exact", "rounded")]
    assert len(losses[0]) == len(losses[1]) == 4
    assert losses[1] == pytest.approx(losses[0], rel=0.01)
    assert losses[1] != losses[0]
    assert run(data, tmp_path / "twice", "--steps", "20", *more, settings=rounded).returncode == 0
    again = run(data, tmp_path / "twice", "--steps", "40", "--resume", *more, settings=rounded)
    assert again.returncode == 0, again.stderr
    one, other = ((tmp_path / name / "weights.safetensors").read_bytes() for name in ("rounded", "twice"))
    assert one == other
