"""What the documents show is true."""

import gzip
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[2]


def test_the_readmes_python_runs(trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").symlink_to(trained_folder)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert names["seen"].lookups


def test_the_readme_has_at_most_five_figures_each_with_its_command() -> None:
    section = (ROOT / "README.md").read_text().split("## Figures")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    assert 1 <= sum(len(re.findall(r"\d[\d.,]*", figure)) for _, figure, _ in rows) <= 5
    assert all(re.search(r"`(regard|python) .*`", command) for _, _, command in rows)


def test_the_example_of_watching_runs_and_gives_the_shapes_that_it_claims() -> None:
    (code,) = re.findall(
        r"```python\n([^`]*\bwatch\b[^`]*)```", (ROOT / "docs" / "looking.md").read_text(), flags=re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert "# 1 x 7 x 37000" in code
    assert names["logits"].shape == (1, 7, 37000)
    assert "# 1 x 8 x 7 x 7:" in code
    assert names["seen"][names["AttentionName"]("decoder-source", 5)][0].weights.shape == (1, 8, 7, 7)
    assert not torch.allclose(names["changed"], names["logits"])


def test_the_parameters_in_the_papers_map_are_those_of_the_presets() -> None:
    from regard import models, presets

    rows = re.findall(r"^\| `([\w.-]+)` \| ([\d,]+) \|", (ROOT / "docs" / "paper.md").read_text(), flags=re.MULTILINE)
    assert len(rows) == 11
    for name, count in rows:
        table = presets.load(name).model | {"source_vocabulary": 37_000, "target_vocabulary": 37_000}
        with torch.device("meta"):
            model = models.build("transformer", models.read_settings(table, where=name))
        assert f"{sum(parameter.numel() for parameter in model.parameters()):,}" == count


def test_the_tables_of_scaling_are_those_that_its_script_prints(capsys: pytest.CaptureFixture[str]) -> None:
    spec = spec_from_file_location("scaling", ROOT / "benchmarks" / "scaling.py")
    assert spec
    assert spec.loader
    script = module_from_spec(spec)
    spec.loader.exec_module(script)
    script.main()
    printed, shown = capsys.readouterr().out, (ROOT / "docs" / "scaling.md").read_text()
    tables = printed.strip().split("\n\n")
    assert len(tables) == 5
    assert [table for table in tables if table not in shown] == []


def test_the_kinds_of_findings_in_the_documentation_are_those_of_the_program() -> None:
    from regard.text.bad_input import Problem
    from regard.text.cleaning import Reason
    from regard.text.inspection.direction import Misplaced
    from regard.text.inspection.oddities import Odd

    text = (ROOT / "docs" / "data.md").read_text()
    kinds = [problem.name.lower() for problem in Problem] + [reason.name.lower() for reason in Reason]
    kinds += [f"misplaced_{what.name.lower()}" for what in Misplaced] + [f"odd_{odd.name.lower()}" for odd in Odd]
    assert [kind for kind in kinds if f"`{kind}`" not in text] == []


def test_the_python_in_the_page_on_the_translator_runs(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").symlink_to(trained_folder)
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "translator.md").read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert len(names["both"][0].alternatives) == 3
    assert names["one"].source == "Line 0."


def test_the_pages_on_documents_have_every_format_and_their_python_runs(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.text.documents import formats

    text = (ROOT / "docs" / "translating.md").read_text()
    assert [name for name in formats() if f"`{name}`" not in text] == []
    page = (ROOT / "docs" / "documents.md").read_text()
    table = re.findall(r"^\| (`.*?) \| (`.*?) \|", page, flags=re.MULTILINE)
    assert {name for names, _ in table for name in re.findall(r"`(\w+)`", names)} >= set(formats())
    endings = {ending for _, endings in table for ending in re.findall(r"`(\.\w+)`", endings)}
    assert endings == {suffix for document in formats().values() for suffix in document.suffixes}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-model").symlink_to(trained_folder)
    (tmp_path / "messages.po").write_text('msgid "alto"\nmsgstr ""\n')
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert (names["report"].translated, names["report"].segments) == (1, 1)


def test_the_python_in_the_page_on_data_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.tokens import TokeniserSettings, train

    monkeypatch.chdir(tmp_path)
    with gzip.open("train.tsv.gz", "wt", encoding="utf-8") as file:
        file.write("Hello.\tHallo.\n")
    names: dict[str, Any] = {"tokenisers": train(["a"], ["b"], TokeniserSettings(kind="utf8"))}
    preparing, loading = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "data.md").read_text(), flags=re.DOTALL)
    exec(preparing, names)  # noqa: S102
    assert names["corpus"].description["kept"] == 1
    assert "    ...  # `after` is where to go on" in loading
    exec(loading.replace("...", "break"), names)  # noqa: S102
    assert names["after"] == (1, 0, 0)


def test_the_pictures_in_the_documentation_are_what_the_program_draws() -> None:
    folder = ROOT / "docs" / "pictures"
    spec = spec_from_file_location("draw", folder / "draw.py")
    assert spec
    assert spec.loader
    drawing = module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert {path.name for path in folder.glob("*.svg")} >= set(drawing.PICTURES)
    assert [name for name, draw in drawing.PICTURES.items() if draw() != (folder / name).read_text()] == []
