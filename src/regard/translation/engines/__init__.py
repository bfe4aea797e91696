"""What searches sentences for a Translator: one file an engine, found by its name. `engine.py` says what one is."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from regard.errors import SettingsError
from regard.settings import nearest
from regard.translation.engines.engine import Engine, EngineFile, Loaded

__all__ = ["AUTO", "Engine", "EngineFile", "Loaded", "Opener", "engines", "open_engine"]

Opener = Callable[[Loaded], Engine]
"""Opens an engine that is not a file of this folder, such as one that several requests share."""


AUTO = ("ctranslate2", "ctranslate2-float32", "torch")
"""What `auto` tries, in this order. Only the files of engines that are tried are imported: some need PyTorch."""


def engines() -> list[str]:
    """The names of all engines: the files with an `ENGINE`, `ctranslate2_float32.py` being `ctranslate2-float32`."""
    modules = (module.name for module in iter_modules(__path__))
    return [name.replace("_", "-") for name in modules if hasattr(import_module(f"{__name__}.{name}"), "ENGINE")]


def open_engine(name: str | Opener, loaded: Loaded) -> Engine:
    """The engine of that name; `auto` is the one that suits this model and this machine best."""
    if not isinstance(name, str):
        return name(loaded)
    if name == "auto":
        opened = (_file(each).open_if_it_suits(loaded) for each in AUTO)
        return next(engine for engine in opened if engine is not None)
    return _file(name).open(loaded)


def _file(name: str) -> EngineFile:
    modules = {module.name.replace("_", "-"): module.name for module in iter_modules(__path__)}
    file = getattr(import_module(f"{__name__}.{modules[name]}"), "ENGINE", None) if name in modules else None
    if not isinstance(file, EngineFile):
        raise SettingsError(f"engine = {name!r}: there is no such engine; {nearest(name, ['auto', *engines()])}")
    return file
