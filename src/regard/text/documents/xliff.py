"""XLIFF 1.2 and 2.x: a unit (1.2) or segment (2.x) is a segment; its translation becomes the target.

Inline elements stay: those around text as tags around text, all others as single tags. Units with `translate="no"` and
proposals (`alt-trans`) are passed over. A unit that is segmented (`seg-source`) is translated as that, segments kept.
The origin of a translation is its `state-qualifier` (1.2) or `subState` (2.x); notes become `note` elements.
"""

from __future__ import annotations

from collections.abc import Iterator

from regard.text.content import Content, read_xml
from regard.text.documents import (
    UNREMARKED,
    Asked,
    Document,
    Edit,
    Origin,
    Place,
    Remarks,
    Segment,
    SegmentState,
)
from regard.text.pairs import serves
from regard.text.xml_places import Node, escaped, inline, space_before, tree, with_attributes

SUFFIXES = (".xliff", ".xlf")
BILINGUAL = True
load = read_xml

_CODES = frozenset({"bpt", "ept", "ph", "it", "cp", "x", "bx", "ex", "sc", "ec", "sm", "em"})
_UNTRANSLATED = frozenset({"new", "needs-translation", "initial"})
_REVIEW = {"state": "needs-review-translation", "state-qualifier": "mt-suggestion"}
_MEMORY = {"state": "translated", "state-qualifier": "exact-match"}
_AUTHOR = "Regard"


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

    def record(translation: str, remarks: Remarks) -> list[Edit]:
        text = shown.restored(translation, escaped)
        edits = [_target(content, source, target, text, _attributes(target, asked, remarks, modern=modern))]
        if modern and (asked.marked or state == "initial" or remarks.origin is Origin.MEMORY):
            origin = {"subState": "regard:exact-match"} if remarks.origin is Origin.MEMORY else {}
            tag = with_attributes(content.text[unit.start : unit.within], {"state": "translated"} | origin)
            edits.append(Edit(unit.start, unit.within, tag))
        return [*edits, *_noted(content, unit, target or source, remarks, modern=modern)]

    yield Place(segment, lambda translation: record(translation, UNREMARKED), record)


def _attributes(target: Node | None, asked: Asked, remarks: Remarks, *, modern: bool) -> dict[str, str]:
    """What the tag of a target says about its state; in 2.x, that of the segment says it."""
    if modern:
        return {}
    if remarks.origin is Origin.MEMORY:
        return _MEMORY
    if asked.marked:
        return _REVIEW
    return {"state": "translated"} if target and "state" in target.attributes else {}


def _noted(content: Content, unit: Node, behind: Node, remarks: Remarks, *, modern: bool) -> list[Edit]:
    """The notes for a reviewer in the place of those of an earlier run; in 2.x, they belong to a unit of one segment."""
    owner = unit.parent if modern and unit.parent else unit
    holder = owner.child("notes") if modern else unit
    if not remarks.notes:
        return []
    edits = [Edit(note.start, note.end, "") for note in (holder.children if holder else ()) if _is_own(note)]
    name, author = unit.beside("note"), "category" if modern else "from"
    notes = "".join(f'<{name} {author}="{_AUTHOR}">{escaped(note)}</{name}>' for note in remarks.notes)
    if not modern:
        return [*edits, Edit(behind.end, behind.end, notes)]
    if holder:
        return [*edits, Edit(holder.without, holder.without, notes)]
    if sum(child.local == "segment" for child in owner.children) > 1:
        return []
    wrapper = unit.beside("notes")
    return [Edit(owner.children[0].start, owner.children[0].start, f"<{wrapper}>{notes}</{wrapper}>")]


def _is_own(note: Node) -> bool:
    return note.local == "note" and _AUTHOR in (note.attributes.get("from"), note.attributes.get("category"))


def _state(target: str, state: str) -> SegmentState:
    if not target or state in _UNTRANSLATED:
        return SegmentState.UNTRANSLATED
    return SegmentState.UNFINISHED if state.startswith("needs-") else SegmentState.TRANSLATED


def _target(content: Content, source: Node, target: Node | None, text: str, attributes: dict[str, str]) -> Edit:
    """A new target after the source, or the one that is there with other content."""
    name = source.beside("target")
    tag = content.text[target.start : target.within] if target else f"<{name}>"
    if not target and "xml:space" in source.attributes:
        tag = with_attributes(tag, {"xml:space": source.attributes["xml:space"]})
    tag = tag.removesuffix("/>").rstrip() + ">" if tag.endswith("/>") else tag
    tag = with_attributes(tag, attributes)
    if target:
        return Edit(target.start, target.end, f"{tag}{text}</{target.name}>")
    return Edit(source.end, source.end, f"{space_before(content, source)}{tag}{text}</{name}>")
