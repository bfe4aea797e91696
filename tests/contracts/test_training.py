"""Training as people run it: one command, stopped and gone on with at will."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard import SettingsError, modelfolder
from regard.search.penalties import PENALTIES
from regard.training.averaging import mean_of
from regard.training.recipe import Tables
from regard.training.train import _recipe
from runs import command, corpus, environment, events, here, options, run, run_and_signal

STEPS = ("--steps", "40", "--checkpoint-every", "5")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("data") / "pairs.tsv")


@pytest.fixture(scope="module")
def finished(data: Path) -> Path:
    """A run that nothing interrupted."""
    out = data.parent / "whole"
    told = run(data, out, *STEPS)
    assert told.returncode == 0, told.stderr
    return out


def weights(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


def test_one_command_makes_a_finished_model_folder(finished: Path) -> None:
    names = {path.name for path in finished.iterdir()}
    assert names >= {
        "regard.json",
        "weights.safetensors",
        "tokeniser",
        "README.md",
        "report.html",
        "metrics.jsonl",
        "best",
    }
    for folder in (finished, finished / "best"):
        loaded = modelfolder.load(folder)
        assert loaded.description.languages == {"source": "en", "target": "de"}
        measured = {"loss", "perplexity", "source_worth", "bleu", "chrf", "length_ratio"}
        assert measured == set(loaded.description.scores["averaged"])
        assert loaded.description.length_penalty in PENALTIES
        assert loaded.description.scores["signatures"]["bleu"].startswith("nrefs:1|case:mixed")
        assert loaded.description.training["corpus"]["kept"] <= 300
    assert "holds out" in (finished / "README.md").read_text()
    assert "| averaged (this folder) |" in (finished / "README.md").read_text()
    assert "| best checkpoint (this folder) |" in (finished / "best" / "README.md").read_text()
    assert "[report.html](../report.html)" in (finished / "best" / "README.md").read_text()
    assert "\nregard train " in (finished / "README.md").read_text()


def test_the_final_weights_are_the_mean_of_the_last_checkpoints(finished: Path) -> None:
    kept = sorted((finished / "training" / "checkpoints").glob("step-*"))
    assert [place.name for place in kept] == ["step-00000030", "step-00000035", "step-00000040"]
    mean = mean_of([place / "weights.safetensors" for place in kept])
    final = load_file(finished / "weights.safetensors")
    assert all(torch.equal(final[name], mean[name]) for name in final)
    assert len([place for place in kept if (place / "optimiser.safetensors").exists()]) == 2


def test_the_journal_has_losses_rates_and_validations(finished: Path) -> None:
    assert [event["step"] for event in events(finished, "validated")] == [10, 20, 30, 40]
    assert [event["step"] for event in events(finished, "saved")] == [5, 10, 15, 20, 25, 30, 35, 40]
    assert [bool(event["scores"]) for event in events(finished, "validated")] == [False, True, False, True]
    last = events(finished, "stepped")[-1]
    assert last["step"] == 40
    assert 0 < last["loss"] < 4
    assert last["rate"] == pytest.approx(5e-3 * (20 / 40) ** 0.5)
    assert last["tokens_per_second"] > 0


def test_kill_minus_nine_anywhere_and_going_on_gives_the_same_bytes(data: Path, finished: Path) -> None:
    """It dies while the first checkpoint is written, then before the second, then while a later one is written."""
    out = data.parent / "killed"
    for moment in (5, 17, 28):
        killed = run_and_signal(data, out, *STEPS, "--resume", number=signal.SIGKILL, moment=moment)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert not (out / "regard.json").exists()
    told = run(data, out, *STEPS, "--resume")
    assert told.returncode == 0, told.stderr
    assert weights(out) == weights(finished)
    assert weights(out / "best") == weights(finished / "best")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_writes_a_checkpoint_and_going_on_gives_the_same_bytes(
    data: Path, finished: Path, number: signal.Signals
) -> None:
    out = data.parent / f"stopped{number}"
    stopped = run_and_signal(data, out, *STEPS, number=number, moment=5)
    assert stopped.returncode == 128 + number, stopped.stderr
    assert "To continue, add --resume to the command" in stopped.stderr
    assert not (out / "regard.json").exists()
    told = run(data, out, *STEPS, "--resume")
    assert told.returncode == 0, told.stderr
    assert weights(out) == weights(finished)


def test_a_damaged_last_checkpoint_falls_back_to_the_one_before_and_says_so(data: Path, finished: Path) -> None:
    out = data.parent / "damaged"
    run(data, out, "--steps", "20", "--checkpoint-every", "5")
    last = out / "training" / "checkpoints" / "step-00000020" / "weights.safetensors"
    content = bytearray(last.read_bytes())
    content[-1] ^= 1
    last.write_bytes(content)
    (out / "training" / "checkpoints" / ".step-00000025.partial").mkdir()
    told = run(data, out, *STEPS, "--resume")
    assert told.returncode == 0, told.stderr
    assert "step-00000020/weights.safetensors: this checkpoint is damaged: the hash of the file differs" in told.stderr
    assert "Resuming after step 15" in told.stderr
    assert weights(out) == weights(finished)


def test_a_folder_with_a_run_in_it_is_not_overwritten(data: Path, finished: Path) -> None:
    told = run(data, finished, *STEPS)
    assert told.returncode == 1
    assert "this folder already contains a training run.\n  Continue it with --resume" in told.stderr


def test_going_on_with_another_language_is_refused(data: Path, finished: Path) -> None:
    told = here([*options(data, finished, *STEPS, "--resume"), "--target", "fr"], data.parent / "cache")
    assert told.returncode == 1
    assert "data.target: 'de' then, 'fr' now" in told.stderr


def test_an_unwritable_folder_is_told_before_anything_is_read(data: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    told = run(data, tmp_path / "file" / "model", *STEPS)
    assert told.returncode == 1
    assert "Regard cannot write to this folder: Not a directory.\n  Choose another --out." in told.stderr


def test_all_mistakes_in_the_settings_are_told_at_once(data: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        "[training]\nstep = 5\nlabel_smoothing = 2.0\n[model]\nhead = 3\n"
        '[tokeniser]\npatterns = ["urls"]\n[extra]\nx = 1\n'
    )
    malformed = ("steps=5", "training.steps", "=5", "training.=5")
    sets = [part for setting in malformed for part in ("--set", setting)]
    told = run(data, tmp_path / "out", "--recipe", str(recipe), *sets)
    assert told.returncode == 1
    for line in (
        *(f"--set {setting}: expected the form table.key=value" for setting in malformed),
        "training.step: there is no such setting; did you mean 'steps'?",
        "training.label_smoothing = 2.0: input should be less than 1.",
        "model.head: there is no such setting; did you mean 'heads'?",
        "tokeniser.patterns: there is no pattern called 'urls'; did you mean 'url'?",
        "extra: there is no such setting",
    ):
        assert line in told.stderr
    assert not (tmp_path / "out").exists()


def test_wrong_settings_are_told_before_the_corpus_is_read(tmp_path: Path) -> None:
    for preset in ("auto", "tiny"):
        with pytest.raises(SettingsError) as told:
            regard.train(
                tmp_path / "none.tsv", source="en", target="de", out=tmp_path / "out", preset=preset, settings=["steps"]
            )
        assert "--set steps: expected the form table.key=value" in str(told.value)


def test_a_named_preset_takes_the_vocabulary_that_suits_the_corpus_unless_one_is_set(tmp_path: Path) -> None:
    path = corpus(tmp_path / "pairs.tsv")
    options: Tables = {"data": {"files": [str(path)], "source": "en", "target": "de"}, "training": {}}

    chosen, _ = _recipe(tmp_path / "auto", options, "auto", None, ["tokeniser.kind=words"], False)
    assert chosen.tokeniser.kind == "words"  # with the options of words, not those of another kind

    def made(*settings: str, preset: str = "tiny") -> tuple[int, list[str]]:
        recipe, reasons = _recipe(
            tmp_path / "-".join(("run", preset, *settings)), options, preset, None, settings, False
        )
        return recipe.tokeniser.vocabulary, reasons

    vocabulary, (reason,) = made()
    assert vocabulary == 2_000
    assert reason.startswith("300 pairs: a vocabulary of 2,000, because the preset's 37,000 needs more text")
    assert made(preset="base")[0] == 2_000
    assert made("tokeniser.vocabulary=5000") == (5_000, [])
    assert made("tokeniser.kind=utf8", "tokeniser.options={}") == (37_000, [])


def test_two_processes_train_like_one(data: Path, tmp_path: Path) -> None:
    """The same global batches, without dropout: the same losses, to rounding."""
    more, settings = ("--steps", "20", "--checkpoint-every", "10"), ("model.dropout=0.0", "validation.every=5")
    alone = run(data, tmp_path / "alone", *more, settings=settings)
    assert alone.returncode == 0, alone.stderr
    arguments = command(data, tmp_path / "two", *more, settings=settings)[1:]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *arguments]
    told = subprocess.run(
        torchrun, capture_output=True, text=True, env=environment(data.parent / "cache"), check=False, timeout=300
    )
    assert told.returncode == 0, told.stderr
    losses = [[event["loss"] for event in events(tmp_path / name, "validated")] for name in ("alone", "two")]
    assert len(losses[0]) == 4
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    final = [load_file(tmp_path / name / "weights.safetensors") for name in ("alone", "two")]
    assert all(torch.allclose(final[0][name], final[1][name], atol=1e-3) for name in final[0])


def test_a_model_is_adapted_to_new_data_with_old_data_mixed_in(data: Path, finished: Path, tmp_path: Path) -> None:
    new = corpus(tmp_path / "new.tsv", pairs=80, seed=9)
    more = (
        "--preset",
        "adapt",
        "--steps",
        "10",
        "--checkpoint-every",
        "5",
        "--from",
        str(finished),
        "--old",
        str(data),
    )
    told = run(new, tmp_path / "adapted", *more)
    assert told.returncode == 0, told.stderr
    loaded, before = modelfolder.load(tmp_path / "adapted"), modelfolder.load(finished)
    assert loaded.tokeniser == before.tokeniser
    assert modelfolder.read_tokeniser(finished) == before.tokeniser
    assert loaded.description.settings == before.description.settings
    assert weights(tmp_path / "adapted") != weights(finished)
    recipe = json.loads((tmp_path / "adapted" / "training" / "recipe.json").read_text())
    assert recipe["training"]["schedule"] == "constant"
    assert Path(recipe["data"]["adapt"]).samefile(finished)
    assert {key: recipe["model"][key] for key in before.description.settings if not key.endswith("vocabulary")} == {
        key: value for key, value in before.description.settings.items() if not key.endswith("vocabulary")
    }


def test_an_adapted_model_may_have_another_dropout_and_keeps_all_else(finished: Path, tmp_path: Path) -> None:
    new, out = corpus(tmp_path / "new.tsv", pairs=80, seed=9), tmp_path / "adapted"
    more = ("--preset", "adapt", "--steps", "2", "--checkpoint-every", "2", "--from", str(finished))
    told = run(new, out, *more, "--set", "model.dropout=0.45")
    assert told.returncode == 0, told.stderr
    before = modelfolder.load(finished).description.settings
    assert before["dropout"] != 0.45
    assert modelfolder.load(out).description.settings == before | {"dropout": 0.45}
    for setting, message in (
        ("model.d_model=48", "model.d_model = 48: the model "),
        ('model.positions="rotary"', "which this run adapts, has 'interleaved'"),
        ("tokeniser.vocabulary=77", "leave tokeniser.vocabulary out, or train without --from."),
    ):
        told = run(new, tmp_path / "refused", *more, "--set", setting)
        assert told.returncode == 1
        assert message in " ".join(told.stderr.split())
        assert not (tmp_path / "refused" / "training" / "recipe.json").exists()


def test_a_folder_with_test_sets_in_it_is_warned_of(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    corpus(folder / "train.tsv")
    corpus(folder / "test.tsv", pairs=30, seed=5)
    told = run(folder, tmp_path / "out", "--steps", "2", "--checkpoint-every", "2")
    assert told.returncode == 0, told.stderr
    assert "test.tsv are named like test or validation sets, but training uses them." in told.stderr
    alone = run(folder / "train.tsv", tmp_path / "alone", "--steps", "2", "--checkpoint-every", "2")
    assert "named like test" not in alone.stderr
