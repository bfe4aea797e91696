"""Files of Marian itself: a `.npz` of arrays with the configuration in it, vocabularies in YAML.

Names of arrays: `encoder_l1_self_Wq` is the query projection of the encoder's first layer, [inputs, outputs]; `_bq` its
bias; `_Wo_ln_scale` and `_ln_bias` the normalisation after attention, with `_pre` at the end the one before it.
"""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.errors import ModelFolderError, SettingsError

Arrays = Mapping[str, NDArray[Any]]

CONFIGURATION = "special:model.yml"

_COPY_AGAIN = "Copy the folder again from its origin."
_MOST_TIMES = 20  # that a compressed archive may be larger than its file


def library() -> Any:
    """The module yaml."""
    try:
        import yaml
    except ImportError:
        raise SettingsError(
            "This needs PyYAML, which is not installed.\n  Install it with: pip install 'regard[exchange]'"
        ) from None
    return yaml


def read_yaml(content: bytes, path: Path) -> dict[str, Any]:
    """A table of plain values."""
    yaml = library()
    try:
        table = yaml.safe_load(content.decode())
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        raise ModelFolderError(f"{path}: this is not valid YAML.\n  {_COPY_AGAIN}") from None
    if not isinstance(table, dict):
        raise ModelFolderError(f"{path}: this file does not contain a table.\n  {_COPY_AGAIN}")
    return table


def read_vocabulary(content: bytes, path: Path) -> dict[str, int]:
    """Piece to id. Every key is text, also `null`, `yes` and `1`."""
    yaml = library()
    try:
        table = yaml.load(content.decode(), Loader=yaml.BaseLoader)
        found = {piece: int(token) for piece, token in table.items() if isinstance(piece, str)}
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError, AttributeError, TypeError):
        raise ModelFolderError(f"{path}: this is not a vocabulary in YAML.\n  {_COPY_AGAIN}") from None
    if not {"</s>", "<unk>"} <= found.keys():
        raise ModelFolderError(f"{path}: </s> or <unk> has no id.\n  {_COPY_AGAIN}")
    return found


def read_arrays(content: bytes, path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a .npz file; none is unpickled, and none may be larger than its part of the file says."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            if sum(part.file_size for part in parts) > _MOST_TIMES * len(content):
                raise ModelFolderError(f"{path}: this archive is far larger than its file.\n  {_COPY_AGAIN}")
            for part in parts:
                _check_header(archive, part, path)
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (zipfile.BadZipFile, ValueError, EOFError, OSError, KeyError, NotImplementedError) as error:
        raise ModelFolderError(f"{path}: this is not a .npz file of Marian: {error}.\n  {_COPY_AGAIN}") from None


def _check_header(archive: zipfile.ZipFile, part: zipfile.ZipInfo, path: Path) -> None:
    """Numbers, and as many as the part has room for."""
    with archive.open(part) as file:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, kind = read(file)
    if kind.hasobject or kind.itemsize * math.prod(shape) > part.file_size:
        raise ModelFolderError(
            f"{path}: {part.filename} declares more numbers than the file contains, or is not an array of numbers.\n"
            f"  {_COPY_AGAIN}"
        )


def configuration(arrays: Arrays, path: Path) -> dict[str, Any]:
    """Marian's options, as the model was trained with them."""
    if CONFIGURATION not in arrays:
        raise ModelFolderError(f"{path}: this file has no configuration of Marian in it.\n  {_COPY_AGAIN}")
    return read_yaml(arrays[CONFIGURATION].tobytes().rstrip(b"\0"), path)


def tensor(arrays: Arrays, name: str, path: Path) -> Tensor:
    """An array of floating-point numbers."""
    if name not in arrays:
        raise ModelFolderError(f"{path}: {name} is missing.\n  {_COPY_AGAIN}")
    if arrays[name].dtype.kind != "f":
        raise ModelFolderError(f"{path}: {name} does not contain floating-point numbers.\n  {_COPY_AGAIN}")
    return torch.from_numpy(np.ascontiguousarray(arrays[name], dtype=np.float32))
