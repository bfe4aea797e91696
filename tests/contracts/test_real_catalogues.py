"""Catalogues and plain files of other projects, translated and read by other libraries: only their text has changed."""

import json
import re
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

import markdown_it.token
import polib
import pytest
from lxml import etree

import regard
from fake_translators import Fake
from regard.text.documents import SegmentState
from regard.translation.documents import EVERYTHING, UNTRANSLATED, translated_document

REAL = Path(__file__).parents[1] / "real_documents"
KEPT = re.compile(r"(<[^<>]*>|\{+[^{}]*\}+|%(?:\(\w+\))?\w|&\w+;|\bv\d\.|\bnode\.js\b|\bprofitLoss\b)")
ALL_BUT_WORDS = re.compile(r"[^\W\d_]+")


def louder(text: str) -> str:
    """All in capitals but what is no language."""
    return "".join(piece if KEPT.fullmatch(piece) else piece.upper() for piece in KEPT.split(text))


def translated(name: str, states: Collection[SegmentState] = UNTRANSLATED) -> str:
    written, report = translated_document(Fake(louder), REAL / name, states=states)
    assert report.translated + report.kept == report.segments
    assert report.translated > 0
    assert report.refused == ()
    return written.decode()


def original(name: str) -> str:
    return (REAL / name).read_bytes().decode()


def test_an_arb_file_keeps_its_keys_and_all_that_is_said_about_its_messages() -> None:
    before, after = json.loads(original("en_US.arb")), json.loads(translated("en_US.arb"))
    assert list(after) == list(before)
    for key, value in before.items():
        assert after[key] == (value if key.startswith("@") else louder(value)), key
    assert ALL_BUT_WORDS.sub("", translated("en_US.arb")) == ALL_BUT_WORDS.sub("", original("en_US.arb"))


def messages(text: str) -> list[tuple[str, str, str, str | None]]:
    """Context, source, state and translation of the messages of a catalogue of Qt."""
    root = etree.fromstring(text.encode())
    return [
        (context.findtext("name"), one.findtext("source"), found.get("type", ""), found.text)
        for context in root.iter("context")
        for one in context.iter("message")
        if (found := one.find("translation")) is not None
    ]


def test_a_catalogue_of_qt_keeps_what_is_translated_and_gets_what_is_not() -> None:
    before, after = messages(original("turing.ts")), messages(translated("turing.ts"))
    assert len(before) == len(after) == 21
    for (context, source, state, said), now in zip(before, after, strict=True):
        if said is not None:
            assert now == (context, source, state, said)  # finished or obsolete
        else:
            assert now[:3] == (context, source, "unfinished")
            assert now[3].replace("&", "") == louder(source).replace("&", "")
            assert ("&" in now[3]) == ("&" in source)
    texts = re.compile("(<translation[^>]*>).*?</translation>", re.DOTALL)
    assert texts.sub(r"\1", original("turing.ts")) == texts.sub(r"\1", translated("turing.ts"))


def _both(name: str) -> tuple[str, str]:
    return original(name), translated(name)


@pytest.mark.skipif(not shutil.which("lrelease"), reason="there is no lrelease on this machine (qttools5-dev-tools)")
def test_the_compiler_of_qt_takes_the_catalogue(tmp_path: Path) -> None:
    (tmp_path / "a.ts").write_text(translated("turing.ts"), encoding="utf-8")
    command = ["lrelease", str(tmp_path / "a.ts"), "-qm", str(tmp_path / "a.qm")]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Generated 20 translation(s) (4 finished and 16 unfinished)" in told.stdout


def test_resources_of_dot_net_keep_names_comments_and_schema() -> None:
    trees = [etree.fromstring(text.encode()) for text in _both("TestResources.resx")]
    found = [[(node.tag, dict(node.attrib), node.text or "") for node in tree.iter(etree.Element)] for tree in trees]
    assert len(found[0]) == len(found[1]) > 30
    changed = [(old, new) for old, new in zip(*found, strict=True) if old != new]
    assert len(changed) == 8
    assert all(new == ("value", {}, old[2].upper()) and new[0] == old[0] for old, new in changed)
    assert translated("TestResources.resx").count("\r\n") == original("TestResources.resx").count("\r\n")


def test_a_catalogue_of_gettext_keeps_its_order_places_flags_and_plurals() -> None:
    before, after = (polib.pofile(text) for text in (original("auth.po"), translated("auth.po")))
    assert after.metadata == before.metadata | {"Language": "de", "Language-Team": "de"}
    for old, new in zip(before, after, strict=True):
        assert (new.msgid, new.msgid_plural, new.occurrences) == (old.msgid, old.msgid_plural, old.occurrences)
        assert set(new.flags) == {*old.flags, "fuzzy"}
        if old.msgid_plural:
            assert set(new.msgstr_plural) == {0, 1}
            assert all("%(min_length)d" in said for said in new.msgstr_plural.values())
        else:
            assert new.msgstr == louder(old.msgid)


def test_xliff_of_another_project_keeps_its_units() -> None:
    texts = original("validators.xlf"), translated("validators.xlf", EVERYTHING)
    units = [list(etree.fromstring(text.encode()).iter("{*}trans-unit")) for text in texts]
    for old, new in zip(*units, strict=True):
        assert (new.get("id"), new.findtext("{*}source")) == (old.get("id"), old.findtext("{*}source"))
        assert new.findtext("{*}target") == louder(str(old.findtext("{*}source")))
    assert len(units[0]) == 12


def test_captions_keep_regions_voices_and_times() -> None:
    before, after = (text.splitlines() for text in _both("regions.vtt"))
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert changed == [
        ("<v Fred>Hi, my name is Fred", "<v Fred>HI, MY NAME IS FRED"),
        ("<v Bill>Hi, I’m Bill", "<v Bill>HI, I’M BILL"),
    ]


def test_markdown_of_another_project_keeps_its_blocks_code_and_links() -> None:
    tokens = [markdown_it.MarkdownIt().parse(text) for text in _both("container.md")]
    shapes = [[(one.type, one.tag, one.level, one.map) for one in found] for found in tokens]
    assert shapes[0] == shapes[1]
    for old, new in zip(*tokens, strict=True):
        if old.type == "fence":
            assert new.content == old.content
        if old.type == "inline":
            assert _kinds(new) == _kinds(old)
            assert _words(new) == louder(_words(old))


def _kinds(token: markdown_it.token.Token) -> list[tuple[object, ...]]:
    """What stands within a paragraph beside its words."""
    found = [one for one in token.children or () if one.type not in ("text", "softbreak")]
    return [(one.type, one.attrs.get("href"), one.attrs.get("src")) for one in found]


def _words(token: markdown_it.token.Token) -> str:
    """The words of a paragraph; the end of a line is a space."""
    found = [one for one in token.children or () if one.type in ("text", "softbreak")]
    return " ".join("".join(one.content or " " for one in found).split())


def test_the_shipped_model_translates_catalogues_of_other_projects() -> None:
    """Nothing is lost: what has no sound translation stays untranslated, and is counted."""
    translator = regard.load("en-de", device="cpu")
    for name, format_ in (("turing.ts", messages), ("en_US.arb", json.loads), ("TestResources.resx", etree.fromstring)):
        written, report = translated_document(translator, REAL / name)
        assert report.translated >= 0.9 * (report.segments - report.kept), name
        format_(written if format_ is etree.fromstring else written.decode())  # type: ignore[operator]
        assert "\ufffd" not in written.decode()
