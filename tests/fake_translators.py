"""Translators for tests of documents: what they say is plain to see."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from regard.search import SearchSettings
from regard.text.placeholders import placeholders
from regard.translation.checks import Finding

_KEPT = re.compile(r"(<[^<>]*>|%\w|\{\w*\})")


def louder(text: str) -> str:
    """All in capitals but tags and placeholders."""
    found = placeholders(text)
    pieces = _KEPT.split(text) if not found else _divided(text, [(one.start, one.end) for one in found])
    kept = {one.string for one in found}
    return "".join(piece if piece in kept or _KEPT.fullmatch(piece) else piece.upper() for piece in pieces)


def _divided(text: str, spans: list[tuple[int, int]]) -> list[str]:
    places = [0, *(place for span in spans for place in span), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


@dataclass(frozen=True)
class Said:
    text: str
    confidence: float = 1.0
    findings: tuple[Finding, ...] = ()
    refused: bool = False


class Fake:
    """Translates with a function, and remembers what it was asked."""

    def __init__(self, function: Callable[[str], str] = louder, *, source: str = "en", target: str = "de") -> None:
        self.languages = {"source": source, "target": target}
        self.asked: list[str] = []
        self.search: SearchSettings | None = None
        self.glossary: Mapping[str, str] | None = None
        self._function = function

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchSettings | None = None,
        glossary: Mapping[str, str] | None = None,
        checks: bool | None = None,
        syntax: str = "",
    ) -> Iterator[Said]:
        self.search, self.glossary, self.checks, self.syntax = search, glossary, checks, syntax
        for text in texts:
            self.asked.append(text)
            yield Said(self._function(text))
