"""Reading a folder that anyone may have made: no file outside of it, nothing executed, nothing larger than it says.

PyTorch's own format is a pickle, a program for a small machine. Its loader here runs no code from the file: only
tensors of numbers come out of it, and a file that asks for anything else is refused.
"""

from __future__ import annotations

import io
import json
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from torch import Tensor

from regard.errors import ModelFolderError

MOST_TEXT = 64 << 20  # bytes of a file that is no weights

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_COPY_AGAIN = "Copy the folder again from its origin."
_NOT_WEIGHTS = ("position_ids", ".attn.bias", ".attn.masked_bias")  # numbers and masks that older folders store
_FLOATS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def has(folder: Path, name: str) -> bool:
    """Whether the folder has a file of this name."""
    return (folder / name).is_file()


def read(folder: Path, name: str, *, most: int | None = MOST_TEXT) -> bytes:
    """The content of a file of the folder itself; a link that leads out of it is refused."""
    if not _NAME.fullmatch(name):
        raise ModelFolderError(
            f"{folder}: {name!r} is not the name of a file in this folder.\n"
            "  Regard reads no file outside of it. Do not use this folder unless you trust its origin."
        )
    path = folder / name
    if not path.is_file():
        raise ModelFolderError(f"{path}: this file is missing.\n  {_COPY_AGAIN}")
    if not _within(folder, path):
        raise ModelFolderError(
            f"{path}: this link leads out of the folder.\n  Regard does not follow it. Copy the file itself."
        )
    size = path.stat().st_size
    if most is not None and size > most:
        raise ModelFolderError(f"{path}: this file is too large: {size:,} bytes, and at most {most:,} are expected.")
    return path.read_bytes()


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The table in a JSON file."""
    try:
        table = json.loads(read(folder, name))
    except (ValueError, RecursionError):
        raise ModelFolderError(f"{folder / name}: this is not valid JSON.\n  {_COPY_AGAIN}") from None
    if not isinstance(table, dict):
        raise ModelFolderError(f"{folder / name}: this file does not contain a table.\n  {_COPY_AGAIN}")
    return table


def _within(folder: Path, path: Path) -> bool:
    """Whether a file lies in the folder, or where the hub's own cache keeps the files of its snapshots."""
    place, target = folder.resolve(), path.resolve()
    roots = [place]
    if place.parent.name == "snapshots":
        roots.append(place.parent.parent / "blobs")
    return any(target.is_relative_to(root) for root in roots)


def safetensors(content: bytes, path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file."""
    try:
        return _checked(load_safetensors(content), path)
    except SafetensorError as error:
        raise ModelFolderError(f"{path}: this is not a safetensors file: {error}.\n  {_COPY_AGAIN}") from None


def pytorch(content: bytes, path: Path) -> dict[str, Tensor]:
    """The tensors of a file in PyTorch's format, by a loader that executes nothing."""
    _refuse_compressed(content, path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on protocols that it may not know: then it refuses
            found = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, KeyError, TypeError, AttributeError) as error:
        reason = str(error).strip().splitlines()[0:1]
        raise ModelFolderError(
            f"{path}: this file is damaged, or contains more than tensors, so Regard did not load it: "
            f"{' '.join(reason)[:200]}\n"
            "  Nothing in it was executed. Convert it to safetensors, if you trust its origin."
        ) from None
    if not isinstance(found, Mapping):
        raise ModelFolderError(f"{path}: this file does not contain named tensors.\n  {_COPY_AGAIN}")
    return _checked(found, path)


def _refuse_compressed(content: bytes, path: Path) -> None:
    """PyTorch stores tensors as they are; a compressed part may become far larger than its file."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return  # the older format, or no such file: the loader decides
    if any(part.compress_type != zipfile.ZIP_STORED or part.file_size > len(content) for part in parts):
        raise ModelFolderError(f"{path}: PyTorch does not write such a file: parts of it are compressed.")


def _checked(found: Mapping[Any, Any], path: Path) -> dict[str, Tensor]:
    """Plain tensors of floating-point numbers, each as large as it says."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in found.items():
        if isinstance(name, str) and name.endswith(_NOT_WEIGHTS):
            continue
        plain = isinstance(name, str) and isinstance(tensor, Tensor) and tensor.layout == torch.strided
        if not plain or tensor.is_quantized or tensor.dtype not in _FLOATS:
            raise ModelFolderError(f"{path}: {name!r} is not a tensor of floating-point numbers.\n  {_COPY_AGAIN}")
        if tensor.untyped_storage().nbytes() < tensor.numel() * tensor.element_size():
            raise ModelFolderError(f"{path}: {name} declares more numbers than the file contains.\n  {_COPY_AGAIN}")
        tensors[name] = tensor
    return tensors
