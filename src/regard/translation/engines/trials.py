"""What was found out about converted models on this machine, remembered in the cache for the next process.

A trial is a small file under the hash of all that it depends on: the conversion, the versions of the libraries that
computed, the processor, and the variables by which people steer CTranslate2. Where one of them changes, the trial
is made again.
"""

from __future__ import annotations

import json
import os
import platform
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from regard.caches import cache_folder
from regard.errors import SettingsError
from regard.files import new_file
from regard.settings import Settings
from regard.version import __version__

_FORMAT = 1
_LIBRARIES = ("ctranslate2", "numpy", "torch")
_STEERING = ("CT2_", "DNNL_", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_")  # which instructions compute
_CPU_INFO = Path("/proc/cpuinfo")
_TELLING = ("vendor_id", "model name", "model", "stepping", "flags", "cpu implementer", "cpu part", "features")


class Verdict(Settings):
    """How a converted model compares with the model that it was made of."""

    probes: int  # sentences of random tokens that both translated by greedy search
    equal: int  # of them, those with the same tokens

    @property
    def agrees(self) -> bool:
        """Whether every sentence came out the same, and there was one."""
        return self.equal == self.probes > 0

    @property
    def mostly_agrees(self) -> bool:
        """Whether most sentences came out the same: of random tokens, those in int8 differ where two are near."""
        return 2 * self.equal > self.probes


def remembered(conversion: str) -> Verdict | None:
    """The verdict on a conversion, by its key, if it was tried in the same surroundings."""
    path = _place(conversion)
    try:
        return Verdict.read(json.loads(path.read_bytes()), where=str(path))
    except (OSError, ValueError, SettingsError):
        return None


def remember(conversion: str, verdict: Verdict) -> None:
    """Stores the verdict; where the cache cannot be written, the next process tries again."""
    path = _place(conversion)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with new_file(path) as file:
            file.write(json.dumps(verdict.model_dump()).encode())


def processor() -> list[str]:
    """What tells processors apart that may compute differently."""
    known = [platform.system(), platform.machine(), platform.processor()]
    try:
        first = _CPU_INFO.read_text(encoding="utf-8", errors="replace").split("\n\n")[0]
    except OSError:
        return known
    fields = ((name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in first.splitlines()))
    return [*known, *(f"{name}: {value}" for name, value in fields if name.lower() in _TELLING)]


def _place(conversion: str) -> Path:
    steered = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(_STEERING))
    libraries = [_version(library) for library in _LIBRARIES]
    parts = (_FORMAT, __version__, conversion, libraries, processor(), steered)
    return cache_folder() / "trials" / f"{sha256(json.dumps(parts).encode()).hexdigest()[:32]}.json"


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
