"""The configurations that auto is held against: fixed in size, norm, vocabulary, rate and dropout.

All of them stop early, cool down and see as many tokens as auto does, so that the comparison is about the choice.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from regard.files import new_folder
from regard.text.inspection.statistics import SideStatistics
from regard.text.pairs import Languages
from regard.tokens import TokeniserSettings
from regard.tokens import train as train_tokenisers
from regard.training import choices
from regard.training.advice import Advice, Tables, advise

AUTO = "auto"


class Configuration(NamedTuple):
    """One point of the grid."""

    preset: str
    norm: str
    vocabulary: int
    peak_rate: float  # for batches of the preset's own size, as in choices.py
    dropout: float

    @property
    def name(self) -> str:
        return f"{self.preset}-{self.norm}-{self.vocabulary // 1000}k-{self.peak_rate:g}-d{self.dropout:g}"


GRID = (
    Configuration("tiny", "post", 8_000, 5e-3, 0.3),  # what auto was for small corpora
    Configuration("tiny", "pre", 4_000, 5e-3, 0.3),
    Configuration("tiny", "pre", 8_000, 5e-3, 0.3),
    Configuration("small", "pre", 2_000, 2e-3, 0.3),
    Configuration("small", "pre", 4_000, 2e-3, 0.3),
    Configuration("small", "pre", 8_000, 2e-3, 0.3),
    Configuration("small", "pre", 4_000, 2e-3, 0.1),
    Configuration("small", "post", 4_000, 1e-3, 0.3),
    Configuration("base", "pre", 8_000, 1e-3, 0.3),
)


def advice_for(place: Path, languages: Languages, *, fast: bool) -> Advice:
    """What auto chooses for a prepared corpus."""
    sides = SideStatistics(), SideStatistics()
    lines = [line.split("\t") for line in (place / "train.tsv").read_text("utf-8").split("\n") if line]
    for number, side in enumerate(sides):
        texts = [line[number] for line in lines]
        alphabet: dict[str, int] = {}
        for text in texts:
            for letter in text:
                alphabet[letter] = alphabet.get(letter, 0) + 1
        side.add(texts, alphabet)
    return advise(len(lines), source=sides[0], target=sides[1], languages=languages, fast=fast)


def shortened(advice: Advice, most: float) -> Advice:
    """The same for a training on at most so many tokens."""
    return advice._replace(steps=int(min(advice.steps, most / advice.batch_tokens)))


def tokeniser_of(configuration: Configuration | None, advice: Advice) -> TokeniserSettings:
    """The tokeniser of a configuration, or auto's where None; words that are spelt keep that of auto."""
    spelt = advice.tokeniser.kind != "subwords" or not advice.tokeniser.is_joint
    if configuration is None or spelt:
        return advice.tokeniser
    return TokeniserSettings(kind="subwords", vocabulary=configuration.vocabulary)


def key_of(settings: TokeniserSettings) -> str:
    """The name of a tokeniser's folder."""
    return sha256(json.dumps(settings.table(), sort_keys=True).encode()).hexdigest()[:16]


def write_tokeniser(place: Path, settings: TokeniserSettings) -> None:
    """Trains a tokeniser on the pairs of a prepared corpus, unless it is there."""
    folder = place / "tokenisers" / key_of(settings)
    if folder.exists():
        return
    lines = [line.split("\t") for line in (place / "train.tsv").read_text("utf-8").split("\n") if line]
    made = train_tokenisers([line[0] for line in lines], [line[1] for line in lines], settings)
    with new_folder(folder) as new:
        for name, content in made.files().items():
            (new / name).write_bytes(content)


def settings_of(configuration: Configuration | None, advice: Advice) -> list[str]:
    """The settings of a configuration, or of the advice where None, as `--set` takes them."""
    tables = _tables(configuration, advice) if configuration else advice.tables
    return [f"{table}.{key}={_toml(value)}" for table, values in tables.items() for key, value in values.items()]


def is_what_auto_does(configuration: Configuration, advice: Advice) -> bool:
    """Whether a run of this configuration would be the run of auto once more."""
    return configuration.preset == advice.preset and _tables(configuration, advice) == advice.tables


def _tables(configuration: Configuration, advice: Advice) -> Tables:
    """Early stopping, a cooldown and as many tokens as auto; the rest is the configuration's."""
    batch = choices.batch_tokens(configuration.preset, advice.tokens)
    steps = max(1_000, round(advice.steps * advice.batch_tokens / batch))
    tables = advice._replace(steps=steps, batch_tokens=batch).tables
    tables["model"] = {"norm": configuration.norm, "dropout": configuration.dropout}
    share = batch / choices.MANNERS[configuration.preset].batch_tokens
    tables["training"]["peak_rate"] = float(f"{configuration.peak_rate * share**0.5:.2g}")
    tables["tokeniser"] = tokeniser_of(configuration, advice).model_dump(mode="json", exclude_none=True)
    return tables


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(inner)}" for key, inner in value.items()) + "}"
    return json.dumps(value)
