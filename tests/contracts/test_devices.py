"""Names of devices mean the same everywhere."""

from pathlib import Path

import pytest
import torch

import regard
from regard.devices import device_for
from regard.errors import SettingsError


def with_gpus(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)


@pytest.mark.parametrize(("gpus", "name"), [(0, "cpu"), (2, "cpu"), (1, "cuda"), (1, "cuda:0"), (2, "cuda:1")])
def test_a_device_is_the_one_of_its_name(gpus: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, gpus)
    assert device_for(name) == torch.device(name)


def test_without_a_name_it_is_a_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 0)
    assert device_for(None) == torch.device("cpu")
    with_gpus(monkeypatch, 2)
    assert device_for(None) == torch.device("cuda")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:01", "cpu:1", "meta", "mps", "CUDA", ""])
def test_what_is_no_name_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 2)
    message = rf"^device = '{name}': there is no such device\.\n  Use cpu, cuda, or cuda:1 for the second GPU\.$"
    with pytest.raises(SettingsError, match=message):
        device_for(name)


def test_a_gpu_that_is_not_there_is_refused_with_those_that_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, 2)
    with pytest.raises(SettingsError, match=r"'cuda:2': this machine has the GPUs cuda:0 to cuda:1\.\n  Choose"):
        device_for("cuda:2")
    with_gpus(monkeypatch, 0)
    with pytest.raises(
        SettingsError, match=r"'cuda:1': PyTorch finds no GPU on this machine\.\n  Use cpu, or leave the device"
    ):
        device_for("cuda:1")


def test_training_and_translating_give_the_same_answer(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_gpus(monkeypatch, 1)
    told = []
    for ask in (
        lambda name: regard.load(trained_folder, device=name),
        lambda name: regard.train([tmp_path / "a.tsv"], source="en", target="de", out=tmp_path / "out", device=name),
    ):
        for name in ("cuda:1", "gpu"):
            with pytest.raises(SettingsError) as caught:
                ask(name)
            told.append(str(caught.value))
    assert told[:2] == told[2:]
    assert "cuda:0 to cuda:0" in told[0]
