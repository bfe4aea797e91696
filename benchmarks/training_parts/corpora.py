"""Made-up corpora with the lengths of WMT's English and German: 28 tokens a sentence, both sides nearly as long.

Ids are drawn by Zipf's law, since rare and frequent words cost an embedding's gradient differently.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batches.corpus import CorpusWriter, StoredCorpus, Stream
from regard.batches.rows import Batch, Rows
from regard.tokens.tokeniser import BEGIN, END, SPECIAL
from training_parts.scale import Scale

MEAN, SPREAD, BESIDE = 28, 0.55, 0.15  # tokens; standard deviations of the logarithms of a length, and of their ratio
FIRST = len(SPECIAL)
POOL = 100  # batches that peers sort together

Numbers = NDArray[np.int64]


def lengths(draw: np.random.Generator, count: int, longest: int) -> tuple[Numbers, Numbers]:
    """How many tokens the sources and the targets have, the end token among them."""
    source = draw.normal(np.log(MEAN) - SPREAD**2 / 2, SPREAD, count)
    target = source + draw.normal(0, BESIDE, count)
    first, second = (np.clip(np.exp(side).round(), 2, longest).astype(np.int64) for side in (source, target))
    return first, second


def ids(draw: np.random.Generator, count: int, vocabulary: int) -> Numbers:
    """Words by Zipf's law; none of the special ids."""
    shares = 1 / (np.arange(vocabulary - FIRST) + 3.0)
    drawn = np.searchsorted(np.cumsum(shares / shares.sum()), draw.random(count))
    return FIRST + np.minimum(drawn, vocabulary - FIRST - 1)


def stored(folder: Path, scale: Scale, *, learnable: bool = False) -> StoredCorpus:
    """Sentence pairs; where they are learnable, each target is its source with every id replaced by another."""
    draw = np.random.default_rng(1)
    source, target = lengths(draw, scale.pairs, scale.longest)
    read = ids(draw, int(source.sum()), scale.vocabulary)
    if learnable:
        target = source
        said = FIRST + draw.permutation(scale.vocabulary - FIRST)[read - FIRST]
    else:
        said = ids(draw, int(target.sum()), scale.vocabulary)
    writer = CorpusWriter(folder, streams=("source", "target"), vocabulary=scale.vocabulary)
    for side, tokens, counts in (("source", read, source), ("target", said, target)):
        tokens[counts.cumsum() - 1] = END
        writer.add(side, tokens.astype(np.uint32), counts.astype(np.int32))
    writer.finish({"begin": BEGIN, "end": END})
    return StoredCorpus(folder)


def written(path: Path, scale: Scale) -> Path:
    """A file of sentence pairs in made-up words; every word of the vocabulary occurs."""
    draw = np.random.default_rng(2)
    syllables = [consonant + vowel for consonant in "bcdfghjklmnprstvwxyz" for vowel in "aeiou"]
    words = [
        syllables[n % 100] + syllables[n // 100 % 100] + syllables[n // 10_000] for n in range(scale.vocabulary - FIRST)
    ]
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, len(words), MEAN):
            file.write(f"{' '.join(words[first : first + MEAN])}\t{' '.join(words[first : first + MEAN][::-1])}\n")
        counts = lengths(draw, scale.trained_pairs, scale.longest)
        sides = []
        for side in counts:
            drawn = [words[n] for n in ids(draw, int(side.sum()), scale.vocabulary) - FIRST]
            ends = side.cumsum()
            sides.append([drawn[end - count : end - 1] for end, count in zip(ends, side, strict=True)])
        file.writelines(f"{' '.join(source)}\t{' '.join(target)}\n" for source, target in zip(*sides, strict=True))
    return path


def padded(corpus: StoredCorpus, tokens: int, *, most: int) -> list[Batch]:
    """One sentence a row, as is usual, and well sorted: by the longer side of a pair, in pools of a hundred batches.

    No other order that was tried pads less. A batch has about so many real target tokens, whatever its shape. At the
    most `most` batches, in a random order; where there is one whose sides differ, it comes first, so that no compiler
    takes it for granted that they are equal.
    """
    draw = np.random.default_rng(3)
    order = draw.permutation(len(corpus))
    size = POOL * tokens // int(corpus.streams["target"].lengths.mean())
    groups: list[Numbers] = []
    for first in range(0, len(order), size):
        pool = order[first : first + size]
        longest = np.max([stream.lengths[pool] for stream in corpus.streams.values()], axis=0)
        pool = pool[np.argsort(longest, kind="stable")]
        cut = np.flatnonzero(np.diff(corpus.streams["target"].lengths[pool].cumsum(dtype=np.int64) // tokens)) + 1
        groups += np.split(pool, cut)[:-1] or [pool]
    chosen = draw.permutation(len(groups))[:most]
    batches = [_padded_batch(corpus, groups[number]) for number in chosen]
    return sorted(batches, key=lambda batch: batch.streams["source"].tokens.shape == batch.labels.shape)


def _padded_batch(corpus: StoredCorpus, pairs: Numbers) -> Batch:
    source, said = (_padded_rows(stream, pairs) for stream in corpus.streams.values())
    read = torch.roll(said.tokens, 1, dims=1)
    read[:, 0] = corpus.begin
    target = Rows(read * said.segments, said.segments, said.positions)
    streams = {"source": source, "target": target}
    return Batch(streams, said.tokens, said.segments != 0, int(said.segments.sum()))


def _padded_rows(side: Stream, pairs: Numbers) -> Rows:
    counts = side.lengths[pairs].astype(np.int64)[:, None]
    positions = np.broadcast_to(np.arange(counts.max()), (len(pairs), counts.max()))
    real = positions < counts
    places = np.where(real, side.starts[pairs][:, None] + positions, 0)
    tokens = np.where(real, side.tokens[places].astype(np.int64), 0)
    return Rows(torch.from_numpy(tokens), torch.from_numpy(real.astype(np.int64)), torch.from_numpy(positions.copy()))
