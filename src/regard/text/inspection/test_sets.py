"""What must stay out of a training set: the pairs of test sets, and files that are named like one."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.text.cleaning import fingerprint
from regard.text.corpus import documents
from regard.text.files import bare_name
from regard.text.formats import Reading
from regard.text.normalisation import normalise
from regard.text.pairs import Chunk, Pair
from regard.text.tally import Tally

_NAMED = re.compile(r"(?:^|[^a-z])(?:news)?(test|valid(?:ation)?|val|dev|eval|heldout|held-out)(?:set)?(?:$|[^a-z])")
_TRAIN = re.compile(r"(?:^|[^a-z])train(?:ing)?(?:$|[^a-z])")


class Shared(NamedTuple):
    """What a training set shares with a test set: its pairs that do, and how many different ones of the test set."""

    tally: Tally
    of_test: set[int]


class KnownPairs:
    """The pairs of test sets, and what a training set shares with them. Sides are compared in normal form."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self.pairs: set[int] = set()
        self.sources: set[int] = set()
        for pair in pairs:
            source = normalise(pair.source)
            self.pairs.add(fingerprint(source, normalise(pair.target)))
            self.sources.add(fingerprint(source, ""))
        self.same_pair = Shared(Tally(), set())
        self.same_source = Shared(Tally(), set())

    def look_for(self, chunk: Chunk) -> None:
        """Count the pairs of a training set that are in the test set, and those of which only the source is."""
        for source, target, line in zip(chunk.sources, chunk.targets, chunk.lines, strict=True):
            mark = fingerprint(source, "")
            if mark in self.sources:
                whole = fingerprint(source, target)
                shared = self.same_pair if whole in self.pairs else self.same_source
                shared.tally.add(chunk.path, line)
                shared.of_test.add(whole if shared is self.same_pair else mark)


def named_like_test_sets(data: Sequence[str], reading: Reading, *, format: str | None) -> tuple[list[str], bool]:  # noqa: A002
    """The files of folders and patterns in `data` whose names say that they are for testing or validation.

    And whether others beside them say that they are for training. A file that is named by itself is meant.
    """
    several = [item for item in data if Path(item).is_dir() or (glob.has_magic(item) and not Path(item).exists())]
    found = documents(several, reading, format=format) if several else []
    names = {str(document.paths[0]): bare_name(document.paths[0]).lower() for document in found}
    like_tests = [path for path, name in names.items() if _NAMED.search(name) and not _TRAIN.search(name)]
    return like_tests, any(_TRAIN.search(name) for name in names.values())
