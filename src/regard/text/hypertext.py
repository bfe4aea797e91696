"""HTML and XHTML as text whose segments know where they stand: blocks of running text, and attributes that people read.

A page is read from left to right, as tolerantly as browsers do. Tags within running text are inline markup; any other
tag ends a segment. Scripts, styles, code and what is marked `translate="no"` stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.entities import html5
from typing import NamedTuple

from regard.text.content import Content
from regard.text.documents import Edit, Place, Segment, quoted
from regard.text.inline import Inline
from regard.text.pairs import Languages, serves

_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<![^>]*>|<\?[^>]*>"
    r"|</(?P<closed>[A-Za-z][^\s/>]*)[^>]*>"
    r"|<(?P<opened>[A-Za-z][^\s/>]*)(?P<attributes>(?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"""([^\s=/>"']+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_REFERENCE = re.compile(r"&(?:#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6})|([A-Za-z][A-Za-z0-9]*));")
_SPACE = re.compile(r"[ \t\r\n\f]+")

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd mark math nobr q rb rp rt rtc ruby s "
    "samp script small span strike strong style sub sup svg time tt u var wbr".split()
)
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())
_KEPT = frozenset("code iframe kbd math noembed noframes pre samp script style svg textarea tt var xmp".split())
_RAW = frozenset("iframe noembed noframes script style textarea title xmp".split())  # in HTML, no tags are within
_READ = frozenset("alt aria-description aria-label aria-placeholder aria-roledescription placeholder title".split())
_META = frozenset(
    "description og:title og:description og:image:alt twitter:title twitter:description twitter:image:alt".split()
)


class _Tag(NamedTuple):
    name: str
    start: int
    end: int
    opens: bool
    alone: bool  # nothing is within
    attributes: tuple[tuple[str, int, int], ...]  # name, and where its value stands, with its quotes

    def value(self, text: str, name: str) -> str:
        found = next((span for attribute, *span in self.attributes if attribute == name), None)
        return unescaped(text[found[0] : found[1]].strip("\"'")) if found else ""

    def protects(self, text: str) -> bool:
        classes = self.value(text, "class").split()
        return self.name in _KEPT or self.value(text, "translate") == "no" or "notranslate" in classes


class _Item(NamedTuple):
    """Something in running text: a text if `shown`, a tag that opens or closes if it has a partner, or a code."""

    start: int
    end: int
    shown: str = ""
    name: str = ""
    opens: bool = False
    partner: int = -1


@dataclass
class Page:
    """The places of a page from `start` to `end` of a document, and the edits of its languages."""

    content: Content
    start: int
    end: int
    xml: bool
    part: str = ""
    places: list[Place] = field(default_factory=list)
    besides: list[Edit] = field(default_factory=list)
    _items: list[_Item] = field(default_factory=list)

    def read(self, languages: Languages | None) -> None:
        """Find everything."""
        text, position = self.content.text, self.start
        for tag in self._tags():
            if tag.start < position:
                continue  # within something that was passed
            self._add_text(position, tag.start)
            position = self._take(tag, languages)
        self._add_text(position, self.end)
        self._flush()
        assert "\x01" not in text

    def _tags(self) -> Iterator[_Tag]:
        text, position = self.content.text, self.start
        while found := _TAG.search(text, position, self.end):
            position = found.end()
            if found["closed"]:
                yield _Tag(self._name(found["closed"]), *found.span(), opens=False, alone=False, attributes=())
            elif found["opened"]:
                name, offset = self._name(found["opened"]), found.start("attributes")
                attributes = tuple(
                    (self._name(one[1]), offset + one.start(2), offset + one.end(2))
                    for one in _ATTRIBUTE.finditer(found["attributes"])
                    if one[2]
                )
                alone = bool(found["empty"]) if self.xml else name in _VOID
                yield _Tag(name, *found.span(), opens=True, alone=alone, attributes=attributes)
                if not self.xml and name in _RAW:
                    position = self._end_of_raw(name, found.end())
            else:
                yield _Tag("", *found.span(), opens=False, alone=True, attributes=())

    def _name(self, written: str) -> str:
        return written.rpartition(":")[2] if self.xml else written.lower()

    def _end_of_raw(self, name: str, position: int) -> int:
        found = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self.content.text, position, self.end)
        return found.start() if found else self.end

    def _take(self, tag: _Tag, languages: Languages | None) -> int:
        """Deal with a tag, or with an element that is kept whole; where to go on."""
        text = self.content.text
        inline = tag.name in _INLINE or not tag.name or "-" in tag.name
        if tag.opens and tag.name == "html" and languages:
            self._state_language(tag, languages)
        if tag.opens and tag.protects(text):
            end = tag.end if tag.alone else self._end_of_element(tag)
            if not inline:
                self._flush()
            else:
                self._items.append(_Item(tag.start, end))
            return end
        if tag.opens:
            self._add_attributes(tag)
        if not inline:
            self._flush()
        elif tag.alone:
            self._items.append(_Item(tag.start, tag.end, name=tag.name))
        else:
            self._items.append(_Item(tag.start, tag.end, name=tag.name, opens=tag.opens))
        return tag.end

    def _end_of_element(self, tag: _Tag) -> int:
        if not self.xml and tag.name in _RAW:
            closing = _TAG.search(self.content.text, self._end_of_raw(tag.name, tag.end), self.end)
            return closing.end() if closing else self.end
        depth = 1
        inner = Page(self.content, tag.end, self.end, self.xml)
        for other in inner._tags():
            if other.name == tag.name and not other.alone:
                depth += 1 if other.opens else -1
                if not depth:
                    return other.end
        return self.end

    def _state_language(self, tag: _Tag, languages: Languages) -> None:
        for name, start, end in tag.attributes:
            stated = self.content.text[start:end].strip("\"'")
            if name == "lang" and stated and serves(languages.source, stated) and stated != languages.target:
                self.besides.append(Edit(start, end, f'"{languages.target}"'))

    def _add_attributes(self, tag: _Tag) -> None:
        text = self.content.text
        kind = tag.value(text, "type").lower()
        meta = (tag.value(text, "name") or tag.value(text, "property")).lower()
        for name, start, end in tag.attributes:
            read = name in _READ or (name == "label" and tag.name in ("option", "optgroup", "track"))
            read = read or (tag.name == "meta" and name == "content" and meta in _META)
            read = read or (tag.name == "input" and name == "value" and kind in ("submit", "button", "reset"))
            if read:
                self._add_attribute(start, end)

    def _add_attribute(self, start: int, end: int) -> None:
        raw = self.content.text[start:end]
        quote = raw[0] if raw[0] in "\"'" else ""
        source = " ".join(unescaped(raw[1:-1] if quote else raw).split())
        if not source:
            return
        kept = _references(raw)

        def put(translation: str) -> list[Edit]:
            mark = quote or '"'
            written = escaped(translation, kept).replace(mark, "&quot;" if mark == '"' else "&#39;")
            return [Edit(start, end, f"{mark}{written}{mark}")]

        self.places.append(Place(self._segment(source, start), put))

    def _segment(self, source: str, position: int) -> Segment:
        line = self.content.line(position) - (self.content.line(self.start) - 1 if self.part else 0)
        return Segment(source=source, line=line, part=self.part)

    def _add_text(self, start: int, end: int) -> None:
        """Text without tags: its words, the white space around them, and references that no character stands for."""
        position = start
        for found in _REFERENCE.finditer(self.content.text, start, end):
            self._add_plain(position, found.start())
            character = _character(found)
            self._items.append(_Item(found.start(), found.end(), shown=character or ""))
            position = found.end()
        self._add_plain(position, end)

    def _add_plain(self, start: int, end: int) -> None:
        raw = self.content.text[start:end]
        if not raw:
            return
        lead, trail = len(raw) - len(raw.lstrip(" \t\r\n\f")), len(raw.rstrip(" \t\r\n\f"))
        cuts = sorted({0, min(lead, len(raw)), max(trail, lead), len(raw)})
        for first, last in zip(cuts, cuts[1:], strict=False):
            self._items.append(_Item(start + first, start + last, shown=_SPACE.sub(" ", raw[first:last])))

    def _flush(self) -> None:
        items, self._items = _paired(self._items), []
        items = _cored(items)
        if not any(item.shown.strip() for item in items):
            return
        built, start, end = Inline(), items[0].start, items[-1].end
        for item in items:
            if item.shown:
                built.text(item.shown)
            elif item.partner < 0:
                built.alone(quoted(item.start, item.end))
            elif item.opens:
                built.open(quoted(item.start, item.end))
            else:
                built.close(quoted(item.start, item.end))
        shown, raw = built.shown(), self.content.text[start:end]
        kept, layout = _references(raw), _Layout.of(raw)

        def put(translation: str) -> list[Edit]:
            return [Edit(start, end, layout.filled(shown.restored(translation, lambda text: escaped(text, kept))))]

        self.places.append(Place(self._segment(shown.text, start), put))


class _Layout(NamedTuple):
    """How running text is broken into lines: the width of the longest, 0 if there is one; what stands before others."""

    width: int
    between: str

    @classmethod
    def of(cls, raw: str) -> _Layout:
        found = re.search(r"\r?\n[ \t]*", raw)
        return cls(max(map(len, raw.splitlines())) if found else 0, found[0] if found else "")

    def filled(self, text: str) -> str:
        if not self.width:
            return text
        lines, length = [[""]], 0
        for number, word in enumerate(text.split(" ")):
            size = sum(map(len, re.split("\x01[^\x01]*\x01", word)))
            size += sum(int(end) - int(start) for start, end in re.findall("\x01(\\d+):(\\d+)\x01", word))
            if number and length and length + 1 + size > self.width:
                lines.append([word])
                length = size
            else:
                lines[-1] = [*lines[-1], word] if number else [word]
                length += 1 + size
        return self.between.join(" ".join(line) for line in lines)


def _paired(items: list[_Item]) -> list[_Item]:
    """The items with partners where tags fit; tags without one are codes."""
    opened: list[int] = []
    paired = list(items)
    for number, item in enumerate(items):
        if not item.name or item.shown:
            continue
        if item.opens:
            opened.append(number)
        else:
            fitting = [other for other in opened if items[other].name == item.name]
            if fitting:
                partner = fitting[-1]
                del opened[opened.index(partner) :]
                paired[partner] = items[partner]._replace(partner=number)
                paired[number] = item._replace(partner=partner)
    return paired


def _cored(items: list[_Item]) -> list[_Item]:
    """The items without what needs no translation at either end."""
    first, last = 0, len(items)
    while first < last:
        if _idle(items[first]):
            first += 1
        elif _idle(items[last - 1]):
            last -= 1
        elif not items[first].shown and items[first].partner == last - 1:
            first, last = first + 1, last - 1
        else:
            break
    return items[first:last]


def _idle(item: _Item) -> bool:
    return not item.shown.strip() and (bool(item.shown) or item.partner < 0)


def unescaped(text: str) -> str:
    """A text as people read it; references to no known character stay."""
    return _REFERENCE.sub(lambda found: _character(found) or found[0], text)


def escaped(text: str, kept: dict[str, str]) -> str:
    """A text as it is written; characters that were written as references are again."""
    written = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for character, reference in kept.items():
        if character not in "&<>;#" and not character.isalnum():
            written = written.replace(character, reference)
    return written


def _references(raw: str) -> dict[str, str]:
    """The characters that a text writes as references, with the references."""
    found = ((_character(one), one[0]) for one in _REFERENCE.finditer(raw))
    return {character: reference for character, reference in found if character and len(character) == 1}


def _character(found: re.Match[str]) -> str | None:
    decimal, hexadecimal, name = found.groups()
    if name:
        return html5.get(f"{name};")
    code = int(decimal) if decimal else int(hexadecimal, 16)
    ordinary = 0x20 <= code < 0x110000 and not 0xD800 <= code < 0xE000 and not 0x7F <= code < 0xA0
    return chr(code) if ordinary else None
