"""Files that are made to exhaust a machine are refused before they do."""

import io
import zipfile
from pathlib import Path

import pytest

from fake_translators import Fake
from regard import TextError
from regard.text import packages
from regard.translation.documents import translated_document

DOCX = Path(__file__).parents[1] / "real_documents" / "par-hyperlinks.docx"


def changed(folder: Path, **entries: bytes) -> Path:
    """The document with some of its entries, `/` written as `__`, replaced or added."""
    named = {name.replace("__", "/").replace("_dot_", "."): data for name, data in entries.items()}
    path = folder / "a.docx"
    with zipfile.ZipFile(DOCX) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.namelist():
            new.writestr(entry, named.pop(entry, None) or old.read(entry))
        for name, data in named.items():
            new.writestr(name, data)
    return path


def refused(path: Path, message: str) -> None:
    with pytest.raises(TextError, match=message):
        translated_document(Fake(), path)


def test_an_entry_that_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path) -> None:
    refused(changed(tmp_path, word__media__x=bytes(8 << 20)), "unpacks to more than 200 times its size")


def test_too_many_entries_and_too_much_data_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = changed(tmp_path)
    monkeypatch.setattr(packages, "MOST_ENTRIES", 3)
    refused(path, r"it has \d+ entries, and Regard reads at most 3")
    monkeypatch.undo()
    monkeypatch.setattr(packages, "MOST_BYTES", 1 << 10)
    refused(path, "unpacked, it would be larger than")
    monkeypatch.undo()
    monkeypatch.setattr(packages, "MOST_TEXT", 1 << 10)
    refused(path, r"the text '\[Content_Types\].xml' in it is larger than")


@pytest.mark.parametrize("name", ["../a", "/etc/x", "a/../../b", "C:/x", "..\\a"])
def test_a_name_that_leads_out_of_the_archive_is_refused(tmp_path: Path, name: str) -> None:
    path = changed(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, b"x")
    refused(path, "leads out of the archive")


def test_an_entry_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("word/document.xml", b"<x/>")
    refused(path, "the entry 'word/document.xml' more than once")


def test_an_archive_that_is_cut_off_or_holds_another_size_than_it_says_is_refused(tmp_path: Path) -> None:
    raw = DOCX.read_bytes()
    (tmp_path / "a.docx").write_bytes(raw[: len(raw) // 2])
    refused(tmp_path / "a.docx", "not a sound zip archive")
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        start = archive.getinfo("word/document.xml").header_offset
    (tmp_path / "a.docx").write_bytes(raw[: start + 60] + bytes(40) + raw[start + 100 :])
    refused(tmp_path / "a.docx", "not a sound zip archive")


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ('<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><w:document>&b;</w:document>', "defines entities"),
        ("<a>" * 3000 + "</a>" * 3000, "depth|deep"),
        ("<a>" * 300 + "</a>" * 300, "depth|deep"),
        ("<a>", "not valid XML"),
    ],
)
def test_entities_and_deep_nesting_in_a_package_are_refused(tmp_path: Path, xml: str, message: str) -> None:
    refused(changed(tmp_path, word__document_dot_xml=xml.encode()), message)


@pytest.mark.parametrize("name", ["a.json", "a.arb", "a.yml"])
def test_deeply_nested_catalogues_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"a":' * 20_000 + '"b"' + "}" * 20_000)
    refused(tmp_path / name, "nested too deeply|not valid YAML")


def test_a_laugh_of_aliases_costs_nothing(tmp_path: Path) -> None:
    lines = ["a0: &a0 [Some text]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    (tmp_path / "a.yml").write_text("\n".join(lines) + "\n")
    written, report = translated_document(Fake(), tmp_path / "a.yml")
    assert report.segments == 1
    assert written.startswith(b"a0: &a0 [SOME TEXT]\n")
