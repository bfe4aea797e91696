"""XML as text whose elements know where they stand, so that one of them can be changed and all else keep its bytes.

lxml says first whether the document is sound; then tags can be found by reading from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from regard.text.bad_input import Problem
from regard.text.content import Content
from regard.text.inline import Inline, Shown
from regard.text.markup import DEFINITIONS, defines

_TOKEN = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?[^>]*>"
    r"|</(?P<closed>[^\s>]+)\s*>"
    r"|<(?P<opened>[^\s/>!?]+)(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_REFERENCE = re.compile(r"&(#\d+|#x[0-9A-Fa-f]+|[^;\s]+);")
_DECLARATION = re.compile(r"\A<\?xml[^>]*\?>")
_DEEPEST = 256
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


@dataclass(slots=True, kw_only=True)
class Node:
    """An element, by where it stands: `<a>` from start to within, `</a>` from without to end."""

    name: str  # as it is written, with its prefix
    attributes: dict[str, str]
    start: int
    within: int
    without: int = 0
    end: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def local(self) -> str:
        """The name without its prefix."""
        return self.name.rpartition(":")[2]

    @property
    def empty(self) -> bool:
        """Whether it is written as one tag, `<a/>`."""
        return self.within == self.end

    def beside(self, local: str) -> str:
        """Another name with the prefix of this one."""
        prefix, colon, _ = self.name.rpartition(":")
        return f"{prefix}{colon}{local}"

    def child(self, local: str) -> Node | None:
        """The first child of that name."""
        return next((child for child in self.children if child.local == local), None)

    def inside(self, *names: str) -> bool:
        """Whether it lies within an element of one of these names."""
        node = self.parent
        while node is not None and node.local not in names:
            node = node.parent
        return node is not None

    def inherited(self, attribute: str) -> str | None:
        """An attribute of this element or of the nearest one around it that has it."""
        node: Node | None = self
        while node is not None:
            if attribute in node.attributes:
                return node.attributes[attribute]
            node = node.parent
        return None

    def every(self, *names: str) -> Iterator[Node]:
        """The elements of these names within this one, in order."""
        for child in self.children:
            if child.local in names:
                yield child
            yield from child.every(*names)


def tree(content: Content, span: tuple[int, int] | None = None) -> Node:
    """The root element of a document, or of a part of it, that lxml finds in order."""
    start, end = span or (0, len(content.text))
    _check(content, start, end)
    top = Node(name="", attributes={}, start=start, within=start)
    inner, depth = top, 0
    for found in _TOKEN.finditer(content.text, start, end):
        depth += bool(found["opened"] and not found["empty"]) - bool(found["closed"])
        if depth > _DEEPEST:
            raise content.wrong(None, f"its elements are nested more than {_DEEPEST} deep.", Problem.XML.hint)
        if found["closed"]:
            inner.without, inner.end = found.span()
            inner = inner.parent or top
        elif found["opened"]:
            attributes = {name: unescaped(value[1:-1]) for name, value in _ATTRIBUTE.findall(found["attributes"])}
            node = Node(
                name=found["opened"], attributes=attributes, start=found.start(), within=found.end(), parent=inner
            )
            inner.children.append(node)
            if found["empty"]:
                node.without = node.end = node.within
            else:
                inner = node
    return top.children[0]


def inline(content: Content, node: Node, codes: Collection[str]) -> Shown:
    """What is within an element: text, tags around text, and codes, which are the elements of these names, whole."""
    built = Inline()
    _walk(content, node, codes, built, keep=node.inherited("xml:space") == "preserve")
    return built.shown()


def add_text(raw: str, built: Inline, *, keep: bool) -> None:
    """Text between elements, with the comments and references in it."""
    position = 0
    for found in _TOKEN.finditer(raw):
        _add_text(raw[position : found.start()], built, keep=keep)
        if found[0].startswith("<![CDATA["):
            built.text(_spaced(found[0][9:-3], keep=keep))
        else:
            built.alone(found[0])
        position = found.end()
    _add_text(raw[position:], built, keep=keep)


def escaped(text: str) -> str:
    """A text as XML writes it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescaped(text: str) -> str:
    """A text as people read it; entities that XML does not define stay as they are."""
    return _REFERENCE.sub(lambda found: _character(found[1]) or found[0], text)


def space_before(content: Content, node: Node) -> str:
    """The line break and indentation before an element; nothing where other text stands before it."""
    start = node.start
    while start and content.text[start - 1].isspace():
        start -= 1
    return content.text[start : node.start] if content.text[start - 1 : start] == ">" else ""


def with_attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """A start tag with these attributes, in the place of those of the same names."""
    for name, value in attributes.items():
        quoted = escaped(value).replace('"', "&quot;")
        there = re.search(rf"""\s{name}\s*=\s*("[^"]*"|'[^']*')""", tag) or re.search(r"(\s*/?>)$", tag)
        assert there
        if there.end() < len(tag):
            tag = f'{tag[: there.start(1)]}"{quoted}"{tag[there.end(1) :]}'
        else:
            tag = f'{tag[: there.start(1)]} {name}="{quoted}"{there[1]}'
    return tag


def _check(content: Content, start: int, end: int) -> None:
    """Refuse what is not XML, or brings definitions."""
    text = content.text[start:end]
    if DEFINITIONS.search(text):
        _refuse(content)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(_DECLARATION.sub("", text).encode(errors="surrogatepass"), parser)
    except etree.XMLSyntaxError as error:
        what = "this file is empty." if not text.strip() else f"this is not valid XML: {error.msg}."
        raise content.wrong(error.lineno, what, Problem.XML.hint) from None
    if defines(root):
        _refuse(content)


def _refuse(content: Content) -> None:
    raise content.wrong(None, "the DOCTYPE of this file defines entities or elements.", Problem.ENTITIES.hint)


def _walk(content: Content, node: Node, codes: Collection[str], built: Inline, *, keep: bool) -> None:
    position = node.within
    for child in node.children:
        add_text(content.text[position : child.start], built, keep=keep)
        start, end = content.text[child.start : child.within], content.text[child.without : child.end]
        if child.local in codes or not content.text[child.within : child.without] or _protected(child):
            built.alone(content.text[child.start : child.end])
        else:
            built.open(start)
            _walk(content, child, codes, built, keep=keep)
            built.close(end)
        position = child.end
    add_text(content.text[position : node.without], built, keep=keep)


def _protected(node: Node) -> bool:
    return node.attributes.get("translate") == "no" or node.attributes.get("mtype") == "protected"


def _add_text(raw: str, built: Inline, *, keep: bool) -> None:
    position = 0
    for found in _REFERENCE.finditer(raw):
        character = _character(found[1])
        built.text(_spaced(raw[position : found.start()], keep=keep))
        if character is None:
            built.alone(found[0])
        else:
            built.text(character)
        position = found.end()
    built.text(_spaced(raw[position:], keep=keep))


def _spaced(text: str, *, keep: bool) -> str:
    """A text with its line breaks, where they are meant; they are spaces otherwise."""
    return re.sub(r"\r\n?", "\n", text) if keep else re.sub(r"\s*[\r\n]\s*", " ", text)


def _character(name: str) -> str | None:
    if name.startswith("#"):
        return chr(int(name[2:], 16) if name[1] == "x" else int(name[1:]))
    return _NAMED.get(name)
