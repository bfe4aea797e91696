"""What the API of our own takes and gives: checked on the way in, documented at /v1/docs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_Head = tuple[Literal["encoder", "decoder", "cross", "decoder-source"], int, int]
_MOST_BEAM = 64


class _Given(BaseModel):
    """The body of a request: no unknown field slips through."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Languages(_Given):
    """Which model translates."""

    source: str = Field(default="auto", description="Code of the source language, or auto.")
    target: str = Field(default="", description="Code of the target language.")
    model: str | None = Field(default=None, description="Name of a model; its languages need not be given then.")
    api_key: str = Field(default="", description="API key; Authorization: Bearer KEY does as well.")

    @model_validator(mode="after")
    def _names_a_model(self) -> Self:
        if not self.target and not self.model:
            raise ValueError("target: give the language to translate into, or a model")
        return self


class Search(_Given):
    """How translations are searched: the options of a Translator."""

    method: Literal["beam", "greedy", "sampling"] = "beam"
    beam_size: int | None = Field(default=None, ge=1, le=_MOST_BEAM, description="Default: 4, or n_best if larger.")
    n_best: int = Field(default=1, ge=1, le=_MOST_BEAM, description="How many translations of each text.")
    length_penalty: float | None = Field(default=None, ge=0, le=10, description="Default: the model's.")
    max_length: int | None = Field(default=None, ge=1, le=1024, description="Most tokens of a translation.")
    min_length: int = Field(default=0, ge=0, le=1024)
    temperature: float = Field(default=1.0, gt=0, le=100, description="With method sampling.")
    top_k: int | None = Field(default=None, ge=1)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**63)


class TranslationRequest(Languages, Search):
    """Texts, and how they are translated."""

    text: str | Annotated[list[str], Field(min_length=1)] = Field(description="A text, or a list of texts.")
    format: Literal["text", "html"] = "text"
    alignment: bool = Field(default=False, description="Link the words of source and translation.")
    logprobs: bool = Field(default=False, description="The log-probability of each token.")
    glossary: list[tuple[str, str]] = Field(default=[], max_length=10_000, description="Pairs of phrases.")
    prefix: str = Field(default="", description="Each translation begins with this.")
    disabled_heads: list[_Head] = Field(
        default=[], max_length=1000, description="Attention heads to switch off: kind, layer, head, from 0."
    )


class StreamRequest(Languages, Search):
    """A long text, translated part by part."""

    text: str
    glossary: list[tuple[str, str]] = Field(default=[], max_length=10_000)


class AlternativeAnswer(BaseModel):
    """One of the n best translations."""

    text: str
    score: float


class FindingAnswer(BaseModel):
    """What a check found in a translation."""

    check: str = Field(description="The name of the check, such as numbers or length.")
    detail: str


class TranslationAnswer(BaseModel):
    """The translation of one text."""

    text: str
    language: str = Field(description="The source language, detected or given.")
    language_confidence: float = Field(description="How sure the detection is, in percent.")
    model: str | None = Field(description="None where the text was left as it is.")
    score: float | None = Field(description="Log-probability over the length penalty.")
    confidence: float | None
    alternatives: list[AlternativeAnswer] = Field(description="The n best, the best first; empty for n_best 1.")
    alignment: list[tuple[int, int, int, int]] = Field(
        description="Characters of linked words: source start and end, target start and end."
    )
    tokens: list[str]
    logprobs: list[float]
    findings: list[FindingAnswer] = Field(description="What the checks of the translation found.")


class TranslationAnswers(BaseModel):
    """One for each text, in order."""

    translations: list[TranslationAnswer]


class ScoreRequest(Languages):
    """Given translations, to be scored."""

    text: list[str] = Field(min_length=1, description="Sources.")
    translation: list[str] = Field(min_length=1, description="One translation for each source.")


class ScoreAnswer(BaseModel):
    """How likely a model finds a translation."""

    total: float
    tokens: list[str]
    logprobs: list[float]


class ScoreAnswers(BaseModel):
    """One for each pair, in order."""

    model: str
    scores: list[ScoreAnswer]


class AttentionRequest(Languages):
    """One sentence, and which heads are switched off."""

    text: str = Field(min_length=1, max_length=2000)
    translation: str | None = Field(default=None, description="Scored instead of the model's own.")
    disabled_heads: list[_Head] = Field(default=[], max_length=1000)


class AttentionAnswer(BaseModel):
    """Every attention weight of a sentence; `kinds` holds [layer][head][query][key]."""

    model: str
    translation: str
    source_tokens: list[str]
    target_tokens: list[str]
    read_tokens: list[str] = Field(description="Keys of the decoder's self-attention: the start, then the target.")
    source_words: list[int] = Field(description="For each source token the number of its word.")
    target_words: list[int]
    logprobs: list[float]
    kinds: dict[str, list[list[list[list[float]]]]]
    alignment: list[tuple[int, int, float]] = Field(description="Target word, source word, weight.")


class ModelAnswer(BaseModel):
    """A model that is served."""

    name: str
    source: str
    target: str
    card: str = Field(description="Address of its card.")
    engine: str
    attention: bool = Field(description="Whether its attention can be shown.")


class ModelAnswers(BaseModel):
    """All models."""

    models: list[ModelAnswer]
