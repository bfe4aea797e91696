"""The same model in other libraries, in a plain loop: padded batches, autocast to bf16, fused Adam.

They get what helps them: batches sorted well and on the GPU already, no number fetched from it, and only the dropout
that ours has (torch.nn's layers would drop attention weights and inner activations as well). A module keeps no float:
with shapes that vary, compiled code would hold it on the processor, and PyTorch would try a C++ compiler for minutes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from regard.batches.rows import Batch
from regard.models.transformer import TransformerSettings
from training_parts.ours import RATE, Done, Step
from training_parts.scale import DROPOUT, SMOOTHING, Scale


class TorchTransformer(nn.Module):
    """torch.nn.Transformer, with the embeddings, positions and output that it lacks, called in the way that suits it.

    As it comes, it also drops weights of attention and activations, which costs time; unless that is asked for, it has
    only the dropout of the paper, where ours has it, too.
    """

    length_first = False

    def __init__(self, settings: TransformerSettings, longest: int, *, as_it_comes: bool = False) -> None:
        super().__init__()
        width = settings.d_model
        self.embedding = nn.Embedding(settings.target_vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=1 / math.sqrt(width))
        self.layers = nn.Transformer(
            width, settings.heads, settings.encoder_layers, settings.decoder_layers, settings.d_ff, dropout=DROPOUT,
            batch_first=not self.length_first,
        )  # fmt: skip
        self.dropout = nn.Dropout(DROPOUT)
        self.positions: Tensor
        self.causal: Tensor
        self.register_buffer("positions", torch.randn(longest, width) / math.sqrt(2))
        self.register_buffer("causal", torch.ones(longest, longest, dtype=torch.bool).triu(1))
        for module in () if as_it_comes else self.layers.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0

    def embedded(self, tokens: Tensor, positions: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim) + positions)
        return vectors

    def forward(self, batch: Batch) -> Tensor:
        length = batch.streams["target"].tokens.size(1)
        source, target = (
            self.embedded(side.tokens, self.positions[: side.tokens.size(1)]) for side in batch.streams.values()
        )
        no_source, no_target = (side.segments == 0 for side in batch.streams.values())
        states = self.layers(
            source, target, tgt_mask=self.causal[:length, :length], src_key_padding_mask=no_source,
            tgt_key_padding_mask=no_target, memory_key_padding_mask=no_source, tgt_is_causal=True,
        )  # fmt: skip
        return F.linear(states, self.embedding.weight)


class TutorialTransformer(TorchTransformer):
    """torch.nn.Transformer as PyTorch's tutorial on translation uses it.

    The places of a sentence come first and the sentences second, which is the default; the source has a mask that hides
    nothing; that of the target is made for each batch, of floats; and torch.nn finds out by itself that it is causal.
    The matrix of embeddings is the output's, too, and made once, as in the other models.
    """

    length_first = True

    def __init__(self, settings: TransformerSettings, longest: int) -> None:
        super().__init__(settings, longest, as_it_comes=True)

    def forward(self, batch: Batch) -> Tensor:
        source, target = (side.tokens.transpose(0, 1) for side in batch.streams.values())
        no_source, no_target = (side.segments == 0 for side in batch.streams.values())
        nothing_hidden = torch.zeros(len(source), len(source), dtype=torch.bool, device=source.device)
        states = self.layers(
            self.embedded(source, self.positions[: len(source), None]),
            self.embedded(target, self.positions[: len(target), None]),
            nothing_hidden, nn.Transformer.generate_square_subsequent_mask(len(target), device=target.device), None,
            no_source, no_target, no_source,
        )  # fmt: skip
        return F.linear(states, self.embedding.weight)


class Marian(nn.Module):
    """`transformers`' MarianMTModel."""

    length_first = False

    def __init__(self, settings: TransformerSettings, longest: int) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        config = MarianConfig(
            vocab_size=settings.target_vocabulary, d_model=settings.d_model, encoder_layers=settings.encoder_layers,
            decoder_layers=settings.decoder_layers, encoder_attention_heads=settings.heads,
            decoder_attention_heads=settings.heads, encoder_ffn_dim=settings.d_ff, decoder_ffn_dim=settings.d_ff,
            activation_function="relu", scale_embedding=True, dropout=DROPOUT, attention_dropout=0.0,
            activation_dropout=0.0, max_position_embeddings=longest, pad_token_id=0, eos_token_id=1,
            decoder_start_token_id=0, forced_eos_token_id=1,
        )  # fmt: skip
        self.model: Any = MarianMTModel(config)

    def forward(self, batch: Batch) -> Tensor:
        logits: Tensor = self.model(
            input_ids=batch.streams["source"].tokens, attention_mask=batch.streams["source"].segments, use_cache=False,
            decoder_input_ids=batch.streams["target"].tokens,
        ).logits  # fmt: skip
        return logits


class MeanLoss(nn.Module):
    """Cross-entropy over the labels of a batch."""

    def forward(self, logits: Tensor, labels: Tensor, segments: Tensor) -> Tensor:
        labels = labels.masked_fill(segments == 0, -100)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=SMOOTHING)


class WithLoss(nn.Module):
    """A model and its loss: what is compiled."""

    def __init__(self, model: Peer) -> None:
        super().__init__()
        self.model, self.loss = model, MeanLoss()

    def forward(self, batch: Batch) -> Tensor:
        labels, segments = batch.labels, batch.streams["target"].segments
        if self.model.length_first:
            labels, segments = labels.transpose(0, 1), segments.transpose(0, 1)
        mean: Tensor = self.loss(self.model(batch), labels, segments)
        return mean


Peer = TorchTransformer | Marian
Make = Callable[[TransformerSettings, int], Peer]
PEERS: dict[str, tuple[Make, bool]] = {  # what makes the model, and whether it is compiled
    "torch.nn.Transformer as in its tutorial, compiled": (TutorialTransformer, True),
    "transformers Marian, compiled": (Marian, True),
    "transformers Marian, eager": (Marian, False),
    "torch.nn.Transformer called at its best, compiled": (TorchTransformer, True),
}


def program(
    name: str, settings: TransformerSettings, batches: Sequence[Batch], scale: Scale, *, compiles: bool
) -> Step:
    """Steps of this peer on the batches, round and round."""
    make, is_compiled = PEERS[name]
    torch.manual_seed(1)
    loss = WithLoss(make(settings, 2 * scale.longest)).to(scale.device).train()
    if is_compiled and compiles:
        torch._dynamo.config.recompile_limit = 64  # noqa: SLF001  beyond it, compiled code would silently be eager
        loss.compile(dynamic=True)
    adam = torch.optim.Adam(loss.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9, fused=True)
    stream = cycle([(batch.to(scale.device), Done.on(batch)) for batch in batches])

    def step() -> Done:
        batch, done = next(stream)
        with torch.autocast(scale.device.type, dtype=torch.bfloat16, enabled=scale.device.type == "cuda"):
            mean = loss(batch._replace(tokens=0))  # a number that changes would be compiled again
        mean.backward()
        adam.step()
        adam.zero_grad()
        return done

    return step
