"""How text becomes ids: what can be chosen, checked before anything is read."""

from __future__ import annotations

import re
from typing import Annotated, Any, Self

from pydantic import Field, field_validator, model_validator

from regard.errors import SettingsError
from regard.settings import Settings, nearest
from regard.text.normalisation import normalise
from regard.tokens.protected import PATTERNS
from regard.tokens.tokeniser import SPACE, SPECIAL, find_kind, kind_names

_RESERVED = re.compile("|".join((*SPECIAL, "<s>", "<0x[0-9A-F]{2}>")))  # pieces of its own, in a SentencePiece model
_Strings = Annotated[tuple[str, ...], Field(strict=False)]  # a list, as TOML and JSON have it, will do
_Options = dict[str, bool | int | float | str]


class TokeniserSettings(Settings):
    """How text becomes ids.

    One tokeniser serves both sides, unless `joint` is false or the target has its own kind, vocabulary or options.
    `vocabulary` is the largest number of ids, `sample` the largest number of lines that a tokeniser is trained on.
    `protected` strings and the strings that `patterns` find stay whole: see protection.py. `reversed` reads and writes
    texts from their ends: see reversal.py.
    """

    kind: str = "subwords"
    vocabulary: int = Field(default=32_000, ge=4, le=2**24)
    options: _Options = Field(default_factory=dict)
    joint: bool | None = None
    target_kind: str | None = None
    target_vocabulary: int | None = Field(default=None, ge=4, le=2**24)
    target_options: _Options | None = None
    reversed: bool = False
    sample: int = Field(default=200_000, ge=2)
    protected: _Strings = ()
    patterns: _Strings = ()
    patterns_limit: int = Field(default=200, ge=0)

    @field_validator("kind", "target_kind")
    @classmethod
    def _kind_exists(cls, kind: str | None) -> str | None:
        if kind is not None and kind not in kind_names():
            raise ValueError(f"there is no tokeniser called {kind!r}; {nearest(kind, kind_names())}")
        return kind

    @field_validator("patterns")
    @classmethod
    def _patterns_exist(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for name in patterns:
            if name not in PATTERNS:
                raise ValueError(f"there is no pattern called {name!r}; {nearest(name, list(PATTERNS))}")
        return patterns

    @field_validator("protected")
    @classmethod
    def _protected_are_pieces(cls, protected: tuple[str, ...]) -> tuple[str, ...]:
        for string in protected:
            if _RESERVED.fullmatch(string):
                raise ValueError(f"{string!r} cannot be protected; it is the name of a special token.")
            if not string or " " in string or SPACE in string or normalise(string) != string:
                raise ValueError(
                    f"{string!r} cannot be a token; it contains a space or is not in Unicode normal form NFC."
                )
        return protected

    @model_validator(mode="after")
    def _sides_agree(self) -> Self:
        target = ("target_kind", "target_vocabulary", "target_options")
        own = [name for name in target if getattr(self, name) is not None]
        if self.joint and own:
            raise ValueError(f"joint = true and {own[0]} exclude each other; leave one of them out.")
        for side in self.sides():
            try:
                find_kind(side.kind).Options.read(side.options, where=f"options of {side.kind}")
            except SettingsError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def is_joint(self) -> bool:
        """Whether one tokeniser serves both sides."""
        target = (self.target_kind, self.target_vocabulary, self.target_options)
        return all(value is None for value in target) if self.joint is None else self.joint

    def sides(self) -> tuple[Side, ...]:
        """What to train: one tokeniser if joint, else the source's and the target's."""
        source = Side(kind=self.kind, vocabulary=self.vocabulary, options=self.options)
        if self.is_joint:
            return (source,)
        kind = self.target_kind or self.kind
        inherited = self.options if kind == self.kind else {}
        options = inherited if self.target_options is None else self.target_options
        return source, Side(kind=kind, vocabulary=self.target_vocabulary or self.vocabulary, options=options)


class Side(Settings):
    """What one tokeniser is made of."""

    kind: str
    vocabulary: int
    options: dict[str, Any]
