"""Which language a text is in, among those that are served: py3langid's model, and what to do where it has no say."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

_ENOUGH = 4000  # characters say which language it is
_SURE_ENOUGH = 0.05  # of the probability; a language with less is not listed


class Detected(NamedTuple):
    """A language, and how sure that is, in percent."""

    language: str
    confidence: float


def detect(text: str, languages: Sequence[str]) -> list[Detected]:
    """The languages that the text may be in, the likeliest first; at least one.

    A text without letters says nothing: the first language, with confidence 0.
    """
    by_code = {language.split("-")[0].split("_")[0].lower(): language for language in reversed(languages)}
    known = [code for code in by_code if code in _identifier().labels]
    if not known or not any(map(str.isalpha, text)):
        return [Detected(languages[0], 0.0)]
    ranked = [(code, share) for code, share in _identifier().rank(text[:_ENOUGH]) if code in known]
    total = sum(share for _, share in ranked) or 1.0
    found = [Detected(by_code[code], round(100 * share / total, 1)) for code, share in ranked]
    return [one for place, one in enumerate(found) if place == 0 or one.confidence >= 100 * _SURE_ENOUGH]


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
