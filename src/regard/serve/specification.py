"""The parameters of LibreTranslate's API for its description: what each is, and whether it is required."""

from __future__ import annotations

_KEY = ("API key, where the server needs one", False)
_SOURCE = ("Code of the source language, or auto", True)
_TARGET = ("Code of the target language", True)

FORMS: dict[str, dict[str, tuple[str, bool]]] = {
    "/translate": {
        "q": ("The text, or in JSON a list of texts", True),
        "source": _SOURCE,
        "target": _TARGET,
        "format": ("text (default) or html", False),
        "alternatives": ("How many other translations to give", False),
        "api_key": _KEY,
        "glossary": ("In JSON: pairs of phrases, source and target", False),
        "alignment": ("Whether to link words, as spans of characters", False),
        "confidence": ("Whether to say how sure the translator is", False),
    },
    "/detect": {"q": ("The text", True), "api_key": _KEY},
    "/translate_file": {"file": ("The document", True), "source": _SOURCE, "target": _TARGET, "api_key": _KEY},
    "/suggest": {
        "q": ("The text", True),
        "s": ("The better translation", True),
        "source": _SOURCE,
        "target": _TARGET,
        "api_key": _KEY,
    },
}
