"""Looking at vectors: at those that are only read, and at those that are read as a text.

A patch of an image is named by its row and column, as `2,5`; any other vector by its number. Both count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from regard.batches.rows import rows_of, rows_of_vectors
from regard.insight.attention import Attention, Picture
from regard.insight.look import alone, refuse_without_attention
from regard.insight.word_pieces import Tokens, tokens_of
from regard.models.parts.observation import Head, merged, watch, without
from regard.models.protocols import AttentionName, Lookup
from regard.tasks import translation
from regard.tasks.masked import batch_of
from regard.tokens.tokeniser import Tokeniser
from regard.vectors.examples import Example
from regard.vectors.shape import VectorShape


@torch.no_grad()
def look_at_vectors(
    model: Any,
    example: Example,
    shape: VectorShape,
    *,
    said: str,
    device: torch.device,
    off: Iterable[Head] = (),
    name: str = "",
) -> Attention:
    """What a model looks at in vectors that it only reads; `said` is what it says of them, such as a label."""
    refuse_without_attention(model)
    off = tuple(off)
    with without(model, off), watch(model) as seen:
        model(batch_of(rows_of_vectors([example.vectors])).to(device))
    named = names(example, shape)
    return Attention(
        text=example.where,
        translation=said,
        source=named,
        said=named,
        read=named,
        logprobs=(),
        lookups=_alone(seen),
        off=off,
        model=name,
        languages={},
        only_read=True,
        vectors=True,
        picture=picture(example, shape),
    )


@torch.no_grad()
def look_while_reading(
    model: Any,
    tokeniser: Tokeniser,
    example: Example,
    shape: VectorShape,
    *,
    said: Sequence[int],
    device: torch.device,
    off: Iterable[Head] = (),
    name: str = "",
) -> Attention:
    """What a model looks at in vectors while it generates the text `said`."""
    refuse_without_attention(model)
    off = tuple(off)
    target = rows_of([[[*said, tokeniser.end]]])
    streams = {"source": rows_of_vectors([example.vectors]), "target": target}
    batch = translation.batch(streams, begin=tokeniser.begin, tokens=len(said) + 1)
    with without(model, off), watch(model) as seen:
        logits: Tensor = model(batch.to(device))
    logprobs = logits[0].float().log_softmax(-1).cpu().gather(1, batch.labels.T)[:, 0]
    return Attention(
        text=example.where,
        translation=tokeniser.decode(list(said)),
        source=names(example, shape),
        said=tokens_of(tokeniser, said, after=True),
        read=tokens_of(tokeniser, said, after=False),
        logprobs=tuple(logprobs.tolist()),
        lookups=_alone(seen),
        off=off,
        model=name,
        languages={},
        vectors=True,
        picture=picture(example, shape),
    )


def names(example: Example, shape: VectorShape) -> Tokens:
    """A name for each vector."""
    numbers = range(len(example.vectors))
    across = shape.image.grid[1] if shape.image else 0
    found = tuple(f"{n // across + 1},{n % across + 1}" if across else str(n + 1) for n in numbers)
    return Tokens(pieces=found, words=found, word_of=tuple(numbers))


def picture(example: Example, shape: VectorShape) -> Picture | None:
    """The image that the vectors are patches of, with pixels from 0 to 255."""
    image = shape.image
    if image is None:
        return None
    (down, across), (high, wide) = image.grid, image.patch
    pixels = example.vectors.reshape(down, across, high, wide, image.channels).transpose(0, 2, 1, 3, 4)
    pixels = pixels.reshape(image.size)
    low, top = (0.0, 255.0) if pixels.max() > 64 else (float(pixels.min()), float(pixels.max()))
    levels = ((pixels - low) / max(1e-9, top - low) * 255).clip(0, 255).round().astype("uint8")
    return Picture(image.grid, image.size, levels.tobytes())


def _alone(seen: dict[AttentionName, list[Lookup]]) -> dict[AttentionName, Lookup]:
    return {where: alone(merged(lookups)) for where, lookups in seen.items()}
