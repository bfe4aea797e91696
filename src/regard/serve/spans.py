"""The alignment of words as spans of characters, which need no knowledge of what a word is."""

from __future__ import annotations

from regard.text.word_spans import word_spans
from regard.translation.translation import Translation

Span = tuple[int, int, int, int]
"""Where a word of the source starts and ends, and where the word of the translation that comes from it does."""


def linked_spans(translation: Translation | None) -> list[Span]:
    """The links of a translation; none where it has no alignment."""
    if translation is None or not translation.alignment:
        return []
    source, target = word_spans(translation.source), word_spans(translation.text)
    return [(*source[s], *target[t]) for s, t in translation.alignment if s < len(source) and t < len(target)]
