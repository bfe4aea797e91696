"""What each document format translates, what it keeps, and how it writes what it translates."""

import json
import shutil
import subprocess
from pathlib import Path

import polib
import pytest

from example_documents import ANDROID, ARB, EXAMPLES, HTML, JSON, PROPERTIES, RESX, TS, YAML
from fake_translators import Fake, louder
from regard import TextError
from regard.text import accelerators, documents
from regard.text.content import Content
from regard.text.documents import Asked, Origin, Remarks
from regard.text.pairs import Languages
from regard.text.plurals import plural_forms
from regard.text.spacing import respaced
from regard.translation.documents import translated_document

GROUP = '<xliff:g id="who" example="Ann">%1$s</xliff:g>'
ASKED = Asked(Languages("en", "de"))


def translated(folder: Path, name: str, text: str, fake: Fake | None = None) -> str:
    (folder / name).write_text(text, newline="")
    return translated_document(fake or Fake(), folder / name)[0].decode()


def changes(before: str, after: str) -> list[tuple[str, str]]:
    lines = [text.split("\n") for text in (before, after)]
    assert len(lines[0]) == len(lines[1])
    return [(old.strip(), new.strip()) for old, new in zip(*lines, strict=True) if old != new]


def test_html_translates_text_and_attributes_and_keeps_scripts_code_entities_and_quotes(tmp_path: Path) -> None:
    assert changes(HTML, translated(tmp_path, "a.html", HTML)) == [
        ('<html lang="en">', '<html lang="de">'),
        ("<title>Fish &amp; chips</title>", "<title>FISH &amp; CHIPS</title>"),
        (
            '<meta name="description" content="A page about food">',
            '<meta name="description" content="A PAGE ABOUT FOOD">',
        ),
        (
            '<p>Press&nbsp;<b>the <i title="Hint">red</i></b> button<br>now &mdash; or <code>run it</code> later.',
            '<p>PRESS&nbsp;<b>THE <i title="HINT">RED</i></b> BUTTON<br>NOW &mdash; OR <code>run it</code> LATER.',
        ),
        ("<img src=a.png alt='A cat'></p>", "<img src=a.png alt='A CAT'></p>"),
        (
            '<ul><li>One<li>Two <a href="?a=1&b=2">links</a></ul>',
            '<ul><li>ONE<li>TWO <a href="?a=1&b=2">LINKS</a></ul>',
        ),
        (
            HTML.split("\n")[15].strip(),
            HTML.split("\n")[15]
            .strip()
            .replace("=Search", '="SEARCH"')
            .replace("Send it", "SEND IT")
            .replace("Close", "CLOSE"),
        ),
    ]


def test_html_in_its_declared_encoding_stays_in_it(tmp_path: Path) -> None:
    page = '<meta charset="iso-8859-1"><p>Café</p>'
    (tmp_path / "a.html").write_bytes(page.encode("latin-1"))
    written, _ = translated_document(Fake(lambda text: f"{text} ☕ ü"), tmp_path / "a.html")
    assert written == '<meta charset="iso-8859-1"><p>Café &#9749; ü</p>'.encode("latin-1")


def test_a_page_with_a_control_character_is_refused_and_xhtml_may_close_any_tag(tmp_path: Path) -> None:
    with pytest.raises(TextError, match=r"a\.html:2: there is a control character, U\+0001"):
        translated(tmp_path, "a.html", "<p>a</p>\n<p>\x01</p>")
    assert translated(tmp_path, "a.xhtml", "<p>a<script/>b</p>") == "<p>A<script/>B</p>"


def test_a_tag_that_moves_in_html_takes_its_translated_attribute_with_it(tmp_path: Path) -> None:
    def turned(text: str) -> str:
        return '<g id="1">rot</g> ist er' if "<g" in text else text.upper()

    written = translated(tmp_path, "a.html", '<p>He is <i title="a hint">red</i></p>', Fake(turned))
    assert written == '<p><i title="A HINT">rot</i> ist er</p>'


def test_json_keeps_keys_addresses_and_names_and_arb_what_is_marked(tmp_path: Path) -> None:
    assert changes(JSON, translated(tmp_path, "a.json", JSON)) == [
        ('"greeting": "Hello {{name}}, <b>welcome</b>!",', '"greeting": "HELLO {{name}}, <b>WELCOME</b>!",'),
        (
            '"nested": {"list": ["First item", "Second \\"item\\""], "count": 3, "url": "https://example.org/a"},',
            '"nested": {"list": ["FIRST ITEM", "SECOND \\"ITEM\\""], "count": 3, "url": "https://example.org/a"},',
        ),
        ('"icon": "arrow_left", "line": "one\\ntwo"', '"icon": "arrow_left", "line": "ONE\\nTWO"'),
    ]
    assert changes(ARB, translated(tmp_path, "a.arb", ARB)) == [
        ('"@@locale": "en",', '"@@locale": "de",'),
        ('"title": "My page",', '"title": "MY PAGE",'),
        ('"count": "{n} items"', '"count": "{n} ITEMS"'),
    ]


def test_in_catalogues_of_browser_extensions_only_messages_are_translated(tmp_path: Path) -> None:
    text = '{"a": {"message": "Some text", "description": "For people"}}'
    assert json.loads(translated(tmp_path, "messages.json", text)) == {
        "a": {"message": "SOME TEXT", "description": "For people"}
    }


def test_yaml_keeps_comments_quotes_blocks_and_aliases(tmp_path: Path) -> None:
    pytest.importorskip("ruamel.yaml")
    written = translated(tmp_path, "a.yml", YAML)
    for line in (
        "de:",
        "  greeting: HELLO THERE   # kept",
        "  single: 'IT''S MINE'",
        '  double: "A \\"QUOTED\\" WORD"',
        "  block: |\n    FIRST LINE\n    SECOND LINE",
        "  folded: >-\n    FOLDED WORDS GO ON",
        "  order: &anchor {a: SOME TEXT, b: 12}\n  again: *anchor\n  list: [ONE THING, ~, true]",
    ):
        assert line in written


def test_switches_of_yaml_stay_and_no_translation_becomes_one(tmp_path: Path) -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    yaml.version = (1, 1)  # as most programs read it: yes, no, on and off are switches
    text = "a: yes\nb: Off\nc: 'Yes'\nd: Ja\ne: [Nein, true]\n"
    said = {"Ja": "Yes", "Nein": "No", "Yes": "On"}
    written = translated(tmp_path, "a.yml", text, Fake(said.__getitem__))
    assert written == "a: yes\nb: Off\nc: 'On'\nd: 'Yes'\ne: ['No', true]\n"
    assert yaml.load(written) == {"a": True, "b": False, "c": "On", "d": "Yes", "e": ["No", True]}


@pytest.mark.parametrize("said", ["a: b", "- x", "yes", "# a b", "a # b", "'a' b", "{a} b", "null", "a, b] c", "Ja!"])
def test_any_translation_of_plain_yaml_is_read_as_that_text(tmp_path: Path, said: str) -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    written = translated(tmp_path, "a.yml", "key: Some text\nlist: [Some text]\n", Fake(lambda _: said))
    assert yaml.load(written) == {"key": said, "list": [said]}


def test_properties_keep_keys_comments_and_continued_lines_and_write_plain_ascii(tmp_path: Path) -> None:
    written = translated(tmp_path, "a.properties", PROPERTIES, Fake(lambda text: louder(text).replace("G", "Ü")))
    assert written.split("\n") == [
        "# comment = kept",
        "! another",
        "open=&OPEN THE FILE",
        "long = A LON\\u00dc VALUE THAT \\u00dcOES ON HERE",
        "path:/usr/share/x",
        "escaped\\ key\\:x = CAF\\u00c9 TIME",
        "pattern=YOU CAN''T OPEN {0}",
        "empty=",
        "",
    ]
    (tmp_path / "a.properties").write_bytes("a=Größe here\n".encode("latin-1"))
    written_raw, _ = translated_document(Fake(lambda text: f"{text} – ß"), tmp_path / "a.properties")
    assert written_raw == "a=Größe here \\u2013 ß\n".encode("latin-1")


def test_android_keeps_escapes_placeholders_references_and_what_is_not_translatable(tmp_path: Path) -> None:
    assert changes(ANDROID, translated(tmp_path, "strings.xml", ANDROID)) == [
        (
            rf"""<string name="hello">Don\'t <b>panic</b>,\n{GROUP} is here</string>""",
            rf"""<string name="hello">DON\'T <b>PANIC</b>,\n{GROUP} IS HERE</string>""",
        ),
        ("""<string name="quoted">"It's  quoted"</string>""", """<string name="quoted">"IT'S  QUOTED"</string>"""),
        (
            '<string name="html"><![CDATA[Read <a href="x">this & that</a>]]></string>',
            '<string name="html"><![CDATA[READ <a href="x">THIS & THAT</a>]]></string>',
        ),
        (
            '<plurals name="files"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>',
            '<plurals name="files"><item quantity="one">%d FILE</item><item quantity="other">%d FILES</item></plurals>',
        ),
        (
            '<string-array name="days"><item>Monday</item><item>Tuesday</item></string-array>',
            '<string-array name="days"><item>MONDAY</item><item>TUESDAY</item></string-array>',
        ),
    ]


def test_qt_catalogues_get_translations_that_stay_unfinished_unless_unmarked(tmp_path: Path) -> None:
    written = translated(tmp_path, "a.ts", TS)
    assert '<TS version="2.1" sourcelanguage="en" language="de">' in written
    assert '<translation type="unfinished">&amp;OPEN FILE</translation>' in written
    forms = "<numerusform>%n FILE(S)</numerusform><numerusform>%n FILE(S)</numerusform>"
    assert f'<translation type="unfinished">{forms}</translation>' in written
    assert "<translation>Fertig</translation>" in written
    assert '<translation type="vanished">Weg</translation>' in written
    unmarked = translated_document(Fake(), tmp_path / "a.ts", marked=False)[0].decode()
    assert "<translation>&amp;OPEN FILE</translation>" in unmarked


def test_resx_keeps_images_comments_and_the_accelerator(tmp_path: Path) -> None:
    assert changes(RESX, translated(tmp_path, "a.resx", RESX)) == [
        (
            '<data name="Open" xml:space="preserve"><value>&amp;Open it</value><comment>kept</comment></data>',
            '<data name="Open" xml:space="preserve"><value>&amp;OPEN IT</value><comment>kept</comment></data>',
        ),
        (
            '<data name="Text" xml:space="preserve"><value>Press {0} &lt;now&gt;</value></data>',
            '<data name="Text" xml:space="preserve"><value>PRESS {0} &lt;now&gt;</value></data>',
        ),
    ]


POT = r"""# A TITLE.
#, fuzzy
msgid ""
msgstr ""
"PO-Revision-Date: YEAR-MO-DA HO:MI+ZONE\n"
"Last-Translator: FULL NAME <EMAIL@ADDRESS>\n"
"Language: \n"
"Content-Type: text/plain; charset=CHARSET\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"

msgid "_Open"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""
"""


@pytest.mark.parametrize(("language", "forms"), [("de", 2), ("ru", 3), ("ja", 1), ("pt-BR", 2), ("ar", 6)])
def test_a_template_becomes_a_catalogue_with_the_plural_forms_of_the_language(
    tmp_path: Path, language: str, forms: int
) -> None:
    text = translated(tmp_path, "a.pot", POT, Fake(target=language))
    catalogue = polib.pofile(text)
    assert plural_forms(language).count == forms
    assert catalogue.metadata["Content-Type"] == "text/plain; charset=UTF-8"
    assert catalogue.metadata["Plural-Forms"].startswith(f"nplurals={forms}; plural=")
    assert catalogue.metadata["Language"] == language.replace("-", "_")
    assert "YEAR" not in catalogue.metadata["PO-Revision-Date"]
    assert not catalogue.metadata_is_fuzzy
    assert len(catalogue.find("%d file").msgstr_plural) == forms
    if shutil.which("msgfmt"):
        (tmp_path / "a.po").write_text(text)
        subprocess.run(["msgfmt", "-c", "-o", "-", str(tmp_path / "a.po")], check=True, capture_output=True)  # noqa: S607


def test_po_is_read_and_written_in_its_declared_encoding(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=ISO-8859-1\\n"\n\n'
    (tmp_path / "a.po").write_bytes((header + 'msgid "Café"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n').encode("latin-1"))
    fake = Fake(lambda text: "Kaffee für zwei" if text == "Café" else "☕")
    written, report = translated_document(fake, tmp_path / "a.po", marked=False)
    assert 'msgid "Café"\nmsgstr "Kaffee für zwei"' in written.decode("latin-1")
    assert report.refused == (8,)


@pytest.mark.parametrize(
    ("source", "said", "written"),
    [
        ("_Open", "Öffnen", "_Öffnen"),
        ("_Open", "Datei ohne Namen", "Datei _ohne Namen"),
        ("Op&en", "Öffnen", "Öffn&en"),
        ("&File", "Datei", "&Datei"),
        ("Save _As...", "Speichern unter...", "_Speichern unter..."),
        ("_Quit", "%s Beenden", "%s _Beenden"),
        ("_Open...", "打开...", "打开(_O)..."),
        ("file_name", "Dateiname", "Dateiname"),
        ("R&D", "F&E", "F&E"),
        ("Fish & chips", "Fisch", "Fisch"),
        ("A &amp; B", "A und B", "A und B"),
    ],
)
def test_an_accelerator_moves_to_a_letter_of_the_translation(source: str, said: str, written: str) -> None:
    bare, accelerator = accelerators.split(source, "_&")
    assert accelerators.joined(said, accelerator) == written
    assert (accelerator is None) == (bare == source)


def test_markdown_keeps_containers_and_math_and_translates_titles(tmp_path: Path) -> None:
    text = (
        "---\ntitle: My guide\nlayout: page\n---\n\n:::tip\nSome text\n:::\n\n::: warning Be careful\n- item\n:::\n\n"
        "Math $a_1 * b * c$ costs $5 and $10.\n\n$$\nx *y* z\n$$\n\n```\n:::no\n```\n"
    )
    assert changes(text, translated(tmp_path, "a.md", text)) == [
        ("title: My guide", "title: MY GUIDE"),
        ("Some text", "SOME TEXT"),
        ("::: warning Be careful", "::: warning BE CAREFUL"),
        ("- item", "- ITEM"),
        ("Math $a_1 * b * c$ costs $5 and $10.", "MATH $a_1 * b * c$ COSTS $5 AND $10."),
    ]


def test_a_space_beside_inline_code_comes_back(tmp_path: Path) -> None:
    source = 'Use <x id="1"/> to <g id="2">train</g> it'
    assert respaced(source, 'Mit<x id="1"/>kann <g id="2">man</g>üben') == 'Mit <x id="1"/> kann <g id="2">man</g> üben'
    assert respaced('(<x id="1"/>)', '(<x id="1"/>s)') == '(<x id="1"/>s)'
    fake = Fake(lambda text: text.replace("/> to", "/>to"))
    assert translated(tmp_path, "a.md", "Use `x` to go\n", fake) == "Use `x` to go\n"


def test_sentences_on_lines_of_their_own_stay_there_in_subtitles(tmp_path: Path) -> None:
    text = "1\n00:00:01,000 --> 00:00:02,000\nI know you.\nYou told me.\n\n"
    text += "2\n00:00:03,000 --> 00:00:04,000\nWe go\nhome.\n"
    fake = Fake()
    assert translated(tmp_path, "a.srt", text, fake).count("\n") == text.count("\n")
    assert fake.asked == ["I know you.", "You told me.", "We go home."]


def test_a_tab_stays_and_separates_texts(tmp_path: Path) -> None:
    fake = Fake()
    assert translated(tmp_path, "a.txt", "Name\tIts value\n\tlast\n", fake) == "NAME\tITS VALUE\n\tLAST\n"
    assert fake.asked == ["Name", "Its value", "last"]


def test_po_and_xliff_record_where_a_translation_comes_from_and_notes() -> None:
    remarks = Remarks(Origin.MEMORY, ("check this",))
    for name, kept in (("a.po", "# Regard: from the translation memory\n# Regard: check this\n"), ("one.xlf", None)):
        format_ = documents.by_path(Path(name))
        content = Content(path=Path(name), text=EXAMPLES[name])
        document = format_.read(content, ASKED)
        number = 1 if name == "a.po" else 0
        text = document.translated({number: document.segments[number].source}, {number: remarks})
        again = format_.read(Content(path=Path(name), text=text), ASKED)
        assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]
        if kept:
            assert kept in text
            assert "fuzzy, c-format" not in text
            twice = again.translated({number: "Speichern %s"}, {number: remarks})
            assert twice.count("# Regard:") == 2
        else:
            assert 'state="translated" state-qualifier="exact-match"' in text
            assert '</target><note from="Regard">check this</note>' in text
