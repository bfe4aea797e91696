"""What a folder of another format does not say of the model that it was made of, in a file beside it.

With it, Regard reads its own export back as it was, bit for bit: settings, training, tokeniser, and the vectors that
the other format has no place for. It holds for these very files: if one of them was changed, as by training elsewhere,
the folder is read as that of any other program.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import torch
from torch import Tensor

from regard.errors import SettingsError
from regard.modelfolder import Description, ModelFolder
from regard.settings import Settings
from regard.tokens.pair import DESCRIPTION as TOKENISER

FILE = "regard_origin.json"

_FORMAT = 1
_SUBWORDS = ".spm"


class Origin(Settings):
    """The file's content."""

    format: int
    description: dict[str, Any]  # of the model folder
    tokeniser: dict[str, str]  # its files that the other format does not have as they are
    rows: dict[str, str]  # parameter -> the row of the padding token, as float32 in base64
    files: dict[str, str]  # name -> SHA-256


def written(loaded: ModelFolder, rows: Mapping[str, Tensor], files: Mapping[str, bytes]) -> bytes:
    """The file for an export that consists of `files`."""
    origin = Origin(
        format=_FORMAT,
        description=loaded.description.model_dump(mode="json"),
        tokeniser={name: text.decode() for name, text in loaded.tokeniser.items() if not name.endswith(_SUBWORDS)},
        rows={name: _encoded(row) for name, row in rows.items()},
        files={name: sha256(content).hexdigest() for name, content in files.items()},
    )
    return (json.dumps(origin.table(), ensure_ascii=False, indent=2) + "\n").encode()


def read(files: Mapping[str, bytes], hashes: Mapping[str, str]) -> Origin | None:
    """The origin of these files and of those with these hashes; None where one is missing or was changed since."""
    try:
        origin = Origin.read(json.loads(files[FILE]), where=FILE)
        Description.read(origin.description, where=FILE)
    except (KeyError, ValueError, TypeError, RecursionError, SettingsError):
        return None
    found = {name: sha256(content).hexdigest() for name, content in files.items()} | dict(hashes)
    unchanged = all(found.get(name) == expected for name, expected in origin.files.items())
    return origin if origin.format == _FORMAT and unchanged and origin.files.keys() >= hashes.keys() else None


def tokeniser(origin: Origin, *, source: bytes, target: bytes) -> dict[str, bytes]:
    """The tokeniser's files, of which the other folder has those of SentencePiece."""
    own = {name: text.encode() for name, text in origin.tokeniser.items()}
    joint = '"tokeniser.spm"' in origin.tokeniser.get(TOKENISER, "")
    return {**own, **({"tokeniser.spm": source} if joint else {"source.spm": source, "target.spm": target})}


def row(origin: Origin, name: str, width: int) -> Tensor | None:
    """The row of the padding token in this matrix."""
    try:
        content = base64.b64decode(origin.rows[name], validate=True)
    except (KeyError, ValueError):
        return None
    return torch.frombuffer(bytearray(content), dtype=torch.float32) if len(content) == 4 * width else None


def _encoded(tensor: Tensor) -> str:
    return base64.b64encode(tensor.detach().float().cpu().contiguous().numpy().tobytes()).decode()
