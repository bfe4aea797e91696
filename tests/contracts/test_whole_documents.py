"""Whole documents: only what is to be translated changes, and what was written has the same segments."""

import codecs
import gzip
import re
from collections.abc import Callable
from pathlib import Path

import polib
import pytest
from lxml import etree

from example_documents import EXAMPLES, MD, PO, SRT, TMX, VTT, XLIFF_1, XLIFF_2
from fake_translators import Fake, louder
from regard import TextError
from regard.text import documents
from regard.text.documents import Asked, SegmentState
from regard.text.pairs import Languages
from regard.translation.documents import EVERYTHING, UNFINISHED, translate_document, translated_document

PACKAGES = {"docx", "odt", "epub"}  # tests/contracts/test_real_documents.py has some


def stored(folder: Path, name: str, text: str | None = None) -> Path:
    encoding = "latin-1" if name.endswith(".tmx") else "utf-8"
    path = folder / name
    path.write_bytes((EXAMPLES[name] if text is None else text).encode(encoding))
    return path


def translated(path: Path, **options: object) -> str:
    written, _ = translated_document(Fake(), path, **options)  # type: ignore[arg-type]
    return written.decode("latin-1" if path.suffix == ".tmx" else "utf-8")


def changes(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, where there are as many."""
    lines = [text.split("\n") for text in (before, after)]
    assert len(lines[0]) == len(lines[1])
    return [(old, new) for old, new in zip(*lines, strict=True) if old != new]


def same(text: str) -> str:
    return text


def losing(text: str) -> str:
    return re.sub(r"</?[gx][^<>]*>", "", text)


def doubling(text: str) -> str:
    return f"{text} {text}"


def crossing(text: str) -> str:
    return re.sub(r"(<g [^<>]*>)(.*?)(</g>)", r"\3\2\1", text)


def saying(text: str) -> Callable[[str], str]:
    return lambda _: text


def test_every_format_has_an_example_here_and_is_found_by_the_ending_of_a_name() -> None:
    found = {document.name for name in EXAMPLES if (document := documents.by_path(Path(name)))}
    assert found == set(documents.formats()) - PACKAGES
    assert documents.by_path(Path("A.PO.gz")) is documents.by_name("po")
    assert documents.by_path(Path("a.pptx")) is None


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_document_in_which_nothing_is_translated_keeps_its_bytes(tmp_path: Path, name: str) -> None:
    path = stored(tmp_path, name)
    report = translate_document(Fake(), path, tmp_path / "out", format=documents.by_path(path).name, states=())
    assert (tmp_path / "out").read_bytes() == path.read_bytes()
    assert report.translated == 0
    assert report.kept == report.segments > 0


@pytest.mark.parametrize("name", ["a.srt", "a.vtt", "a.md", "a.txt"])
def test_a_translation_that_equals_its_source_changes_nothing_where_lines_need_no_new_breaks(
    tmp_path: Path, name: str
) -> None:
    path = stored(tmp_path, name, EXAMPLES[name].replace("[ref] and", "[ref][] and"))
    written, _ = translated_document(Fake(same), path)
    assert written.replace(b"[ref][ref]", b"[ref][]") == path.read_bytes()


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_was_written_has_the_same_segments_and_nothing_left_to_do(tmp_path: Path, name: str) -> None:
    path, fake = stored(tmp_path, name), Fake()
    out = tmp_path / f"out-{name}"
    report = translate_document(fake, path, out, states=EVERYTHING)
    assert report.translated == report.segments
    assert report.refused == ()
    format_ = documents.by_path(path)
    read = [format_.read(format_.load(file), Asked(Languages("en", "de"))) for file in (path, out)]
    assert len(read[0].segments) == len(read[1].segments) == report.segments
    if format_.bilingual:
        assert [segment.source for segment in read[1].segments] == [segment.source for segment in read[0].segments]
        assert [segment.target for segment in read[1].segments] == [louder(s.source) for s in read[0].segments]
        again = translate_document(Fake(), out, tmp_path / "again", format=format_.name)
        assert (again.translated, again.kept) == (0, report.segments)


def test_po_gets_what_is_missing_marked_fuzzy_and_keeps_everything_else(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "a.po"))
    catalogue = polib.pofile(text)
    assert catalogue.metadata["Language"] == "de"
    by_id = {entry.msgid: entry for entry in catalogue if not entry.obsolete}
    assert by_id["Open"].msgstr == "Öffnen"
    assert not by_id["Open"].fuzzy
    saved = by_id["Save %s"]
    assert (saved.msgstr, saved.flags, saved.msgctxt) == ("SAVE %s", ["fuzzy", "c-format"], "menu")
    assert by_id["Close it"].msgstr == "Schliessen"
    assert by_id["One file"].msgstr_plural == {0: "ONE FILE", 1: "%d FILES"}
    assert by_id['Usage: "run"\n  <b>now</b> or later\n'].msgstr == 'USAGE: "RUN"\n  <b>NOW</b> OR LATER\n'
    assert by_id["12 %"].msgstr == "12 %"
    for kept in ("# A head.", "#. For a button.\n#: main.c:10\n", '#~ msgid "Gone"\n#~ msgstr "Weg"\n', "#| msgid"):
        assert kept in text


def test_po_without_marks_is_finished_and_with_unfinished_takes_fuzzy_entries_too(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "a.po"), states=UNFINISHED, marked=False)
    catalogue = polib.pofile(text)
    assert not [entry for entry in catalogue if entry.fuzzy]
    assert "#, c-format\n" in text
    assert catalogue.find("Close it").msgstr == "CLOSE IT"
    assert catalogue.find("Open").msgstr == "Öffnen"
    assert polib.pofile(translated(stored(tmp_path, "a.po"), states=EVERYTHING)).find("Open").msgstr == "OPEN"


def test_po_keeps_line_ends_and_wraps_as_the_catalogue_does(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "windows.po"))
    assert text.count("\n") == text.count("\r\n")
    long = f'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "{"word " * 30}"\nmsgstr ""\n'
    assert max(map(len, translated(stored(tmp_path, "a.po", long)).splitlines())) > 100
    short = long.replace("word " * 30, '"\n"'.join(["", "word " * 15, "word " * 15]))
    assert max(map(len, translated(stored(tmp_path, "a.po", short)).splitlines())) < 80


def test_a_language_with_one_plural_form_gets_the_plural(tmp_path: Path) -> None:
    text = 'msgid ""\nmsgstr "Plural-Forms: nplurals=1; plural=0;\\n"\n\n'
    text += 'msgid "One"\nmsgid_plural "%d of them"\nmsgstr[0] ""\n'
    assert 'msgstr[0] "%d OF THEM"' in translated(stored(tmp_path, "a.po", text))


def test_xliff_1_gets_targets_and_languages_and_keeps_its_inline_tags(tmp_path: Path) -> None:
    path = stored(tmp_path, "one.xlf")
    text = translated(path)
    assert 'datatype="plaintext" target-language="de">' in text
    review = '<target state="needs-review-translation" state-qualifier="mt-suggestion">'
    target = 'PRESS <g id="1">THE &lt;OK&gt; BUTTON</g> &amp; WAIT<x id="2"/> NOW</target>'
    assert f"now</source>\n        {review}{target}\n      </trans-unit>" in text
    assert f"{review}TO DO</target>\n        <alt-trans><source>To</source><target>Zu</target>" in text
    assert '<trans-unit id="4" translate="no"><source>CODE</source></trans-unit>' in text
    assert f'{review}<bpt id="1">{{\\b </bpt>ALL BOLD<ept id="1">}}</ept></target>' in text
    assert '<target state="needs-adaptation">Noch mal</target>' in text
    assert '<mrk mtype="seg" mid="1">ONE.</mrk> <mrk\n        mtype="seg" mid="2">TWO.</mrk></target>' in text
    etree.fromstring(text.encode())
    without = translated(path, marked=False)
    assert '<target state="translated">TO DO</target>' in without
    assert "needs-review" not in without


def test_xliff_2_gets_targets_and_states(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "two.xliff"))
    assert '<segment id="a" state="translated"><source>See <pc id="1">the\n     guide</pc>.</source>' in text
    assert '<target>SEE <pc id="1">THE GUIDE</pc>.</target></segment>' in text
    assert '<segment id="b" state="final"><source>Yes</source><target>Ja</target></segment>' in text
    assert '<segment id="c" state="translated"><source>A <ph id="1"/> B</source>' in text
    assert '<target>A <ph id="1"/> B</target>' in text


def test_tmx_gets_a_variant_in_the_code_and_the_layout_of_the_file(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "a.tmx"))
    variant = '    <tuv xml:lang="de-AT" creationtool="Regard">\n      <seg>THE CAF\xc9 IS <bpt i="1">&lt;b&gt;</bpt>'
    assert f'    </tuv>\n{variant}OPEN<ept i="1">&lt;/b&gt;</ept>.</seg>\n    </tuv>\n  </tu>' in text
    assert "<seg>Ja</seg>" in text
    assert '<tuv xml:lang="de-AT"><seg>NO</seg></tuv></tu>' in text
    assert '<tu><tuv xml:lang="fr"><seg>Non</seg></tuv></tu>' in text


def test_a_character_that_the_encoding_of_an_xml_file_lacks_is_written_as_a_reference(tmp_path: Path) -> None:
    written, _ = translated_document(Fake(lambda text: f"{text} ☕"), stored(tmp_path, "a.tmx"))
    assert b"<seg>No &#9749;</seg>" in written


def test_utf_16_xml_stays_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "two.xliff"
    path.write_bytes(codecs.BOM_UTF16_LE + XLIFF_2.encode("utf-16-le"))
    written, report = translated_document(Fake(), path)
    assert report.translated == 2
    assert "THE GUIDE" in written.decode("utf-16")


def test_subtitles_keep_numbers_times_tags_and_the_number_of_lines(tmp_path: Path) -> None:
    fake = Fake()
    path = stored(tmp_path, "a.srt")
    written, _ = translated_document(fake, path)
    assert changes(SRT, written.decode()) == [
        ("<i>Where are you</i>", "<i>WHERE ARE YOU</i>"),
        ("going tonight?", "GOING TONIGHT?"),
        ("{\\an8}- Nowhere.", "{\\an8}- NOWHERE."),
        ("- Really?", "- REALLY?"),
    ]
    assert fake.asked == ['<g id="1">Where are you</g> going tonight?', "Nowhere.", "Really?"]
    text = translated(stored(tmp_path, "a.vtt"))
    assert changes(VTT, text) == [
        ("<v Ann>Fish &amp; chips, <c.loud>please</c>!", "<v Ann>FISH &amp; CHIPS, <c.loud>PLEASE</c>!")
    ]


def test_markdown_translates_prose_and_nothing_else(tmp_path: Path) -> None:
    text = translated(stored(tmp_path, "a.md"))
    assert changes(MD, text) == [
        ("title: Front matter", "title: FRONT MATTER"),
        ("# The *first* heading ##", "# THE *FIRST* HEADING ##"),
        (
            'A paragraph with `code`, a [link](page.md "Title") and',
            'A PARAGRAPH WITH `code`, A [LINK](page.md "Title") AND',
        ),
        (
            "an ![image](a.png). It goes on: https://example.org/a_b.",
            "AN ![IMAGE](a.png). IT GOES ON: https://example.org/a_b.",
        ),
        ("> A quote that is", "> A QUOTE THAT IS"),
        ("> two lines.", "> TWO LINES."),
        ("- [ ] an item", "- [ ] AN ITEM"),
        ("- [ref] and <b>tags</b>  ", "- [REF][ref] AND <b>TAGS</b>  "),
        ("  after a break", "  AFTER A BREAK"),
        ("| Head | `x` |", "| HEAD | `x` |"),
        ("| a \\| b | two **words** |", "| A \\| B | TWO **WORDS** |"),
    ]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("1. Mai", "1\\. Mai"),
        ("- nein", "\\- nein"),
        ("# nein", "\\# nein"),
        ("ein *Stern* hier", "ein \\*Stern\\* hier"),
        ("ein <b> hier", "ein \\<b\\> hier"),
        ("snake_case", "snake_case"),
        ("2 * 3 < 7", "2 * 3 < 7"),
    ],
)
def test_a_translation_in_markdown_never_turns_into_markup(tmp_path: Path, said: str, written: str) -> None:
    path = stored(tmp_path, "a.md", "First of May\n")
    assert translated_document(Fake(saying(said)), path)[0].decode() == f"{written}\n"


def test_a_long_paragraph_of_markdown_is_filled_to_its_width_behind_its_marks(tmp_path: Path) -> None:
    path = stored(tmp_path, "a.md", "- one two three\n  four five\n")
    written, _ = translated_document(Fake(saying("a b c - d e f 1. g h i j k l m n")), path)
    assert written.decode() == "- a b c - d e f 1.\n  g h i j k l m\n  n\n"


def test_every_block_of_the_documents_of_this_project_is_found(tmp_path: Path) -> None:
    from markdown_it import MarkdownIt

    root = Path(__file__).parents[2]
    for path in [*root.glob("*.md"), *(root / "docs").glob("*.md")]:
        written, report = translated_document(Fake(same), path)
        tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(path.read_text())
        texts = [token for token in tokens if token.type == "inline" and re.search("[a-z]", _plain(token))]
        assert report.segments >= len(texts)
        assert report.refused == ()
        texts_only = [re.sub(r"[\s\\]+", "", text) for text in (written.decode(), path.read_text())]
        assert texts_only[0] == texts_only[1]


def _plain(token: object) -> str:
    return " ".join(child.content for child in token.children if child.type == "text")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["one.xlf", "two.xliff", "a.tmx", "a.srt", "a.md", "a.po"])
@pytest.mark.parametrize("function", [losing, doubling, crossing])
def test_where_a_translation_loses_repeats_or_crosses_tags_the_texts_between_them_are_translated(
    tmp_path: Path, name: str, function: Callable[[str], str]
) -> None:
    path = stored(tmp_path, name)
    sound, _ = translated_document(Fake(), path, states=EVERYTHING)
    written, report = translated_document(Fake(lambda text: louder(function(text))), path, states=EVERYTHING)
    tagged = [re.search("<[gx] id", segment.source) for segment in _segments(path)]
    if function is not crossing or any("<g" in segment.source for segment in _segments(path)):
        assert report.in_pieces > 0
    assert report.in_pieces <= sum(map(bool, tagged))
    assert report.refused == ()
    if function is not doubling:
        assert written == sound


def test_tags_may_change_places(tmp_path: Path) -> None:
    path = stored(tmp_path, "a.md", "One *two* `three`.\n")
    written, report = translated_document(Fake(saying('<x id="2"/> <g id="1">zwei</g> eins.')), path)
    assert (written, report.in_pieces) == (b"`three` *zwei* eins.\n", 0)


def _segments(path: Path) -> list[documents.Segment]:
    format_ = documents.by_path(path)
    return list(format_.read(format_.load(path), Asked(Languages("en", "de"))).segments)


def test_a_translation_that_loses_a_placeholder_or_all_words_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path, "a.po")
    written, report = translated_document(Fake(lambda text: text.replace("%s", "")), path)
    assert 'msgid "Save %s"\nmsgstr ""' in written.decode()
    assert len(report.refused) == 1
    written, report = translated_document(Fake(saying("")), stored(tmp_path, "a.txt"))
    assert (report.translated, len(report.refused)) == (1, 3)


def test_states_say_how_far_a_segment_has_come(tmp_path: Path) -> None:
    states = [segment.state for segment in _segments(stored(tmp_path, "a.po"))]
    assert states[:3] == [SegmentState.TRANSLATED, SegmentState.UNTRANSLATED, SegmentState.UNFINISHED]
    states = [segment.state for segment in _segments(stored(tmp_path, "one.xlf"))]
    assert states[1:3] == [SegmentState.TRANSLATED, SegmentState.UNTRANSLATED]
    assert states[4] is SegmentState.UNFINISHED


def test_a_text_is_translated_once_and_the_glossary_is_handed_on(tmp_path: Path) -> None:
    fake = Fake()
    path = stored(tmp_path, "a.txt", "again\nagain\nagain\n")
    seen = []
    written, report = translated_document(
        fake, path, glossary={"a": "b"}, progress=lambda done, total: seen.append((done, total))
    )
    assert (written, report.translated) == (b"AGAIN\nAGAIN\nAGAIN\n", 3)
    assert fake.asked == ["again"]
    assert fake.glossary == {"a": "b"}
    assert seen == [(1, 1)]


def test_a_compressed_document_is_written_compressed(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\n"))
    translate_document(Fake(), tmp_path / "a.txt.gz", tmp_path / "b.txt.gz")
    assert gzip.decompress((tmp_path / "b.txt.gz").read_bytes()) == b"ONE\n"


def test_a_document_whose_segments_would_change_is_never_written(tmp_path: Path) -> None:
    before = "1\n00:00:01,000 --> 00:00:02,000\nReally?\n\n2\n00:00:03,000 --> 00:00:04,000\nYes.\n"
    path = stored(tmp_path, "a.srt", before)
    fake = Fake(lambda text: "00:00:01,000 --> 00:00:02,000" if text == "Really?" else text)
    with pytest.raises(TextError, match=r"segments as the original: 1 instead of 2.*\n  Nothing has been written"):
        translate_document(fake, path, path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.srt"]


BROKEN = {
    "a.po": [
        ('msgid "a"\nmsgstr b\n', r"a\.po:2: this is not valid PO: expected a comment, or a keyword"),
        (PO.replace("Language: ", "Language: fr"), r"this catalogue is in 'fr', but the model translates from en to"),
        ("", "this file is empty"),
    ],
    "one.xlf": [
        ("<xliff><file></xliff>", r"one\.xlf:1: this is not valid XML: .*mismatch"),
        ("<tmx/>", r"this is not XLIFF: its root is <tmx>"),
        (XLIFF_1.replace('source-language="en"', 'source-language="fr"'), r"one\.xlf:4: source-language is 'fr'"),
        (XLIFF_2.replace("de-DE", "fr"), r"one\.xlf:1: trgLang is 'fr', but the model translates from en to de"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><xliff/>', r"the DOCTYPE of this file defines entities"),
        ("", "this file is empty"),
    ],
    "a.tmx": [
        (TMX.replace('"en-US"', '"es"'), r"there is no en in this file; its languages are: de-AT, es, fr"),
        ("<xliff/>", "this is not TMX: its root is <xliff>"),
    ],
    "a.srt": [("Hello\n", r"this is not SRT: it has no line with times, such as 00:00:01,000 -->")],
    "a.vtt": [("Hello\n", r"a\.vtt:1: this is not WebVTT: it does not start with WEBVTT")],
    "a.txt": [
        ("a\0b", r"this is not UTF-8 text"),
        ("a" * 100_001, r"a\.txt:1: this segment is longer than 100,000"),
    ],
}


@pytest.mark.parametrize(
    ("name", "text", "message"), [(name, *case) for name, cases in BROKEN.items() for case in cases]
)
def test_a_document_that_is_not_in_order_is_told(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        translated_document(Fake(), stored(tmp_path, name, text))


def test_other_encodings_folders_and_unknown_names_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\xe4".encode("latin-1"))
    with pytest.raises(TextError, match=r"a\.txt:1: byte 1 of this file, 0xe4, is not UTF-8"):
        translated_document(Fake(), tmp_path / "a.txt")
    (tmp_path / "a.txt").write_bytes("a".encode("utf-16"))
    with pytest.raises(TextError, match="this file is UTF-16"):
        translated_document(Fake(), tmp_path / "a.txt")
    with pytest.raises(TextError, match="this is a folder"):
        translated_document(Fake(), tmp_path, format="txt")
    with pytest.raises(
        TextError, match=r"this is not a document that Regard knows\.\n  Give its format with --format: and"
    ):
        translated_document(Fake(), tmp_path / "a.pptx")
    with pytest.raises(TextError, match=r"There is no document format 'xlif': did you mean 'xliff'\?"):
        translated_document(Fake(), tmp_path / "a.txt", format="xlif")
