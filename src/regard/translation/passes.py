"""A pass: sentences in, translations of each out, the best first.

Passes stand around each other. Each has one concern: it changes what the next one sees of a sentence, and undoes that
in the translations that come back. The innermost is the search itself. docs/translator.md shows them all in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from regard.search import SearchSettings
from regard.text.placeholders import placeholders
from regard.tokens import Tokenisers
from regard.translation.alignment import Said
from regard.translation.engines.engine import request_for
from regard.translation.finding import Finder, Found, Sentence
from regard.translation.protection import Protection


class Pass(Protocol):
    """What every pass does."""

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations of each sentence; none depends on the other sentences."""


class Searching:
    """The innermost pass: the search, and placeholders that survive it."""

    def __init__(self, finder: Finder, protection: Protection) -> None:
        self._finder, self._protection = finder, protection

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """What is found, with all placeholders."""
        found = self._finder.find(sentences, settings) if sentences else []
        if any(sentence.placeholders for sentence in sentences):
            found = self._protection.checked(sentences, found, settings)
        return found


class Reader:
    """Makes sentences of other texts."""

    def __init__(self, tokenisers: Tokenisers) -> None:
        self._tokenisers = tokenisers

    def read(self, texts: Sequence[str], likes: Sequence[Sentence]) -> list[Sentence]:
        """Each text as a sentence of which the same is asked as of its like."""
        normal = [self._tokenisers.source.normalise(text) for text in texts]
        return [
            self._sentence(text, ids, like)
            for text, ids, like in zip(normal, self._tokenisers.source.encode_batch(normal), likes, strict=True)
        ]

    def knows_word(self, word: str) -> bool:
        """Whether the model reads a word as a whole: it is one piece of the vocabulary."""
        ids = self._tokenisers.source.encode(word)
        return len(ids) == 1 and ids[0] != self._tokenisers.source.unknown

    def said(self, sentence: Sentence, found: Found) -> tuple[Said, Said]:
        """A sentence and its translation, for an alignment: with the ids of what the translation says now."""
        ids = self._tokenisers.target.encode(found.text) if found.changed else found.hypothesis.ids
        return Said(sentence.text, sentence.ids), Said(found.text, ids)

    def _sentence(self, text: str, ids: Sequence[int], like: Sentence) -> Sentence:
        asked = like.request
        if asked is not None:
            asked = request_for(ids, prefix=asked.prefix, banned=asked.banned, required=asked.required)
        found = tuple(placeholders(text, like.syntax))
        return like._replace(text=text, ids=ids, placeholders=found, request=asked)


def without_request(sentence: Sentence) -> Sentence:
    """The sentence with its prefix, but without required phrases."""
    asked = sentence.request
    if asked is not None:
        asked = request_for(sentence.ids, prefix=asked.prefix) if asked.prefix else None
    return sentence._replace(request=asked, phrases=(), terms=())
