"""Models converted for CTranslate2: made once, kept in the cache, checked whenever they are read, compared with ours.

A conversion is a folder under the hash of all that it depends on. `conversion.json` in it has the hash of every other
file, and the verdict: how many sentences of random tokens came out the same as from our own model, in greedy search.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, cast

from regard.caches import cache_folder, make_writable
from regard.errors import SettingsError
from regard.exchange.ctranslate2 import QUANTIZATIONS, convert, library, positions_of
from regard.files import new_folder
from regard.modelfolder import WEIGHTS, ModelFolder
from regard.models.transformer import Transformer
from regard.search import SearchSettings
from regard.settings import Settings, nearest
from regard.tokens import Tokenisers
from regard.translation.engines.ctranslate2 import CTranslate2Engine
from regard.translation.engines.engine import Engine, Loaded, plain_requests
from regard.translation.engines.torch import TorchEngine

COMPUTE_TYPES = ("int8", "float32")

_FORMAT = 1  # of a conversion; one more makes all that are there useless
_DESCRIPTION = "conversion.json"
_PROBES = 32
_CHILD = """
import sys, ctranslate2
translator = ctranslate2.Translator(sys.argv[1], device="cpu", compute_type=sys.argv[2], intra_threads=1)
translator.translate_batch([["<unk>"] * 7], beam_size=2, max_decoding_length=3)
"""


class Verdict(Settings):
    """How a converted model compares with the model that it was made of."""

    probes: int  # sentences of random tokens that both translated by greedy search
    equal: int  # of them, those with the same tokens

    @property
    def agrees(self) -> bool:
        """Whether every sentence came out the same, and there was one."""
        return self.equal == self.probes > 0


class _Conversion(Settings):
    files: dict[str, str]  # name -> SHA-256
    verdict: Verdict


def opened(loaded: Loaded, *, compute_type: str) -> tuple[CTranslate2Engine, Verdict]:
    """The engine for what a Translator has loaded, with our own for what it cannot do, and how they compare."""
    if len(loaded.members) > 1:
        raise SettingsError("The engine CTranslate2 does not support ensembles.\n  Use engine = 'torch'.")
    if loaded.device.type != "cpu":
        raise SettingsError(
            f"The engine CTranslate2 runs on CPUs only, but the device is {loaded.device}.\n"
            "  Use device = 'cpu', or engine = 'torch'."
        )
    (member,) = loaded.members
    ours = TorchEngine(member.model, loaded.tokenisers, device=loaded.device, lock=loaded.lock)
    return build(member, loaded.tokenisers, fallback=ours, compute_type=compute_type)


def build(
    loaded: ModelFolder,
    tokenisers: Tokenisers,
    *,
    fallback: Engine,
    compute_type: str = "int8",
    threads: int | None = None,
) -> tuple[CTranslate2Engine, Verdict]:
    """The engine for a model that was read, and how it compares with `fallback`, which does what it cannot do."""
    if compute_type not in COMPUTE_TYPES:
        raise SettingsError(
            f"compute_type = {compute_type!r}: there is no such type; {nearest(compute_type, COMPUTE_TYPES)}"
        )
    assert set(COMPUTE_TYPES) <= set(QUANTIZATIONS)

    def engine(folder: Path) -> CTranslate2Engine:
        positions = positions_of(cast("Transformer", loaded.model))
        return CTranslate2Engine(
            folder,
            tokenisers,
            compute_type=compute_type,
            positions=positions,
            fallback=fallback,
            threads=threads,
        )

    folder = cache_folder() / "ctranslate2" / _key(loaded, tokenisers, compute_type)
    verdict = _read(folder)
    if verdict is not None:
        return engine(folder), verdict
    make_writable(folder.parent)
    with new_folder(folder) as new:
        convert(loaded, tokenisers, new, quantization=compute_type)
        _refuse_if_it_kills(new, compute_type)
        opened_once = engine(new)
        verdict = compare(opened_once, fallback, tokenisers)
        _describe(new, verdict)
    opened_once.folder = folder
    return opened_once, verdict


def compare(engine: CTranslate2Engine, other: Engine, tokenisers: Tokenisers) -> Verdict:
    """Lets both translate the same sentences of random tokens; those that CTranslate2 leaves to others do not count."""
    draw = Random(0)  # noqa: S311
    special = {tokenisers.source.begin, tokenisers.source.end}
    words = [token for token in range(tokenisers.source.size) if token not in special]
    sentences = [[draw.choice(words) for _ in range(draw.randint(1, 24))] for _ in range(_PROBES)]
    settings = SearchSettings(method="greedy", max_length=32, repetition_cycle=0)
    found = engine.attempt(sentences, settings, requests=plain_requests(sentences))
    expected = other.search(sentences, settings)
    equal = sum(found[n].hypotheses[0].ids == expected[n].hypotheses[0].ids for n in found)
    return Verdict(probes=len(found), equal=equal)


def _key(loaded: ModelFolder, tokenisers: Tokenisers, compute_type: str) -> str:
    """The hash of everything that a conversion depends on."""
    description = loaded.description
    parts: Sequence[Any] = (
        _FORMAT,
        library().__version__,
        compute_type,
        description.architecture,
        description.settings,
        description.files[WEIGHTS].sha256,
        tokenisers.hash,
    )
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _read(folder: Path) -> Verdict | None:
    """The verdict on a conversion that is there, whole and unchanged."""
    try:
        table = json.loads((folder / _DESCRIPTION).read_bytes())
        conversion = _Conversion.read(table, where=str(folder / _DESCRIPTION))
        whole = conversion.files == _hashes(folder)
    except (OSError, ValueError, SettingsError):
        return None
    return conversion.verdict if whole else None


def _describe(folder: Path, verdict: Verdict) -> None:
    conversion = _Conversion(files=_hashes(folder), verdict=verdict)
    (folder / _DESCRIPTION).write_text(json.dumps(conversion.model_dump(), indent=2) + "\n", encoding="utf-8")


def _hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir() if path.name != _DESCRIPTION}


def _refuse_if_it_kills(folder: Path, compute_type: str) -> None:
    """Translates in a process of its own, since an instruction that the processor lacks ends a process."""
    command = [sys.executable, "-c", _CHILD, str(folder), compute_type]
    told = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if told.returncode:
        why = told.stderr.strip().splitlines()[-1:] or [f"it exited with status {told.returncode}"]
        others = " or ".join(repr(other) for other in COMPUTE_TYPES if other != compute_type)
        raise SettingsError(
            f"CTranslate2 cannot compute with {compute_type} on this machine: {why[0]}.\n"
            f"  Use compute_type = {others}, or engine = 'torch'."
        )
