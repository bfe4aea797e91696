"""What a command needs before it translates: the model, its search and the translation memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from regard.cli import memories

if TYPE_CHECKING:
    from collections.abc import Mapping

    from regard.search import SearchSettings
    from regard.text.memory import Memory
    from regard.translation.translator import Translator


class Opening(NamedTuple):
    """What was asked for, before anything is opened."""

    models: tuple[Path, ...]
    engine: str
    device: str | None
    search: SearchSettings
    own_length_penalty: bool  # that of the model
    memories: list[Path]

    def opened(self) -> tuple[Translator, SearchSettings, Memory | None]:
        """The translator, its search and the memory."""
        translator = self.translator()
        search = self.search_with(translator.default_search.length_penalty)
        return translator, search, self.memory(translator.languages)

    def translator(self) -> Translator:
        """The model, or the ensemble."""
        from regard.translation.translator import load

        models = list(self.models)
        return load(models if len(models) > 1 else models[0], device=self.device, engine=self.engine)

    def search_with(self, length_penalty: float) -> SearchSettings:
        """The search, with the length penalty of the model unless another was given."""
        return (
            self.search.model_copy(update={"length_penalty": length_penalty})
            if self.own_length_penalty
            else self.search
        )

    def memory(self, languages: Mapping[str, str]) -> Memory | None:
        """The translation memory, if files were given."""
        return memories.read(self.memories, languages)
