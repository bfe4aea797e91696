"""A glossary: where a phrase of the source occurs, its translation is required.

A phrase in small letters is found in any case, so also at the start of a sentence; one with capitals as it is written
and, unless it is as short as an abbreviation, in capitals throughout. It is found as whole words, the longest phrase
first, and never within a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from regard.errors import SettingsError
from regard.text.normalisation import normalise
from regard.text.placeholders import Placeholder
from regard.text.word_spans import sticks

_LONG = 4  # letters; a shorter word in capitals may be an abbreviation that has nothing to do with the phrase


class Glossary:
    """Phrases of the source, and the phrases that they must become."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._exact: dict[str, str] = {}
        self._any_case: dict[str, str] = {}
        for source, target in entries.items():
            phrase, wanted = normalise(source), normalise(target)
            if not phrase or not wanted:
                raise SettingsError(
                    f"glossary: {source!r} -> {target!r} has an empty side.\n  Give both phrases, or remove the entry."
                )
            (self._any_case if phrase == phrase.lower() else self._exact)[phrase] = wanted
        for phrase, wanted in [*self._exact.items()]:
            if sum(map(str.isalpha, phrase)) >= _LONG:
                self._exact.setdefault(phrase.upper(), wanted)
        self._pattern = _pattern([*self._exact], [*self._any_case])

    def required(self, text: str, placeholders: Sequence[Placeholder]) -> tuple[str, ...]:
        """What a translation of this text must say."""
        return tuple(self.terms(text, placeholders))

    def terms(self, text: str, placeholders: Sequence[Placeholder]) -> dict[str, str]:
        """What a translation of this text must say, and the phrase of the text that asks for it."""
        wanted: dict[str, str] = {}
        for match in self._pattern.finditer(text) if self._pattern else ():
            if any(match.start() < inside.end and inside.start < match.end() for inside in placeholders):
                continue
            found = match.group()
            phrase = self._exact.get(found) or self._any_case.get(found.lower())
            if phrase:
                wanted.setdefault(phrase, found)
        return wanted


def says(text: str, phrase: str) -> bool:
    """Whether the phrase stands in the text as whole words."""
    return re.search(_words(phrase), text) is not None


def _pattern(exact: list[str], any_case: list[str]) -> re.Pattern[str] | None:
    phrases = [(len(phrase), _words(phrase), "") for phrase in exact]
    phrases += [(len(phrase), _words(phrase), "i") for phrase in any_case]
    phrases.sort(reverse=True)
    return re.compile("|".join(f"(?{flag}:{words})" for _, words, flag in phrases)) if phrases else None


def _words(phrase: str) -> str:
    """A phrase as whole words; scripts without spaces have no such edges."""
    before = r"(?<!\w)" if phrase[0].isalnum() and not sticks(phrase[0]) else ""
    after = r"(?!\w)" if phrase[-1].isalnum() and not sticks(phrase[-1]) else ""
    return before + re.escape(phrase) + after
