"""The inline markup of Markdown, found where it stands: CommonMark with tables and strikethrough, by markdown-it.

markdown-it says what is a link, a code or an emphasis, but not where; since its tokens come in the order of the text,
following them with one finger in the text finds every place. Where finger and tokens part, nothing is translated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from regard.text.inline import Inline

_VERBATIM = re.compile(
    r"(?:https?|ftp)://[^\s<>]*[^\s<>.,;:!?)\]\"'*_]"  # addresses without brackets
    r"|\{[#.:][^{}]*\}|\{\{.*?\}\}|\{%.*?%\}"  # attributes and templates
    r"|\[\^[^\]\s]+\]:?|\[![A-Z]+\]|\A\[[ xX]\](?=\s)"  # footnotes, alerts, tasks
    r"|([\ue000-\uf8ff])\1*"  # math, as regard.text.markdown_masks hides it
)
_SOFT = re.compile(r"[ \t]*\n[ \t]*")
_HARD = re.compile(r"(?: {2,}|\\)\n[ \t]*")
_SPACE = re.compile(r"\s*")
_ALERT = re.compile(r"\[![A-Z]+\]$")

Environment = MutableMapping[str, Any]


class Astray(Exception):  # noqa: N818
    """The text does not go on as the tokens say."""


@cache
def parser() -> MarkdownIt:
    """CommonMark with tables and strikethrough; escapes and entities are tokens of their own."""
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")


def inline(content: str, tokens: Sequence[Token], environment: Environment) -> Inline:
    """The text and the codes of the content of a block."""
    finger = _Finger(content, environment)
    finger.follow(tokens)
    if content[finger.position :].strip():
        raise Astray
    return finger.built


def markup(tokens: Sequence[Token]) -> Counter[tuple[str, ...]]:
    """What there is besides text, however it is ordered."""
    found: Counter[tuple[str, ...]] = Counter()
    for token in tokens:
        if token.type not in ("text", "text_special", "softbreak"):
            content = token.content if token.type in ("code_inline", "html_inline") else ""
            attributes = (str(value) for name, value in sorted(token.attrs.items()) if name != "alt")
            found[token.type, token.markup, re.sub(r"\s+", " ", content), *attributes] += 1
        if token.type == "image":
            found += markup(token.children or [])
    return found


def escaped(text: str) -> str:
    """A text in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>~]|&(?=[#\w]+;))", r"\\\1", text)


class _Finger:
    def __init__(self, content: str, environment: Environment) -> None:
        self.content, self.position, self.built = content, 0, Inline()
        self._references = environment.get("references", {})
        self._open: list[tuple[int, str]] = []  # of each open link or image: where its text starts, and where it leads

    def follow(self, tokens: Sequence[Token]) -> None:
        """One token after the other; whatever belongs to an address in angle brackets is passed at its start."""
        skipping = False
        for token in tokens:
            if skipping:
                skipping = token.type != "link_close"
            elif token.type == "link_open" and token.markup == "autolink":
                self.built.alone(self._matched(re.compile(r"<[^<>\s]*>")))
                skipping = True
            else:
                self._follow(token)

    def _follow(self, token: Token) -> None:
        kind = token.type
        if kind == "text":
            self._text(self._taken(token.content))
        elif kind == "text_special":
            self._taken(token.markup)
            self.built.text(token.content)
        elif kind == "softbreak":
            alert = _ALERT.search(self.content, 0, self.position)
            space = self._matched(_SOFT)
            (self.built.alone if alert else self.built.text)("\n" if alert else " " if space else "")
        elif kind == "hardbreak":
            self.built.alone(self._matched(_HARD).rstrip(" \t"))
        elif kind == "html_inline":
            self.built.alone(self._taken(token.content))
        elif kind == "code_inline":
            self.built.alone(self._matched(re.compile(rf"(?s){token.markup}(?!`).+?(?<!`){token.markup}(?!`)")))
        else:
            self._enclosing(token)

    def _enclosing(self, token: Token) -> None:
        """What stands around text."""
        if token.type == "image":
            self._lead("![", str(token.attrs["src"]))
            self.follow(token.children or [])
            self.built.close(self._tail())
        elif token.type == "link_open":
            self._lead("[", str(token.attrs["href"]))
        elif token.type == "link_close":
            self.built.close(self._tail())
        elif token.type.endswith("_open"):
            self.built.open(self._taken(token.markup))
        elif token.type.endswith("_close"):
            self.built.close(self._taken(token.markup))
        else:
            raise Astray

    def _text(self, text: str) -> None:
        position = 0
        for found in _VERBATIM.finditer(text):
            self.built.text(text[position : found.start()])
            self.built.alone(found[0])
            position = found.end()
        self.built.text(text[position:])

    def _lead(self, bracket: str, address: str) -> None:
        self.built.open(self._taken(bracket))
        self._open.append((self.position, address))

    def _tail(self) -> str:
        """The end of a link. A link that has its own text as its label gets the label, since the text will change."""
        start, address = self._open.pop()
        label, end = self.content[start : self.position], self.position + 1
        self._taken("]")
        if self.content.startswith("(", end):
            after = self._destination(end + 1, address)
            if after is not None:
                self.position = after
                return self.content[end - 1 : after]
        if self.content.startswith("[]", end):
            self._taken("[]")
        elif self.content.startswith("[", end):
            close = self.content.find("]", end)
            named = self.content[end + 1 : close]
            if close > 0 and normalizeReference(named) in self._references:
                return f"]{self._taken(f'[{named}]')}"
        if normalizeReference(label) not in self._references:
            raise Astray
        return f"][{label}]"

    def _destination(self, position: int, address: str) -> int | None:
        """Where `url "title")` ends, if it stands at the position."""
        markdown, end = parser(), len(self.content)
        found = markdown.helpers.parseLinkDestination(self.content, self._spaced(position), end)
        if not found.ok or markdown.normalizeLink(found.str) != address:
            return None
        position = self._spaced(found.pos)
        title = markdown.helpers.parseLinkTitle(self.content, position, end)
        if title.ok and position > found.pos:
            position = self._spaced(title.pos)
        return position + 1 if self.content.startswith(")", position) else None

    def _spaced(self, position: int) -> int:
        found = _SPACE.match(self.content, position)
        return found.end() if found else position

    def _taken(self, text: str) -> str:
        if not self.content.startswith(text, self.position):
            raise Astray
        self.position += len(text)
        return text

    def _matched(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.content, self.position)
        if not found:
            raise Astray
        self.position = found.end()
        return found[0]
