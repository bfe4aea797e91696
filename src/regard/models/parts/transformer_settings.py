"""The choices of section 3, as settings. Every default is the paper's; the others fit models of other makers."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from regard.models.parts.vocabularies import vocabularies_fit
from regard.settings import Settings
from regard.vectors.shape import VectorShape


class StackSettings(Settings):
    """What every stack of Transformer layers needs to know; Table 3's columns under their own names."""

    d_model: PositiveInt = 512
    d_ff: PositiveInt = 2048
    heads: PositiveInt = 8  # h
    d_k: PositiveInt  # d_model / heads by default
    d_v: PositiveInt  # d_model / heads by default
    dropout: float = Field(default=0.1, ge=0, lt=1)

    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu", "gelu-tanh", "swish"] = "relu"
    positions: Literal["interleaved", "halves", "learned", "rotary"] = "interleaved"
    learned_positions: PositiveInt = 1024  # how many, where positions are learned
    rotary_base: float = Field(default=10_000, gt=1)  # a smaller base makes scores fall off over shorter distances
    attention_bias: bool = False
    output_bias: bool = False

    @model_validator(mode="before")
    @classmethod
    def _widths_of_a_head(cls, table: Any) -> Any:
        d_model, heads = table.get("d_model", 512), table.get("heads", 8)
        if {"d_k", "d_v"} <= table.keys() or not (isinstance(d_model, int) and isinstance(heads, int) and heads > 0):
            return table
        if d_model % heads:
            raise ValueError(f"heads = {heads} does not divide d_model = {d_model}; choose others, or set d_k and d_v.")
        return {"d_k": d_model // heads, "d_v": d_model // heads} | table

    @model_validator(mode="after")
    def _positions_fit(self) -> Self:
        if self.positions in ("interleaved", "halves") and self.d_model % 2:
            raise ValueError(f"d_model = {self.d_model} is odd; sinusoids come in pairs, so it must be even.")
        if self.positions == "rotary" and self.d_k % 2:
            raise ValueError(f"d_k = {self.d_k} is odd; rotary positions turn pairs of numbers, so it must be even.")
        return self


class TransformerSettings(StackSettings):
    """An encoder and a decoder, and how their embeddings are shared."""

    source_vocabulary: PositiveInt
    target_vocabulary: PositiveInt
    encoder_layers: PositiveInt = 6  # N
    decoder_layers: PositiveInt = 6  # N
    tied_embeddings: Literal["all", "target-output", "source-target", "none"] = "all"
    start: Literal["zero", "token"] = "zero"  # the decoder's input at the first position
    source_vectors: VectorShape | None = None  # a source of vectors, which a linear map reads in place of an embedding

    @model_validator(mode="after")
    def _vocabularies_fit(self) -> Self:
        vocabularies_fit(self.tied_embeddings, self.source_vocabulary, self.target_vocabulary)
        return self


SETTINGS = TransformerSettings


def longest_sentence(settings: StackSettings) -> int | None:
    """The most tokens of a sentence: only learned positions have a limit."""
    return settings.learned_positions if settings.positions == "learned" else None
