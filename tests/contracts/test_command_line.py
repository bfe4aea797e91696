"""The command line as people meet it."""

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard import modelfolder, presets, shipped

COMMAND = Path(sys.executable).parent / "regard"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, env=environment, check=False)


def test_help_answers_in_half_a_second_and_names_the_commands() -> None:
    assert "demo" in run("--help").stdout
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5  # of one core, however busy


def test_help_imports_nothing_heavy() -> None:
    code = "import sys, regard.cli; regard.cli._application(); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "typer" in modules
    assert not {"torch", "numpy", "pydantic", "safetensors", "lxml", "sentencepiece"} & set(modules)


@pytest.mark.parametrize(
    ("said", "expected"),
    [({}, "2000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
    ids=str,
)
def test_threads_give_processors_away_unless_the_environment_says_otherwise(
    said: dict[str, str], expected: str
) -> None:
    program = (
        "import os, sys; sys.argv = ['regard', '--version']; from regard.cli import main\n"
        "try: main()\nexcept SystemExit: print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"
    )
    others = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    told = subprocess.run(
        [sys.executable, "-c", program], env=others | said, capture_output=True, text=True, check=True
    )
    assert told.stdout.split("\n")[1] == f"{expected} False"  # the earlier, the better: PyTorch reads it once


def test_the_version_is_printed() -> None:
    assert run("--version").stdout == f"regard {regard.__version__}\n"


def test_python_dash_m_is_the_same_program() -> None:
    arguments = [sys.executable, "-m", "regard", "--version"]
    assert subprocess.run(arguments, capture_output=True, text=True, check=True).stdout == run("--version").stdout


def test_what_a_person_can_mend_is_told_without_a_traceback() -> None:
    told = run("translate", "nowhere/at-all")
    assert told.returncode == 1
    assert told.stderr.startswith("error: nowhere/at-all: there is no such folder")
    assert "Traceback" not in told.stderr


def test_the_presets_are_listed_with_what_they_are_for() -> None:
    told = run("presets", "--json")
    listed = json.loads(told.stdout)
    assert list(listed) == presets.names()
    assert listed["big"]["about"] == "The paper's big model: the last line of Table 3."
    assert listed["big"]["model"]["d_model"] == 1024
    shown = run("presets").stdout
    assert all(f"\n{name} " in shown for name in presets.names())


def test_the_doctor_says_what_works_and_what_to_do_about_the_rest() -> None:
    told = run("doctor")
    assert told.returncode == 0, told.stderr
    assert re.search(r"works on cpu +float32", told.stdout)
    assert re.search(r"engine torch +works", told.stdout)
    assert shipped_hashes()
    assert all(f"sha256{hashed}" in "".join(told.stdout.split()) for hashed in shipped_hashes()), (
        "whole, if on two lines"
    )


def shipped_hashes() -> list[str]:
    """Of the weights of every model in the box."""
    described = (modelfolder.read_description(shipped.PLACE / name) for name in shipped.names())
    return [description.files[modelfolder.WEIGHTS].sha256 for description in described]


@pytest.mark.parametrize("arguments", [["dmeo"], ["demo", "--stpes", "3"]])
def test_a_wrong_command_or_option_is_told(arguments: list[str]) -> None:
    told = run(*arguments)
    assert told.returncode == 2
    assert "No such" in told.stderr
