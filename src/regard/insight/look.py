"""Looking at a sentence: it is translated, or the target that is given is scored, and every attention is kept.

The translation is made by search, word by word. What is kept is one pass over the words that were found, which computes
the same weights: `step` equals `forward`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from regard.batches.rows import batch_of
from regard.errors import SettingsError, TextError
from regard.insight.attention import END, START, Attention, Tokens, is_punctuation
from regard.insight.capture import Head, watch, without
from regard.models.verbs import Lookup, Model
from regard.search import SearchSettings
from regard.tokens import Tokenisers
from regard.tokens.tokeniser import Tokeniser
from regard.translation.engines.torch import TorchEngine


@torch.no_grad()
def look(
    model: Model[Any, Any],
    tokenisers: Tokenisers,
    source: str,
    target: str | None = None,
    *,
    device: torch.device,
    off: Iterable[Head] = (),
    beam_size: int = 4,
    name: str = "",
    languages: Mapping[str, str] | None = None,
) -> Attention:
    """What the model looks at in `source` while it says `target`, or its own translation; without the heads `off`."""
    refuse_without_attention(model)
    ids = tokenisers.source.encode(source)
    if not ids:
        raise TextError("there is nothing to look at: the sentence has no words.\n  Give a sentence with one at least.")
    off = tuple(off)
    with without(model, off):
        if target is None:
            engine = TorchEngine(model, tokenisers, device=device)
            (found,) = engine.search([ids], SearchSettings(beam_size=beam_size))
            said = list(found.hypotheses[0].ids)
        else:
            said = tokenisers.target.encode(target)
        batch = batch_of([[(ids, said)]], begin=tokenisers.target.begin, end=tokenisers.target.end)
        with watch(model) as seen:
            logits = model(batch.to(device))
    logprobs = logits[0].float().log_softmax(-1).cpu().gather(1, batch.labels.T)[:, 0]
    return Attention(
        text=source,
        translation=tokenisers.target.decode(said),
        source=_tokens(tokenisers.source, ids, after=True),
        said=_tokens(tokenisers.target, said, after=True),
        read=_tokens(tokenisers.target, said, after=False),
        logprobs=tuple(logprobs.tolist()),
        lookups={where: _alone(lookup) for where, (lookup,) in seen.items()},
        off=off,
        model=name,
        languages=dict(languages or {}),
    )


def refuse_without_attention(model: Model[Any, Any]) -> None:
    """A model that does not attend has nothing to show."""
    if not model.attentions():
        raise SettingsError(
            "this model has no attention, so there is nothing to look at.\n"
            "  Its architecture reads a sentence without it; look at a Transformer, or at a model with attention."
        )


def _alone(lookup: Lookup) -> Lookup:
    """The one row of a batch, on the CPU, in float32 or better."""
    parts = (part[0].cpu() for part in lookup)
    return Lookup(*(part if part.dtype == torch.float64 else part.float() for part in parts))


def _tokens(tokeniser: Tokeniser, ids: Sequence[int], *, after: bool) -> Tokens:
    """The pieces and words of a sentence, and its end `after` it, or else its start before it."""
    pieces = tokeniser.pieces(ids)
    spans = _spans(pieces, tokeniser.word_starts(ids))
    words = [tokeniser.decode(ids[first:last]).strip() or "".join(pieces[first:last]) for first, last in spans]
    word_of = [number for number, (first, last) in enumerate(spans) for _ in range(first, last)]
    if after:
        return Tokens(pieces=(*pieces, END), words=(*words, END), word_of=(*word_of, len(words)))
    return Tokens(pieces=(START, *pieces), words=(START, *words), word_of=(0, *(number + 1 for number in word_of)))


def _spans(pieces: Sequence[str], starts: Sequence[bool]) -> list[tuple[int, int]]:
    """From where to where each word goes; punctuation after a word stands alone."""
    firsts = [place for place, start in enumerate(starts) if start]
    spans: list[tuple[int, int]] = []
    for first, last in zip(firsts, [*firsts[1:], len(pieces)], strict=True):
        cut = last
        while cut - 1 > first and is_punctuation(pieces[cut - 1]):
            cut -= 1
        spans += [(first, cut), (cut, last)] if cut < last else [(first, last)]
    return spans
