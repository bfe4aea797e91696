"""Documents of other projects, translated and read by other libraries: nothing but their text has changed."""

import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from lxml import etree, html

from fake_translators import Fake, louder
from regard.translation.documents import translated_document

REAL = Path(__file__).parents[1] / "real_documents"
PACKAGES = ["par-hyperlinks.docx", "footnotes.docx", "headerfooter.odt", "test-book-v3.epub"]
CHANGED = {
    "par-hyperlinks.docx": {"word/document.xml"},
    "footnotes.docx": {"word/document.xml", "word/footnotes.xml"},
    "headerfooter.odt": {"content.xml", "styles.xml"},
}


def translated(name: str) -> bytes:
    written, report = translated_document(Fake(), REAL / name)
    assert report.translated == report.segments > 0
    assert report.refused == ()
    return written


@pytest.mark.parametrize("name", PACKAGES)
def test_a_package_keeps_every_other_entry_in_its_order_with_its_attributes(name: str) -> None:
    with zipfile.ZipFile(REAL / name) as before, zipfile.ZipFile(io.BytesIO(translated(name))) as after:
        assert after.namelist() == before.namelist()
        assert after.testzip() is None
        for old, new in zip(before.infolist(), after.infolist(), strict=True):
            assert (new.compress_type, new.date_time, new.external_attr) == (
                old.compress_type,
                old.date_time,
                old.external_attr,
            )
        changed = {entry for entry in before.namelist() if before.read(entry) != after.read(entry)}
        assert changed == CHANGED.get(name, changed)
        if name.endswith((".epub", ".odt")):
            first = after.infolist()[0]
            assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
        for entry in changed:
            etree.fromstring(after.read(entry))


@pytest.mark.parametrize("name", ["par-hyperlinks.docx", "footnotes.docx"])
def test_word_documents_keep_paragraphs_styles_links_and_notes(name: str) -> None:
    import docx

    before, after = docx.Document(str(REAL / name)), docx.Document(io.BytesIO(translated(name)))
    assert [paragraph.text for paragraph in after.paragraphs] == [p.text.upper() for p in before.paragraphs]
    assert [p.style.name for p in after.paragraphs] == [p.style.name for p in before.paragraphs]
    for old, new in zip(before.paragraphs, after.paragraphs, strict=True):
        links = [[(link.address, link.text.upper()) for link in paragraph.hyperlinks] for paragraph in (old, new)]
        assert links[0] == links[1]
        looks = [
            [(run.bold, run.italic, run.style.name, run.text.upper()) for run in paragraph.runs if run.text]
            for paragraph in (old, new)
        ]
        assert _joined(looks[1]) == _joined(looks[0])
    references = [re.findall("<w:footnoteReference[^>]*>", part.element.xml) for part in (before, after)]
    assert references[0] == references[1]


def _joined(runs: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    """Neighbouring runs that look alike as one."""
    joined: list[list[object]] = []
    for *look, text in runs:
        if joined and joined[-1][0] == look:
            joined[-1][1] += text  # type: ignore[operator]
        else:
            joined.append([look, text])
    return [tuple(run) for run in joined]


def test_a_text_document_of_libreoffice_is_read_by_odfpy_as_it_was() -> None:
    from odf import opendocument, teletype, text

    before = opendocument.load(str(REAL / "headerfooter.odt"))
    after = opendocument.load(io.BytesIO(translated("headerfooter.odt")))
    for kind in (text.P, text.H):
        found = [document.getElementsByType(kind) for document in (before, after)]
        texts = [[teletype.extractText(node) for node in nodes] for nodes in found]
        assert texts[1] == [one.upper() for one in texts[0]]
        styles = [[node.getAttribute("stylename") for node in nodes] for nodes in found]
        assert styles[0] == styles[1]


def test_a_book_keeps_its_files_and_their_elements() -> None:
    with (
        zipfile.ZipFile(REAL / "test-book-v3.epub") as before,
        zipfile.ZipFile(io.BytesIO(translated("test-book-v3.epub"))) as after,
    ):
        for name in before.namelist():
            if not name.endswith((".xhtml", ".opf", ".ncx")):
                assert after.read(name) == before.read(name)
                continue
            trees = [etree.fromstring(archive.read(name)) for archive in (before, after)]
            shapes = [[(node.tag, set(node.attrib) - {"title", "alt"}) for node in tree.iter()] for tree in trees]
            assert shapes[0] == shapes[1]
            if name.endswith(".xhtml"):
                for style in (style for tree in trees for style in tree.iter("{*}style")):
                    style.text = ""
                bodies = [" ".join("".join(tree.itertext()).split()) for tree in trees]
                assert bodies[1] == bodies[0].upper()
        package = etree.fromstring(after.read("OEBPF/ebook.opf"))
        assert package.findtext(".//{http://purl.org/dc/elements/1.1/}language") == "de"


def test_a_page_keeps_its_elements_and_its_style() -> None:
    before, after = (REAL / "404.html").read_text(), translated("404.html").decode()
    assert re.findall("<style.*?</style>", before, re.DOTALL) == re.findall("<style.*?</style>", after, re.DOTALL)
    trees = [html.fromstring(text) for text in (before, after)]
    assert [node.tag for node in trees[0].iter()] == [node.tag for node in trees[1].iter()]
    assert (trees[1].findtext(".//h1"), trees[1].get("lang")) == ("PAGE NOT FOUND", "de")
    assert len(before.splitlines()) == len(after.splitlines())


def test_a_json_catalogue_keeps_its_keys_and_what_is_not_language() -> None:
    before, after = json.loads((REAL / "prime.json").read_text()), json.loads(translated("prime.json"))
    assert list(after) == ["de"]
    old, new = before["en"], after["de"]
    assert list(old) == list(new)
    assert new["dateFormat"] == old["dateFormat"]
    assert new["aria"] == {key: louder(value) for key, value in old["aria"].items()}
    assert new["accept"] == "YES"


def test_a_yaml_catalogue_keeps_its_comments_and_quotes() -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    before, after = (REAL / "devise.yml").read_text(), translated("devise.yml").decode()
    read = [yaml.load(text) for text in (before, after)]
    old, new = read[0]["en"]["devise"], read[1]["de"]["devise"]
    assert new["failure"] == {key: louder(text) for key, text in old["failure"].items()}
    assert [line for line in after.splitlines() if line.startswith("#")] == [
        line for line in before.splitlines() if line.startswith("#")
    ]
    assert re.sub("[a-zA-Z]+", "", after) == re.sub("[a-zA-Z]+", "", before)


def test_android_resources_keep_their_names_and_descriptions() -> None:
    trees = [etree.fromstring(raw) for raw in ((REAL / "strings.xml").read_bytes(), translated("strings.xml"))]
    found = [[(node.tag, dict(node.attrib), node.text) for node in tree] for tree in trees]
    assert found[1] == [(tag, attributes, text.upper()) for tag, attributes, text in found[0]]


_JAVA = """
import java.io.*; import java.util.*;
public class Show { public static void main(String[] names) throws Exception {
  PrintStream out = new PrintStream(System.out, true, "UTF-8");
  for (String name : names) {
    Properties found = new Properties(); found.load(new FileInputStream(name));
    for (String key : found.stringPropertyNames()) out.println(name + "=" + key + "=" + found.getProperty(key));
  }
} }
"""


@pytest.mark.skipif(not shutil.which("java"), reason="there is no java on this machine")
def test_java_reads_properties_as_they_were_with_other_texts(tmp_path: Path) -> None:
    def umlauts(text: str) -> str:
        return louder(text).replace("A", "Ä")

    (tmp_path / "Show.java").write_text(_JAVA)
    (tmp_path / "a.properties").write_bytes(translated_document(Fake(umlauts), REAL / "scan.properties")[0])
    paths = [str(REAL / "scan.properties"), str(tmp_path / "a.properties")]
    ran = subprocess.run(["java", str(tmp_path / "Show.java"), *paths], capture_output=True, check=True)  # noqa: S607
    lines = [line.split("=", 2) for line in ran.stdout.decode().splitlines()]
    said = [{key: text for name, key, text in lines if name == path} for path in paths]
    assert said[1] == {key: umlauts(text) for key, text in said[0].items()}
    assert len(said[0]) == 11


def test_the_shipped_model_translates_a_page_and_a_word_document() -> None:
    import docx

    import regard

    translator = regard.load("en-de", device="cpu")
    page, report = translated_document(translator, REAL / "404.html")
    assert report.refused == ()
    assert html.fromstring(page.decode()).findtext(".//h1") not in ("Page Not Found", "", None)
    written, report = translated_document(translator, REAL / "par-hyperlinks.docx")
    links = [
        link.address for paragraph in docx.Document(io.BytesIO(written)).paragraphs for link in paragraph.hyperlinks
    ]
    assert len(links) == 4
    assert report.translated + len(report.refused) == report.segments
