"""Tables as people have them: CSV and XLSX with headers, quotes, named columns and other encodings."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from regard import CorpusError
from regard.cli import _application
from regard.text.cleaning import CleaningSettings
from regard.text.corpus import read, reading_options, write
from regard.text.inspection.inspect import Corpus, look_through
from regard.text.pairs import Columns, Languages, Pair

LANGUAGES = Languages("en", "de")


def texts(path: Path, *, columns: Columns | None = None, encoding: str | None = None) -> list[tuple[str, str]]:
    return [pair[:2] for pair in read([path], LANGUAGES, columns=columns, encoding=encoding)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("en,de\nHi,Hallo\n", [("Hi", "Hallo")]),
        ("id;German;English\n1;Hallo;Hi\n", [("Hi", "Hallo")]),
        ("Source\tTarget\tnote\nHi\tHallo\tx\n", [("Hi", "Hallo")]),
        ("Hi,Hallo\nBye,Tschüss\n", [("Hi", "Hallo"), ("Bye", "Tschüss")]),
        ('source,target\n"Hi, ""you""\nthere",Hallo\n', [('Hi, "you"\nthere', "Hallo")]),
        ("de-DE,en-GB\r\nHallo,Hi\r\n", [("Hi", "Hallo")]),
    ],
)
def test_a_header_is_known_by_languages_or_sides_and_quotes_are_read(
    tmp_path: Path, table: str, expected: list[tuple[str, str]]
) -> None:
    (tmp_path / "a.csv").write_text(table, newline="")
    assert texts(tmp_path / "a.csv") == expected


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_columns_are_chosen_by_name_or_number_in_another_encoding(tmp_path: Path, name: str) -> None:
    tab = "," if name == "a.csv" else "\t"
    rows = [("key", "Quelle", "Ziel"), ("1", "caf\u00e9", "f\u00fcr")]
    (tmp_path / name).write_bytes("\n".join(tab.join(row) for row in rows).encode("cp1252"))
    assert texts(tmp_path / name, columns=("quelle", "ziel"), encoding="cp1252") == [("café", "für")]
    assert texts(tmp_path / name, columns=(3, 2), encoding="cp1252")[-1] == ("für", "café")
    with pytest.raises(CorpusError, match=r"there is no column 'Zeil'; its first row has: 'key', 'Quelle', 'Ziel'"):
        texts(tmp_path / name, columns=("Quelle", "Zeil"), encoding="cp1252")
    with pytest.raises(CorpusError, match="is not ASCII"):
        texts(tmp_path / name, columns=("Quelle", "Ziel"), encoding="ascii")


def test_a_table_whose_columns_are_unclear_and_a_short_row_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(CorpusError, match=r"a\.csv:1: this table has 3 columns: 'a', 'b', 'c'\.\n  Choose the columns"):
        texts(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text("en,de\nHi\n")
    with pytest.raises(CorpusError, match=r"a\.csv:2: this row has 1 columns, but column 2 is needed"):
        texts(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_text('en,de\n"Hi,Hallo\n')
    with pytest.raises(CorpusError, match=r"this row is not valid CSV"):
        texts(tmp_path / "a.csv")


def test_a_sheet_is_read_with_its_header_and_blank_rows_are_passed_over(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.create_sheet("second").append(["not", "this"])
    for row in (["Key", "Source", "Target"], ["a", "Hi", "Hallo"], [None, None, None], ["b", 5, "fünf"]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert texts(tmp_path / "a.xlsx") == [("Hi", "Hallo"), ("5", "fünf")]
    assert texts(tmp_path / "a.xlsx", columns=("Key", "Target")) == [("a", "Hallo"), ("b", "fünf")]
    (tmp_path / "b.xlsx").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(CorpusError, match="this is not a sound zip archive"):
        texts(tmp_path / "b.xlsx")


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx"])
def test_what_was_written_is_read(tmp_path: Path, name: str) -> None:
    pairs = [Pair('He said "no", twice', "zwei\nZeilen"), Pair("=SUM(1)", " x ")]
    write(tmp_path / name, pairs, LANGUAGES)
    assert texts(tmp_path / name) == [pair[:2] for pair in pairs]


def test_check_reads_tables_with_named_columns_and_recommends_them(tmp_path: Path) -> None:
    rows = [f"{n},This is the sentence {n} of many.,Das ist der Satz {n} von vielen." for n in range(40)]
    (tmp_path / "a.csv").write_bytes("\n".join(["id,Original text,Translated text", *rows]).encode("cp1252"))
    columns = ("Original text", "Translated text")
    corpus = Corpus((str(tmp_path / "a.csv"),), LANGUAGES, None, columns, "cp1252")
    found = look_through(corpus, cleaning=CleaningSettings())
    assert found.cleaning.kept == 40
    options = reading_options(LANGUAGES, columns=columns, encoding="cp1252")
    assert options == "--source en --target de --columns 'Original text,Translated text' --encoding cp1252"
    asked = ["check", str(tmp_path / "a.csv"), "--source", "en", "--target", "de", "--encoding", "klingon"]
    wrong = CliRunner().invoke(_application(), asked)
    assert wrong.exit_code == 2
    assert "not a known encoding" in wrong.stderr
