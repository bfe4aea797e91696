"""How long a hypothesis may be, and how hypotheses of different lengths are compared (section 6.1).

A length counts the end, as in the authors' own implementation. A limit does not: it counts words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.search.request import Request
from regard.search.search_settings import SearchSettings

if TYPE_CHECKING:
    from torch import Tensor


def length_penalty(length: Tensor, alpha: float) -> Tensor:
    """((5 + length) / 6)^alpha, which never falls as a hypothesis grows; its score is its log-probability over this."""
    penalty: Tensor = ((5.0 + length) / 6.0) ** alpha
    return penalty


def limit(request: Request, settings: SearchSettings) -> int:
    """The most words that this sentence may have. The prefix and the minimum always fit."""
    most = int(settings.max_length_factor * request.source_length) + settings.max_length_offset
    if settings.max_length is not None:
        most = min(most, settings.max_length)
    return max(most, settings.min_length, len(request.prefix))
