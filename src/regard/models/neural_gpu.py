"""The Extended Neural GPU: "Can Active Memory Replace Attention?" (Kaiser and Bengio, 2016).

The whole memory changes at every step, by convolutions with gates like a GRU's, instead of being looked up in. The
encoder starts with the source in one line of the memory and changes it as many times as the memory is long. The decoder
changes it once for each word, reads the word from the memory's column at that word's place, and writes it on a tape
that the next change sees.

A memory has a|s| + b columns for a source of |s| words; words after the last column are read there. Time and space grow
with the square of the length, so there is a longest source, `longest`. Left out of the paper's description: the
relaxation of the recurrence's parameters and the noise on gradients, which served its algorithmic tasks.

Shapes: B rows, one sentence each, S source and T target positions, C columns of the memory, H lines of it, D = d_model;
a memory is [B, D, H, C]. N sentences that are being decoded, R = N * width rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

import torch
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import LengthError
from regard.models.parts.embeddings import WordModel, Words, WordSettings, output_weight
from regard.models.parts.linear import projection
from regard.models.parts.named_state import Kept, started
from regard.models.parts.vocabularies import with_separate_vocabularies
from regard.models.protocols import Architecture, AttentionName, Batch, Observable, Rows


class NeuralGPUSettings(WordSettings):
    """The size of the memory and how it changes."""

    lines: PositiveInt = 4  # H, the memory's other extent
    kernel: PositiveInt = 3  # of the convolutions, in both directions
    encoder_layers: PositiveInt = 2  # gated convolutions in a change
    decoder_layers: PositiveInt = 2
    memory_factor: PositiveFloat = 1.0  # a
    memory_offset: NonNegativeInt = 10  # b
    longest: PositiveInt = 64  # source tokens


class Memory(NamedTuple):
    """The memory after the encoder."""

    cells: Tensor  # [B, D, H, C] zero beyond a sentence's own columns
    columns: Tensor  # [B] how many columns are the sentence's own


class NeuralGPU(WordModel):
    """A memory that an encoder and a decoder change, and a tape."""

    def __init__(self, settings: NeuralGPUSettings) -> None:
        super().__init__()
        self.settings = settings
        self.words = Words(settings)
        self.dropout = nn.Dropout(settings.dropout)
        self.encoder = Change(settings, layers=settings.encoder_layers, reads_tape=False)
        self.decoder = Change(settings, layers=settings.decoder_layers, reads_tape=True)
        self.output = projection(settings.d_model, settings.d_model)

    def states(self, batch: Batch) -> Tensor:
        """[B, T, D] what is read from the memory, word by word."""
        cells, columns = self.encode(batch.streams["source"])
        words = self.dropout(self.words.said(batch.streams["target"].tokens, batch.streams["target"].positions))
        tape, states = torch.zeros_like(cells[:, :, 0]), []
        for t in range(words.size(1)):
            state, cells, tape = self.advance(words[:, t], torch.full_like(columns, t), cells, tape, columns)
            states.append(state)
        return torch.stack(states, dim=1)

    def encode(self, source: Rows) -> Memory:
        """The source in the memory's first line, changed as many times as the memory has columns."""
        limit, lengths = self.settings.longest, (source.segments != 0).sum(dim=1)
        if source.tokens.size(1) > limit and (longest := int(lengths.max())) > limit:
            raise LengthError(
                f"a source of {longest} tokens is too long: this Neural GPU takes {limit}.\n"
                "  Its time grows with the square of the length. Split the text into shorter sentences, or train with "
                "more:\n  --set model.longest=128"
            )
        words = self.dropout(self.words.read(source)).transpose(1, 2)  # [B, D, S]
        columns = self.columns(lengths)
        most = int(self.columns(torch.tensor(words.size(2))))
        first = F.pad(words, (0, most - words.size(2)))[:, :, None]
        cells = F.pad(first, (0, 0, 0, self.settings.lines - 1))
        real = _within(columns, most)
        for step in range(most):
            changed = self.encoder(cells, None, real)
            cells = torch.where((step < columns)[:, None, None, None], changed, cells)
        return Memory(cells, columns)

    def columns(self, lengths: Tensor) -> Tensor:
        """a|s| + b, rounded up, and never less than |s| or 1."""
        grown = (lengths * self.settings.memory_factor).ceil().long() + self.settings.memory_offset
        return torch.maximum(grown, lengths).clamp(min=1)

    def advance(
        self, word: Tensor, position: Tensor, cells: Tensor, tape: Tensor, columns: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """[R, D] the word before `position` is written on the tape, [R, D, C]; the memory changes; [R, D] is read."""
        last = columns - 1
        here = F.one_hot(torch.minimum(position - 1, last).clamp(min=0), tape.size(2))[:, None]  # [R, 1, C]
        written = here.bool() & (position > 0)[:, None, None]
        tape = torch.where(written, word[:, :, None].to(tape.dtype), tape)
        cells = self.decoder(cells, tape, _within(columns, tape.size(2)))
        place = torch.minimum(position, last)[:, None, None].expand(-1, cells.size(1), 1)
        read = cells[:, :, 0].gather(2, place)[:, :, 0]
        return self.dropout(self.output(read)), cells, tape

    @torch.no_grad()
    def start(self, memory: Memory, *, width: int = 1) -> Kept:
        """A decoder with an empty tape; every hypothesis has a memory of its own, since it changes it."""
        rows = {"cells": memory.cells, "tape": torch.zeros_like(memory.cells[:, :, 0]), "columns": memory.columns}
        return started({}, rows, width=width)

    @torch.no_grad()
    def step(self, tokens: Tensor, state: Kept) -> tuple[Tensor, Kept]:
        """[R] the words said last -> [R, V] logits for the next."""
        word, rows = self.dropout(self.words.said(tokens, state.positions)), state.rows
        read, cells, tape = self.advance(word, state.positions, rows["cells"], rows["tape"], rows["columns"])
        return self.logits(read), state.after({"cells": cells, "tape": tape})

    def attentions(self) -> dict[AttentionName, Observable]:
        """An empty table: an active memory replaces attention."""
        return {}


class Change(nn.Module):
    """One change of the memory: gated convolutions (CGRUs), one after the other."""

    def __init__(self, settings: NeuralGPUSettings, *, layers: int, reads_tape: bool) -> None:
        super().__init__()
        units = (GatedConvolution(settings, reads_tape=reads_tape) for _ in range(layers))
        self.layers = cast("Sequence[GatedConvolution]", nn.ModuleList(units))

    def forward(self, cells: Tensor, tape: Tensor | None, real: Tensor) -> Tensor:
        """[R, D, H, C] -> [R, D, H, C]; `real` is [R, 1, 1, C], and beyond it the memory stays zero."""
        for layer in self.layers:
            cells = layer(cells, tape) * real
        return cells


class GatedConvolution(nn.Module):
    """u * s + (1 - u) * tanh(U * (r * s) + W * p + B), with gates u and r made of the memory s and the tape p alike."""

    def __init__(self, settings: NeuralGPUSettings, *, reads_tape: bool) -> None:
        super().__init__()
        width, kernel = settings.d_model, settings.kernel
        self.gates = nn.Conv2d(width, 2 * width, kernel, padding="same")
        self.candidate = nn.Conv2d(width, width, kernel, padding="same")
        self.tape = nn.Conv1d(width, 3 * width, kernel, padding="same", bias=False) if reads_tape else None
        nn.init.constant_(self.gates.bias[:width], 1.0)  # type: ignore[index]  # at first, most of the memory stays

    def forward(self, s: Tensor, tape: Tensor | None) -> Tensor:
        """[R, D, H, C] and [R, D, C] -> [R, D, H, C]. The tape lies beside the memory's first line."""
        gates = self.gates(s)
        written = None
        if self.tape is not None and tape is not None:
            beside = F.pad(self.tape(tape)[:, :, None], (0, 0, 0, s.size(2) - 1))
            to_gates, written = beside[:, : 2 * s.size(1)], beside[:, 2 * s.size(1) :]
            gates = gates + to_gates
        update, reset = gates.sigmoid().chunk(2, dim=1)
        candidate = self.candidate(reset * s)
        candidate = candidate if written is None else candidate + written
        return update * s + (1 - update) * candidate.tanh()


def _within(columns: Tensor, most: int) -> Tensor:
    """[B] -> [B, 1, 1, most] True for a sentence's own columns."""
    return (torch.arange(most, device=columns.device) < columns[:, None])[:, None, None]


ARCHITECTURE = Architecture(
    NeuralGPUSettings,
    NeuralGPU,
    shares_rows=False,
    longest=lambda settings: settings.longest,
    output_weight=output_weight,
    separated=with_separate_vocabularies,
)
