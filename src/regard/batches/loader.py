"""The loader: batches of packed rows from a stored corpus, in an order that depends on the seed alone.

An epoch's order is a shuffle that can be entered anywhere. It is cut into pools of equally many pairs; a pool is packed
into rows by itself, its rows are shuffled into batches, and its batches are shuffled. To go on after any batch takes
the number of the epoch, of the pool in the epoch and of the batch in the pool, and the packing of that one pool.

Every rank packs the same pools and takes every n-th row of each batch: together they hold the batch that one would.

Shapes: B rows, L tokens a row; B * L is the budget, so a batch of longer rows has fewer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from math import ceil, floor
from queue import Full, Queue
from threading import Event, Thread
from typing import Annotated, NamedTuple, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field, PositiveInt, model_validator

from regard.batches.corpus import StoredCorpus, Stream
from regard.batches.packing import REACHED, Packed, one_a_row, order_of, pack
from regard.batches.rows import Batch, Rows
from regard.batches.shuffle import shuffled
from regard.errors import CorpusError
from regard.settings import Settings

Numbers = NDArray[np.int64]
Key = tuple[int, ...]

_POOLS_DIFFER = 1.25  # by this factor at the most from the size that is asked for
_NORMAL = np.array([-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64])  # a normal variable, in ten parts


class LoaderSettings(Settings):
    """How batches are made."""

    batch_tokens: PositiveInt = 25_000  # tokens a side in a batch of full rows, over all ranks (section 5.1)
    row_lengths: Annotated[tuple[PositiveInt, ...], Field(strict=False, min_length=1)] = (128, 256, 512, 1024)
    share_rows: bool = True  # several sentences a row; some models need one sentence a row
    pool_batches: PositiveInt = 64  # about so many batches are packed together
    seed: int = 1

    @model_validator(mode="after")
    def _rows_fit(self) -> Self:
        if list(self.row_lengths) != sorted(set(self.row_lengths)):
            raise ValueError(f"row_lengths = {list(self.row_lengths)} must be in increasing order.")
        if self.batch_tokens < self.row_lengths[-1]:
            raise ValueError(f"batch_tokens = {self.batch_tokens} must hold a row of {self.row_lengths[-1]} tokens.")
        return self

    def rows(self, length: int, *, ranks: int = 1) -> int:
        """As many rows of this length as a batch may have, equally many for each rank."""
        return max(1, self.batch_tokens // length // ranks) * ranks


class Place(NamedTuple):
    """Where the loader stands: the next batch. This is its whole state."""

    epoch: int = 0
    pool: int = 0
    batch: int = 0


class Shape(Protocol):
    """What the loader asks of a task (`regard.tasks`)."""

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams of a batch."""

    @property
    def labelled(self) -> str | None:
        """The stored stream that has a label for each of its tokens; None: the labels of a batch are counted."""

    @property
    def batch(self) -> MakeBatch:
        """Makes a batch of rows as they are stored."""


class MakeBatch(Protocol):
    """From rows as they are stored to what a model reads and predicts."""

    def __call__(self, streams: dict[str, Rows], *, begin: int, tokens: int, key: Key = ()) -> Batch:
        """`begin` is the token before the first one; `tokens` labels are in the batch, over all processes.

        Everything random in a batch depends on `key`, which no other batch has.
        """


class Loader:
    """Batches without end; `ranks` processes share each."""

    def __init__(
        self, corpus: StoredCorpus, settings: LoaderSettings, task: Shape, *, rank: int = 0, ranks: int = 1
    ) -> None:
        assert 0 <= rank < ranks
        assert 1 <= len(corpus.streams) <= 2, "rows are packed by one stream or two"
        self.corpus, self.settings, self.task, self.rank, self.ranks = corpus, settings, task, rank, ranks
        if not len(corpus):
            raise CorpusError(
                f"{corpus.folder}: this corpus contains no examples.\n  Check which ones were dropped and why."
            )
        if corpus.longest > settings.row_lengths[-1]:
            raise CorpusError(
                f"{corpus.folder}: the longest sentence has {corpus.longest} tokens, but the longest row holds only "
                f"{settings.row_lengths[-1]}.\n  Prepare the corpus with a smaller limit, or allow longer rows."
            )
        self.groups = {length: settings.rows(length, ranks=ranks) for length in settings.row_lengths}
        self.pools = self._count_pools()

    def batches(self, place: Place = Place()) -> Iterator[tuple[Batch, Place]]:  # noqa: B008  a tuple of numbers
        """Each batch from `place` on, with the place after it."""
        epoch, pool, first = place
        if pool >= self.pools:  # a place that was noted when pools were smaller
            epoch, pool, first = epoch + 1, 0, 0
        while True:
            shapes, order = self._pack_pool(epoch, pool)
            for number in range(first, len(order)):
                last_batch, last_pool = number + 1 == len(order), pool + 1 == self.pools
                after = Place(epoch, pool, number + 1) if not last_batch else Place(epoch, pool + 1, 0)
                if last_batch and last_pool:
                    after = Place(epoch + 1, 0, 0)
                yield self._batch(*order[number], shapes, (epoch, pool)), after
            epoch, pool, first = (epoch, pool + 1, 0) if pool + 1 < self.pools else (epoch + 1, 0, 0)

    def shapes(self) -> dict[int, int]:
        """The rows of this rank in a batch, by their length, for all lengths that can occur in this corpus."""
        lengths = self.settings.row_lengths
        longest = next(length for length in lengths if length >= self.corpus.longest)
        return {length: self.groups[length] // self.ranks for length in lengths if length <= longest}

    def prefetched(
        self,
        place: Place = Place(),  # noqa: B008  a tuple of numbers
        *,
        ahead: int = 8,
        pin: bool = False,
    ) -> Generator[tuple[Batch, Place]]:
        """The same, made by another thread so many batches ahead; pinned, a GPU copies them while it computes."""
        ready: Queue[tuple[Batch, Place] | Exception] = Queue(maxsize=ahead)
        stopped = Event()
        thread = Thread(target=_make_ahead, args=(self._made(place, pin=pin), ready, stopped), daemon=True)
        thread.start()
        try:
            while True:
                item = ready.get()
                if isinstance(item, Exception):
                    raise item
                yield item
        finally:
            stopped.set()
            thread.join()

    def _made(self, place: Place, *, pin: bool) -> Iterator[tuple[Batch, Place]]:
        for batch, after in self.batches(place):
            yield (batch.pinned() if pin else batch), after

    def _count_pools(self) -> int:
        """A number by which pools of about the size that is asked for make the fewest batches.

        The last batch of a pool is filled in part, so a pool should need hardly less than a whole number of batches.
        Pools have equally many pairs, but not tokens: what they need varies like a sum of as many random lengths.
        """
        tokens, squares = max(map(_sums, self.corpus.streams.values()))
        wished = tokens / (self.settings.batch_tokens * self.settings.pool_batches)
        few, many = ceil(wished / _POOLS_DIFFER), min(floor(wished * _POOLS_DIFFER), len(self.corpus))
        if few > many or not self.settings.share_rows:
            return max(1, round(wished))
        pools, length = np.arange(few, many + 1), self.settings.row_lengths[0]
        batch = self.groups[length] * length * REACHED
        variance = max(0.0, squares - tokens**2 / len(self.corpus)) / pools * (1 - 1 / pools)
        needed = (tokens / pools)[:, None] + np.sqrt(variance)[:, None] * _NORMAL
        return int(pools[np.argmin(np.ceil(needed / batch).sum(axis=1) * pools)])

    def _pack_pool(self, epoch: int, pool: int) -> tuple[dict[int, _Shape], list[tuple[int, int]]]:
        """The rows of a pool by their length, and the order of its batches: length and number in that length."""
        corpus, seed = self.corpus.in_epoch(epoch), self.settings.seed
        count = len(corpus)
        first, last = count * pool // self.pools, count * (pool + 1) // self.pools
        pairs = shuffled(np.arange(first, last), count=count, key=(seed, "epoch", epoch))
        sizes = [stream.lengths[pairs].astype(np.int64) for stream in corpus.streams.values()]
        sources, targets = sizes[0], sizes[-1]
        lengths = self.settings.row_lengths
        groups = [self.groups[length] for length in lengths]
        packed = (
            pack(sources, targets, lengths=lengths, groups=groups)
            if self.settings.share_rows
            else one_a_row(sources, targets, lengths=lengths)
        )
        key = (seed, "pool", epoch, pool)
        shapes = {rows.length: self._shape(rows, pairs, key) for rows in packed}
        batches = [(length, number) for length, shape in shapes.items() for number in range(shape.batches)]
        order = shuffled(np.arange(len(batches)), count=len(batches), key=key)
        return shapes, [batches[n] for n in order]

    def _shape(self, packed: Packed, pairs: Numbers, key: tuple[int | str, ...]) -> _Shape:
        """Shuffles the rows of one length, and sorts their pairs by the new row."""
        group = self.groups[packed.length]
        count = -(-(int(packed.rows.max()) + 1) // group) * group
        rows = shuffled(np.arange(count), count=count, key=(*key, packed.length))[packed.rows]
        order = order_of(rows, most=count)
        return _Shape(count // group, pairs[packed.pairs[order]], rows[order])

    def _batch(self, length: int, number: int, shapes: dict[int, _Shape], pool: tuple[int, int]) -> Batch:
        """The rows of this rank in a batch; a pool has the numbers of its epoch and its own."""
        corpus, shape, group = self.corpus, shapes[length], self.groups[length]
        first, last = np.searchsorted(shape.rows, [number * group, (number + 1) * group])
        pairs, rows = shape.pairs[first:last], shape.rows[first:last] - number * group
        key = (self.settings.seed, *pool, length, number)
        labelled = self.task.labelled
        if labelled is None:  # all ranks make the whole batch, since they must agree on how many labels it has
            streams = _streams(corpus, pairs, rows, count=group, length=length)
            whole = self.task.batch(streams, begin=corpus.begin, tokens=0, key=key)
            return whole.every(self.ranks, first=self.rank, tokens=max(1, int(whole.labelled.sum())))
        tokens = int(corpus.streams[labelled].lengths[pairs].sum(dtype=np.int64))
        mine = rows % self.ranks == self.rank
        streams = _streams(corpus, pairs[mine], rows[mine] // self.ranks, count=group // self.ranks, length=length)
        return self.task.batch(streams, begin=corpus.begin, tokens=tokens, key=key)


class _Shape(NamedTuple):
    """The rows of one length in a pool."""

    batches: int
    pairs: Numbers  # numbers of pairs in the corpus
    rows: Numbers  # the row of each, not falling


def _sums(stream: Stream) -> tuple[int, int]:
    """Of the lengths, and of their squares; exact, so that every machine makes the same pools."""
    lengths = stream.lengths
    return int(lengths.sum(dtype=np.int64)), int(np.einsum("i,i->", lengths, lengths, dtype=np.int64))


def _make_ahead(
    batches: Iterator[tuple[Batch, Place]], ready: Queue[tuple[Batch, Place] | Exception], stopped: Event
) -> None:
    """What the other thread does; an error travels through the queue to the reader."""

    def put(item: tuple[Batch, Place] | Exception) -> None:
        while not stopped.is_set():
            with suppress(Full):
                ready.put(item, timeout=0.1)
                break

    try:
        for item in batches:
            put(item)
            if stopped.is_set():
                return
    except Exception as error:  # noqa: BLE001
        put(error)


def _streams(corpus: StoredCorpus, pairs: Numbers, rows: Numbers, *, count: int, length: int) -> dict[str, Rows]:
    return {name: _rows(stream, pairs, rows, count=count, length=length) for name, stream in corpus.streams.items()}


def _rows(side: Stream, pairs: Numbers, rows: Numbers, *, count: int, length: int) -> Rows:
    """The sentences of one side, written into their rows one after the other; `rows` does not fall."""
    lengths = side.lengths[pairs].astype(np.int64)
    ends = lengths.cumsum()
    begins = ends - lengths  # in the sequence of all sentences of the batch
    first_in_row = np.searchsorted(rows, rows)
    in_row = begins - begins[first_in_row] if len(rows) else begins
    positions = np.arange(ends[-1] if len(ends) else 0) - np.repeat(begins, lengths)
    places = np.repeat(rows * length + in_row, lengths) + positions
    filled = np.zeros((3, count * length), dtype=np.int64)
    stored = side.tokens[np.repeat(side.starts[pairs], lengths) + positions]
    filled[1, places] = np.repeat(np.arange(len(rows)) - first_in_row + 1, lengths)
    filled[2, places] = positions
    if not side.features:
        filled[0, places] = stored
        return Rows(*torch.from_numpy(filled).view(3, count, length))
    vectors = np.zeros((count * length, side.features), dtype=np.float32)
    vectors[places] = stored
    return Rows(torch.from_numpy(vectors).view(count, length, -1), *torch.from_numpy(filled[1:]).view(2, count, length))
