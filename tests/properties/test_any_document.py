"""Any text at all, as a document: nothing crashes, nothing is lost, and what is not translated keeps its bytes."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_translators import louder
from regard.text import documents
from regard.text.content import Content
from regard.text.documents import Asked
from regard.text.inline import Inline, LostMarkup
from regard.text.pairs import Languages
from regard.text.subtitles import broken

ASKED = Asked(Languages("en", "de"))
words = st.text(alphabet="abc .,é<>&\"'", max_size=12)
_LINES = [
    "# ",
    "- ",
    "1. ",
    "> ",
    "```\n",
    "\n|-|-|\n",
    "\n",
    "\n\n",
    "    ",
    "  \n",
    "---\n",
    "===\n",
    "[a]: b\n",
    "\r\n",
    ":::tip\n",
    "\n:::\n",
    "\n$$\n",
]
_INLINE = [
    "*",
    "**",
    "_",
    "`",
    "[a](b)",
    "[a]",
    "![c](d 'e')",
    "<b>",
    "</b>",
    "|",
    "\\",
    "&amp;",
    "<http://a.b>",
    "~~",
    "\t",
    "$",
    "$$",
    "\\(",
]
marks = st.sampled_from([*_LINES, *_INLINE])
cues = st.sampled_from(["1\n", "\n\n00:00:01,000 --> 00:00:02,000\n", "<i>", "</i>", "{\\an8}", "- ", "\n", "\n\n"])


def content(name: str, text: str) -> Content:
    return Content(path=Path(name), text=text)


@given(parts=st.lists(st.one_of(words, marks), max_size=25))
def test_any_markdown_keeps_the_number_of_its_segments(parts: list[str]) -> None:
    given_ = content("a.md", "".join(parts))
    format_ = documents.by_name("md")
    document = format_.read(given_, ASKED)
    assert document.translated({}) == given_.text
    translations = {}
    for number, place in enumerate(document.places):
        try:
            place.put(louder(place.segment.source))
            translations[number] = louder(place.segment.source)
        except LostMarkup:
            pass
    again = format_.read(replace(given_, text=document.translated(translations)), ASKED)
    assert len(again.segments) == len(document.segments)


@pytest.mark.parametrize("name", ["srt", "txt"])
@given(parts=st.lists(st.one_of(words, cues), max_size=25))
def test_any_subtitles_and_text_keep_the_number_of_their_segments(name: str, parts: list[str]) -> None:
    given_ = content("a", "00:00:01,000 --> 00:00:02,000\n" + "".join(parts))
    format_ = documents.by_name(name)
    document = format_.read(given_, ASKED)
    said = {number: louder(segment.source) for number, segment in enumerate(document.segments)}
    assert document.translated({}) == given_.text
    again = format_.read(replace(given_, text=document.translated(said)), ASKED)
    assert len(again.segments) == len(document.segments)


@given(sources=st.lists(st.text(alphabet='ab\\"\n\té%<>', min_size=1, max_size=20), max_size=6, unique=True))
def test_any_message_of_a_catalogue_gets_exactly_its_translation(sources: list[str]) -> None:
    import polib

    catalogue = polib.POFile()
    catalogue.metadata = {"Language": "de"}
    for source in sources:
        catalogue.append(polib.POEntry(msgid=source, msgstr=""))
    given_ = content("a.po", f"{catalogue}\n")
    document = documents.by_name("po").read(given_, ASKED)
    said = {number: louder(segment.source) for number, segment in enumerate(document.segments)}
    again = documents.by_name("po").read(replace(given_, text=document.translated(said)), ASKED)
    assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]
    assert [segment.target for segment in again.segments] == list(said.values())


@given(texts=st.lists(st.text(alphabet="ab <>&]\n\u2028é", max_size=12), max_size=6), inner=words)
def test_any_text_in_xliff_is_read_as_it_was_written(texts: list[str], inner: str) -> None:
    from regard.text.xml_places import escaped

    units = "".join(
        f'<trans-unit><source xml:space="preserve">{escaped(text)}<g id="1">{escaped(inner)}</g></source></trans-unit>'
        for text in texts
    )
    given_ = content("a.xlf", f'<xliff version="1.2"><file source-language="en"><body>{units}</body></file></xliff>')
    document = documents.by_name("xliff").read(given_, ASKED)
    assert document.translated({}) == given_.text
    said = {number: louder(segment.source) for number, segment in enumerate(document.segments)}
    again = documents.by_name("xliff").read(replace(given_, text=document.translated(said)), ASKED)
    assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]
    assert [segment.target for segment in again.segments] == list(said.values())


@given(texts=st.lists(words, min_size=1, max_size=5), codes=st.lists(st.sampled_from("xo("), max_size=5))
def test_a_text_with_codes_comes_back_as_it_was(texts: list[str], codes: list[str]) -> None:
    built, raw, depth = Inline(), "", 0
    for text, code in zip(texts, codes, strict=False):
        built.text(text)
        raw += text
        if code == "x":
            built.alone("{x}")
        elif code == "o":
            built.open("{o}")
            depth += 1
        elif depth:
            built.close("{(}")
            depth -= 1
        else:
            continue
        raw += f"{{{code}}}"
    for _ in range(depth):
        built.close("{(}")
        raw += "{(}"
    shown = built.shown()
    assert shown.restored(shown.text) == raw
    assert shown.text == shown.text.strip()


@given(text=st.text(alphabet="ab ", min_size=1, max_size=40), lines=st.integers(1, 4))
def test_a_text_is_broken_into_no_more_lines_than_asked(text: str, lines: int) -> None:
    found = broken(text, lines)
    assert " ".join(found) == text
    assert len(found) <= lines


_TAGS = ["<p>", "</p>", "<b>", "</b>", "<br>", "<i title='a b'>", "</i>", "<img alt=x>", "<code>", "</code>", "&nbsp;"]
_MORE = [
    "<!-- c -->",
    "<script>",
    "</script>",
    "<pre>",
    "</pre>",
    "<li>",
    "<div translate=no>",
    "</div>",
    "&amp;",
    "\n ",
]


@given(parts=st.lists(st.one_of(words, st.sampled_from(_TAGS + _MORE)), max_size=25))
def test_any_page_keeps_the_number_of_its_segments_and_its_tags(parts: list[str]) -> None:
    given_ = content("a.html", "".join(parts))
    format_ = documents.by_name("html")
    document = format_.read(given_, ASKED)
    assert document.translated({}) == given_.text
    said = {number: louder(segment.source) for number, segment in enumerate(document.segments)}
    written = document.translated(said)
    again = format_.read(replace(given_, text=written), ASKED)
    assert len(again.segments) == len(document.segments)
    for tag in _TAGS[:-1]:
        assert written.lower().count(tag.lower().split(" ")[0]) == given_.text.lower().count(tag.lower().split(" ")[0])


@given(texts=st.lists(st.text(alphabet='ab \\"\n\t\u00e9\u2028{}:,[]/<>', max_size=12), max_size=5), inner=words)
def test_any_string_of_json_is_read_as_it_was_written(texts: list[str], inner: str) -> None:
    import json

    table = {f"k{number}": text for number, text in enumerate(texts)} | {"nested": {"list": [inner, 1, None]}}
    for ascii_only in (True, False):
        given_ = content("a.json", json.dumps(table, indent=1, ensure_ascii=ascii_only))
        document = documents.by_name("json").read(given_, ASKED)
        assert document.translated({}) == given_.text
        said = _accepted(document)
        read = json.loads(document.translated(said))
        assert list(read) == list(table)
        assert len(documents.by_name("json").read(content("a.json", json.dumps(read)), ASKED).segments) == len(
            document.segments
        )


@given(texts=st.lists(st.text(alphabet="ab \\'\"\n\t\u00e9:=#!{}&", max_size=12), max_size=5))
def test_any_value_of_properties_and_android_gets_exactly_its_translation(texts: list[str]) -> None:
    from regard.text.documents.android import _escaped as android
    from regard.text.documents.android import _Writing
    from regard.text.documents.properties import _escaped

    ascii_ = content("a.properties", "")
    lines = [f"k{number} = {_escaped(text, ascii_)}" for number, text in enumerate(texts)]
    items = [f'<string name="k">{android(text, _Writing.PLAIN)}</string>' for text in texts]
    for name, text in (("properties", "\n".join(lines)), ("android", f"<resources>{''.join(items)}</resources>")):
        given_ = content("a", text)
        document = documents.by_name(name).read(given_, ASKED)
        assert document.translated({}) == given_.text
        said = _accepted(document)
        again = documents.by_name(name).read(replace(given_, text=document.translated(said)), ASKED)
        assert len(again.segments) == len(document.segments)
        for number, translation in said.items():
            assert again.segments[number].source == translation


@given(values=st.lists(st.text(alphabet="ab :#-'\"{}[],&*!|>%@`\n\u00e9", min_size=1, max_size=10), max_size=4))
def test_any_plain_or_quoted_text_of_yaml_is_read_as_its_translation(values: list[str]) -> None:
    yaml = pytest.importorskip("ruamel.yaml").YAML(typ="safe", pure=True)
    import json

    given_ = content("a.yml", "".join(f"k{number}: {json.dumps(text)}\n" for number, text in enumerate(values)))
    document = documents.by_name("yaml").read(given_, ASKED)
    assert document.translated({}) == given_.text
    said = _accepted(document)
    written = document.translated(said)
    assert len(documents.by_name("yaml").read(replace(given_, text=written), ASKED).segments) == len(document.segments)
    assert len(yaml.load(written) or {}) == len(values)


def _accepted(document: documents.Document) -> dict[int, str]:
    said = {}
    for number, place in enumerate(document.places):
        try:
            place.put(louder(place.segment.source))
            said[number] = louder(place.segment.source)
        except LostMarkup:
            pass
    return said
