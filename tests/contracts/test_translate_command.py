"""`regard translate` as people use it, for lines and for documents."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import polib
import pytest

import regard
from regard.cli import main
from trained import translation

Told = tuple[int, str, str]
Run = Callable[..., Told]

PO = 'msgid ""\nmsgstr "Language: \\n"\n\nmsgid "alto gan"\nmsgstr ""\n\nmsgid "jelo"\nmsgstr "done"\n'
XLIFF = (
    '<xliff version="1.2"><file source-language="xa" target-language="xb"><body>'
    '<trans-unit id="1"><source>alto <g id="7">cado</g></source></trans-unit></body></file></xliff>'
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    def told(*arguments: object) -> Told:
        monkeypatch.setattr(sys, "argv", ["regard", "translate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return told


def test_a_catalogue_is_translated_to_standard_output_and_only_what_is_untranslated(
    run: Run, trained_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.po").write_text(PO)
    code, out, err = run(trained_folder, tmp_path / "a.po")
    assert code == 0, err
    catalogue = polib.pofile(out)
    assert catalogue.find("alto gan").msgstr == translation("alto gan")
    assert catalogue.find("alto gan").fuzzy
    assert catalogue.find("jelo").msgstr == "done"
    assert err == f"{tmp_path / 'a.po'}: 1 of 2 segments translated, 1 left unchanged.\n"
    _, out, _ = run(trained_folder, tmp_path / "a.po", "--all", "--no-mark")
    catalogue = polib.pofile(out)
    assert catalogue.find("jelo").msgstr == translation("jelo")
    assert not catalogue.find("jelo").fuzzy


def test_documents_go_into_a_folder_and_json_tells_what_became_of_them(
    run: Run, trained_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.pot").write_text(PO)
    (tmp_path / "b.xlf").write_text(XLIFF)
    (tmp_path / "c.txt").write_text("alto\r\n\r\n  gan\r\n", newline="")
    names = [tmp_path / name for name in ("a.pot", "b.xlf", "c.txt")]
    code, out, err = run(trained_folder, *names, "--out", tmp_path / "de", "--json")
    assert (code, err) == (0, "")
    reports = [json.loads(line) for line in out.splitlines()]
    assert [(report["format"], report["segments"]) for report in reports] == [("po", 2), ("xliff", 1), ("txt", 2)]
    assert [Path(report["out"]).name for report in reports] == ["a.po", "b.xlf", "c.txt"]
    assert (tmp_path / "de" / "c.txt").read_bytes() == b"zorva\r\n\r\n  tirlo\r\n"
    assert '<g id="7">' in (tmp_path / "de" / "b.xlf").read_text().split("</source>")[1]


def test_a_file_that_is_there_is_written_over_only_by_force(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("alto gan\n")
    code, _, err = run(trained_folder, path, "--out", path)
    assert (code, path.read_text()) == (1, "alto gan\n")
    assert err == f"error: {path}: this file already exists.\n  Give --force to overwrite it.\n"
    assert run(trained_folder, path, "--out", path, "--force")[0] == 0
    assert path.read_text() == f"{translation('alto gan')}\n"


def test_a_format_can_be_given_for_a_file_of_any_name(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("# alto\n\n`gan` gan\n")
    code, out, err = run(trained_folder, tmp_path / "notes", "--format", "md")
    assert code == 0, err
    assert out.splitlines()[0] == f"# {translation('alto')}"
    assert "`gan`" in out


def test_lines_of_text_keep_their_order_and_give_alignments(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alto gan\n\njelo\n")
    _, out, _ = run(trained_folder, tmp_path / "a.txt", "--alignment")
    texts, alignments = zip(*(line.split("\t") for line in out.split("\n")[:-1]), strict=True)
    assert texts == (translation("alto gan"), "", translation("jelo"))
    assert sorted(alignments[0].split()) == ["0-1", "1-0"]
    _, out, _ = run(trained_folder, tmp_path / "a.txt", "--alignment", "--json")
    told = json.loads(out.split("\n")[0])
    assert sorted(told["alignment"]) == [[0, 1], [1, 0]]
    assert len(told["logprobs"]) == len(told["tokens"]) + 1


def test_a_dash_is_standard_input_for_lines_and_for_documents(
    run: Run, trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("jelo\n")
    (tmp_path / "typed").write_text("alto gan\n")
    with (tmp_path / "typed").open() as typed:
        monkeypatch.setattr(sys, "stdin", typed)
        _, out, err = run(trained_folder, tmp_path / "a.txt", "-")
    assert out.splitlines() == [translation("jelo"), translation("alto gan")], err
    (tmp_path / "typed").write_text(PO)
    for more in (["-", "--format", "po"], ["--format", "po", "--out", tmp_path / "b.po"]):
        with (tmp_path / "typed").open() as typed:
            monkeypatch.setattr(sys, "stdin", typed)
            _, out, err = run(trained_folder, *more)
        assert err == "-: 1 of 2 segments translated, 1 left unchanged.\n"
        written = out or (tmp_path / "b.po").read_text()
        assert polib.pofile(written).find("alto gan").msgstr == translation("alto gan")


def test_an_error_in_a_file_recommends_nothing_that_translating_cannot_do(
    run: Run, trained_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04\x14\0\n")
    code, _, err = run(trained_folder, tmp_path / "a.docx")
    assert code == 1
    assert err == (
        f"error: {tmp_path / 'a.docx'}: this is not a sound zip archive: File is not a zip file.\n"
        "  The file may be damaged. Save it again with the program that wrote it.\n"
    )


def test_a_glossary_requires_its_phrases(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alto gan\n")
    (tmp_path / "glossary.tsv").write_text("gan\tquent\n\n")
    _, out, err = run(trained_folder, tmp_path / "a.txt", "--glossary", tmp_path / "glossary.tsv")
    assert "quent" in out.split(), err
    (tmp_path / "a.md").write_text("*alto* gan\n")
    _, out, _ = run(trained_folder, tmp_path / "a.md", "--glossary", tmp_path / "glossary.tsv")
    assert "quent" in out
    for text, message in [
        ("gan\n", "glossary.tsv:1: this line is not a glossary entry"),
        ("a\tb\na\tc\n", "glossary.tsv:2: 'a' already has the translation 'b'"),
        ("\n", "this glossary is empty"),
    ]:
        (tmp_path / "glossary.tsv").write_text(text)
        assert message in run(trained_folder, tmp_path / "a.txt", "--glossary", tmp_path / "glossary.tsv")[2]


def test_samples_depend_on_the_seed_alone(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alto gan jelo cado\n" * 4)
    options = ("--sample", "--temperature", "8.0", "--top-k", "50", "--top-p", "0.99")
    drawn = [run(trained_folder, tmp_path / "a.txt", *options, "--seed", seed)[1] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_an_ensemble_of_a_model_with_itself_says_the_same(run: Run, trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alto gan jelo cado\n")
    alone = run(trained_folder, tmp_path / "a.txt")
    assert run(trained_folder, tmp_path / "a.txt", "--ensemble", trained_folder, "--engine", "torch")[:2] == alone[:2]


def test_mistakes_are_told_before_a_model_is_loaded(run: Run, tmp_path: Path) -> None:
    for name in ("a.po", "b.po", "a.txt", "a.pptx"):
        (tmp_path / name).write_text("x\n")
    first, second, text, unknown = (tmp_path / name for name in ("a.po", "b.po", "a.txt", "a.pptx"))
    mistakes: list[tuple[list[object], str]] = [
        ([first, second], "several documents cannot be written to standard output.\n  Give a folder with --out."),
        ([first, second, "--out", text], "this is a file, and several documents need a folder"),
        ([first, first, "--out", tmp_path / "new"], "two documents would be written to this file"),
        ([first, "--format", "pp"], "There is no document format 'pp'"),
        ([unknown, "--out", tmp_path / "b"], "this is a presentation, which Regard does not translate"),
        ([unknown], "a.pptx: this is a presentation, which Regard does not translate"),
        ([tmp_path], "this is a folder.\n  Name a folder for its translation with --out."),
        ([tmp_path / "none.po"], "none.po: there is no such file"),
        ([first, "--n-best", "2"], "--n-best does not apply to documents, which hold one translation per segment"),
        ([first, "--alignment"], "--alignment does not apply to documents"),
        ([first, "--json"], "--json prints a report about each document, so the documents need --out"),
        (["-", "--out", tmp_path / "b"], "-: this is not a document that Regard knows"),
        (["-", "-"], "-: standard input can be read only once"),
        (["--glossary", "-"], "-: standard input can be read only once"),
        ([text, "--alignment", "--n-best", "2"], "--alignment applies to the best translation only"),
        ([text, "--top-k", "3"], "--top-k applies to sampling only.\n  Add --sample."),
        ([text, "--sample", "--top-p", "3"], "top_p = 3.0"),
        ([text], "none: there is no such folder"),
        ([text, "--glossary", tmp_path / "none.tsv"], "none.tsv: this file cannot be read"),
    ]
    for arguments, message in mistakes:
        code, out, err = run(tmp_path / "none", *arguments)
        assert (code, out) == (1, "")
        assert message in err


def test_python_translates_documents_with_a_loaded_model(trained_folder: Path, tmp_path: Path) -> None:
    from regard.translation.documents import translate_document

    (tmp_path / "a.po").write_text(PO)
    report = translate_document(regard.load(trained_folder, device="cpu"), tmp_path / "a.po", tmp_path / "b.po")
    assert (report.translated, report.kept, report.refused) == (1, 1, ())
    assert polib.pofile(str(tmp_path / "b.po")).find("alto gan").msgstr == translation("alto gan")
