"""Given translations, read by the model all at once (`forced.py`), which is loaded when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from regard.translation.engines.engine import Loaded

if TYPE_CHECKING:
    from torch import Tensor

    from regard.translation.forced import Forced, Pair


class Forcing:
    """The models of a Translator as readers of given translations. An engine may translate without loading them."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    @cached_property
    def _forced(self) -> Forced:
        from regard.translation.forced import Forced

        return Forced(self._loaded)

    def logprobs(self, pairs: Sequence[Pair]) -> list[list[float]]:
        """For each pair, the log-probability of each token of the target and of its end."""
        return self._forced.logprobs(pairs) if pairs else []

    def attention(self, pairs: Sequence[Pair]) -> list[Tensor]:
        """For each pair, how much each position of the decoder looked at each token of the source: [T + 1, S + 1]."""
        return self._forced.attention(pairs) if pairs else []

    def refuse_without_attention(self) -> None:
        """Raises an error where a model cannot align words."""
        from regard.translation.forced import aligning

        for model in self._loaded.models:
            aligning(model)
