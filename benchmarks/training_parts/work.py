"""What a step has to compute and to move, counted: the floor under its time.

Products: each weight of a linear map is multiplied with each token that passes it, once forward and twice backward, two
operations each: 6 x weights x tokens. The keys and values of the decoder's attention to the source are made of source
tokens, the output projection is made of target tokens; looking up an embedding is no product. Attention: scores and
weighted sums, 4 x queries x keys x width forward and twice that backward; of the decoder's own attention half. Only
real tokens count, so padding makes a program slower and not busier.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from regard.batches.corpus import StoredCorpus
from regard.models.transformer import TransformerSettings
from training_parts.scale import BANDWIDTH


class Operations(NamedTuple):
    """Operations of training on some tokens."""

    output: float  # the output projection
    products: float  # all others
    attention: float

    def for_each(self, tokens: float) -> Operations:
        """The share of one of so many tokens."""
        return Operations(*(part / tokens for part in self))


def operations(settings: TransformerSettings, source: np.ndarray, target: np.ndarray) -> Operations:  # type: ignore[type-arg]
    """Of sentence pairs with these lengths."""
    width, inner, layers = settings.d_model, settings.d_ff, (settings.encoder_layers, settings.decoder_layers)
    keys, values = settings.heads * settings.d_k, settings.heads * settings.d_v
    attention, feed_forward = 2 * width * (keys + values), 2 * width * inner
    of_source = layers[0] * (attention + feed_forward) + layers[1] * width * (keys + values)
    of_target = layers[1] * (attention + width * (keys + values) + feed_forward)
    sources, targets = source.astype(np.float64), target.astype(np.float64)
    looks = layers[0] * (sources**2).sum() + layers[1] * ((targets**2).sum() / 2 + (sources * targets).sum())
    return Operations(
        output=6 * width * settings.target_vocabulary * targets.sum(),
        products=6 * (of_source * sources.sum() + of_target * targets.sum()),
        attention=6 * (keys + values) * looks,
    )


def operations_of(settings: TransformerSettings, corpus: StoredCorpus) -> Operations:
    """Of one target token of this corpus, with all that belongs to it."""
    lengths = np.array(corpus.streams["source"].lengths), np.array(corpus.streams["target"].lengths)
    return operations(settings, *lengths).for_each(float(lengths[1].sum(dtype=np.int64)))


def floors(
    settings: TransformerSettings, each: Operations, *, tokens: float, positions: int, weights: int, peak: float
) -> dict[str, tuple[float, str]]:
    """The least milliseconds of each kind of work in a step, and what they are made of.

    `tokens` are real target tokens, `positions` those of a side with padding. Products run at the card's peak; what is
    elementwise moves its tensors through memory once, in bf16, each kernel fused as far as it can be.
    """
    layers = settings.encoder_layers + settings.decoder_layers
    residuals = 2 * settings.encoder_layers + 3 * settings.decoder_layers
    state, inner = 2.0 * positions * settings.d_model, 2.0 * positions * settings.d_ff  # bytes of one tensor
    logits = 2.0 * positions * settings.target_vocabulary

    def product(operations: float) -> tuple[float, str]:
        return 1e3 * tokens * operations / peak, f"{tokens * operations / 1e12:.2f} TFLOP"

    def moved(count: float, about: str) -> tuple[float, str]:
        return 1e3 * count / BANDWIDTH, f"{count / 1e9:.2f} GB: {about}"

    return {
        "output projection": product(each.output),
        "other matrix products": product(each.products),
        "attention": product(each.attention),
        "cross-entropy": moved(2 * logits, "logits read, and overwritten by their gradient"),
        "LayerNorm, dropout, residual": moved(7 * residuals * state, "3 tensors forward, 4 backward"),
        "ReLU and biases": moved(3 * layers * inner, "forward with the product; backward 2 read, 1 written"),
        "embedding": moved(2 * 3 * state + 2 * 4.0 * weights_of_embedding(settings), "vectors, and their gradients"),
        "optimiser": moved(34.0 * weights, "weight, gradient, two moments; the norm; a bf16 copy"),
    }


def weights_of_embedding(settings: TransformerSettings) -> int:
    """Numbers in the embedding of the target."""
    return settings.target_vocabulary * settings.d_model
