"""What is needed to run a model that was written for CTranslate2: the library, the names of tokens, the limits.

Nothing here needs PyTorch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from regard.errors import SettingsError
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokeniser
from regard.tokens.tokeniser import SPECIAL

POSITIONS = 2048  # written for a model whose positions have no end; longer sentences are refused by CTranslate2


_INSTRUCTIONS = "CT2_FORCE_CPU_ISA"  # by which people tell CTranslate2 which instructions to use
_AVX512 = frozenset({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
_CPU_INFO = Path("/proc/cpuinfo")


def library() -> Any:
    """The module ctranslate2."""
    if _INSTRUCTIONS not in os.environ and has_avx512(_CPU_INFO):
        os.environ[_INSTRUCTIONS] = "AVX512"  # by itself, it uses them on processors of Intel only
    try:
        import ctranslate2
    except ImportError:
        raise SettingsError(
            "This needs CTranslate2, which is not installed.\n  Install it with: pip install 'regard[fast]'"
        ) from None
    return ctranslate2


def has_avx512(cpu_info: Path) -> bool:
    """Whether the processor has the AVX-512 instructions that CTranslate2 knows, as Linux tells in this file."""
    try:
        lines = cpu_info.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    return set(flags) >= _AVX512


def tokens(tokeniser: Tokeniser) -> list[str]:
    """[id] a different string for each id: its piece, and its number where another id shows the same."""
    special = dict(zip((tokeniser.begin, tokeniser.end, tokeniser.unknown), SPECIAL, strict=True))
    pieces = tokeniser.pieces(list(range(tokeniser.size)))
    taken, names = set(SPECIAL), []
    for number, piece in enumerate(pieces):
        name = special.get(number, piece if piece not in taken else f"{piece}<{number}>")
        taken.add(name)
        names.append(name)
    assert len(set(names)) == len(names)
    return names


def positions_of(settings: TransformerSettings) -> int:
    """How many positions a converted model has."""
    return settings.learned_positions if settings.positions == "learned" else POSITIONS
