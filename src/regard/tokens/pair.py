"""The two tokenisers of a model, and the files they are stored in.

`tokeniser.json` describes them; their own files stand beside it: `tokeniser.spm` if one serves both sides, else
`source.spm` and `target.spm`, or other endings for other kinds. Every file is checked by its SHA-256 when it is loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

from regard.errors import ModelFolderError, SettingsError
from regard.settings import Settings
from regard.tokens.reversal import Reversed
from regard.tokens.tokeniser import Tokeniser, find_kind
from regard.tokens.tokeniser_settings import TokeniserSettings

DESCRIPTION = "tokeniser.json"
_FORMAT = 1
_JOINT = "tokeniser"


@dataclass(frozen=True, kw_only=True)
class Tokenisers:
    """The tokeniser of the source and that of the target: one object for both if they are joint."""

    source: Tokeniser
    target: Tokeniser
    settings: TokeniserSettings | None = None

    @property
    def joint(self) -> bool:
        """Whether one tokeniser serves both sides, so that they can share their embeddings."""
        return self.source is self.target

    @property
    def reversed(self) -> bool:
        """Whether texts are read and written from their ends."""
        return isinstance(self.target, Reversed)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of both: equal hashes mean equal ids for every text on either side."""
        return sha256(f"{self.source.hash} {self.target.hash}".encode()).hexdigest()

    def files(self) -> dict[str, bytes]:
        """What is stored: file name and content, the description among them."""
        parts = {name: _files(name, tokeniser) for name, tokeniser in self._named().items()}
        description: dict[str, Any] = {
            "format": _FORMAT,
            "tokenisers": {name: _describe(self._named()[name], files) for name, files in parts.items()},
        }
        if self.settings is not None:
            description["settings"] = self.settings.table()
        text = json.dumps(description, indent=2, ensure_ascii=False) + "\n"
        own = {name: content for files in parts.values() for name, content in files.items()}
        return {DESCRIPTION: text.encode(), **own}

    @classmethod
    def from_files(cls, files: Mapping[str, bytes]) -> Tokenisers:
        """The tokenisers that gave these files."""
        description = _read_description(files)
        loaded = {name: _load(name, part, files) for name, part in description.tokenisers.items()}
        if loaded.keys() not in ({_JOINT}, {"source", "target"}):
            raise _damaged(DESCRIPTION, f"the tokenisers are called {', '.join(sorted(loaded)) or 'nothing'}")
        source = loaded.get("source") or loaded[_JOINT]
        return cls(source=source, target=loaded.get("target") or source, settings=description.settings)

    def _named(self) -> dict[str, Tokeniser]:
        return {_JOINT: self.source} if self.joint else {"source": self.source, "target": self.target}


class _Part(Settings):
    """One tokeniser in the description; `files` has the SHA-256 of each."""

    kind: str
    options: dict[str, Any]
    size: int
    begin: int
    end: int
    unknown: int
    files: dict[str, str]
    reversed: bool | None = None  # true, or not there


class _Description(Settings):
    format: int
    tokenisers: dict[str, _Part]
    settings: TokeniserSettings | None = None


def _files(name: str, tokeniser: Tokeniser) -> dict[str, bytes]:
    return {f"{name}.{ending}": content for ending, content in tokeniser.files().items()}


def _describe(tokeniser: Tokeniser, files: Mapping[str, bytes]) -> dict[str, Any]:
    return _Part(
        kind=tokeniser.kind,
        options=tokeniser.options.table(),
        size=tokeniser.size,
        begin=tokeniser.begin,
        end=tokeniser.end,
        unknown=tokeniser.unknown,
        files={name: sha256(content).hexdigest() for name, content in files.items()},
        reversed=True if isinstance(tokeniser, Reversed) else None,
    ).table()


def _read_description(files: Mapping[str, bytes]) -> _Description:
    try:
        table = json.loads(_content(DESCRIPTION, files))
    except ValueError as error:
        raise _damaged(DESCRIPTION, f"it is not JSON: {error}") from None
    version = table.get("format") if isinstance(table, dict) else None
    if not isinstance(version, int):
        raise _damaged(DESCRIPTION, "it has no format number")
    if version > _FORMAT:
        raise ModelFolderError(
            f"{DESCRIPTION}: its format is {version}, but this version of Regard reads only {_FORMAT}.\n"
            "  A newer version of Regard wrote it. Upgrade with: pip install --upgrade regard"
        )
    try:
        return _Description.read(table, where=DESCRIPTION)
    except SettingsError as error:
        raise ModelFolderError(str(error)) from None


def _load(name: str, part: _Part, files: Mapping[str, bytes]) -> Tokeniser:
    own = {}
    for file, expected in part.files.items():
        content = _content(file, files)
        if sha256(content).hexdigest() != expected:
            raise _damaged(file, f"its SHA-256 is not the one in {DESCRIPTION}")
        own[file.removeprefix(f"{name}.")] = content
    try:
        kind = find_kind(part.kind)
        tokeniser = kind.load(own, options=kind.Options.read(part.options, where="options"))
    except SettingsError as error:
        raise _damaged(DESCRIPTION, str(error)) from None
    except ModelFolderError as error:
        raise _damaged(", ".join(part.files), str(error).rstrip(".")) from None
    except KeyError as error:
        raise _damaged(DESCRIPTION, f"it lists no {name}.{error.args[0]}, which {part.kind} need") from None
    stored = (part.size, part.begin, part.end, part.unknown)
    if stored != (tokeniser.size, tokeniser.begin, tokeniser.end, tokeniser.unknown):
        raise _damaged(DESCRIPTION, f"the size or the special ids of {name!r} are not those of its files")
    return Reversed(tokeniser) if part.reversed else tokeniser


def _content(name: str, files: Mapping[str, bytes]) -> bytes:
    if name not in files:
        raise ModelFolderError(f"{name}: this tokeniser file is missing.\n  Copy the whole model folder again.")
    return files[name]


def _damaged(name: str, what: str) -> ModelFolderError:
    return ModelFolderError(f"{name}: {what}.\n  The file is damaged or was changed. Copy the model folder again.")
