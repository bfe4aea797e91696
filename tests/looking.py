"""A small translator with random weights, for tests that look inside."""

from pathlib import Path
from typing import Any

import torch
from click.testing import Result
from typer.testing import CliRunner

import regard
from regard import modelfolder
from regard.cli import _application
from regard.insight.attention import Attention
from regard.insight.look import look
from regard.models.transformer import TransformerSettings
from regard.tokens import Tokenisers, TokeniserSettings, train
from regard.translation.translator import Translator
from small import transformer

SOURCE = "The cat sat on the bed and licked himself clean."
TARGET = "Die Katze sitzt auf dem Bett und leckt sich sauber."
MORE = [
    ("Two dogs run through the grass.", "Zwei Hunde laufen durch das Gras."),
    ("A man in a blue shirt cleans a window.", "Ein Mann in einem blauen Hemd putzt ein Fenster."),
    ("The girl sings.", "Das Mädchen singt."),
    ("Where is the station, please?", "Wo ist bitte der Bahnhof?"),
]


def tokenisers(vocabulary: int = 400) -> Tokenisers:
    texts = [SOURCE, TARGET, *(text for pair in MORE for text in pair)] * 8
    settings = TokeniserSettings(kind="subwords", vocabulary=vocabulary, options={"algorithm": "bpe"})
    return train(texts, texts, settings)


def translator(folder: Path, **settings: Any) -> Translator:
    """A model folder with a random model in it, loaded."""
    both = tokenisers()
    sizes = {"source_vocabulary": both.source.size, "target_vocabulary": both.target.size}
    model = transformer(dtype=torch.float32, **(sizes | settings))
    known: dict[str, Any] = sizes | {
        "encoder_layers": 2, "decoder_layers": 2, "d_model": 16, "d_ff": 24, "heads": 4,
    } | settings  # fmt: skip
    modelfolder.save(
        folder,
        model,
        architecture="transformer",
        settings=TransformerSettings(**known),
        languages={"source": "en", "target": "de"},
        tokeniser=both.files(),
    )
    return regard.load(folder, device="cpu")


def base_model_and_sixty_words(times: int = 1) -> Attention:
    """The attention of the base model's 144 heads over sixty words, about four pieces for three words."""
    both = tokenisers(450)
    base = transformer(
        dtype=torch.float32, source_vocabulary=both.source.size, target_vocabulary=both.target.size,
        encoder_layers=6, decoder_layers=6, d_model=512, d_ff=64, heads=8,
    )  # fmt: skip
    source, target = (" ".join((side.split() * 6 * times)[: 60 * times]) for side in (SOURCE, TARGET))
    return look(base, both, source, target, device=torch.device("cpu"))


def command(*arguments: str) -> Result:
    """`regard look` within this process, which is faster; what a person can mend is in `exception`."""
    return CliRunner().invoke(_application(), ["look", *arguments])


def pairs_file(path: Path) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in [(SOURCE, TARGET), *MORE]), encoding="utf-8")
    return path
