"""LibreTranslate's API: the same addresses, parameters, answers and errors, so that its clients work unchanged.

Beyond it: every text of a list has a language of its own, and /translate takes `glossary` (a list of pairs),
`alignment` and `confidence`, which add fields to the answer only where a request has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from regard.search import SearchSettings
from regard.serve import metrics
from regard.serve.answers import ApiError
from regard.serve.catalogue import language_name
from regard.serve.detection import detect
from regard.serve.parameters import (
    flag_in,
    number_in,
    read_parameters,
    required_text,
    required_texts,
    text_in,
)
from regard.serve.spans import linked_spans
from regard.serve.state import State, bearer, state_of
from regard.serve.translating import AUTO, Options, Outcome, choose_aside

_MOST_ALTERNATIVES = 15
_USUAL_BEAM = 4
_FORMATS = ("text", "html")


router = APIRouter(tags=["LibreTranslate"])


@router.get("/languages")
async def languages(request: Request) -> Response:
    """Languages and their targets."""
    state = state_of(request)
    catalogue = state.catalogue
    return JSONResponse(
        [
            {
                "code": code,
                "name": language_name(code),
                "targets": sorted({*catalogue.targets(code), code}),
            }
            for code in catalogue.languages
        ]
    )


@router.post("/translate")
async def translate(request: Request) -> Response:
    """Translate a text or a list of texts."""
    state = state_of(request)
    values = await read_parameters(request)
    given = required_texts(values, "q")
    texts = [given] if isinstance(given, str) else given
    source, target = required_text(values, "source"), required_text(values, "target")
    characters = sum(map(len, texts))
    state.admit(request, key_in(request, values), characters)
    if len(texts) > state.settings.max_texts:
        raise ApiError(400, f"Invalid request: request ({len(texts)}) exceeds batch limit ({state.settings.max_texts})")
    options = _options(values)
    chosen = await choose_aside(state.catalogue, texts, source, target, html=options.html)
    found = await state.service.answer(request, state.translated(request, chosen, options), characters=characters)
    return JSONResponse(_answer(found, values, source=source, single=isinstance(given, str)))


@router.post("/detect")
async def detection(request: Request) -> Response:
    """Detect the language of a text."""
    state = state_of(request)
    values = await read_parameters(request)
    given = required_texts(values, "q")
    text = given if isinstance(given, str) else "\n".join(given)
    state.admit(request, key_in(request, values), len(text))
    found = detect(text, state.catalogue.languages)
    return JSONResponse([{"confidence": one.confidence, "language": one.language} for one in found])


@router.post("/suggest")
async def suggest(request: Request) -> Response:
    """Suggest a better translation."""
    state = state_of(request)
    path = state.settings.suggestions
    if path is None:
        raise ApiError(403, "Suggestions are disabled on this server.")
    values = await read_parameters(request)
    names = ("q", "s", "source", "target")
    suggestion = {name: required_text(values, name) for name in names}
    state.admit(request, key_in(request, values), len(suggestion["q"]) + len(suggestion["s"]))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(suggestion, ensure_ascii=False) + "\n")
    return JSONResponse({"success": True})


@router.get("/frontend/settings")
async def frontend(request: Request) -> Response:
    """Settings for a page."""
    state = state_of(request)
    return JSONResponse(_frontend(state))


@router.get("/health")
async def health() -> Response:
    """Whether the server works."""
    return JSONResponse({"status": "ok"})


@router.get("/metrics")
async def measured(request: Request) -> Response:
    """Metrics for Prometheus."""
    state = state_of(request)
    if state.keys.required:
        state.admit_admin(request)
    return Response(state.metrics.text(), media_type=metrics.CONTENT_TYPE)


def key_in(request: Request, values: Mapping[str, Any]) -> str:
    """The API key, wherever a client puts it."""
    return text_in(values, "api_key", "apiKey") or bearer(request)


def _options(values: Mapping[str, Any]) -> Options:
    format_ = text_in(values, "format") or "text"
    if format_ not in _FORMATS:
        raise ApiError(400, f"{format_} format is not supported")
    best = number_in(values, "alternatives", _MOST_ALTERNATIVES) + 1
    search = SearchSettings(n_best=best, beam_size=max(best, _USUAL_BEAM))
    wants_alignment = flag_in(values, "alignment") and format_ == "text"
    return Options(search=search, alignment=wants_alignment, glossary=_glossary(values), html=format_ == "html")


def _glossary(values: Mapping[str, Any]) -> dict[str, str] | None:
    given = values.get("glossary")
    if not given:
        return None
    pairs = given.items() if isinstance(given, dict) else given
    try:
        glossary = dict(pairs)
    except (TypeError, ValueError):
        glossary = {"": None}
    if not all(isinstance(text, str) and text for pair in glossary.items() for text in pair):
        raise ApiError(400, 'Invalid request: glossary must be a list of pairs of texts: [["source", "target"]]')
    return glossary


def _answer(found: Sequence[Outcome], values: Mapping[str, Any], *, source: str, single: bool) -> dict[str, Any]:
    answer: dict[str, Any] = {"translatedText": [one.text for one in found]}
    if source == AUTO:
        answer["detectedLanguage"] = [
            {"confidence": one.chosen.detected.confidence, "language": one.chosen.detected.language} for one in found
        ]
    if number_in(values, "alternatives", _MOST_ALTERNATIVES):
        answer["alternatives"] = [list(one.alternatives) for one in found]
    if flag_in(values, "alignment"):
        answer["alignment"] = [linked_spans(one.translation) for one in found]
    if flag_in(values, "confidence"):
        answer["confidence"] = [one.confidence for one in found]
    return {name: value[0] for name, value in answer.items()} if single else answer


def _frontend(state: State) -> dict[str, Any]:
    settings, catalogue = state.settings, state.catalogue
    first = catalogue.models[0]
    return {
        "apiKeys": state.keys.required,
        "charLimit": settings.max_characters,
        "filesTranslation": settings.files,
        "frontendTimeout": 500,
        "keyRequired": state.keys.required,
        "language": {
            "source": {"code": AUTO, "name": "Auto Detect"},
            "target": {"code": first.target, "name": language_name(first.target)},
        },
        "suggestions": settings.suggestions is not None,
        "supportedFilesFormat": state.uploads.suffixes if settings.files else [],
    }
