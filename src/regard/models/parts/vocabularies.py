"""What settings of any model must say of their vocabularies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def vocabularies_fit(tied: str, source: int, target: int) -> None:
    """Refuses one matrix for two vocabularies of different sizes."""
    if tied in ("all", "source-target") and source != target:
        raise ValueError(
            f"tied_embeddings = {tied!r} is one matrix for source and target, but "
            f"source_vocabulary = {source} and target_vocabulary = {target}; "
            "use one vocabulary for both, or tied_embeddings = 'target-output'."
        )


def with_separate_vocabularies(model: Mapping[str, Any]) -> dict[str, Any]:
    """A table [model] for two vocabularies: of the matrices that "all" shares, target and output can still be one."""
    tied = model.get("tied_embeddings", "all")
    if tied == "source-target":
        raise ValueError(
            "tied_embeddings = 'source-target' is one matrix for both languages, but the tokeniser has "
            "two vocabularies; set tokeniser.joint = true, or tie 'target-output' or 'none'."
        )
    return {**model, "tied_embeddings": "target-output" if tied == "all" else tied}
