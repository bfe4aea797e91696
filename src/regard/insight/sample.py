"""A sample of sentence pairs, ready for a model: what statistics and knock-out are measured on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from regard.batches.rows import Batch
from regard.batches.similar_lengths import by_length
from regard.errors import CorpusError
from regard.tasks.translation import batch_of
from regard.text.pairs import Pair
from regard.tokens import Tokenisers

_TOKENS = 4096  # of a batch, padding included


class Sample(NamedTuple):
    """Sentence pairs and their ids, in order."""

    sources: Sequence[str]
    targets: Sequence[str]
    source_ids: Sequence[list[int]]
    target_ids: Sequence[list[int]]
    tokenisers: Tokenisers

    @classmethod
    def of(cls, pairs: Iterable[Pair], tokenisers: Tokenisers, *, sentences: int) -> Sample:
        """The first so many pairs with words on both sides."""
        taken = []
        for pair in pairs:
            ids = tokenisers.source.encode(pair.source), tokenisers.target.encode(pair.target)
            if all(ids):
                taken.append((pair.source, pair.target, *ids))
            if len(taken) == sentences:
                break
        if not taken:
            raise CorpusError(
                "there is no sentence pair in this sample.\n  Give at least one pair with text on both sides."
            )
        sources, targets, source_ids, target_ids = zip(*taken, strict=True)
        return cls(sources, targets, source_ids, target_ids, tokenisers)

    def batches(self, *, tokens: int = _TOKENS) -> Iterator[tuple[list[int], Batch]]:
        """Pairs of similar length, one a row, with their numbers."""
        lengths = [max(map(len, pair)) + 1 for pair in zip(self.source_ids, self.target_ids, strict=True)]
        for numbers in by_length(lengths, tokens=tokens):
            rows = [[(self.source_ids[number], self.target_ids[number])] for number in numbers]
            end = self.tokenisers.target.end
            yield numbers, batch_of(rows, begin=self.tokenisers.target.begin, end=end)
