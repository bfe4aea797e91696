"""Lines that are translated, as they are printed: plain, with alternatives or an alignment, or as JSON objects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from regard.cli.reviewing import Reviewing
    from regard.search import SearchSettings
    from regard.text.memory import Match, Memory
    from regard.translation.translator import Translation, Translator


class Lines:
    """Translates windows of lines; a line that the translation memory has is taken from there."""

    def __init__(
        self,
        translator: Translator,
        search: SearchSettings,
        glossary: Mapping[str, str] | None,
        memory: Memory | None,
        review: Reviewing,
        *,
        alignment: bool,
        as_json: bool,
    ) -> None:
        self._translator, self._search, self._glossary, self._memory = translator, search, glossary, memory
        self._review = review
        self._alignment, self._as_json, self._number = alignment, as_json, 0

    def shown(self, texts: list[str]) -> Iterator[tuple[int, str]]:
        """Each line with its number, as it is printed."""
        known = [self._memory.exact(text) if self._memory else None for text in texts]
        stream = self._translator.stream(
            [text for text, target in zip(texts, known, strict=True) if target is None],
            search=self._search,
            alignment=self._alignment,
            logprobs=self._as_json,
            glossary=self._glossary,
            checks=self._review.checks,
        )
        for text, target in zip(texts, known, strict=True):
            self._number += 1
            found = next(stream) if target is None else _remembered(text, target)
            self._review.line(self._number, found)
            near = self._near(text) if target is None else []
            self._review.near(self._number, found, near)
            yield self._number, self._written(found, near, remembered=target is not None)

    def _near(self, text: str) -> list[Match]:
        """What the memory has that is near, where this is shown: looking for it takes time."""
        shown = self._memory is not None and (self._as_json or self._review.shows_near)
        return self._memory.near(text) if self._memory and shown else []

    def _written(self, found: Translation, near: list[Match], *, remembered: bool) -> str:
        if self._as_json:
            return json.dumps(asdict(found) | self._origin(near, remembered=remembered), ensure_ascii=False)
        if found.alternatives:
            return "\n".join(f"{self._number}\t{other.score:.4f}\t{other.text}" for other in found.alternatives)
        if self._alignment:
            return found.text + "\t" + " ".join(f"{source}-{target}" for source, target in found.alignment)
        return found.text

    def _origin(self, near: list[Match], *, remembered: bool) -> dict[str, Any]:
        """Where a translation comes from, and what the memory has that is near; nothing without a memory."""
        if self._memory is None:
            return {}
        origin = "memory" if remembered else "machine"
        return {"origin": origin, "near": [match._asdict() for match in near]}


def _remembered(text: str, target: str) -> Translation:
    from regard.translation.translator import Translation

    said = " ".join(target.splitlines())
    return Translation(text=said, score=0.0, tokens=(), source=text)
