"""Looking at a text that is only read: by a language model, which predicts it, or by a model that sees all of it.

A language model has the attention of a decoder: the queries are named by the tokens that were predicted, the keys by
those that were read, the token before the text first. Any other model has the attention of an encoder.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from regard.batches.rows import rows_of
from regard.errors import LengthError, TextError
from regard.insight.attention import Attention
from regard.insight.look import alone, refuse_without_attention
from regard.insight.word_pieces import tokens_of
from regard.models.parts.observation import Head, merged, watch, without
from regard.tasks.masked import batch_of
from regard.tokens.tokeniser import Tokeniser


@torch.no_grad()
def look_at_text(
    model: Any,
    tokeniser: Tokeniser,
    text: str,
    *,
    device: torch.device,
    said: str = "",
    off: Iterable[Head] = (),
    name: str = "",
    longest: int | None = None,
) -> Attention:
    """What a model looks at while it reads `text`; `said` is what it said to it, such as a label."""
    refuse_without_attention(model)
    ids = tokeniser.encode(text)
    if not ids:
        raise TextError("the text has no words.\n  Give a text with at least one word.")
    if longest is not None and len(ids) >= longest:
        raise LengthError(f"the text has {len(ids):,} tokens, but this model reads at most {longest:,}.")
    off = tuple(off)
    predicts = any(where.kind == "decoder" for where in model.attentions())
    read = [tokeniser.begin, *ids] if predicts else [*ids, tokeniser.end]
    with without(model, off), watch(model) as seen:
        logits = model(batch_of(rows_of([[read]])).to(device))
    labels = torch.tensor([[*ids, tokeniser.end]])
    logprobs = logits[0].float().log_softmax(-1).cpu().gather(1, labels.T)[:, 0].tolist() if predicts else ()
    return Attention(
        text=text,
        translation=said,
        source=tokens_of(tokeniser, ids, after=True),
        said=tokens_of(tokeniser, ids, after=True),
        read=tokens_of(tokeniser, ids, after=False),
        logprobs=tuple(logprobs),
        lookups={where: alone(merged(lookups)) for where, lookups in seen.items()},
        off=off,
        model=name,
        languages={},
        only_read=True,
    )
