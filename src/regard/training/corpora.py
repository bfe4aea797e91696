"""What is trained on and what is not, as every task gives them to a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from regard.batches.corpus import StoredCorpus
from regard.batches.loader import Shape
from regard.files import new_folder
from regard.models.parts.positions import check_length
from regard.models.protocols import Architecture
from regard.settings import Settings
from regard.tokens import Tokenisers
from regard.training.surroundings import Surroundings


class Held(Protocol):
    """Examples that are not trained on, as ids and as text."""

    @property
    def corpus(self) -> StoredCorpus:
        """All of them."""

    @property
    def sources(self) -> Sequence[str]:
        """What the model is given of the first ones."""

    @property
    def references(self) -> Sequence[str]:
        """What it should say."""

    def __len__(self) -> int:
        """How many have text."""


class Corpora(NamedTuple):
    """What is trained on and what is not."""

    training: StoredCorpus
    held_out: Held
    validation: str  # a sentence about what is held out
    shape: Shape  # how the loader makes batches of both
    model: dict[str, Any] = {}  # noqa: RUF012  settings of the model that follow from the data, such as its labels


def kept_tokenisers(around: Surroundings, make: Callable[[], Tokenisers]) -> Tokenisers:
    """Those that the run has already, or new ones, which the first process makes."""

    def found() -> Tokenisers:
        folder = around.work / "tokeniser"
        if not folder.exists():
            made = make()
            with new_folder(folder) as new:
                for name, content in made.files().items():
                    (new / name).write_bytes(content)
        return Tokenisers.from_files({file.name: file.read_bytes() for file in folder.iterdir()})

    return around.first_then_all(found)


def check_positions(corpora: Corpora, kind: Architecture, settings: Settings) -> None:
    """Refuses sentences with more tokens than a model has learned positions, before a GPU would have to be asked."""
    learned = getattr(settings, "learned_positions", None)
    if learned is not None and kind.longest(settings) == learned:
        check_length(max(corpora.training.longest, corpora.held_out.corpus.longest), learned)
