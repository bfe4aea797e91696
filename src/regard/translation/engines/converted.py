"""Models converted for CTranslate2: made once, kept in the cache, checked whenever they are read, compared with ours.

A conversion is a folder under the hash of all that it depends on. `conversion.json` in it has the hash of every other
file. A trial on this machine (`trials.py`) has the verdict: how many sentences of random tokens came out the same as
from our own model, in greedy search. Where both are there, nothing here needs PyTorch or our own model.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from regard.caches import cache_folder, make_writable
from regard.errors import SettingsError
from regard.exchange.ctranslate2_runtime import library, positions_of
from regard.files import new_folder
from regard.modelfolder import WEIGHTS, Readable
from regard.models.parts.transformer_settings import TransformerSettings
from regard.search import SearchSettings
from regard.settings import Settings, nearest
from regard.tokens import Tokenisers
from regard.translation.engines import trials
from regard.translation.engines.company import border
from regard.translation.engines.ctranslate2 import CTranslate2Engine
from regard.translation.engines.engine import Engine, Loaded, plain_requests
from regard.translation.engines.trials import Verdict

COMPUTE_TYPES = ("int8", "float32")

_FORMAT = 2  # of a conversion; one more makes all that are there useless
_DESCRIPTION = "conversion.json"
_PROBES = 32
_CHILD = """
import sys, ctranslate2
translator = ctranslate2.Translator(sys.argv[1], device="cpu", compute_type=sys.argv[2], intra_threads=1)
translator.translate_batch([["<unk>"] * 7], beam_size=2, max_decoding_length=3)
"""


class _Conversion(Settings):
    files: dict[str, str]  # name -> SHA-256


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

    def ours() -> Engine:
        from regard.translation.engines.torch import on_a_cpu

        return on_a_cpu(loaded)

    return build(member, loaded.tokenisers, fallback=ours, compute_type=compute_type)


def build(
    loaded: Readable,
    tokenisers: Tokenisers,
    *,
    fallback: Callable[[], Engine],
    compute_type: str = "int8",
    threads: int | None = None,
) -> tuple[CTranslate2Engine, Verdict]:
    """The engine for a model, and how it compares with `fallback`, which does what it cannot do."""
    if compute_type not in COMPUTE_TYPES:
        raise SettingsError(
            f"compute_type = {compute_type!r}: there is no such type; {nearest(compute_type, COMPUTE_TYPES)}"
        )
    key = _key(loaded, tokenisers, compute_type)
    folder = cache_folder() / "ctranslate2" / key
    whole = _is_whole(folder)
    verdict = trials.remembered(key) if whole else None
    if not whole:
        _make(folder, loaded, tokenisers, compute_type)
    elif verdict is None:  # it was tried elsewhere
        _refuse_if_it_kills(folder, compute_type)
    settings = TransformerSettings.read(loaded.description.settings, where="model")
    engine = CTranslate2Engine(
        folder,
        tokenisers,
        compute_type=compute_type,
        positions=positions_of(settings),
        fallback=fallback,
        threads=threads,
    )
    if verdict is None:
        verdict = compare(engine, engine.fallback, tokenisers)
        trials.remember(key, verdict)
    engine.border = verdict.border
    return engine, verdict


def _make(folder: Path, loaded: Readable, tokenisers: Tokenisers, compute_type: str) -> None:
    """Converts the model and tries the conversion in another process; nothing stays of one that fails."""
    from regard.exchange.ctranslate2 import convert

    make_writable(folder.parent)
    with new_folder(folder) as new:
        convert(loaded, tokenisers, new, quantization=compute_type)
        _refuse_if_it_kills(new, compute_type)
        conversion = _Conversion(files=_hashes(new))
        (new / _DESCRIPTION).write_text(json.dumps(conversion.model_dump(), indent=2) + "\n", encoding="utf-8")


def compare(engine: CTranslate2Engine, other: Engine, tokenisers: Tokenisers) -> Verdict:
    """Lets both translate the same sentences of random tokens; those that CTranslate2 leaves to others do not count.

    In int8, also finds out which lengths may be searched side by side.
    """
    draw = Random(0)  # noqa: S311
    special = {tokenisers.source.begin, tokenisers.source.end}
    words = [token for token in range(tokenisers.source.size) if token not in special]
    sentences = [[draw.choice(words) for _ in range(draw.randint(1, 24))] for _ in range(_PROBES)]
    settings = SearchSettings(method="greedy", max_length=32, repetition_cycle=0)
    found = engine.attempt(sentences, settings, requests=plain_requests(sentences))
    expected = other.search(sentences, settings)
    pairs = [(found[n].hypotheses[0].ids, expected[n].hypotheses[0].ids) for n in found]
    return Verdict(
        probes=len(pairs),
        equal=sum(one == other for one, other in pairs),
        begun=sum(one[:1] == other[:1] for one, other in pairs),
        border=border(engine.scores, words, longest=engine.positions) if engine.compute_type == "int8" else 0,
    )


def _key(loaded: Readable, tokenisers: Tokenisers, compute_type: str) -> str:
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


def _is_whole(folder: Path) -> bool:
    """Whether a conversion is there, with every file unchanged."""
    try:
        table = json.loads((folder / _DESCRIPTION).read_bytes())
        return _Conversion.read(table, where=str(folder / _DESCRIPTION)).files == _hashes(folder)
    except (OSError, ValueError, SettingsError):
        return False


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
