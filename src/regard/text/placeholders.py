"""Strings within a text that are not language: placeholders, markup, addresses. They are to survive translation.

{name} {0} {{ name }} ${name} $NAME      %s %d %(name)s %1$s %1 %n      <b> </b> <br/> &amp; &#160;
https://example.org/a?b=c  www.example.org  name@example.org
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

_ADDRESSES = (
    r"(?:https?|ftp)://[^\s<>\"'\]]*[^\s<>\"'\].,;:!?)]",
    r"(?<![\w.])www\.[\w-]+(?:\.[\w-]+)+(?:/[^\s<>\"'\]]*[^\s<>\"'\].,;:!?)])?",
    r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
)
_MARKUP = (
    r"</?[A-Za-z][\w:.-]*(?:\s[^<>]*)?/?>",
    r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#x[0-9A-Fa-f]{1,6});",
)
_VARIABLES = (
    r"\{\{ ?\w[\w.]* ?\}\}",
    r"\$?\{[\w.\[\]]*(?:![rsa])?(?::[^{}\s]*)?\}",
    r"(?<![\w$])\$[A-Za-z_]\w*",
    r"%\(\w+\)[-+#0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]",
    r"(?<![\d%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[jzt])?[diouxXeEfFgGcrsan@](?![A-Za-z])",
    r"(?<![\w%])%L?\d{1,2}(?![\w%])",
)
_PLACEHOLDER = re.compile("|".join((*_ADDRESSES, *_MARKUP, *_VARIABLES)))
_SIGNS = re.compile(r"[{%<&$@]|://|www\.")  # a text without any of these has no placeholder


class Placeholder(NamedTuple):
    """One, and where it stands."""

    string: str
    start: int
    end: int

    @property
    def opens(self) -> bool:
        """Whether it is a tag that belongs to what follows, as <b> does."""
        return self.string.startswith("<") and not self.string.startswith("</") and not self.string.endswith("/>")

    @property
    def closes(self) -> bool:
        """Whether it is a tag that belongs to what is before it, as </b> does."""
        return self.string.startswith("</")


def placeholders(text: str) -> list[Placeholder]:
    """All placeholders of a text, in order."""
    if not _SIGNS.search(text):
        return []
    return [Placeholder(match.group(), *match.span()) for match in _PLACEHOLDER.finditer(text)]


def differences(source: str, target: str) -> tuple[list[str], list[str]]:
    """The placeholders that the target lacks, and those that it has and the source has not; each as often as that."""
    asked = Counter(found.string for found in placeholders(source))
    said = Counter(found.string for found in placeholders(target))
    return list((asked - said).elements()), list((said - asked).elements())


def only_placeholders(text: str, found: list[Placeholder]) -> bool:
    """Whether there is no letter and no digit beside the placeholders."""
    kept, last = [], 0
    for placeholder in found:
        kept.append(text[last : placeholder.start])
        last = placeholder.end
    kept.append(text[last:])
    return not any(character.isalnum() for part in kept for character in part)
