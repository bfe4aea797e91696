"""A server with a model from English into German and one back, which know the words of `trained.py`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="fastapi is not installed: pip install 'regard[serve]'")

from serving import Running, renamed, running


@pytest.fixture(scope="session")
def both_ways(trained_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("served")
    return [renamed(trained_folder, place / "en-de", "en", "de"), renamed(trained_folder, place / "de-en", "de", "en")]


@pytest.fixture(scope="session")
def served(both_ways: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    suggestions = tmp_path_factory.mktemp("suggestions") / "suggestions.jsonl"
    with running(both_ways, suggestions=suggestions) as server:
        yield server
