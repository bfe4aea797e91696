"""RESX, the resources of .NET: each `data` that is a string is a segment; others, comments and the schema stay.

The accelerator (`&Open`) moves to a letter of the translation. Names that start with `>>` or end with `.Name` belong
to the designer of forms and stay.
"""

from __future__ import annotations

from regard.text.accelerators import joined, split
from regard.text.catalogues import is_language
from regard.text.content import Content, read_xml
from regard.text.documents import Asked, Document, Edit, Place, Segment
from regard.text.inline import Inline, LostMarkup
from regard.text.tagged import tagged
from regard.text.xml_places import Node, add_text, escaped, tree

SUFFIXES = (".resx", ".resw")
BILINGUAL = False
load = read_xml


def read(content: Content, asked: Asked) -> Document:  # noqa: ARG001
    """The document."""
    root = tree(content)
    if root.local != "root":
        what = f"this is not RESX: its root is <{root.name}>."
        raise content.wrong(None, what, "Give the format of this file with --format.")
    places = (_place(content, data) for data in root.children if data.local == "data" and _is_text(data))
    return Document(text=content.text, places=tuple(place for place in places if place))


def _is_text(data: Node) -> bool:
    name = data.attributes.get("name", "")
    return not ({"type", "mimetype"} & data.attributes.keys() or name.startswith(">>") or name.endswith(".Name"))


def _place(content: Content, data: Node) -> Place | None:
    value = data.child("value")
    if value is None or value.children:
        return None
    built = Inline()
    add_text(content.text[value.within : value.without], built, keep=True)
    text = built.shown().restored(built.shown().text)
    bare, accelerator = split(text, "&")
    shown = tagged(bare)
    if not shown.text or not is_language(bare):
        return None

    def put(translation: str) -> list[Edit]:
        said = joined(shown.restored(translation), accelerator)
        if not is_language(said):
            raise LostMarkup
        return [Edit(value.within, value.without, escaped(said))]

    return Place(Segment(source=shown.text, line=content.line(value.start)), put)
