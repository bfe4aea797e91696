"""`regard demo` with few steps: its parts, and that it does not pass off what fell short. `make demo` runs it whole."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from regard import SettingsError, shipped
from regard.cli import _application
from regard.demo import tour
from regard.exchange import export


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The demonstration with few steps and examples."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REGARD_CACHE", str(folder.parent / "cache"))
        patch.setenv("COLUMNS", "120")
        patch.setattr(tour, "PAIRS", 2_000)
        for name, count in (("TESTED", 50), ("_VALIDATED", 10), ("_SEEN", 10)):
            patch.setattr(tour, name, count)
        return folder, CliRunner().invoke(_application(), ["demo", "--out", str(folder), "--steps", "12"])


def test_a_model_that_learned_too_little_is_not_passed_off(short: tuple[Path, Result]) -> None:
    _, told = short
    assert told.exit_code == 1
    assert re.search(r"The demo failed: \d+\.\d % of the dates are right; expected at least 98 %\.", told.output)


def test_the_demonstration_leaves_a_model_its_data_and_a_page(short: tuple[Path, Result]) -> None:
    folder, told = short
    assert (folder / "model" / "regard.json").is_file()
    assert len((folder / "test.tsv").read_text().splitlines()) == 50
    page = (folder / "attention.html").read_text()
    assert "mardi 5 mars 2024" in page
    assert re.search(r'"first":{"kind":"decoder-source","layer":\d,"head":\d,"piece":6}', page), "opens at the month"
    for part in (
        "from scratch to read dates",
        "step 12 of 12",
        "of 50 dates are right",
        "Looking at its attention",
        "Commands to try next",
    ):
        assert part in told.output
    assert "come with Regard" in told.output
    assert all(text in told.output for text in ("Wo ist der Bahnhof?", "Where is the station?"))


def test_what_to_type_next_works(short: tuple[Path, Result]) -> None:
    _, told = short
    commands = re.findall(r"^  (echo .*|regard .*?)(?:  |$)", told.output, flags=re.MULTILINE)
    assert len(commands) >= 4
    (evaluation,) = [line for line in commands if "evaluate" in line]
    result = CliRunner().invoke(_application(), evaluation.split()[1:])
    assert result.exit_code == 0, result.output


def test_shipped_models_translate_first_and_must_say_the_right_words(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tour.translate_examples() == [] or shipped.names()
    export(trained_folder, tmp_path / "en-de", to="regard")
    monkeypatch.setattr(shipped, "PLACE", tmp_path)
    monkeypatch.setitem(tour.EXAMPLES, "en-de", (("alto gan", ("tirlo", "zorva")), ("esta", ("Bahnhof",))))
    found = tour.translate_examples()
    assert [(one.model, one.text, one.missing) for one in found] == [
        ("en-de", "tirlo zorva", ()),
        ("en-de", "vos", ("Bahnhof",)),
    ]


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [tour.new_folder(None).name for _ in range(3)] == ["regard-demo", "regard-demo-2", "regard-demo-3"]
    with pytest.raises(SettingsError, match=r"regard-demo: this path already exists\.\n  The demo overwrites nothing"):
        tour.new_folder(Path("regard-demo"))
