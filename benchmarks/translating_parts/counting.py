"""A model of base size with random weights that counts, so that every translation has the same number of words.

Speed depends on the lengths of translations, and random weights alone never end a sentence.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import torch

from regard import modelfolder
from regard.models.transformer import Transformer, TransformerSettings
from regard.tokens import TokeniserSettings, train

LENGTH, VOCABULARY = 24, 8_000


def counting(model: Transformer) -> None:
    """Lets dimension 0 of the decoder's states say whether a sentence is to end, and the end listen to it alone."""
    with torch.no_grad():
        for layer in model.decoder.layers:
            for linear in (layer.self_attention.output, layer.source_attention.output, layer.feed_forward.outer):
                linear.weight[0], linear.bias[0] = 0.0, 0.0
            residuals = (layer.self_attention_residual, layer.source_attention_residual, layer.feed_forward_residual)
            for residual in residuals:
                residual.norm.weight[0] = 1.4  # what is added beside it makes it smaller
        model.target_embedding.weight[:, 0] = 0.0
        model.target_embedding.weight[1] = 0.0
        model.target_embedding.weight[1, 0] = 40.0
        model.target_positions.weight[: LENGTH - 1, 0] = -10.0
        model.target_positions.weight[LENGTH - 1 :, 0] = 10.0


def random_model(folder: Path) -> list[str]:
    """Writes a model folder of base size, and gives sentences of its vocabulary."""
    draw = Random(0)  # noqa: S311
    words = ["".join(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(6)) for _ in range(VOCABULARY)]
    tokenisers = train(words, words, TokeniserSettings(kind="words", vocabulary=VOCABULARY, options={"minimum": 1}))
    size = tokenisers.source.size
    settings = TransformerSettings(
        source_vocabulary=size, target_vocabulary=size, positions="learned", learned_positions=512,
        attention_bias=True, output_bias=True, start="token", activation="relu",
    )  # type: ignore[call-arg]  # fmt: skip
    torch.manual_seed(0)
    model = Transformer(settings).eval()
    counting(model)
    modelfolder.save(
        folder, model, architecture="transformer", settings=settings, tokeniser=tokenisers.files(),
        languages={"source": "xx", "target": "yy"},
    )  # fmt: skip
    return [" ".join(draw.choice(words) for _ in range(draw.randint(10, 30))) for _ in range(2_000)]
