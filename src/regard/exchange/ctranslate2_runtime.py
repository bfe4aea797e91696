"""What is needed to run a model that was written for CTranslate2: the library, the names of tokens, the limits.

Nothing here needs PyTorch.
"""

from __future__ import annotations

from typing import Any

from regard.errors import SettingsError
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokeniser
from regard.tokens.tokeniser import SPECIAL

POSITIONS = 2048  # written for a model whose positions have no end; longer sentences are refused by CTranslate2


def library() -> Any:
    """The module ctranslate2."""
    try:
        import ctranslate2
    except ImportError:
        raise SettingsError(
            "This needs CTranslate2, which is not installed.\n  Install it with: pip install 'regard[fast]'"
        ) from None
    return ctranslate2


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
