"""What was found out on this machine, remembered in the cache for the next process: about converted models, and others.

A trial is a small file under the hash of all that it depends on: its key (a conversion's, for instance), the versions
of the libraries that computed, the processor, and the variables by which people steer oneDNN and CTranslate2. Where one
of them changes, the trial is made again.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from regard.caches import cache_folder
from regard.errors import SettingsError
from regard.files import new_file
from regard.settings import Settings
from regard.version import __version__

_FORMAT = 3
_LIBRARIES = ("ctranslate2", "numpy", "torch")
_STEERING = ("CT2_", "DNNL_", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_")  # which instructions compute
_CPU_INFO = Path("/proc/cpuinfo")
_TELLING = ("vendor_id", "model name", "model", "stepping", "flags", "cpu implementer", "cpu part", "features")


class Verdict(Settings):
    """How a converted model compares with the model that it was made of."""

    probes: int  # sentences of random tokens that both translated by greedy search
    equal: int  # of them, those with the same tokens
    begun: int  # those that begin with the same token
    border: int  # between lengths that int8 searches apart (company.py); 0 without one

    @property
    def agrees(self) -> bool:
        """Whether every sentence came out the same, and there was one."""
        return self.equal == self.probes > 0

    @property
    def mostly_agrees(self) -> bool:
        """Whether most sentences begin alike.

        Random tokens leave a model undecided, so that in int8 many sentences differ sooner or later. In a conversion
        that went wrong, they differ from the first token on.
        """
        return 4 * self.begun >= 3 * self.probes > 0


def remembered(conversion: str) -> Verdict | None:
    """The verdict on a conversion, by its key, if it was tried in the same surroundings."""
    try:
        return Verdict.read(recalled(conversion) or {}, where=conversion)
    except SettingsError:
        return None


def remember(conversion: str, verdict: Verdict) -> None:
    """Stores the verdict; where the cache cannot be written, the next process tries again."""
    note(conversion, verdict.model_dump())


def recalled(key: str) -> dict[str, Any] | None:
    """What was noted under a key in the same surroundings."""
    try:
        found = json.loads(_place(key).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def note(key: str, found: Mapping[str, Any]) -> None:
    """Stores what was found; where the cache cannot be written, the next process finds it again."""
    path = _place(key)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            file.write(json.dumps(found).encode())


def processor() -> list[str]:
    """What tells processors apart that may compute differently."""
    known = [platform.system(), platform.machine(), platform.processor()]
    try:
        first = _CPU_INFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return known
    fields = ((name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in first.splitlines()))
    return [*known, *(f"{name}: {value}" for name, value in fields if name.lower() in _TELLING)]


def _place(key: str) -> Path:
    steered = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_STEERING))
    libraries = [_version(library) for library in _LIBRARIES]
    parts = (_FORMAT, __version__, key, libraries, processor(), steered)
    return cache_folder() / "trials" / f"{sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
