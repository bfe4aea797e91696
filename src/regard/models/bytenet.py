"""ByteNet: "Neural Machine Translation in Linear Time" (Kalchbrenner et al., 2016), with its residual blocks of ReLUs.

Dilated convolutions reach far with few layers: each set doubles the distance from block to block. The decoder stands
on the encoder, position by position, without attention. Since a translation may be longer than its source, the encoder
first unfolds a source of |s| words to a|s| + b positions (section 3.2); tokens after these have no source below
them. Time grows with the length of the sentence, and not with its square.

Shapes: B rows, one sentence each, S source and T target positions, U positions of an unfolded source, D = d_model,
I = inner width; N sentences that are being decoded, R = N * width rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Self, cast

import torch
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from regard.models.parts.convolutions import Convolution, matrices
from regard.models.parts.embeddings import WordModel, Words, WordSettings, output_weight
from regard.models.parts.linear import projection
from regard.models.parts.named_state import Kept, started
from regard.models.parts.vocabularies import with_separate_vocabularies
from regard.models.protocols import Architecture, AttentionName, Batch, Observable, Rows


class ByteNetSettings(WordSettings):
    """The blocks, their reach, and how far a source is unfolded."""

    encoder_sets: PositiveInt = 6  # sets of blocks, one block for each dilation
    decoder_sets: PositiveInt = 6
    dilations: Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)] = (1, 2, 4, 8, 16)
    inner: PositiveInt = 256  # the width of the convolutions; the paper's is half of d_model
    kernel: PositiveInt = 3
    unfold_factor: PositiveFloat = 1.2  # a
    unfold_offset: NonNegativeInt = 0  # b

    @model_validator(mode="after")
    def _kernel_has_a_centre(self) -> Self:
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel = {self.kernel} is even; the encoder's kernels are centred, so it must be odd.")
        return self


class Memory(NamedTuple):
    """The unfolded source."""

    columns: Tensor  # [N, U, D] zero beyond a sentence's own positions


class ByteNet(WordModel):
    """An encoder of dilated blocks and, standing on it, a decoder of masked ones."""

    def __init__(self, settings: ByteNetSettings) -> None:
        super().__init__()
        self.settings = settings
        self.words = Words(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = Stack(settings, sets=settings.encoder_sets, backwards=False)
        self.stand = projection(2 * settings.d_model, settings.d_model)
        self.decoder = Stack(settings, sets=settings.decoder_sets, backwards=True)
        self.output = Output(settings)

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] the decoder's output at each position of the target."""
        columns, target = self.encode(batch.streams["source"]).columns, batch.streams["target"]
        x = self.dropout(self.words.said(target.tokens, target.positions))
        below = F.pad(columns, (0, 0, 0, max(0, x.size(1) - columns.size(1))))[:, : x.size(1)]
        return self.output(self.decoder(self.stand(torch.cat([x, below], dim=-1)), None))

    def encode(self, source: Rows) -> Memory:
        """The source, followed by as many zeros as it is to be unfolded by, through the encoder."""
        x = self.dropout(self.words.read(source))
        lengths = (source.segments != 0).sum(dim=1)
        most = self.unfolded(torch.tensor(x.size(1)))
        x = F.pad(x, (0, 0, 0, int(most) - x.size(1))) if most > x.size(1) else x
        real = torch.arange(x.size(1), device=x.device) < self.unfolded(lengths)[:, None]  # [B, U]
        return Memory(self.encoder(x, real[:, :, None]) * real[:, :, None])

    def unfolded(self, lengths: Tensor) -> Tensor:
        """a|s| + b, rounded up, and never less than |s|."""
        grown = (lengths * self.settings.unfold_factor).ceil().long() + self.settings.unfold_offset
        return torch.maximum(grown, lengths)

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> Kept:
        """A decoder that has said nothing: before each of its blocks stands a window of zeros."""
        count = memory.columns.size(0)
        windows = {f"window.{i}": block.wide.empty_window(count) for i, block in enumerate(self.decoder.blocks)}
        return started(memory._asdict(), windows, width=width, constants=matrices(self.decoder))

    @torch.no_grad()
    def step(self, tokens: Tensor, state: Kept) -> tuple[Tensor, Kept]:
        """[R] the words said last -> [R, V] logits for the next."""
        x = self.dropout(self.words.said(tokens, state.positions))
        x = self.stand(torch.cat([x, self._below(state)], dim=-1))
        windows = {}
        for i, block in enumerate(self.decoder.blocks):
            name = f"window.{i}"
            x, windows[name] = block.step(x, state.rows[name], state.constants[f"blocks.{i}.wide"])
        return self.logits(self.output(x)), state.after(windows)

    def attentions(self) -> dict[AttentionName, Observable]:
        """An empty table: this model has no attention."""
        return {}

    def _below(self, state: Kept) -> Tensor:
        """[R, D] the column of the source below the position of each row; zero beyond the source."""
        columns = state.shared["columns"]  # [N, U, D]
        sentences = torch.arange(state.positions.size(0), device=columns.device) // state.width
        last = columns.size(1) - 1
        found = columns[sentences, state.positions.clamp(max=last)]
        return found.masked_fill((state.positions > last)[:, None], 0.0)


class Stack(nn.Module):
    """Sets of residual blocks, each block of a set reaching farther than the one before."""

    def __init__(self, settings: ByteNetSettings, *, sets: int, backwards: bool) -> None:
        super().__init__()
        blocks = (
            Block(settings, dilation=dilation, backwards=backwards)
            for _ in range(sets)
            for dilation in settings.dilations
        )
        self.blocks = cast("Sequence[Block]", nn.ModuleList(blocks))

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        """[B, T, D] -> [B, T, D]; `real` is [B, T, 1] where kernels look to both sides."""
        for block in self.blocks:
            x = block(x, real)
        return x


class Block(nn.Module):
    """Section 3.6: norm, ReLU and a convolution, three times: to the inner width, over the words, and back."""

    def __init__(self, settings: ByteNetSettings, *, dilation: int, backwards: bool) -> None:
        super().__init__()
        width, inner = settings.d_model, settings.inner
        self.first_norm, self.second_norm, self.third_norm = (nn.LayerNorm(size) for size in (width, inner, inner))
        self.narrow = projection(width, inner)
        self.wide = Convolution(inner, inner, kernel=settings.kernel, dilation=dilation, backwards=backwards, gain=2.0)
        self.back = projection(inner, width)
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        """[B, T, D] -> [B, T, D]."""
        inner = self.before(x)
        return self.after(x, self.wide(inner if real is None else inner * real))

    def step(self, x: Tensor, window: Tensor, matrix: Tensor) -> tuple[Tensor, Tensor]:
        """[R, D] -> [R, D], and the next window."""
        wide, window = self.wide.step(self.before(x), window, matrix)
        return self.after(x, wide), window

    def before(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., I] what the convolution reads."""
        return self.second_norm(self.narrow(self.first_norm(x).relu())).relu()

    def after(self, x: Tensor, wide: Tensor) -> Tensor:
        """[..., D] and [..., I] -> [..., D]."""
        return x + self.dropout(self.back(self.third_norm(wide).relu()))


class Output(nn.Module):
    """Above the last block: a norm, and two more maps with a ReLU between, before the logits."""

    def __init__(self, settings: ByteNetSettings) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(settings.d_model)
        self.inner = projection(settings.d_model, settings.d_model)
        self.outer = projection(settings.d_model, settings.d_model)

    def forward(self, x: Tensor) -> Tensor:
        """[..., D] -> [..., D]."""
        return self.outer(self.inner(self.norm(x)).relu())


ARCHITECTURE = Architecture(
    ByteNetSettings, ByteNet, shares_rows=False, output_weight=output_weight, separated=with_separate_vocabularies
)
