"""What all objects of this room have in common: a model folder that was read and checked, on a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

from regard import modelfolder, shipped
from regard.batches.similar_lengths import by_length
from regard.devices import device_for
from regard.errors import LengthError, ModelFolderError
from regard.models import architecture
from regard.models.fast import fast_form
from regard.tokens import Tokenisers
from regard.tokens.lines import Lines

if TYPE_CHECKING:
    from regard.insight.attention import Attention

TOKENS = 16_384  # that are read together, padding included


class Opened:
    """A loaded model. `description`, `tokeniser` and `labels` say what it is. Any number of threads may use it."""

    task: ClassVar[str]

    def __init__(self, folder: str | Path, *, device: str | None = None) -> None:
        self.folder = shipped.find(folder)
        self.name = self.folder.absolute().name
        self.device = device_for(device)
        found = modelfolder.read_description(self.folder).task
        if found != self.task:
            raise ModelFolderError(
                f"{self.folder}: this model was trained for the task {found!r}, not for {self.task!r}.\n"
                "  Open it with regard.load, which gives the object for its task."
            )
        loaded = modelfolder.load(self.folder, device=self.device)
        self.description = loaded.description
        self.model: Any = fast_form(loaded.model, "decoding")
        self.tokenisers = Tokenisers.from_files(loaded.tokeniser)
        self.tokeniser = self.tokenisers.source
        self.lines = Lines(self.tokeniser)
        self.lock = RLock()  # held while the model computes

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {str(self.folder)!r} on {self.device}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_again, (type(self), self.folder.absolute(), str(self.device))

    @property
    def longest(self) -> int | None:
        """The most tokens that the model reads at a time; None: any number."""
        kind = architecture(self.description.architecture)
        return kind.longest(self.model.settings)

    @property
    def stretch(self) -> int:
        """How many tokens of a long text are read at a time: as many as in training, if that is known."""
        recipe = self.description.training.get("recipe", {})
        return self.longest or max(recipe.get("training", {}).get("row_lengths", [1024]))

    def look(self, text: str, *, without: str = "") -> Attention:
        """What the model looks at while it reads a text; `without` names heads to switch off, as `encoder.2.5`."""
        from regard.insight.look_at_text import look_at_text
        from regard.models.parts.observation import heads_named

        with self.lock:
            return look_at_text(
                self.model,
                self.tokeniser,
                text,
                device=self.device,
                said=self.answer(text),
                off=heads_named(self.model, without) if without else (),
                name=self.name,
                longest=self.longest,
            )

    def answer(self, text: str) -> str:  # noqa: ARG002  others answer
        """What the model says to a text, in a line."""
        return ""

    def grouped(self, texts: Sequence[Sequence[int]], *, tokens: int = TOKENS) -> Iterator[list[int]]:
        """The numbers of texts of similar length, so many tokens together; texts that are too long are refused."""
        longest = self.longest
        for number, ids in enumerate(texts):
            if longest is not None and len(ids) > longest:
                raise LengthError(
                    f"text {number + 1} has {len(ids):,} tokens, but this model reads at most {longest:,}.\n"
                    "  Give a shorter text, or divide it."
                )
        return by_length([max(1, len(ids)) for ids in texts], tokens=tokens)


def _open_again(kind: Any, folder: Path, device: str) -> Any:
    """The object that was pickled."""
    return kind(folder, device=device)
