"""Compiling while the corpus is prepared. A GPU is made up, since the compiler itself is tried on a real one only."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from regard.training.distribution import Processes
from regard.training.machine import compiling_ahead as ahead
from regard.training.recipe import Recipe
from regard.training.resuming import write_recipe

ALONE, GPU = Processes(), torch.device("cuda")
MODEL = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 32, "d_ff": 64, "heads": 2, "d_k": 16, "d_v": 16}


def recipe(*, compiled: str = "yes", kind: str = "subwords", adapt: str | None = None, steps: int = 10) -> Recipe:
    tables = {
        "data": {"files": ["a.tsv"], "source": "en", "target": "de", "adapt": adapt},
        "model": MODEL,
        "tokeniser": {"kind": kind, "vocabulary": 300},
        "training": {"compile": compiled, "steps": steps, "batch_tokens": 256, "row_lengths": [32, 64]},
    }
    return Recipe.read(tables, where="a test")


def test_it_is_worthwhile_only_where_the_step_is_compiled_and_the_vocabulary_known() -> None:
    def worthwhile(made: Recipe, device: torch.device = GPU, processes: Processes = ALONE) -> bool:
        return ahead.is_worthwhile(made, device=device, processes=processes)

    assert worthwhile(recipe())
    assert not worthwhile(recipe(), device=torch.device("cpu"))
    assert not worthwhile(recipe(), processes=Processes(0, 2, grouped=True))
    assert not worthwhile(recipe(compiled="no"))
    assert not worthwhile(recipe(compiled="auto")), "a training of ten small steps is not compiled"
    assert not worthwhile(recipe(kind="characters"))
    assert not worthwhile(recipe(adapt="another-model"))


def test_every_shape_is_computed_from_short_to_long_until_it_is_enough() -> None:
    cpu, plain = torch.device("cpu"), recipe(compiled="no")
    assert ahead.compile_shapes(plain, cpu) == [32, 64]
    answers = iter([False, True])
    assert ahead.compile_shapes(plain, cpu, enough=lambda: next(answers)) == [32]


def test_the_process_reads_the_recipe_of_the_run_and_ends_when_nothing_more_is_needed(tmp_path: Path) -> None:
    write_recipe(tmp_path, recipe(compiled="no"))
    command = [sys.executable, "-m", ahead.__name__, str(tmp_path), "cpu"]
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_process_never_outlives_the_preparation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "__name__", "this_file_does_not_compile")
    monkeypatch.setattr(sys, "executable", _sleeper(tmp_path))
    monkeypatch.setattr(ahead, "_LONGEST_WAIT", 0.1)
    with ahead.compiling_ahead(recipe(), tmp_path, device=GPU, processes=ALONE) as beside:
        assert beside is not None
        assert beside.poll() is None
    assert beside.poll() is not None
    began = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        ahead.compiling_ahead(recipe(), tmp_path, device=GPU, processes=ALONE) as beside,
    ):
        raise KeyboardInterrupt
    assert beside is not None
    assert beside.poll() is not None
    assert time.monotonic() - began < 60


def _sleeper(folder: Path) -> str:
    """A program that ignores its arguments and its input, and never ends."""
    script = folder / "sleeper"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    return str(script)
