"""What heads do: each head's habits over a sample of sentences.

Shapes: B sentences, H heads, T queries, S keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.batches.rows import Batch
from regard.errors import CorpusError
from regard.insight.aligned_words import Links, align
from regard.insight.attention import SOURCE_KIND
from regard.insight.look import refuse_without_attention
from regard.insight.sample import Sample
from regard.insight.word_pieces import Tokens, by_words, is_punctuation, tokens_of
from regard.models.parts.observation import Head, merged, watch
from regard.models.protocols import AttentionName, Model
from regard.tokens.tokeniser import Tokeniser

COLUMNS = {
    "entropy": "the entropy of its weights in bits: at 0 it attends to one token, at 3 to about eight",
    "distance": "the mean distance to the tokens that it attends to",
    "previous": "the share of attention on the token before",
    "same": "the share on the token at the same position; in decoder self-attention, the last token read",
    "next": "the share on the token after",
    "end": "the share on the end of the source",
    "punctuation": "the share on punctuation",
    "alignment": "the share of aligned words that attend most to a word that they are aligned with",
}
_SHARES = ("previous", "same", "next", "end", "punctuation", "alignment")


@dataclass(frozen=True, kw_only=True)
class HeadStatistics:
    """The habits of one head: means over all queries of the sample; shares are from 0 to 1. See COLUMNS."""

    head: Head
    entropy: float
    distance: float
    previous: float
    same: float
    next: float
    end: float | None  # the decoder's own text has no end yet
    punctuation: float
    alignment: float | None  # only of heads that look at the source

    def table(self) -> dict[str, Any]:
        """For programs."""
        return {"head": str(self.head)} | {column: getattr(self, column) for column in COLUMNS}

    def shown(self) -> dict[str, str]:
        """For people."""
        values = {column: getattr(self, column) for column in COLUMNS}
        return {
            column: "" if value is None else f"{100 * value:.0f} %" if column in _SHARES else f"{value:.2f}"
            for column, value in values.items()
        }


@torch.no_grad()
def head_statistics(
    model: Model[Any, Any], sample: Sample, *, device: torch.device, alignments: Sequence[Links] | None = None
) -> list[HeadStatistics]:
    """The habits of every head; words are aligned by `alignments`, a set of links each pair, or else by the pairs."""
    refuse_without_attention(model)
    words = _Words(sample, alignments)
    sums: dict[AttentionName, dict[str, Tensor]] = {}
    for numbers, batch in sample.batches():
        with watch(model) as seen:
            model.states(batch.to(device))
        marks = _marks(numbers, batch, sample)
        for name, lookups in seen.items():
            weights = merged(lookups).weights.cpu().double()
            found = _sums(name, weights, batch, marks)
            if name.kind == SOURCE_KIND:
                found["alignment"] = words.hits(weights, numbers)
            kept = sums.setdefault(name, {})
            for column, values in found.items():
                kept[column] = kept.get(column, torch.zeros_like(values)) + values
    return [
        _statistics(Head(name.kind, name.layer, head), found, head, words)
        for name, found in sums.items()
        for head in range(found["entropy"].size(0))
    ]


def by_column(statistics: Sequence[HeadStatistics], column: str) -> list[HeadStatistics]:
    """Sorted by a column: entropy and distance from the lowest, shares from the highest; heads without it last."""
    rising = column not in _SHARES

    def place(each: HeadStatistics) -> tuple[bool, float]:
        value = getattr(each, column)
        return (True, 0.0) if value is None else (False, value if rising else -value)

    return sorted(statistics, key=place)


def _statistics(head: Head, found: dict[str, Tensor], number: int, words: _Words) -> HeadStatistics:
    count = float(found["queries"])
    means = {column: float(values[number]) / count for column, values in found.items() if values.dim()}
    return HeadStatistics(
        head=head,
        entropy=means["entropy"],
        distance=means["distance"],
        previous=means["previous"],
        same=means["same"],
        next=means["next"],
        end=means.get("end"),
        punctuation=means["punctuation"],
        alignment=float(found["alignment"][number]) / words.linked if "alignment" in found and words.linked else None,
    )


def _sums(name: AttentionName, weights: Tensor, batch: Batch, marks: dict[str, Tensor]) -> dict[str, Tensor]:
    """[H] of each column, summed over all real queries of the batch."""
    asking = batch.streams["source"] if name.kind == "encoder" else batch.streams["target"]
    asked = "target" if name.kind == "decoder" else "source"
    real = (asking.segments != 0).double()[:, None, :]  # [B, 1, T]
    apart = torch.arange(weights.size(3))[None, :] - torch.arange(weights.size(2))[:, None]  # [T, S] key less query

    def total(per_query: Tensor) -> Tensor:
        return (per_query * real).sum(dim=(0, 2))

    found = {
        "queries": real.sum(),
        "entropy": total(-torch.special.xlogy(weights, weights).sum(-1) / torch.log(torch.tensor(2.0))),
        "distance": total((weights * apart.abs()).sum(-1)),
        "punctuation": total((weights * marks[asked][:, None, None, :]).sum(-1)),
    }
    for column, offset in (("previous", -1), ("same", 0), ("next", 1)):
        found[column] = total((weights * (apart == offset)).sum(-1))
    if asked == "source":
        found["end"] = total((weights * marks["end"][:, None, None, :]).sum(-1))
    return found


def _marks(numbers: Sequence[int], batch: Batch, sample: Sample) -> dict[str, Tensor]:
    """[B, S] where the keys are punctuation, on either side, and where the source ends."""
    marks = {name: torch.zeros(rows.segments.shape) for name, rows in batch.streams.items()}
    marks["end"] = torch.zeros_like(marks["source"])
    for row, number in enumerate(numbers):
        source = sample.tokenisers.source.pieces(sample.source_ids[number])
        target = sample.tokenisers.target.pieces(sample.target_ids[number])
        marks["source"][row, : len(source)] = torch.tensor([float(is_punctuation(piece)) for piece in source])
        marks["target"][row, 1 : len(target) + 1] = torch.tensor([float(is_punctuation(piece)) for piece in target])
        marks["end"][row, len(source)] = 1.0
    return {name: mark.double() for name, mark in marks.items()}


class _Words:
    """The words of every pair, and which of them belong together."""

    def __init__(self, sample: Sample, alignments: Sequence[Links] | None) -> None:
        apart = alignments is None  # aligners number what stands between spaces

        def side(tokeniser: Tokeniser, ids: Sequence[list[int]]) -> list[Tokens]:
            return [tokens_of(tokeniser, each, after=True, apart=apart) for each in ids]

        self.sources = side(sample.tokenisers.source, sample.source_ids)
        self.targets = side(sample.tokenisers.target, sample.target_ids)
        self.links = (
            align([each.words[:-1] for each in self.sources], [each.words[:-1] for each in self.targets])
            if alignments is None
            else _checked(alignments, self.sources, self.targets)
        )
        self.linked = sum(len({target for _, target in links}) for links in self.links)

    def hits(self, weights: Tensor, numbers: Sequence[int]) -> Tensor:
        """[H] how many aligned words look most at one of theirs."""
        hits = torch.zeros(weights.size(1), dtype=torch.float64)
        for row, number in enumerate(numbers):
            source, target, links = self.sources[number], self.targets[number], self.links[number]
            own = weights[row, :, : len(target.pieces), : len(source.pieces)]
            best = by_words(own, target, source)[:, :, :-1].argmax(dim=-1).tolist()
            aligned = {word for _, word in links}
            for head, choices in enumerate(best):
                hits[head] += sum((choices[word], word) in links for word in aligned)
        return hits


def _checked(alignments: Sequence[Links], sources: Sequence[Tokens], targets: Sequence[Tokens]) -> Sequence[Links]:
    if len(alignments) < len(sources):
        raise CorpusError(
            f"there are {len(alignments):,} alignments, but {len(sources):,} pairs.\n  Give one line per pair."
        )
    for number, (links, source, target) in enumerate(zip(alignments, sources, targets, strict=False), start=1):
        for link in links:
            if link[0] >= len(source.words) - 1 or link[1] >= len(target.words) - 1:
                raise CorpusError(
                    f"the alignment of pair {number} links {link[0]}-{link[1]}, but the pair has "
                    f"{len(source.words) - 1} and {len(target.words) - 1} words.\n"
                    "  Words are separated by spaces and counted from 0. Give the text that was aligned."
                )
    return alignments
