"""Running text of HTML, item by item: which tags belong together, what needs no translation, how lines are broken."""

from __future__ import annotations

import re
from typing import NamedTuple


class Item(NamedTuple):
    """Something in running text: a text if `shown`, a tag that opens or closes if it has a partner, or a code."""

    start: int
    end: int
    shown: str = ""
    name: str = ""
    opens: bool = False
    partner: int = -1


class Layout(NamedTuple):
    """How running text is broken into lines: the width of the longest, 0 if there is one; what stands before others."""

    width: int
    between: str

    @classmethod
    def of(cls, raw: str) -> Layout:
        """That of a text."""
        found = re.search(r"\r?\n[ \t]*", raw)
        return cls(max(map(len, raw.splitlines())) if found else 0, found[0] if found else "")

    def filled(self, text: str) -> str:
        """Another text, broken in the same way."""
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


def paired(items: list[Item]) -> list[Item]:
    """The items with partners where tags fit; tags without one are codes."""
    opened: list[int] = []
    found = list(items)
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
                found[partner] = items[partner]._replace(partner=number)
                found[number] = item._replace(partner=partner)
    return found


def cored(items: list[Item]) -> list[Item]:
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


def _idle(item: Item) -> bool:
    return not item.shown.strip() and (bool(item.shown) or item.partner < 0)
