"""What tasks do that learn from vectors: read them, find their shape and scale, store them.

The shape is that of the first example, or of the model that is adapted; examples that differ are refused.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from numpy.typing import NDArray

from regard import modelfolder, tasks
from regard.batches.corpus import StoredCorpus
from regard.batches.splitting import hold_out
from regard.batches.texts import hashes, stored
from regard.caches import cache_folder
from regard.errors import CorpusError, LengthError
from regard.tokens import Tokenisers
from regard.training.recipe import DataSettings, Recipe, Tables
from regard.training.surroundings import Surroundings
from regard.training.tasks.work import Chosen, Work
from regard.vectors.examples import Cutting, Example, Wanted, cut, files_of, raw, shape_of, statistics
from regard.vectors.shape import VectorShape

_PART = 10  # of the examples, a tenth is held out


class Split(NamedTuple):
    """Examples to train on, examples that are held out, a sentence about these, and the shape of all vectors."""

    training: StoredCorpus
    held: StoredCorpus
    told: str
    shape: VectorShape


class Vectors(Work):
    """How models of vectors are trained."""

    required = (("files", "a .npz file or a folder of images"),)
    wanted: Wanted  # what an example has beside its vectors
    stream: str  # that holds vectors

    @abstractmethod
    def encode(self, example: Example, tokenisers: Tokenisers, labels: Sequence[str]) -> list[int]:
        """What is stored beside the vectors."""

    @property
    @abstractmethod
    def beside(self) -> str:
        """The stream beside the vectors."""

    def advise(self, data: DataSettings, training: Mapping[str, Any], device: torch.device) -> Chosen:  # noqa: ARG002
        """The preset of the task."""
        if data.adapt:
            return "adapt", {}, [f"Starting from the model {data.adapt}: a low, constant learning rate."]
        preset = tasks.task(self.task).preset
        assert preset
        return preset, {}, [f"The preset {preset} is the smallest for this task."]

    def fit(self, preset: str, given: Tables, checked: Recipe) -> Chosen:  # noqa: ARG002
        """The preset that was named."""
        return preset, {}, []

    def examples(self, data: DataSettings, files: Sequence[str], shape: VectorShape) -> Iterator[Example]:
        """The examples of these files."""
        colour = shape.image.channels > 1 if shape.image else data.colour
        found = iter(raw(files, wanted=self.wanted, colour=colour))
        first = next(found, None)
        if first is None:
            raise CorpusError(
                f"{', '.join(map(str, files))}: there are no examples in these files.\n"
                f"  Give vectors or images with {self.wanted}."
            )
        return cut(chain([first], found), shape)

    def shape(self, data: DataSettings) -> VectorShape:
        """That of the training data, or of the model that is adapted."""
        if data.adapt:
            own = modelfolder.read_description(data.adapt).settings[tasks.task(self.task).vectors]
            return VectorShape.read(own, where=data.adapt)
        patch = (data.patch, data.patch) if isinstance(data.patch, int) else data.patch
        first = next(iter(raw(data.files, wanted=self.wanted, colour=data.colour)), None)
        if first is None:
            raise CorpusError(f"{', '.join(data.files)}: there are no examples in these files.\n  Give some.")
        found = shape_of(first, Cutting(patch, data.colour))
        return statistics(found, self.examples(data, data.files, found))

    def split(
        self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers, shape: VectorShape, labels: Sequence[str]
    ) -> Split:
        """Stores the examples, and reads or holds out those that are not trained on."""
        corpus = self._stored(recipe, around, tokenisers, recipe.data.files, shape, labels)
        if recipe.data.valid:
            held = self._stored(recipe, around, tokenisers, [recipe.data.valid], shape, labels)
            rest, told = corpus, f"Validation uses the {len(held):,} {self.unit} of {recipe.data.valid}."
        else:
            count = max(1, min(recipe.validation.pairs, len(corpus) // _PART))
            rest, held = hold_out(corpus, count=count, seed=recipe.training.seed, by=self.stream)
            told = f"No validation file was given, so Regard holds out {len(held):,} {self.unit}, and copies of them."
        if not len(rest):
            raise CorpusError(
                f"{', '.join(recipe.data.files)}: there are too few {self.unit} to hold some out for validation.\n"
                "  Give a validation file: --valid FILE"
            )
        return Split(rest, held, told, shape)

    def _stored(
        self,
        recipe: Recipe,
        around: Surroundings,
        tokenisers: Tokenisers,
        files: Sequence[str],
        shape: VectorShape,
        labels: Sequence[str],
    ) -> StoredCorpus:
        most, counts = recipe.training.row_lengths[-1], {"kept": 0}

        def encoded() -> Iterator[dict[str, Sequence[int] | NDArray[Any]]]:
            for each in self.examples(recipe.data, files, shape):
                beside = self.encode(each, tokenisers, labels)
                _check_length(each, max(len(each.vectors), len(beside)), most)
                counts["kept"] += 1
                yield {self.stream: each.vectors, self.beside: beside}

        tokeniser = tokenisers.target
        return around.first_then_all(
            lambda: stored(
                cache_folder(),
                encoded,
                streams=(self.stream, self.beside),
                vocabulary=max(tokeniser.size, len(labels) + 1),
                features={self.stream: shape.features},
                question={
                    "files": hashes(files_of(files)),
                    "task": self.task,
                    "labels": list(labels),
                    "shape": shape.table(),
                    "most": most,
                    "tokenisers": tokenisers.hash,
                },
                describe=lambda: {"begin": tokeniser.begin, "end": tokeniser.end, **counts},
            )
        )


def _check_length(example: Example, length: int, most: int) -> None:
    if length > most:
        raise LengthError(
            f"{example.where}: this example has {length:,} vectors or tokens, but the longest row holds {most:,}.\n"
            f"  Use larger patches or fewer vectors, or allow longer rows with --set training.row_lengths=[{2 * most}]"
        )
