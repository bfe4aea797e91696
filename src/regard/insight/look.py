"""Looking at a sentence: it is translated, or the target that is given is scored, and every attention is kept.

The translation is made by search, word by word. What is kept is one pass over the words that were found, which computes
the same weights: `step` equals `forward`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import torch

from regard.batches.rows import rows_of
from regard.errors import SettingsError, TextError
from regard.insight.attention import Attention
from regard.insight.word_pieces import tokens_of
from regard.models.parts.observation import Head, merged, watch, without
from regard.models.protocols import Lookup, Model
from regard.search import Request, Result, SearchSettings, build, decode
from regard.tasks.translation import batch_of
from regard.tokens import Tokenisers


class Searches(Protocol):
    """What is asked of an engine (`regard.translation.engines`)."""

    def search(self, sentences: Sequence[Sequence[int]], settings: SearchSettings) -> list[Result]:
        """The result for each sentence."""


@torch.no_grad()
def look(
    model: Model[Any, Any],
    tokenisers: Tokenisers,
    source: str,
    target: str | None = None,
    *,
    device: torch.device,
    engine: Searches | None = None,
    off: Iterable[Head] = (),
    search: SearchSettings | None = None,
    name: str = "",
    languages: Mapping[str, str] | None = None,
) -> Attention:
    """What the model looks at in `source` while it says `target`, or its own translation; without the heads `off`.

    An `engine` that translates for the model finds the same translation here; it knows nothing of heads.
    """
    refuse_without_attention(model)
    ids = tokenisers.source.encode(source)
    if not ids:
        raise TextError("the sentence has no words.\n  Give a sentence with at least one word.")
    off = tuple(off)
    with without(model, off):
        if target is not None:
            said = tokenisers.target.encode(target)
        elif engine is not None and not off:
            (found,) = engine.search([ids], search or SearchSettings())
            said = list(found.hypotheses[0].ids)
        else:
            said = _translated(model, tokenisers, ids, search or SearchSettings(), device=device)
        batch = batch_of([[(ids, said)]], begin=tokenisers.target.begin, end=tokenisers.target.end)
        with watch(model) as seen:
            logits = model(batch.to(device))
    logprobs = logits[0].float().log_softmax(-1).cpu().gather(1, batch.labels.T)[:, 0]
    return Attention(
        text=source,
        translation=tokenisers.target.decode(said),
        source=tokens_of(tokenisers.source, ids, after=True),
        said=tokens_of(tokenisers.target, said, after=True),
        read=tokens_of(tokenisers.target, said, after=False),
        logprobs=tuple(logprobs.tolist()),
        lookups={where: alone(merged(lookups)) for where, lookups in seen.items()},
        off=off,
        model=name,
        languages=dict(languages or {}),
    )


def _translated(
    model: Model[Any, Any], tokenisers: Tokenisers, ids: list[int], settings: SearchSettings, *, device: torch.device
) -> list[int]:
    """The translation by the model as it is now, observers and all: nothing that was captured earlier is replayed."""
    search = build(settings, begin=tokenisers.target.begin, end=tokenisers.target.end, device=device)
    source = rows_of([[[*ids, tokenisers.source.end]]]).to(device)
    state = model.start(model.encode(source), width=search.width)
    (found,) = decode(model.step, state, [Request(source_length=len(ids))], search)
    return list(found.hypotheses[0].ids)


def refuse_without_attention(model: Model[Any, Any]) -> None:
    """A model that does not attend has nothing to show."""
    if not model.attentions():
        raise SettingsError(
            "this model has no attention to show.\n  Use a Transformer, or another model with attention."
        )


def alone(lookup: Lookup) -> Lookup:
    """The one row of a batch, on the CPU, in float32 or better."""
    parts = (part[0].cpu() for part in lookup)
    return Lookup(*(part if part.dtype == torch.float64 else part.float() for part in parts))
