"""ICU messages within a list of texts: their branches are translated as texts, and their structure is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from regard.text.icu import Message, has_branches, message
from regard.translation.checks import Finding
from regard.translation.translation import Translation


class Messages:
    """Some texts; those that are messages are taken apart."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sources = texts
        self._messages = {n: message(text) for n, text in enumerate(texts) if has_branches(text)}

    @property
    def texts(self) -> list[str]:
        """What is to be translated: each text, or the texts of a message one after the other."""
        return list(chain.from_iterable(self._own(n) for n in range(len(self._sources))))

    def joined(self, translations: Sequence[Translation]) -> list[Translation]:
        """The translations of the texts, from those of `texts`."""
        following = iter(translations)
        return [self._joined(n, source, following) for n, source in enumerate(self._sources)]

    def _own(self, number: int) -> list[str]:
        if number not in self._messages:
            return [self._sources[number]]
        found = self._messages[number]
        return list(found.texts()) if found else [""]

    def _joined(self, number: int, source: str, following: Iterator[Translation]) -> Translation:
        own = [next(following) for _ in self._own(number)]
        if number not in self._messages:
            return own[0]
        found = self._messages[number]
        text = _filled(found, own) if found else None
        findings = tuple(chain.from_iterable(one.findings for one in own))
        if text is None:
            findings = (*findings, Finding("placeholders", "the structure of this message would change"))
        return replace(
            own[0],
            source=source,
            text=source if text is None else text,
            score=sum(one.score for one in own),
            tokens=tuple(chain.from_iterable(one.tokens for one in own)),
            logprobs=tuple(chain.from_iterable(one.logprobs for one in own)),
            confidence=min(one.confidence for one in own) if text is not None else 0.0,
            findings=findings,
            refused=text is None or any(one.refused for one in own),
            alternatives=(),
            alignment=(),
        )


def _filled(found: Message, own: Sequence[Translation]) -> str | None:
    """The message with its translations; None where its structure would not be the same."""
    text = found.filled(iter([one.text for one in own]))
    again = message(text)
    same = again is not None and again.shape() == found.shape()
    return text if same and text.count("#") == found.filled(found.texts()).count("#") else None
