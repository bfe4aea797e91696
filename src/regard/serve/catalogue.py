"""The models that are served: which languages they translate, and how they are replaced without a gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from babel import Locale, UnknownLocaleError

from regard import modelfolder
from regard.errors import SettingsError
from regard.serve.answers import ApiError
from regard.serve.batching import SharedEngine, Sharing
from regard.serve.detection import detect
from regard.serve.lanes import Seen
from regard.serve.serve_settings import ServeSettings
from regard.translation.translator import Translator


@dataclass(frozen=True, kw_only=True)
class Served:
    """One model."""

    name: str
    source: str
    target: str
    translator: Translator
    engine: SharedEngine
    card: str  # its README.md

    @property
    def attends(self) -> bool:
        """Whether there is attention to show."""
        return len(self.translator.models) == 1 and bool(self.translator.model.attentions())


@dataclass(frozen=True)
class Catalogue:
    """All models at one time."""

    models: tuple[Served, ...]

    @property
    def sources(self) -> list[str]:
        """The languages that can be translated, in the order of the models."""
        return list(dict.fromkeys(model.source for model in self.models))

    @property
    def languages(self) -> list[str]:
        """All languages, sources first."""
        return list(dict.fromkeys([*self.sources, *(model.target for model in self.models)]))

    def targets(self, source: str) -> list[str]:
        """What a language can be translated into."""
        return list(dict.fromkeys(model.target for model in self.models if model.source == source))

    def named(self, name: str) -> Served:
        """The model of this name."""
        for model in self.models:
            if model.name == name:
                return model
        there = ", ".join(model.name for model in self.models)
        raise ApiError(404, f"There is no model {name!r}. The models of this server: {there}")

    def find(self, source: str, target: str) -> Served | None:
        """The first model from one language into another."""
        return next((model for model in self.models if (model.source, model.target) == (source, target)), None)

    def close(self) -> None:
        """Ends the threads of all engines once nothing waits."""
        for model in self.models:
            model.engine.close()


def language_name(code: str) -> str:
    """What a language is called in English; its code where that is unknown."""
    try:
        return Locale.parse(code.replace("-", "_")).get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code


def read_catalogue(models: Sequence[str], settings: ServeSettings, seen: Callable[[str], Seen]) -> Catalogue:
    """Loads all models. `seen` makes what an engine reports to, by the name of its model."""
    served: list[Served] = []
    for model in models:
        found = _read(model, settings, seen)
        if any(other.name == found.name for other in served):
            raise SettingsError(
                f"{model}: there are two models with the name {found.name!r}.\n  Rename one of the folders."
            )
        served.append(found)
    return Catalogue(tuple(served))


def _read(model: str, settings: ServeSettings, seen: Callable[[str], Seen]) -> Served:
    name = Path(model).absolute().name
    sharing = Sharing(settings.engine, workers=settings.workers or _cores(), seen=seen(name))
    translator = Translator(model, device=settings.device, engine=sharing)
    assert sharing.engine is not None
    languages = translator.languages
    if not {"source", "target"} <= set(languages):
        raise SettingsError(
            f"{model}: this model does not name its languages, so requests cannot be matched to it.\n"
            '  Add "languages": {"source": "en", "target": "de"} to its training recipe, and train it again.'
        )
    served = Served(
        name=name,
        source=languages["source"],
        target=languages["target"],
        translator=translator,
        engine=sharing.engine,
        card=_card(translator.folder),
    )
    _warm_up(served)
    return served


def _warm_up(served: Served) -> None:
    """Translates once, so that the first request need not wait until libraries are loaded and weights are packed."""
    served.translator.translate("a", alignment=served.attends)
    detect("a", [served.source, served.target])


def _card(folder: Path) -> str:
    path = folder / modelfolder.CARD
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _cores() -> int:
    import os

    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
