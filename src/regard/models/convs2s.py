"""ConvS2S: "Convolutional Sequence to Sequence Learning" (Gehring et al., 2017).

Stacks of convolutions with gated linear units and residuals, attention over the source in every layer of the decoder,
learned positions, weight normalisation. Sums of two are scaled by sqrt(0.5), which keeps their variance.

Shapes: B rows, one sentence each, S source and T target positions, D = d_model, W = width of the convolutions;
N sentences that are being decoded, R = N * width rows (here, width is a number of hypotheses).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self, cast

import torch
from pydantic import PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.convolutions import Convolution, matrices
from regard.models.parts.embeddings import (
    LimitedPositions,
    WordModel,
    Words,
    WordSettings,
    output_weight,
    something_to_see,
)
from regard.models.parts.named_state import Kept, started
from regard.models.parts.vocabularies import with_separate_vocabularies
from regard.models.protocols import Architecture, AttentionName, Batch, Lookup, Observer, Rows

_HALF = math.sqrt(0.5)
_SMALL = 0.1  # section 3.5: vectors of words and positions start so small that attention starts out even


class ConvS2SSettings(WordSettings):
    """The depth, the width and the reach of the convolutions."""

    encoder_layers: PositiveInt = 6
    decoder_layers: PositiveInt = 6
    width: PositiveInt = 512  # of the convolutions
    kernel: PositiveInt = 3
    learned_positions: PositiveInt = 1024  # the longest sentence

    @model_validator(mode="after")
    def _kernel_has_a_centre(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel = {self.kernel} is even; the encoder's kernels are centred, so it must be odd.")
        return self


class Memory(NamedTuple):
    """What the encoder made of the source."""

    keys: Tensor  # [N, S, D] the encoder's output z
    values: Tensor  # [N, S, D] z and the embeddings e
    allowed: Tensor  # [N, 1, S]
    scale: Tensor  # [N, 1, 1] sqrt of the source's length


class ConvS2S(WordModel):
    """An encoder and a decoder of convolutions."""

    def __init__(self, settings: ConvS2SSettings) -> None:
        super().__init__()
        self.settings = settings
        self.words = Words(settings)
        self.source_positions = LimitedPositions(settings.learned_positions, settings.d_model)
        self.target_positions = LimitedPositions(settings.learned_positions, settings.d_model)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = Encoder(settings)
        self.decoder = Decoder(settings)

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the decoder's output at each position of the target."""
        target = batch.streams["target"]
        x = self.words.said(target.tokens, target.positions)
        x = self.dropout((x + self.target_positions(target.positions)) * _SMALL)
        return self.decoder(x, self.encode(batch.streams["source"]))

    def encode(self, source: Rows) -> Memory:
        """The source, with words and positions beside what the encoder made of them."""
        x, real = self.words.read(source), source.segments != 0
        x = self.dropout((x + self.source_positions(source.positions)) * _SMALL)
        keys = self.encoder(x, real)
        keys = keys.detach() + (keys - keys.detach()) / self.settings.decoder_layers  # each layer adds to its gradient
        scale = real.sum(dim=1).clamp(min=1).to(x.dtype).sqrt()[:, None, None]
        return Memory(keys, (keys + x) * _HALF, something_to_see(real), scale)

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> Kept:
        """A decoder that has said nothing; the normalised weights are computed here, once."""
        count = memory.keys.size(0)
        windows = {f"window.{i}": layer.convolution.empty_window(count) for i, layer in enumerate(self.decoder.layers)}
        return started(memory._asdict(), windows, width=width, constants=matrices(self.decoder))

    @torch.no_grad()
    def step(self, tokens: Tensor, state: Kept) -> tuple[Tensor, Kept]:
        """[R] the words said last -> [R, V] logits for the next."""
        x = self.words.said(tokens, state.positions)
        x = self.dropout((x + self.target_positions.of_next(state.positions)) * _SMALL)
        states, windows = self.decoder.step(x, state)
        return self.logits(states), state.after(windows)

    def attentions(self) -> dict[AttentionName, SourceAttention]:
        """The attention of each layer of the decoder over the source."""
        return {AttentionName("decoder-source", i): layer.attention for i, layer in enumerate(self.decoder.layers)}


class Encoder(nn.Module):
    """Section 3.2: a stack of gated convolutions between two linear maps."""

    def __init__(self, settings: ConvS2SSettings) -> None:
        super().__init__()
        self.first = _map(settings.d_model, settings.width, settings, dropped=True)
        layers = (_gated(settings, backwards=False) for _ in range(settings.encoder_layers))
        self.layers = cast("Sequence[Convolution]", nn.ModuleList(layers))
        self.last = _map(settings.width, settings.d_model, settings)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """[B, S, D] -> [B, S, D]; kernels see zeros where nothing is real."""
        x, real = self.first(x), real[:, :, None]
        for convolution in self.layers:
            x = (x + F.glu(convolution(self.dropout(x) * real))) * _HALF
        return self.last(x)


class Decoder(nn.Module):
    """Sections 3.2 and 3.3: a stack of gated convolutions that look backwards, each with attention over the source."""

    def __init__(self, settings: ConvS2SSettings) -> None:
        super().__init__()
        self.first = _map(settings.d_model, settings.width, settings, dropped=True)
        layers = (DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.layers = cast("Sequence[DecoderLayer]", nn.ModuleList(layers))
        self.last = _map(settings.width, settings.d_model, settings)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, words: Tensor, memory: Memory) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        x = self.first(words)
        for layer in self.layers:
            x = layer(x, words, memory)
        return self.dropout(self.last(x))

    def step(self, words: Tensor, state: Kept) -> tuple[Tensor, dict[str, Tensor]]:
        """[R, D] -> [R, D] one position later, and the windows of all layers."""
        ready, memory, windows = state.constants, Memory(**state.shared), {}
        x = F.linear(words, ready["first"], self.first.bias)
        for i, layer in enumerate(self.layers):
            kernels = [ready[f"layers.{i}.{name}"] for name in ("convolution", "attention.query", "attention.found")]
            name = f"window.{i}"
            x, windows[name] = layer.step(x, words, memory, state.rows[name], kernels)
        return self.dropout(F.linear(x, ready["last"], self.last.bias)), windows


class DecoderLayer(nn.Module):
    """A gated convolution and its attention."""

    def __init__(self, settings: ConvS2SSettings) -> None:
        super().__init__()
        self.convolution = _gated(settings, backwards=True)
        self.attention = SourceAttention(settings)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, words: Tensor, memory: Memory) -> Tensor:
        """[B, T, W] -> [B, T, W]."""
        gated = F.glu(self.convolution(self.dropout(x)))
        found = self.attention.found(self.attention(self.attention.query(gated), words, memory))
        return (x + (gated + found) * _HALF) * _HALF

    def step(
        self, x: Tensor, words: Tensor, memory: Memory, window: Tensor, kernels: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """[R, W] -> [R, W], and the next window. The rows of a sentence are queries over the one source they share."""
        convolved, window = self.convolution.step(self.dropout(x), window, kernels[0])
        gated = F.glu(convolved)
        hypotheses = (memory.keys.size(0), -1, words.size(-1))  # [N, width, D]
        query = F.linear(gated, kernels[1], self.attention.query.bias)
        found = self.attention(query.view(hypotheses), words.view(hypotheses), memory).reshape(words.shape)
        found = F.linear(found, kernels[2], self.attention.found.bias)
        return (x + (gated + found) * _HALF) * _HALF, window


class SourceAttention(nn.Module):
    """Section 3.3: a decoder's state and the word said last ask; the encoder's states answer with their words."""

    heads = 1

    def __init__(self, settings: ConvS2SSettings) -> None:
        super().__init__()
        self.query = _map(settings.width, settings.d_model, settings)
        self.found = _map(settings.d_model, settings.width, settings)
        self.observer: Observer | None = None

    def forward(self, query: Tensor, words: Tensor, memory: Memory) -> Tensor:
        """[N, T, D] -> [N, T, D], times m sqrt(1 / m) for m words, since a mean of m has a smaller variance."""
        query = (query + words) * _HALF
        scores = query @ memory.keys.transpose(1, 2)
        weights = scores.masked_fill(~memory.allowed, -math.inf).softmax(dim=-1)
        if self.observer is not None:
            parts = (query, memory.keys, memory.values, weights)
            weights = self.observer(Lookup(*(part[:, None] for part in parts)))[:, 0]
        return weights.to(memory.values.dtype) @ memory.values * memory.scale.to(memory.values.dtype)


def _gated(settings: ConvS2SSettings, *, backwards: bool) -> Convolution:
    """Twice the width, for the gates, which halve what comes through: section 3.5 starts with four times the variance.

    What dropout scales up, it takes back.
    """
    gain = 4 * (1 - settings.dropout)
    return Convolution(
        settings.width, 2 * settings.width, kernel=settings.kernel, backwards=backwards, normed=True, gain=gain
    )


def _map(inputs: int, outputs: int, settings: ConvS2SSettings, *, dropped: bool = False) -> Convolution:
    return Convolution(inputs, outputs, normed=True, gain=1 - settings.dropout if dropped else 1.0)


ARCHITECTURE = Architecture(
    ConvS2SSettings,
    ConvS2S,
    shares_rows=False,
    longest=lambda settings: settings.learned_positions,
    output_weight=output_weight,
    separated=with_separate_vocabularies,
)
