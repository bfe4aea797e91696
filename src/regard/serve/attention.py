"""The attention of one sentence for the API: every weight, by kind, layer and head."""

from __future__ import annotations

from collections.abc import Sequence

from regard.insight.attention import SOURCE_KIND, Attention
from regard.serve.answers import ApiError
from regard.serve.catalogue import Served
from regard.serve.v1_schemas import AttentionAnswer, AttentionRequest

_CROSS = "cross"  # the API's name for the attention of the decoder over the source
_MOST_TOKENS = 128  # weights grow with the square of a sentence
_DIGITS = 5


def heads_named(heads: Sequence[tuple[str, int, int]]) -> str:
    """Heads as a Translator names them: `encoder.2.5,decoder-source.0.1`."""
    return ",".join(f"{SOURCE_KIND if kind == _CROSS else kind}.{layer}.{head}" for kind, layer, head in heads)


def attention_of(model: Served, body: AttentionRequest) -> AttentionAnswer:
    """Translates a sentence, unless its translation is given, and shows all attention."""
    translator = model.translator
    if not model.attends:
        raise ApiError(400, f"The model {model.name} has no attention to show")
    if len(translator.tokenisers.source.encode(body.text)) > _MOST_TOKENS:
        raise ApiError(400, f"The text has more than {_MOST_TOKENS} tokens. Give one sentence")
    without, said = heads_named(body.disabled_heads), body.translation
    if said is None and not without:
        said = translator.translate(body.text).text
    seen = translator.look(body.text, said, without=without)
    if len(seen.said.pieces) > 2 * _MOST_TOKENS:
        raise ApiError(400, f"The translation has more than {2 * _MOST_TOKENS} tokens. Give a shorter sentence")
    return _answer(model, seen)


def _answer(model: Served, seen: Attention) -> AttentionAnswer:
    kinds: dict[str, list[list[list[list[float]]]]] = {}
    for name in sorted(seen.lookups):
        kind = _CROSS if name.kind == SOURCE_KIND else name.kind
        weights = seen.weights(name).tolist()
        rounded = [[[round(weight, _DIGITS) for weight in row] for row in head] for head in weights]
        kinds.setdefault(kind, []).append(rounded)
    return AttentionAnswer(
        model=model.name,
        translation=seen.translation,
        source_tokens=list(seen.source.pieces),
        target_tokens=list(seen.said.pieces),
        read_tokens=list(seen.read.pieces),
        source_words=list(seen.source.word_of),
        target_words=list(seen.said.word_of),
        logprobs=list(seen.logprobs),
        kinds=kinds,
        alignment=[(one.said, one.source, round(one.weight, _DIGITS)) for one in seen.alignment()],
    )
