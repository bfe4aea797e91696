"""`regard translate` on whole folders, on files that it does not know, and with a memory."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polib
import pytest

from regard.cli import main
from trained import translation

Told = tuple[int, str, str]
Run = Callable[..., Told]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def told(*arguments: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["regard", "translate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return told


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "index.html": "<p>alto gan</p>",
        "sub/a.pot": 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=CHARSET\\n"\n\nmsgid "jelo"\nmsgstr ""\n',
        "sub/deep/notes.txt": "alto\n",
        "sub/x.png": "\x89PNG",
        "sub/code.ts": "let a = 1;\n",
        ".hidden/a.txt": "alto\n",
    }
    for name, text in files.items():
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "docs"


def test_a_folder_is_mirrored_and_other_files_are_copied(run: Run, trained_folder: Path, tree: Path) -> None:
    out = tree.parent / "new" / "docs.xb"
    code, _, err = run(trained_folder, tree, "--out", out)
    assert code == 0, err
    found = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    assert found == {"index.html", "sub/a.po", "sub/deep/notes.txt", "sub/x.png", "sub/code.ts"}
    assert (out / "index.html").read_text() == f"<p>{translation('alto gan')}</p>"
    assert polib.pofile(str(out / "sub" / "a.po")).find("jelo").msgstr == translation("jelo")
    assert (out / "sub" / "code.ts").read_bytes() == (tree / "sub" / "code.ts").read_bytes()
    assert "2 files of other kinds copied unchanged." in err
    assert run(trained_folder, tree, "--out", out)[0] == 1
    assert run(trained_folder, tree, "--out", out, "--force")[0] == 0


def test_the_output_may_lie_within_the_folder_and_is_not_translated_again(
    run: Run, trained_folder: Path, tree: Path
) -> None:
    for _ in range(2):
        assert run(trained_folder, tree, "--out", tree / "xb", "--force")[0] == 0
    assert not (tree / "xb" / "xb").exists()
    assert "a folder of its own" in run(trained_folder, tree, "--out", tree)[2]


def test_one_bad_file_loses_nothing_of_the_others_and_is_listed(run: Run, trained_folder: Path, tree: Path) -> None:
    (tree / "bad.json").write_text("{")
    (tree / "worse.docx").write_text("no")
    out = tree.parent / "out"
    code, _, err = run(trained_folder, tree, "--out", out)
    assert code == 1
    assert "2 of 7 files could not be translated:" in err
    assert "bad.json:1: this is not valid JSON" in err
    assert "worse.docx: this is not a sound zip archive" in err
    assert (out / "index.html").exists()
    assert not (out / "bad.json").exists()


def test_a_dry_run_counts_files_segments_and_words_and_writes_nothing(
    run: Run, trained_folder: Path, tree: Path
) -> None:
    code, out, err = run(trained_folder, tree, "--dry-run", "--out", tree.parent / "out")
    assert code == 0, err
    assert f"{tree / 'index.html'}: html, 1 segments to translate, 2 words\n" in out
    assert f"{tree / 'sub' / 'x.png'}: not a document that Regard knows" in out
    assert out.endswith("3 documents: 3 segments to translate, 4 words\n")
    assert not (tree.parent / "out").exists()
    (tree / "bad.json").write_text("{")
    code, out, err = run(trained_folder, tree, "--dry-run", "--json")
    assert code == 1
    assert "not valid JSON" in err
    assert {json.loads(line)["format"] for line in out.splitlines()} == {"html", "po", "txt", None}


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.csv", "a,b\n", "a table"),
        ("a.ts", "let a = 1;\n", "source code"),
        ("a.toml", "a = 1\n", "a configuration file"),
        ("package.json", "{}", "a configuration file"),
        ("a.xml", "<book>text</book>", "markup"),
        ("noname", "<?xml version='1.0'?><!-- <b> --><book>text</book>", "markup: its first element is <book>"),
        ("other", "%PDF-1.7\n", "a PDF file"),
    ],
)
def test_a_structured_file_of_an_unknown_kind_is_refused_by_name_and_never_taken_for_lines(
    run: Run, trained_folder: Path, tmp_path: Path, name: str, text: str, kind: str
) -> None:
    (tmp_path / name).write_text(text)
    code, out, err = run(trained_folder, tmp_path / name)
    assert (code, out) == (1, "")
    assert f"{name}: this is {kind}" in err
    assert "docx, epub, html" in err
    assert "--format txt" in err
    code, out, _ = run(trained_folder, tmp_path / name, "--format", "txt")
    assert (code, out.count("\n")) == (0, text.count("\n"))


def test_a_package_without_its_ending_is_known_by_its_content(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    real = Path(__file__).parents[1] / "real_documents"
    for name, kind in (("par-hyperlinks.docx", "docx"), ("headerfooter.odt", "odt"), ("test-book-v3.epub", "epub")):
        (tmp_path / kind).write_bytes((real / name).read_bytes())
        code, out, err = run(trained_folder, tmp_path / kind, "--dry-run")
        assert code == 0, err
        assert f"{tmp_path / kind}: {kind}, " in out


def test_lines_and_documents_take_what_the_memory_has(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "memory.tsv").write_text("alto gan\tFROM MEMORY\nalto gan jelo cado\tNEAR\n")
    (tmp_path / "a.txt").write_text("alto gan\nalto gan jelo cada\n")
    asked = ("--memory", tmp_path / "memory.tsv")
    code, out, err = run(trained_folder, tmp_path / "a.txt", *asked, "--json")
    assert code == 0, err
    first, second = map(json.loads, out.splitlines())
    assert (first["text"], first["origin"]) == ("FROM MEMORY", "memory")
    assert (second["origin"], second["near"][0]["target"]) == ("machine", "NEAR")
    code, _, err = run(trained_folder, tmp_path / "a.txt", *asked, "--out", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_text().startswith("FROM MEMORY\n")
    assert "2 of 2 segments translated, 1 of them from the memory." in err


def test_an_encoding_can_be_given_for_lines_and_documents(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("alto \u00e9\n".encode("utf-16"))
    assert run(trained_folder, tmp_path / "a.txt")[0] == 1
    code, out, err = run(trained_folder, tmp_path / "a.txt", "--encoding", "utf-16")
    assert (code, out.count("\n")) == (0, 1), err
    code, _, err = run(trained_folder, tmp_path / "a.txt", "--encoding", "utf-16", "--out", tmp_path / "b.txt")
    assert (tmp_path / "b.txt").read_bytes().decode("utf-16").endswith("\n")
