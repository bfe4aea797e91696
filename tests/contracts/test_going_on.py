"""Going on with a run: what may change, what is refused, whose folder it is, and what is written of it."""

import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import CorpusError, RegardError, SettingsError, TrainingError, presets
from regard.training.lock import locked
from regard.training.recipe import put_together
from runs import SMALL, corpus, events

Train = Callable[..., bool]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """A small training in this process; only what is given differs from run to run."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))

    def start(*data: Path, settings: tuple[str, ...] = SMALL, **more: Any) -> bool:
        common = {"source": "en", "target": "de", "out": tmp_path / "out", "preset": "tiny", "device": "cpu"}
        return regard.train(*data, settings=settings, **common | more)

    return start


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return corpus(tmp_path / "pairs.tsv", pairs=120)


@pytest.fixture
def begun(train: Train, data: Path, tmp_path: Path) -> Path:
    """The folder of a run of four steps."""
    assert train(data, steps=4, checkpoint_every=2)
    return tmp_path / "out"


def refusal(kind: type[RegardError], start: Callable[..., object], *arguments: Any, **options: Any) -> str:
    with pytest.raises(kind) as error:
        start(*arguments, **options)
    return str(error.value)


def recipe_of(out: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((out / "training" / "recipe.json").read_text())
    return table


def test_settings_that_differ_are_refused_with_both_values_all_at_once(begun: Path, train: Train, data: Path) -> None:
    before = recipe_of(begun)
    given = (*SMALL, "model.d_model=32", "training.label_smoothing=0.2", "model.norm=pre", "validation.pairs=20")
    said = refusal(SettingsError, train, data, settings=given, preset="base", seed=5, steps=6, resume=True)
    for line in (
        "preset: 'tiny' then, 'base' now",
        "model.d_model: 16 then, 32 now",
        "model.norm: 'post' then, 'pre' now",
        "training.label_smoothing: 0.1 then, 0.2 now",
        "training.seed: 1 then, 5 now",
        "validation.pairs: 10 then, 20 now",
    ):
        assert line in said
    assert "training.steps" not in said
    assert "Leave them out to continue, or choose another --out" in said
    assert recipe_of(begun) == before


def test_a_recipe_that_differs_is_refused_and_one_that_may_differ_is_applied(
    begun: Path, train: Train, data: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text('extends = "small"\n[training]\nwarmup = 7\n')
    said = refusal(SettingsError, train, preset="auto", recipe=recipe, settings=(), resume=True)
    assert "preset: 'tiny' then, 'small' now" in said
    assert "training.warmup: 20 then, 7 now" in said
    recipe.write_text('extends = "tiny"\n[training]\nsteps = 6\ncheckpoint_minutes = 3.0\n[validation]\nevery = 3\n')
    assert train(preset="auto", recipe=recipe, settings=(), resume=True)
    stored = recipe_of(begun)
    assert (stored["training"]["steps"], stored["training"]["checkpoint_minutes"]) == (6, 3.0)
    assert [event["step"] for event in events(begun, "validated")] == [4, 6]


def test_steps_checkpoints_and_validation_may_change_when_a_run_goes_on(begun: Path, train: Train, data: Path) -> None:
    settings = (*SMALL, "validation.every=2", "training.averaged_checkpoints=1", "model.norm=post")
    assert train(data, settings=settings, steps=8, checkpoint_every=4, resume=True)
    assert [event["step"] for event in events(begun, "validated")] == [4, 6, 8]
    assert [event["step"] for event in events(begun, "saved")] == [2, 4, 8]
    assert "The final weights are the mean of 1 checkpoints" in events(begun, "said")[-2]["message"]


def test_data_that_have_changed_are_refused_by_their_hash_unless_they_are_accepted(
    begun: Path, train: Train, data: Path
) -> None:
    lines, before = data.read_text().splitlines(keepends=True), recipe_of(begun)
    data.write_text("".join(lines[:80]))
    said = refusal(TrainingError, train, data, steps=6, resume=True)
    assert "the training data differ from those at the start of this run: " in said
    before_and_now = re.search(r": (\d+) pairs \(hash [0-9a-f]{12}\) then, (\d+) pairs \(hash [0-9a-f]{12}\) now", said)
    assert before_and_now
    assert 100 < int(before_and_now[1]) < 120
    assert 60 < int(before_and_now[2]) < 80
    assert "--resume --changed-data" in said
    assert recipe_of(begun) == before
    assert train(data, steps=6, resume=True, changed_data=True)
    assert any("Warning: the training data differ from those" in event["message"] for event in events(begun, "said"))
    assert train(data, steps=8, resume=True)  # they are the run's data from now on


def test_validation_data_that_have_changed_are_refused_too(train: Train, data: Path, tmp_path: Path) -> None:
    valid = corpus(tmp_path / "valid.tsv", pairs=20, seed=1)
    assert train(data, valid=valid, steps=2, checkpoint_every=2)
    corpus(valid, pairs=19, seed=1)
    said = refusal(TrainingError, train, data, valid=valid, steps=4, resume=True)
    assert "the validation data differ from those at the start of this run: 20 pairs (hash " in said


def test_data_may_lie_elsewhere_when_a_run_goes_on(begun: Path, train: Train, data: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.tsv"
    data.rename(moved)
    assert train(moved, steps=6, resume=True)
    assert recipe_of(begun)["data"]["files"] == [str(moved)]


def test_a_run_that_failed_before_its_first_checkpoint_does_not_hinder_the_next(
    train: Train, data: Path, tmp_path: Path
) -> None:
    data.write_text(data.read_text() + "no tab here\n")
    for resume in (False, True):
        assert "pairs.tsv:121: " in refusal(CorpusError, train, data, steps=2, resume=resume)
    mended = corpus(tmp_path / "mended.tsv", pairs=100, seed=3)
    assert train(mended, steps=2)
    assert recipe_of(tmp_path / "out")["data"]["files"] == [str(mended)]
    vocabulary = (tmp_path / "out" / "training" / "tokeniser").iterdir()
    assert not any(b"here" in file.read_bytes() for file in vocabulary)


def test_a_stopped_start_leaves_a_recipe_that_resume_alone_takes_up(
    train: Train, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("regard.training.run._check_disk", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train(data, steps=2)
    assert regard.train(out=tmp_path / "out", resume=True, device="cpu", seed=2)
    stored = recipe_of(tmp_path / "out")
    assert (stored["model"]["d_model"], stored["training"]["steps"], stored["training"]["seed"]) == (16, 2, 2)
    assert len(events(tmp_path / "out", "stepped")) == 1


def test_a_model_without_checkpoints_is_not_overwritten(train: Train, data: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "regard.json").write_text("{}")
    for resume in (False, True):
        said = refusal(TrainingError, train, data, steps=2, resume=resume)
        assert "this folder already contains a model, but no checkpoint to resume from.\n  Regard over" in said


def test_a_second_training_in_a_folder_is_refused_with_the_process_and_the_machine_of_the_first(
    begun: Path, train: Train, data: Path
) -> None:
    with locked(begun / "training"):
        said = refusal(TrainingError, train, data, steps=6, resume=True)
    assert f"{begun}: process {os.getpid()} on {socket.gethostname()} is training in this folder." in said
    assert "Wait until it ends, or stop it; or choose another --out." in said
    assert train(data, steps=6, resume=True)
    assert not (begun / "training" / "lock").exists()


def test_the_lock_of_a_killed_process_is_no_obstacle(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from regard.training.lock import locked\n"
        "with locked(Path(sys.argv[1])): print('locked', flush=True); time.sleep(600)"
    )
    folder = tmp_path / "out" / "training"
    other = subprocess.Popen([sys.executable, "-c", program, folder], stdout=subprocess.PIPE, text=True)
    assert other.stdout
    assert other.stdout.readline() == "locked\n"
    assert f"process {other.pid} on" in refusal(TrainingError, locked(folder).__enter__)
    other.send_signal(signal.SIGKILL)
    other.wait()
    other.stdout.close()
    assert json.loads((folder / "lock").read_text())["process"] == other.pid
    with locked(folder):
        assert json.loads((folder / "lock").read_text())["process"] == os.getpid()


def test_where_a_file_system_has_no_locks_the_name_in_the_file_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: (_ for _ in ()).throw(OSError(37, "No locks available")))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here, lock = socket.gethostname(), tmp_path / "lock"
    lock.write_text(json.dumps({"process": 1, "machine": "another"}))
    said = refusal(TrainingError, locked(tmp_path).__enter__)
    assert f"process 1 on another is training in this folder.\n  If it has ended, delete {lock};" in said
    lock.write_text(json.dumps({"process": os.getpid(), "machine": here}))
    assert f"process {os.getpid()} on {here}" in refusal(TrainingError, lambda: locked(tmp_path).__enter__())
    lock.write_text(json.dumps({"process": ended.pid, "machine": here}))
    with locked(tmp_path):
        assert json.loads(lock.read_text())["process"] == os.getpid()


def test_the_card_and_the_report_show_the_call_and_not_the_host_program(
    train: Train, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/srv/shop.py", "--password", "hunter2"])
    assert train(data, steps=2, columns=(1, 2), settings=(*SMALL, "model.dropout=0.2"))
    out = tmp_path / "out"
    for file in (out / "README.md", out / "best" / "README.md", out / "report.html"):
        assert "hunter2" not in file.read_text()
    command = f"regard train {data} --source en --target de --out {out} --preset tiny --set model.encoder_layers=1 "
    card = (out / "README.md").read_text()
    assert f"\n{command}" in card
    assert " --set model.dropout=0.2 --columns 1,2 --steps 2 --device cpu\n" in card


def test_ties_are_trained_as_the_recipe_says_with_two_vocabularies(train: Train, data: Path, tmp_path: Path) -> None:
    out, tied = tmp_path / "out", (*SMALL, "tokeniser.joint=false", "model.tied_embeddings=none")
    assert train(data, steps=1, settings=tied)
    assert recipe_of(out)["model"]["tied_embeddings"] == "none"
    assert json.loads((out / "regard.json").read_text())["settings"]["tied_embeddings"] == "none"
    tables = presets.load("tiny").tables | {"data": {"files": ["x"], "source": "en", "target": "de"}}
    for asked, expected in (("target-output", "target-output"), ("all", "target-output")):
        changes = {"tokeniser": {"joint": False}, "model": {"tied_embeddings": asked}}
        assert put_together([tables, changes], where="a test").model["tied_embeddings"] == expected
    tied = (*SMALL, "tokeniser.joint=false", "model.tied_embeddings=source-target")
    said = refusal(SettingsError, train, data, out=tmp_path / "refused", settings=tied)
    assert "model: tied_embeddings = 'source-target' is one matrix for both languages" in said
    assert "set tokeniser.joint = true, or tie 'target-output' or 'none'." in said
    assert not (tmp_path / "refused").exists()
