"""The tags of a text, as a tree: which opens, which closes it, and what stands between."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from regard.text.placeholders import Placeholder, placeholders

_NAME = re.compile(r"</?([A-Za-z][\w:.-]*)|\{%-?\s*(?:end)?(\w+)|\{\{[#^/]\s*([\w.]+)")


@dataclass(eq=False)
class Tag:
    """A tag alone, or a pair around something. `first` and `last` are their numbers among the tags of the text."""

    first: int
    last: int | None = None
    within: list[Tag] = field(default_factory=list)


def tree(tags: Sequence[Placeholder]) -> list[Tag]:
    """The tags of a text, nested. An opening tag without its closing one counts as a tag alone, and so the reverse."""
    top: list[Tag] = []
    stack: list[tuple[str, Tag, list[Tag]]] = []
    level = top
    for number, tag in enumerate(tags):
        name = name_of(tag.string)
        if tag.opens:
            opened = Tag(number)
            level.append(opened)
            stack.append((name, opened, level))
            level = opened.within
        elif tag.closes and any(open_name == name for open_name, _, _ in stack):
            while True:
                open_name, opened, above = stack.pop()
                if open_name == name:
                    opened.last, level = number, above
                    break
                above += opened.within  # it was never closed
                opened.within = []
        else:
            level.append(Tag(number))
    for _, opened, above in reversed(stack):
        above += opened.within
        opened.within = []
    return top


def name_of(tag: str) -> str:
    """The name of a tag: b for <b>, </b> and <b/>, if for {% if x %} and {% endif %}."""
    found = _NAME.match(tag)
    return found[1] or found[2] or found[3] if found else ""


def well_nested(text: str) -> bool:
    """Whether every pair of tags is closed in the order in which it was opened."""
    opened: list[str] = []
    for tag in tags_of(text):
        if tag.opens:
            opened.append(name_of(tag.string))
        elif tag.closes and (not opened or opened.pop() != name_of(tag.string)):
            return False
    return not opened


def same_tags(source: str, target: str) -> bool:
    """Whether both have the same tags, and the target has them nested if the source does."""
    asked, said = (Counter(tag.string for tag in tags_of(text)) for text in (source, target))
    return asked == said and (well_nested(target) or not well_nested(source))


def emptied(source: str, target: str) -> str:
    """A pair of tags that encloses something in the source and nothing in the target, or an empty string."""
    return next(iter((_empty(target) - _empty(source)).elements()), "")


def _empty(text: str) -> Counter[str]:
    found, tags = Counter[str](), tags_of(text)
    for first, second in pairwise(tags):
        if first.opens and second.closes and not text[first.end : second.start].strip():
            found[first.string] += 1
    return found


def tags_of(text: str) -> list[Placeholder]:
    """The tags of a text, in order."""
    return [found for found in placeholders(text) if found.is_tag] if "<" in text or "{" in text else []
