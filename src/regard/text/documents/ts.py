"""TS, the catalogues of Qt: each message without a finished translation is a segment, plural forms included.

A machine's translation stays `unfinished` unless told otherwise. Obsolete messages, comments and locations stay; a
missing `language` is filled in. The accelerator (`&Open`) moves to a letter of the translation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from regard.text.accelerators import Accelerator, joined, split
from regard.text.content import Content, read_xml
from regard.text.documents import Asked, Document, Edit, Place, Segment, SegmentState, quoted
from regard.text.inline import Inline, Shown
from regard.text.looks import Look
from regard.text.pairs import serves
from regard.text.plurals import plural_forms
from regard.text.xml_places import Node, add_text, escaped, tree, with_attributes

SUFFIXES = (".ts",)
BILINGUAL = True
SHARED = True  # with TypeScript
load = read_xml

_GONE = frozenset({"vanished", "obsolete"})
_TYPE = re.compile(r"""\s+type\s*=\s*("[^"]*"|'[^']*')""")


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    root = tree(content)
    if root.local != "TS":
        what = f"this is not a catalogue of Qt: its root is <{root.name}>."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    besides = tuple(_stated(content, root, asked))
    places = [place for message in root.every("message") for place in _places(content, message, asked)]
    return Document(text=content.text, places=tuple(places), besides=besides)


def claims(look: Look) -> bool:
    """By its root."""
    return look.root == "TS"


def _stated(content: Content, root: Node, asked: Asked) -> Iterator[Edit]:
    if asked.languages is None:
        return
    for name, wanted in (("sourcelanguage", asked.languages.source), ("language", asked.languages.target)):
        found = root.attributes.get(name)
        if found and not serves(wanted, found):
            what = f"{name} is {found!r}, but the model translates from {asked.languages}."
            raise content.wrong(content.line(root.start), what, "Use a model of these languages, or correct the file.")
    if not root.attributes.get("language"):
        tag = with_attributes(content.text[root.start : root.within], {"language": asked.languages.target})
        yield Edit(root.start, root.within, tag)


def _places(content: Content, message: Node, asked: Asked) -> Iterator[Place]:
    source, translation = message.child("source"), message.child("translation")
    kind = translation.attributes.get("type", "") if translation else "unfinished"
    shown, accelerator = _shown(content, source) if source else (Inline().shown(), None)
    if source is None or kind in _GONE or not shown.text:
        return
    plural = message.attributes.get("numerus") == "yes"
    forms = [child for child in translation.children if child.local == "numerusform"] if translation else []
    for number, place in enumerate(forms or [translation]):
        already = _shown(content, place)[0].text if place and (forms or not plural) else ""
        state = SegmentState.UNFINISHED if kind == "unfinished" else SegmentState.TRANSLATED
        segment = Segment(
            source=shown.text,
            target=already,
            state=state if already else SegmentState.UNTRANSLATED,
            line=content.line(source.start),
        )

        def put(said: str, number: int = number) -> list[Edit]:
            text = joined(shown.restored(said, escaped), accelerator).replace("&", "&amp;") if accelerator else ""
            text = text or shown.restored(said, escaped)
            if forms:
                tag = _tag(content.text[translation.start : translation.within], asked) if translation else ""
                outer = [Edit(translation.start, translation.within, tag)] if translation else []
                return [*outer, Edit(forms[number].start, forms[number].end, f"<numerusform>{text}</numerusform>")]
            count = plural_forms(asked.languages.target).count if plural and asked.languages else 1
            within = f"<numerusform>{text}</numerusform>" * count if plural else text
            return [_whole(content, source, translation, within, asked)]

        yield Place(segment, put)


def _whole(content: Content, source: Node, translation: Node | None, within: str, asked: Asked) -> Edit:
    if translation is None:
        tag = _tag("<translation>", asked)
        return Edit(source.end, source.end, f"{tag}{within}</translation>")
    tag = _tag(content.text[translation.start : translation.within], asked)
    return Edit(translation.start, translation.end, f"{tag}{within}</translation>")


def _tag(tag: str, asked: Asked) -> str:
    """The start tag of a translation that is marked for review or finished."""
    tag = tag.removesuffix("/>").rstrip() + ">" if tag.endswith("/>") else tag
    return with_attributes(tag, {"type": "unfinished"}) if asked.marked else _TYPE.sub("", tag)


def _shown(content: Content, node: Node) -> tuple[Shown, Accelerator | None]:
    """The text of an element; characters that XML cannot hold stand in it as elements, `<byte>`."""
    if not node.children:
        built = Inline()
        add_text(content.text[node.within : node.without], built, keep=True)
        text, accelerator = split(built.shown().text, "&")
        if accelerator:
            bare = Inline()
            bare.text(text)
            return bare.shown(), accelerator
        return built.shown(), None
    built, position = Inline(), node.within
    for child in node.children:
        add_text(content.text[position : child.start], built, keep=True)
        built.alone(quoted(child.start, child.end))
        position = child.end
    add_text(content.text[position : node.without], built, keep=True)
    return built.shown(), None
