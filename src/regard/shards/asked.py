"""What decides on a translation, in words: a run that goes on must have been asked the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from regard import modelfolder
from regard.search import SearchSettings
from regard.shards.folder import Source
from regard.shards.plan import sha256
from regard.shards.working import How
from regard.translation.translator import Translator
from regard.version import __version__

_SHOWN = 12  # characters of a hash


class About(NamedTuple):
    """What the processes that translate have in common."""

    models: str  # names and hashes
    engine: str
    device: str
    languages: dict[str, str]
    length_penalty: float


def about(translator: Translator) -> About:
    """What is to be known about a translator."""
    return About(
        ", ".join(f"{folder.absolute().name} ({fingerprint(folder)})" for folder in translator.loaded.folders),
        translator.engine.name,
        translator.device.type,
        dict(translator.languages),
        translator.default_search.length_penalty,
    )


def asked(about: About, how: How, sources: Sequence[Source], *, memories: Sequence[Path], lines: int) -> dict[str, str]:
    """Everything that must not change between two starts, by the names of options where there are such."""
    search = how.search or SearchSettings()
    return {
        "files": _files(sources),
        "model": about.models,
        "--engine": about.engine,
        "--device": about.device,
        **{_option(name): str(value) for name, value in search.table().items()},
        "--glossary": _glossary(how.glossary),
        "--memory": ", ".join(f"{path.name} ({sha256(path)[:_SHOWN]})" for path in memories) or "none",
        "--checks": {None: "the model's", True: "on", False: "off"}[how.checks],
        "--format": how.format or "by name",
        "--encoding": how.encoding or "utf-8",
        "states": ", ".join(sorted(state.value for state in how.states)),
        "--mark": "on" if how.marked else "off",
        "--shard-lines": str(lines),
        "version of Regard": __version__,
    }


def fingerprint(folder: Path) -> str:
    """The start of a hash of a model: of its description, which has the hashes of all files, or of all files."""
    description = folder / modelfolder.DESCRIPTION
    if description.is_file():
        return sha256(description)[:_SHOWN]
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()] if folder.is_dir() else [folder]
    hashes = "".join(f"{path.name} {sha256(path)}\n" for path in files)
    return hashlib.sha256(hashes.encode()).hexdigest()[:_SHOWN]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _files(sources: Sequence[Source]) -> str:
    names = ", ".join(source.path.name for source in sources[:3]) + (" and more" if len(sources) > 3 else "")
    table = json.dumps([[source.path.name, source.target, source.kind] for source in sources])
    return f"{names} ({hashlib.sha256(table.encode()).hexdigest()[:_SHOWN]})"


def _glossary(glossary: Mapping[str, str] | None) -> str:
    if not glossary:
        return "none"
    return f"{len(glossary)} phrases ({hashlib.sha256(json.dumps(glossary).encode()).hexdigest()[:_SHOWN]})"
