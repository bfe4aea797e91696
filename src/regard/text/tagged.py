"""Text with tags in it, such as the messages of catalogues and subtitles: which tags are around text, and which alone."""

from __future__ import annotations

import re
from collections.abc import Callable

from regard.text.inline import Inline, Shown

TAGS = re.compile(r"</?[A-Za-z][^<>]*>|</?\d+/?>")


def tagged(raw: str, codes: re.Pattern[str] = TAGS, unescaped: Callable[[str], str] = str) -> Shown:
    """Text and codes; a closing tag that fits the innermost open one closes it, all others stand alone."""
    found = list(codes.finditer(raw))
    partners, open_ = dict[int, int](), list[int]()
    for number, code in enumerate(found):
        name = re.match(r"</?(\w+)", code[0])
        if name and code[0].startswith("</"):
            if open_ and re.match(rf"<{name[1]}(?!\w)", found[open_[-1]][0]):
                partners[open_.pop()] = number
        elif name and not code[0].endswith("/>"):
            open_.append(number)
    closing = set(partners.values())
    built, position = Inline(), 0
    for number, code in enumerate(found):
        built.text(unescaped(raw[position : code.start()]))
        (built.open if number in partners else built.close if number in closing else built.alone)(code[0])
        position = code.end()
    built.text(unescaped(raw[position:]))
    return built.shown()
