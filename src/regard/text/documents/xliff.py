"""XLIFF 1.2 and 2.x: a unit (1.2) or segment (2.x) is a segment; its translation becomes the target.

Inline elements stay: those around text as tags around text, all others as single tags. Units with `translate="no"` and
proposals (`alt-trans`) are passed over. A unit that is segmented (`seg-source`) is translated as that, segments kept.
"""

from __future__ import annotations

from collections.abc import Iterator

from regard.text.content import Content, read_xml
from regard.text.documents import Asked, Document, Edit, Place, Segment, SegmentState
from regard.text.pairs import serves
from regard.text.xml_places import Node, escaped, inline, space_before, tree, with_attributes

SUFFIXES = (".xliff", ".xlf")
BILINGUAL = True
load = read_xml

_CODES = frozenset({"bpt", "ept", "ph", "it", "cp", "x", "bx", "ex", "sc", "ec", "sm", "em"})
_UNTRANSLATED = frozenset({"new", "needs-translation", "initial"})
_REVIEW = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}


def read(content: Content, asked: Asked) -> Document:
    """The document; a language that it does not state is filled in with the first translation."""
    root = tree(content)
    if root.local != "xliff":
        what = f"this is not XLIFF: its root is <{root.name}>."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    modern = root.attributes.get("version", "1.2").startswith("2")
    besides = [edit for node in ([root] if modern else root.every("file")) for edit in _stated(content, node, asked)]
    units = root.every("segment" if modern else "trans-unit")
    places = tuple(place for unit in units for place in _place(content, unit, asked, modern=modern))
    return Document(text=content.text, places=places, besides=tuple(besides))


def _stated(content: Content, node: Node, asked: Asked) -> Iterator[Edit]:
    """Whether the languages are those asked for; the edit that states that of the target, where it is missing."""
    names = ("srcLang", "trgLang") if node.local == "xliff" else ("source-language", "target-language")
    if asked.languages is None:
        return
    for name, wanted in zip(names, asked.languages, strict=True):
        found = node.attributes.get(name)
        if found and not serves(wanted, found):
            what = f"{name} is {found!r}, but the model translates from {asked.languages}."
            raise content.wrong(content.line(node.start), what, "Use a model of these languages, or correct the file.")
    if not node.attributes.get(names[1]):
        tag = content.text[node.start : node.within]
        with_language = with_attributes(tag, {names[1]: asked.languages.target})
        yield Edit(node.start, node.within, with_language)


def _place(content: Content, unit: Node, asked: Asked, *, modern: bool) -> Iterator[Place]:
    source, target = unit.child("seg-source") or unit.child("source"), unit.child("target")
    if source is None or unit.inherited("translate") == "no":
        return
    shown = inline(content, source, _CODES)
    if not shown.text:
        return
    already = inline(content, target, _CODES).text if target else ""
    state = (unit if modern else target or unit).attributes.get("state", "")
    segment = Segment(source=shown.text, target=already, state=_state(already, state), line=content.line(source.start))

    def put(translation: str) -> list[Edit]:
        edits = [_target(content, source, target, shown.restored(translation, escaped), asked, modern=modern)]
        if modern and (asked.marked or state == "initial"):
            tag = with_attributes(content.text[unit.start : unit.within], {"state": "translated"})
            edits.append(Edit(unit.start, unit.within, tag))
        return edits

    yield Place(segment, put)


def _state(target: str, state: str) -> SegmentState:
    if not target or state in _UNTRANSLATED:
        return SegmentState.UNTRANSLATED
    return SegmentState.UNFINISHED if state.startswith("needs-") else SegmentState.TRANSLATED


def _target(content: Content, source: Node, target: Node | None, text: str, asked: Asked, *, modern: bool) -> Edit:
    """A new target after the source, or the one that is there with other content."""
    name = source.beside("target")
    tag = content.text[target.start : target.within] if target else f"<{name}>"
    if not target and "xml:space" in source.attributes:
        tag = with_attributes(tag, {"xml:space": source.attributes["xml:space"]})
    tag = tag.removesuffix("/>").rstrip() + ">" if tag.endswith("/>") else tag
    if not modern and asked.marked:
        tag = with_attributes(tag, _REVIEW)
    elif not modern and target and "state" in target.attributes:
        tag = with_attributes(tag, {"state": "translated"})
    if target:
        return Edit(target.start, target.end, f"{tag}{text}</{target.name}>")
    return Edit(source.end, source.end, f"{space_before(content, source)}{tag}{text}</{name}>")
