"""The API of our own, typed: translations with all options, scores, attention, models and their cards."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse

from regard.search import SearchSettings
from regard.serve.answers import ApiError
from regard.serve.attention import attention_of, heads_named
from regard.serve.catalogue import Served
from regard.serve.spans import linked_spans
from regard.serve.state import State, bearer, state_of
from regard.serve.streaming import events, parts_of
from regard.serve.translating import Options, Outcome, choose, choose_aside
from regard.serve.v1_schemas import (
    AlternativeAnswer,
    AttentionAnswer,
    AttentionRequest,
    FindingAnswer,
    Languages,
    ModelAnswer,
    ModelAnswers,
    ScoreAnswer,
    ScoreAnswers,
    ScoreRequest,
    Search,
    StreamRequest,
    TranslationAnswer,
    TranslationAnswers,
    TranslationRequest,
)

_USUAL_BEAM = 4
_LONGEST_WITHOUT_HEADS = 2000  # characters; such texts are searched alone, in float32


router = APIRouter(prefix="/v1", tags=["Translation"])


@router.post("/translate")
async def translate(request: Request, body: TranslationRequest) -> TranslationAnswers:
    """Translate texts."""
    state = state_of(request)
    texts = [body.text] if isinstance(body.text, str) else body.text
    load = _admit(state, request, body, texts, width=body.beam_size or body.n_best)
    if body.disabled_heads and load > _LONGEST_WITHOUT_HEADS:
        raise ApiError(400, f"disabled_heads: give at most {_LONGEST_WITHOUT_HEADS} characters")
    options = Options(
        search=_search(body),
        length_penalty=body.length_penalty,
        alignment=body.alignment,
        logprobs=body.logprobs,
        glossary=dict(body.glossary) or None,
        prefix=body.prefix,
        html=body.format == "html",
        without=heads_named(body.disabled_heads),
    )
    chosen = await choose_aside(state.catalogue, texts, body.source, body.target, body.model, html=options.html)
    found = await state.service.answer(request, state.translated(request, chosen, options), characters=load)
    return TranslationAnswers(translations=[_answer(one) for one in found])


@router.post(
    "/translate/stream",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Events: part, then done or error."}},
)
async def stream(request: Request, body: StreamRequest) -> Response:
    """Translate a long text, part by part, as server-sent events."""
    state = state_of(request)
    load = _admit(state, request, body, [body.text], width=body.beam_size or body.n_best)
    options = Options(search=_search(body), length_penalty=body.length_penalty, glossary=dict(body.glossary) or None)
    (chosen,) = choose(state.catalogue, [body.text], body.source, body.target, body.model)
    sent = events(state, request, chosen, parts_of(body.text), options, load)
    return StreamingResponse(sent, media_type="text/event-stream", headers={"Cache-Control": "no-store"})


@router.post("/score")
async def score(request: Request, body: ScoreRequest) -> ScoreAnswers:
    """Score given translations."""
    state = state_of(request)
    load = _admit(state, request, body, [*body.text, *body.translation], width=1)
    if len(body.text) != len(body.translation):
        raise ApiError(400, f"{len(body.text)} texts and {len(body.translation)} translations: give one for each")
    model = _one_model(state, body, body.text[0])
    found = await state.service.answer(
        request, lambda: model.translator.score(body.text, body.translation), characters=load
    )
    scores = [ScoreAnswer(total=one.total, tokens=list(one.tokens), logprobs=list(one.logprobs)) for one in found]
    return ScoreAnswers(model=model.name, scores=scores)


@router.post("/attention")
async def attention(request: Request, body: AttentionRequest) -> AttentionAnswer:
    """The attention of a sentence."""
    state = state_of(request)
    load = _admit(state, request, body, [body.text], width=1)
    model = _one_model(state, body, body.text)
    return await state.service.answer(request, lambda: attention_of(model, body), characters=load)


@router.get("/models")
async def models(request: Request) -> ModelAnswers:
    """All models."""
    state = state_of(request)
    return ModelAnswers(models=[_model(request, model) for model in state.catalogue.models])


@router.get("/models/{name}")
async def model(request: Request, name: str) -> ModelAnswer:
    """A model."""
    state = state_of(request)
    return _model(request, state.catalogue.named(name))


@router.get("/models/{name}/card", response_class=PlainTextResponse)
async def card(request: Request, name: str) -> Response:
    """The card of a model, in Markdown."""
    state = state_of(request)
    return PlainTextResponse(state.catalogue.named(name).card, media_type="text/markdown; charset=utf-8")


def _admit(state: State, request: Request, body: Languages, texts: Sequence[str], *, width: int) -> int:
    """Checks key, limits and lengths; gives the load of the request in characters, a wide beam counting more."""
    characters = sum(map(len, texts))
    state.admit(request, body.api_key or bearer(request), characters)
    if len(texts) > state.settings.max_texts:
        raise ApiError(400, f"Invalid request: {len(texts)} texts, and at most {state.settings.max_texts} are allowed")
    return characters * max(1, width // _USUAL_BEAM)


def _search(body: Search) -> SearchSettings:
    table = body.model_dump(include=set(Search.model_fields) - {"length_penalty"})
    table["beam_size"] = body.beam_size or max(_USUAL_BEAM, body.n_best)
    return SearchSettings.read(table, where="Invalid request")


def _one_model(state: State, body: Languages, text: str) -> Served:
    (chosen,) = choose(state.catalogue, [text], body.source, body.target, body.model)
    if chosen.model is None:
        raise ApiError(400, f"The text is in {chosen.detected.language} already; give its language as source")
    return chosen.model


def _answer(found: Outcome) -> TranslationAnswer:
    said, chosen = found.translation, found.chosen
    return TranslationAnswer(
        text=found.text,
        language=chosen.detected.language,
        language_confidence=chosen.detected.confidence,
        model=chosen.model.name if chosen.model else None,
        score=said.score if said else None,
        confidence=found.confidence,
        alternatives=[AlternativeAnswer(text=one.text, score=one.score) for one in said.alternatives] if said else [],
        alignment=linked_spans(said),
        tokens=list(said.tokens) if said else [],
        logprobs=list(said.logprobs) if said else [],
        findings=[FindingAnswer(check=one.check, detail=one.detail) for one in found.findings],
    )


def _model(request: Request, model: Served) -> ModelAnswer:
    return ModelAnswer(
        name=model.name,
        source=model.source,
        target=model.target,
        card=request.app.url_path_for("card", name=model.name),
        engine=model.engine.name,
        attention=model.attends,
    )
