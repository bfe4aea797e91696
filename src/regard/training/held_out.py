"""Pairs that are not trained on, as ids and as the text that stands in the files.

Ids do not always give the text back: a closed vocabulary makes `<unk>` of unknown words. So the text is read again
from the files, when it is first needed, and kept with the run in `training/validation.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from regard.batches.corpus import StoredCorpus
from regard.batches.preparation import Source
from regard.errors import RegardError
from regard.text.bad_input import BadInput
from regard.text.cleaning import clean
from regard.text.files import replacing
from regard.text.normalisation import normalise_all
from regard.text.pairs import Chunk, chunks
from regard.tokens import Tokenisers

TEXTS = "validation.json"

Ids = tuple[int, ...]


class Texts(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


class HeldOut:
    """Pairs that are not trained on; of the first `count`, which are translated, there is also the text."""

    def __init__(
        self,
        corpus: StoredCorpus,
        tokenisers: Tokenisers,
        source: Source,
        *,
        count: int,
        folder: Path,
        say: Callable[[str], None],
    ) -> None:
        self.corpus, self._tokenisers, self._source = corpus, tokenisers, source
        self._count, self._path, self._say = min(count, len(corpus)), folder / TEXTS, say

    def __len__(self) -> int:
        return self._count

    @property
    def sources(self) -> Sequence[str]:
        """The sentences to translate."""
        return [pair.source for pair in self.pairs]

    @property
    def references(self) -> Sequence[str]:
        """Their translations."""
        return [pair.target for pair in self.pairs]

    @cached_property
    def pairs(self) -> list[Texts]:
        """The text of the pairs."""
        sides = self.corpus.streams["source"], self.corpus.streams["target"]
        wanted = [(tuple(sides[0].sentence(n)), tuple(sides[1].sentence(n))) for n in range(self._count)]
        mark = blake2b(repr(wanted).encode(), digest_size=16).hexdigest()
        kept = self._kept(mark)
        if kept is not None:
            return kept
        found = self._read_again(wanted)
        if len(found) == len(wanted):
            with replacing(self._path) as file:
                file.write(json.dumps({"ids": mark, "pairs": list(found.values())}, ensure_ascii=False).encode())
        else:
            self._say(
                f"Warning: {len(wanted) - len(found):,} of {len(wanted):,} validation pairs are no longer in their "
                "files. Their references are decoded from tokens and may differ from the original text."
            )
        return [found.get(number) or self._decoded(*ids) for number, ids in enumerate(wanted)]

    def _kept(self, mark: str) -> list[Texts] | None:
        """The text that an earlier start has kept, if it is that of these ids."""
        try:
            table = json.loads(self._path.read_bytes())
            return [Texts(*pair) for pair in table["pairs"]] if table["ids"] == mark else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def _decoded(self, source: Ids, target: Ids) -> Texts:
        return Texts(self._tokenisers.source.decode(source), self._tokenisers.target.decode(target))

    def _read_again(self, wanted: Sequence[tuple[Ids, Ids]]) -> dict[int, Texts]:
        """The text of the pairs with these ids, by their numbers; a pair that occurs more than once in order."""
        waiting: dict[tuple[Ids, Ids], list[int]] = {}
        for number, ids in enumerate(wanted):
            waiting.setdefault(ids, []).append(number)
        sources = {source for source, _ in waiting}
        found: dict[int, Texts] = {}
        try:
            for chunk in chunks(self._source.pairs(BadInput(skip=True))):
                for ids, text in self._candidates(chunk, sources):
                    if waiting.get(ids):
                        found[waiting[ids].pop(0)] = text
                if len(found) == len(wanted):
                    break
        except RegardError as error:
            self._say(f"Warning: {error}")
        return dict(sorted(found.items()))  # in the order of the pairs, as it is stored

    def _candidates(self, chunk: Chunk, sources: set[Ids]) -> list[tuple[tuple[Ids, Ids], Texts]]:
        """The pairs of a chunk whose source has the ids of one of `sources`, and which cleaning keeps."""
        settings, tokenisers = self._source.cleaning, self._tokenisers
        normal = normalise_all(chunk.sources) if settings.normalisation == "nfc" else chunk.sources
        encoded = tokenisers.source.encode_batch(normal, threads=os.cpu_count() or 1)
        found = []
        for pair, ids in zip(chunk.pairs(), map(tuple, encoded), strict=True):
            if ids in sources:
                alone = clean(Chunk([pair.source], [pair.target], pair.path, [pair.line]), settings).chunk
                targets = tokenisers.target.encode_batch(alone.targets)
                found += [((ids, tuple(target)), Texts(pair.source, pair.target)) for target in targets]
        return found
