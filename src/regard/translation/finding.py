"""Sentences in, translations of each out: which engine searches for which, and ids turned into text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from regard.search import Hypothesis, Request, Result, SearchSettings
from regard.text.placeholders import Placeholder
from regard.tokens.tokeniser import Tokeniser
from regard.translation.engines.engine import Engine
from regard.translation.translation import Alignment


@dataclass(frozen=True)
class Sentence:
    """One that is to be translated."""

    text: str  # in normal form
    ids: Sequence[int]
    placeholders: tuple[Placeholder, ...] = ()
    request: Request | None = None  # what is asked of the translation, if anything


@dataclass(frozen=True)
class Found:
    """One translation of a sentence."""

    text: str
    hypothesis: Hypothesis
    lost: tuple[str, ...] = ()
    alignment: Alignment | None = None  # where it is known already


class Finder:
    """Searches with an engine, and with another what the first does not accept."""

    def __init__(self, engine: Engine, other: Callable[[], Engine], tokeniser: Tokeniser) -> None:
        self._engine, self._other, self._tokeniser = engine, other, tokeniser

    def find(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations of each sentence, the best first."""
        free = [n for n, sentence in enumerate(sentences) if sentence.request is None]
        asked = [n for n, sentence in enumerate(sentences) if sentence.request is not None]
        results: dict[int, Result] = {}
        if free:
            found = self._for(settings, constrained=False).search([sentences[n].ids for n in free], settings)
            results |= zip(free, found, strict=True)
        if asked:
            requests = [request for sentence in sentences if (request := sentence.request) is not None]
            engine = self._for(settings, constrained=True)
            found = engine.search([sentences[n].ids for n in asked], settings, requests=requests)
            results |= zip(asked, found, strict=True)
        return [[self._found(h) for h in results[n].hypotheses] for n in range(len(sentences))]

    def _for(self, settings: SearchSettings, *, constrained: bool) -> Engine:
        accepts = self._engine.accepts(settings, constrained=constrained)
        return self._engine if accepts else self._other()

    def _found(self, hypothesis: Hypothesis) -> Found:
        text = self._tokeniser.decode(hypothesis.ids)
        return Found(text if text.isprintable() else self._tokeniser.normalise(text), hypothesis)
