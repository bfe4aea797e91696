"""Logits to ids: greedy, beam, sampling. No model: a search knows a step function and nothing else.

A file with a `SEARCH` is a kind of search, under the file's name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from regard.errors import SettingsError
from regard.search.request import Hypothesis, Request, Result
from regard.search.search_settings import SearchSettings
from regard.settings import nearest

if TYPE_CHECKING:
    import torch

    from regard.search.probabilities import combine
    from regard.search.search import Decision, Search
    from regard.search.session import Board, Session, StateBoard, decode

__all__ = [
    "Board",
    "Decision",
    "Hypothesis",
    "Request",
    "Result",
    "Search",
    "SearchSettings",
    "Session",
    "StateBoard",
    "build",
    "combine",
    "decode",
    "methods",
]

_WITH_TENSORS = {  # loaded when first used: what is asked and answered needs no PyTorch
    "Board": "session",
    "Decision": "search",
    "Search": "search",
    "Session": "session",
    "StateBoard": "session",
    "combine": "probabilities",
    "decode": "session",
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        if name not in _WITH_TENSORS:
            raise AttributeError(f"module 'regard.search' has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_WITH_TENSORS[name]}"), name)


def methods() -> list[str]:
    """The names of all kinds of search."""
    modules = (module.name for module in iter_modules(__path__))
    return [name for name in modules if hasattr(import_module(f"{__name__}.{name}"), "SEARCH")]


def build(settings: SearchSettings, *, begin: int, end: int, device: torch.device | str = "cpu") -> Search:
    """The search that the settings ask for. A beam of one is greedy search."""
    name = "greedy" if settings.method == "beam" and settings.beam_size == 1 else settings.method
    if name not in methods():
        raise SettingsError(f"method = {name!r}: there is no such search; {nearest(name, methods())}")
    kind: type[Search] = import_module(f"{__name__}.{name}").SEARCH
    return kind(settings, begin=begin, end=end, device=device)
