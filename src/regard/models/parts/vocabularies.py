"""What settings of any model must say of their vocabularies."""

from __future__ import annotations


def vocabularies_fit(tied: str, source: int, target: int) -> None:
    """Refuses one matrix for two vocabularies of different sizes."""
    if tied in ("all", "source-target") and source != target:
        raise ValueError(
            f"tied_embeddings = {tied!r} is one matrix for source and target, but "
            f"source_vocabulary = {source} and target_vocabulary = {target}; "
            "use one vocabulary for both, or tied_embeddings = 'target-output'."
        )
