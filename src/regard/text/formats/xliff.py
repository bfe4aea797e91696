"""XLIFF 1.2 and 2.x, the exchange format of translation tools: units with a source and a target. Written is XLIFF 1.2.

Regard reads the text of source and target. In 1.2 the codes `bpt`, `ept`, `ph` and `it` and what is in them go; the
text inside `g`, `pc` and `mrk` stays; the others (`x`, `bx`, `ex`, `sc`, `ec`) have no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from lxml import etree

from regard.text.bad_input import NotAPair, Problem
from regard.text.formats import Reading
from regard.text.markup import add_text, elements, line_of, local, text_of, writing
from regard.text.pairs import Languages, Pair, matches

SUFFIXES = (".xliff", ".xlf")

_NAMESPACE = "urn:oasis:names:tc:xliff:document:1.2"
_NAMESPACES = cast("dict[str, str]", {None: _NAMESPACE})  # the stubs of lxml do not know of the unnamed one
_CODES = frozenset({"bpt", "ept", "ph", "it", "cp"})
_TAGS = ("xliff", "file", "group", "unit", "trans-unit", "segment")
_ATTRIBUTES = {"file": ("source-language", "target-language"), "xliff": ("srcLang", "trgLang")}
_UNFINISHED = frozenset({"new", "needs-translation", "needs-l10n", "needs-adaptation", "initial"})


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a file: one for each unit (1.2) or segment (2.x) that has a target."""
    (path,) = paths
    order: bool | None = None
    served, found, given_up = False, dict[str, None](), len(reading.bad.given_up)
    for event, element in elements(path, _TAGS, reading.bad):
        stated = _stated(element) if event == "start" else None
        if stated:
            order = _order(reading.languages, *stated)
            served = served or order is not None
            found["-".join(filter(None, stated))] = None
        if event == "end" and local(element) in ("trans-unit", "segment"):
            yield from _pair(element, path, reading, order)
    if not served and len(reading.bad.given_up) == given_up:
        there = f"its languages are: {', '.join(found)}" if found else "it does not name its languages"
        what = f"this file is neither {reading.languages} nor the reverse; {there}."
        reading.bad.file(Problem.LANGUAGES, path, None, what)


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """XLIFF 1.2, a unit a pair."""
    attributes = {
        "original": "regard",
        "datatype": "plaintext",
        "source-language": languages.source,
        "target-language": languages.target,
    }
    names = {tag: f"{{{_NAMESPACE}}}{tag}" for tag in ("xliff", "file", "body", "trans-unit", "source", "target")}
    with (
        writing(path) as document,
        document.element(names["xliff"], version="1.2", nsmap=_NAMESPACES),
        document.element(names["file"], attributes),
        document.element(names["body"]),
    ):
        for number, pair in enumerate(pairs, start=1):
            unit = etree.Element(names["trans-unit"], {"id": str(number)}, nsmap=_NAMESPACES)
            add_text(unit, names["source"], pair.source, path, number)
            add_text(unit, names["target"], pair.target, path, number)
            unit.tail = "\n"
            document.write(unit, with_tail=True)


def _stated(element: etree._Element) -> tuple[str, str | None] | None:
    """The languages that a `file` (1.2) or the whole document (2.x) states; that of the target may be left out."""
    names = _ATTRIBUTES.get(local(element))
    source = element.get(names[0]) if names else None
    return (source, element.get(names[1])) if names and source else None


def _order(wanted: Languages, source: str, target: str | None) -> bool | None:
    """Whether what is stated serves as it is (True), reversed (False) or not at all."""
    if target:
        return wanted.of(Languages(source, target))
    return True if matches(wanted.source, source) else False if matches(wanted.target, source) else None


def _pair(unit: etree._Element, path: Path, reading: Reading, order: bool | None) -> Iterator[Pair]:
    """The pair of a unit, if it has one."""
    line, bad = line_of(unit), reading.bad
    source, target = unit.find("{*}source"), unit.find("{*}target")
    if order is None:
        bad.pass_over(NotAPair.OTHER_LANGUAGES, path, line)
        return
    if source is None or target is None or (len(target) == 0 and not target.text):
        bad.pass_over(NotAPair.UNTRANSLATED, path, line)
        return
    if (target.get("state") or unit.get("state")) in _UNFINISHED:
        bad.pass_over(NotAPair.FUZZY, path, line)
        return
    source_text, target_text = (text_of(side, _CODES, path, bad) for side in (source, target))
    if source_text is not None and target_text is not None:
        texts = (source_text, target_text) if order else (target_text, source_text)
        yield Pair(*texts, str(path), line)
