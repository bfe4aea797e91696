"""The beginning and the end of a text: the mark of a list item, the capital of a sentence, the marks that close it.

These are the same in the languages that share them. A model that drops the `a)` of an item, or ends a question with a
full stop, is corrected by the source.
"""

from __future__ import annotations

import re

_MARKER = re.compile(
    r"(?:[-*+•‣◦▪●○·–—>#]{1,6}|\[[ xX✓]\]|\(?(?:[A-Za-z]|\d{1,3}|[ivx]{1,4})\)|[:;]-?[()DP])"
    r"\s+(?=[^\W\d_]|[\"'“„<{%*`])"
)
_END = re.compile(r"[.!?…]*$")
_ENDS = ".!?…"
_LAST_WORD = re.compile(r"([^\W\d_]+)\.$")
_SHORT = 4  # a shorter word before a full stop may be an abbreviation


def marker(text: str) -> str:
    """The mark of a list item with its space, or a smiley: `- `, `a) `, `[x] `, `:-) `, or an empty string."""
    if text[:1].isalpha() and ")" not in text[:5]:
        return ""
    found = _MARKER.match(text)
    return found.group() if found else ""


def with_edges_of(source: str, target: str) -> str:
    """A translation that begins with a capital if its source, a sentence, does, and ends with the same marks."""
    if not source or not target:
        return target
    asked, said = source[-1], target[-1]
    if asked != said or asked in _ENDS:
        target = _ended(source, target)
    if source[0].isupper() and target[0].islower() and asked in _ENDS:
        first = target.split(maxsplit=1)[0]
        target = target if first in source else target[0].upper() + target[1:]
    return target


def _ended(source: str, target: str) -> str:
    asked, said = (_END.search(text)[0] for text in (source, target))  # type: ignore[index]
    if asked == said:
        return target
    core = target[: len(target) - len(said)]
    if asked and (said or asked in ("...", "…")) and core[-1:].isalnum():
        return core + asked
    last = _LAST_WORD.search(target)
    if said == "." and last and len(last[1]) >= _SHORT and (source[-1].isalnum() or source[-1] == ":"):
        return core + (":" if source[-1] == ":" else "")
    return target
