"""TMX: a unit (`tu`) with the source language is a segment; its translation becomes the variant of the target language.

Codes of the word processor (`bpt`, `ept`, `ph`, `it`, `ut`) stay as single tags, `hi` as tags around its text.
"""

from __future__ import annotations

from regard.text.content import Content, read_xml
from regard.text.documents import Asked, Document, Edit, Place, Segment, SegmentState
from regard.text.looks import Look
from regard.text.pairs import Languages, serves, sides
from regard.text.xml_places import Node, escaped, inline, space_before, tree, with_attributes

SUFFIXES = (".tmx",)
BILINGUAL = True
load = read_xml

_CODES = frozenset({"bpt", "ept", "ph", "it", "ut"})


def read(content: Content, asked: Asked) -> Document:
    """The document: units without the source language are passed over."""
    root = tree(content)
    if root.local != "tmx":
        what = f"this is not TMX: its root is <{root.name}>."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    if asked.languages is None:
        what = "the model does not name its languages, so Regard cannot choose variants in this file."
        raise content.wrong(None, what, "Use a model that was trained with --source and --target, or another format.")
    units = list(root.every("tu"))
    codes = dict.fromkeys(_language(variant) for unit in units for variant in unit.children if variant.local == "tuv")
    source, target = asked.languages
    if units and not any(serves(source, code) for code in codes):
        what = f"there is no {source} in this file; its languages are: {', '.join(sorted(codes))}."
        raise content.wrong(None, what, "Use a model that translates from one of these.")
    written = next((code for code in codes if serves(target, code)), target)
    places = (_place(content, unit, Languages(source, target), written, asked) for unit in units)
    return Document(text=content.text, places=tuple(place for place in places if place))


def claims(look: Look) -> bool:
    """By its root."""
    return look.root == "tmx"


def _language(variant: Node) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang") or ""


def _place(content: Content, unit: Node, languages: Languages, written: str, asked: Asked) -> Place | None:
    variants = [child for child in unit.children if child.local == "tuv"]
    codes = tuple(map(_language, variants))
    both = sides(languages, codes)
    source = variants[both[0]] if both else _first(variants, languages.source)
    target = variants[both[1]] if both else _first([found for found in variants if found is not source], written)
    segment = source.child("seg") if source else None
    shown = inline(content, segment, _CODES) if segment else None
    if source is None or segment is None or shown is None or not shown.text:
        return None
    there = target.child("seg") if target else None
    already = inline(content, there, _CODES).text if there else ""

    def put(translation: str) -> list[Edit]:
        text = shown.restored(translation, escaped)
        if there and not there.empty:
            return [Edit(there.within, there.without, text)]
        if target:
            start, end = (there.start, there.end) if there else (target.within, target.without)
            return [Edit(start, end, _segment(segment, text))]
        variant = _variant(content, source, segment, _segment(segment, text), written, marked=asked.marked)
        return [Edit(variants[-1].end, variants[-1].end, space_before(content, source) + variant)]

    state = SegmentState.TRANSLATED if already else SegmentState.UNTRANSLATED
    return Place(Segment(source=shown.text, target=already, state=state, line=content.line(unit.start)), put)


def _first(variants: list[Node], language: str) -> Node | None:
    return next((variant for variant in variants if serves(language, _language(variant))), None)


def _segment(like: Node, text: str) -> str:
    return f"<{like.name}>{text}</{like.name}>"


def _variant(content: Content, source: Node, segment: Node, text: str, language: str, *, marked: bool) -> str:
    """A variant in another language, laid out as that of the source."""
    attribute = "xml:lang" if "xml:lang" in source.attributes else "lang"
    attributes = {attribute: language} | ({"creationtool": "Regard"} if marked else {})
    tag = with_attributes(f"<{source.name}>", attributes)
    after = content.text[segment.end : source.without]
    return f"{tag}{space_before(content, segment)}{text}{after if after.isspace() else ''}</{source.name}>"
