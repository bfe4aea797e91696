"""The house itself: its public names, and that it is kept tidy."""

import ast
import re
from pathlib import Path

import pytest

import regard
from regard import errors

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def test_the_public_names_are_these() -> None:
    assert sorted(regard.__all__) == [
        "Alternative",
        "Attention",
        "CheckpointError",
        "CorpusError",
        "LanguageModel",
        "LengthError",
        "ModelFolderError",
        "RegardError",
        "Scored",
        "SearchSettings",
        "SettingsError",
        "TextError",
        "TrainingError",
        "Translation",
        "Translator",
        "TranslatorError",
        "__version__",
        "load",
        "train",
    ]
    assert all(hasattr(regard, name) for name in regard.__all__)
    assert set(regard.__all__) <= set(dir(regard))
    with pytest.raises(AttributeError, match="module 'regard' has no attribute 'Translater'"):
        regard.Translater  # type: ignore[attr-defined]  # noqa: B018


def test_a_type_checker_sees_the_public_names_and_no_others() -> None:
    tree = ast.parse((ROOT / "src/regard/__init__.py").read_text())
    checked, at_run_time = (node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    assert {name.name: node.module for node in imports for name in node.names} == regard._LATER
    assert ast.unparse(checked.test) == "TYPE_CHECKING"
    assert ast.unparse(at_run_time.test) == "not TYPE_CHECKING"
    assert [node.name for node in at_run_time.body if isinstance(node, ast.FunctionDef)] == ["__getattr__"]


def test_every_error_is_a_regard_error_and_is_drawn_in_the_tree() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    assert len(classes) > 1
    for error in classes:
        assert issubclass(error, errors.RegardError)
        assert error.__name__ in (errors.__doc__ or "")
        assert getattr(regard, error.__name__) is error


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_is_about_and_its_functions_fit_on_a_screen(path: Path) -> None:
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree)
    assert len(path.read_text().splitlines()) <= 450
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, node.name


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_unpickled(path: Path) -> None:
    code = path.read_text()
    if path.name == "foreign_files.py":  # reads other programs' weights by PyTorch's loader that runs no code
        assert (
            len(re.findall(r"torch\.load\(", code)) == len(re.findall(r"torch\.load\(.*weights_only=True\)", code)) == 1
        )
        code = re.sub(
            r"torch\.load\(.*weights_only=True\)|pickle\.UnpicklingError|^import pickle$|is a pickle",
            "",
            code,
            flags=re.M,
        )
    assert not re.search(r"\bpickle\b|torch\.load\b|\bmarshal\b|\bshelve\b|allow_pickle=True", code)


def test_the_version_stands_at_the_top_of_the_changelog() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] in (regard.__version__, "Unreleased")


def test_links_between_documents_lead_somewhere() -> None:
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    links = [
        (document, link)
        for document in documents
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text())
    ]
    assert links
    broken = [f"{document.name}: {link}" for document, link in links if not (document.parent / link).exists()]
    assert broken == []
