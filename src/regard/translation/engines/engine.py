"""What every engine is: sentences in, what the search found for each out, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from regard.search import Request, Result, SearchSettings


class Engine(Protocol):
    """A model that is ready to translate ids."""

    name: str  # what people call it: torch, ctranslate2

    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, the source's ids without their end.

        `requests` say what is asked of each translation; left out, nothing is (`plain_requests`).
        """


def plain_requests(sentences: Sequence[Sequence[int]]) -> list[Request]:
    """A request for each sentence, without constraints."""
    return [Request(source_length=len(sentence), number=number) for number, sentence in enumerate(sentences)]
