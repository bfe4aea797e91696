"""TMX, the exchange format of translation memories: units (`tu`) with a variant (`tuv`) for each language.

Regard reads the text of a segment. Codes of the word processor (`bpt`, `ept`, `ph`, `it`, `ut`) and what is in them go;
the text that `hi` marks stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lxml import etree

from regard.text.bad_input import NotAPair, Problem
from regard.text.formats import Reading
from regard.text.markup import LANGUAGE, add_text, elements, line_of, local, text_of, writing
from regard.text.pairs import Languages, Pair, matches, sides

SUFFIXES = (".tmx",)

_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a file: one for each unit that has both languages."""
    (path,) = paths
    languages, bad = reading.languages, reading.bad
    found: dict[str, None] = {}
    problems = len(bad.given_up)
    for event, unit in elements(path, ("tu",), bad):
        if event == "start":
            continue
        variants = [variant for variant in unit if isinstance(variant.tag, str) and local(variant) == "tuv"]
        codes = tuple((variant.get(LANGUAGE) or variant.get("lang") or "") for variant in variants)
        found.update(dict.fromkeys(codes))
        places = sides(languages, codes)
        if places is None:
            has_source = any(matches(languages.source, code) for code in codes)
            bad.pass_over(NotAPair.NO_TARGET if has_source else NotAPair.NO_SOURCE, path, line_of(unit))
            continue
        texts = [_segment(variants[place], path, reading) for place in places]
        if texts[0] is not None and texts[1] is not None:
            yield Pair(texts[0], texts[1], str(path), line_of(unit))
    if len(bad.given_up) == problems:
        _check_languages(path, reading, tuple(found))


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """TMX 1.4, a unit a pair."""
    header = {
        "creationtool": "Regard",
        "creationtoolversion": "1",
        "segtype": "sentence",
        "o-tmf": "plain text",
        "adminlang": "en",
        "srclang": languages.source,
        "datatype": "plaintext",
    }
    with writing(path) as document, document.element("tmx", version="1.4"):
        document.write(etree.Element("header", header))
        with document.element("body"):
            for number, pair in enumerate(pairs, start=1):
                unit = etree.Element("tu")
                for code, text in zip(languages, (pair.source, pair.target), strict=True):
                    add_text(etree.SubElement(unit, "tuv", {LANGUAGE: code}), "seg", text, path, number)
                unit.tail = "\n"
                document.write(unit, with_tail=True)


def _segment(variant: etree._Element, path: Path, reading: Reading) -> str | None:
    segment = variant.find("{*}seg")
    return "" if segment is None else text_of(segment, _CODES, path, reading.bad)


def _check_languages(path: Path, reading: Reading, found: tuple[str, ...]) -> None:
    """Complain where one of the languages is nowhere in the file."""
    missing = [wanted for wanted in reading.languages if not any(matches(wanted, code) for code in found)]
    if missing:
        there = f"its languages are: {', '.join(sorted(found))}" if found else "it has no units"
        what = f"there is no {' and no '.join(missing)} in this file; {there}."
        reading.bad.file(Problem.LANGUAGES, path, None, what)
