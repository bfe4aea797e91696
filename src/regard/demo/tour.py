"""What the demonstration does: a model trained on dates, tested on others, and looked into. `cli/demo.py` shows it.

Shapes: H heads, T characters that were said, S characters of the source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from regard import shipped
from regard.demo import dates
from regard.demo.dates import Written
from regard.errors import SettingsError
from regard.files import write
from regard.insight.attention import Attention
from regard.insight.attention_page import First, write_page
from regard.models.parts.observation import Head
from regard.training.events import View
from regard.training.train import train
from regard.training.training_settings import TrainingSettings
from regard.translation.translator import Translator, load

STEPS = 1_800
PAIRS = 108_000
TESTED = 1_000
SOLVED = 0.98  # the least share of the tested dates that must be right
LOOKED_AT = 0.5  # the least share of a head's attention, when it writes the month, that must lie on the month's name
MONTH = slice(5, 7)  # of 2024-03-05

_SEED = 1
_VALIDATED = 200
_SEEN = 100  # dates by which the head is chosen
_SETTINGS = (
    "tokeniser.kind=characters",
    "tokeniser.vocabulary=1000",
    "tokeniser.options={minimum=1}",
    "cleaning.max_ratio=100.0",
    "cleaning.drop_copies=false",  # a date can be written as it is meant
    "model.encoder_layers=1",  # reading is easy; to copy digits in their order takes a decoder of three layers
    "model.decoder_layers=3",
    "model.d_model=128",
    "model.d_ff=256",
    "model.heads=8",
    "model.d_k=16",
    "model.d_v=16",
    "model.norm=pre",
    "model.dropout=0.0",  # every date is new to it
    "training.batch_tokens=1024",
    "training.row_lengths=[64]",
    "training.schedule=constant",
    "training.warmup=100",
    "training.peak_rate=2e-3",
    "training.cooldown=0.5",
    "training.gradient_clip=1.0",
    "training.label_smoothing=0.0",
    "training.averaged_checkpoints=1",
    "validation.every=250",
    "validation.translate_every=1000",
    "validation.translated_pairs=1",
)

EXAMPLES = {
    "en-de": (
        ("Where is the station?", ("Bahnhof",)),
        ("I have no time today.", ("Zeit", "heute")),
        ("Save the file under another name.", ("Datei",)),
    ),
    "de-en": (
        ("Wo ist der Bahnhof?", ("station",)),
        ("Ich habe heute keine Zeit.", ("time", "today")),
        ("Speichern Sie die Datei unter einem anderen Namen.", ("file",)),
    ),
}

Watch = Callable[[TrainingSettings], AbstractContextManager[View]]


class Translated(NamedTuple):
    """A sentence that a shipped model translated, and the words that had to be in it and are not."""

    model: str
    source: str
    text: str
    missing: tuple[str, ...]


class Solved(NamedTuple):
    """The tested dates, and what the model said."""

    tested: Sequence[Written]
    said: Sequence[str]

    @property
    def right(self) -> int:
        """How many are right."""
        return sum(one.iso == said for one, said in zip(self.tested, self.said, strict=True))

    @property
    def share(self) -> float:
        """The same, from 0 to 1."""
        return self.right / len(self.tested)


class Seen(NamedTuple):
    """Where the month's digits look: the head that does it best, and its share on the month's name."""

    head: Head
    share: float  # over many dates
    here: float  # in the date of the page
    page: Path
    size: int  # in bytes


def translate_examples() -> list[Translated]:
    """What the shipped models make of a few sentences; nothing, where none is shipped."""
    found = []
    for name in filter(EXAMPLES.__contains__, shipped.names()):
        translator = load(shipped.PLACE / name, device="cpu", engine="torch")
        for source, words in EXAMPLES[name]:
            text = translator.translate(source).text
            missing = tuple(word for word in words if word.lower() not in text.lower())
            found.append(Translated(name, source, text, missing))
    return found


def train_on_dates(folder: Path, *, steps: int, view: Watch | None = None) -> Translator:
    """Writes the dates into files in `folder`, and trains a model on them, by the same call as any user."""
    _write(folder / "train.tsv", dates.for_training(PAIRS, seed=_SEED))
    _write(folder / "valid.tsv", dates.for_testing(_VALIDATED, seed=_SEED + 1))
    _write(folder / "test.tsv", dates.for_testing(TESTED, seed=_SEED))
    finished = train(
        folder / "train.tsv",
        valid=folder / "valid.tsv",
        source="dates",
        target="iso",
        out=folder / "model",
        preset="tiny",
        settings=_SETTINGS,
        steps=steps,
        checkpoint_every=steps,
        seed=_SEED,
        device="cpu",  # the same everywhere
        view=view,
    )
    assert finished, "nothing stops this run"
    return load(folder / "model", device="cpu", engine="torch")


def solve(translator: Translator) -> Solved:
    """What the model makes of dates in years and formats that it has never seen."""
    tested = dates.for_testing(TESTED, seed=_SEED)
    return Solved(tested, [found.text for found in translator.translate([one.text for one in tested], beam_size=1)])


def look_at_the_month(translator: Translator, shown: Written, page: Path) -> Seen:
    """Finds the head that looks at the month's name when it writes the month, and writes a page of the date `shown`."""
    named = [one for one in dates.for_testing(2 * _SEEN, seed=_SEED + 2) if one.month][:_SEEN]
    shares = [_shares(translator.look(one.text, one.iso), one) for one in named]
    heads = list(shares[0])
    means = {head: sum(share[head] for share in shares) / len(shares) for head in heads}
    best = max(heads, key=means.__getitem__)
    seen = translator.look(shown.text)
    size = write_page(page, seen, first=First(best, MONTH.stop - 1))
    return Seen(best, means[best], _shares(seen, shown)[best], page, size)


def new_folder(wanted: Path | None) -> Path:
    """The folder that was asked for, if nothing is there; without a wish, the first free one of regard-demo, -2, ..."""
    if wanted is None:
        numbered = (Path("regard-demo" if number == 1 else f"regard-demo-{number}") for number in range(1, 10_000))
        wanted = next(folder for folder in numbered if not folder.exists())
    elif wanted.exists():
        raise SettingsError(
            f"{wanted}: this path already exists.\n  The demo overwrites nothing: choose a new folder with --out."
        )
    wanted.mkdir(parents=True)
    return wanted


def _shares(seen: Attention, one: Written) -> dict[Head, float]:
    """For each head: how much of its attention is on the month's name, while it says the two digits of the month."""
    start = one.text.index(one.month)
    name = slice(start, start + len(one.month))
    return {
        Head(attention.kind, attention.layer, number): float(head[MONTH, name].sum(-1).mean())
        for attention, lookup in seen.lookups.items()
        if attention.kind == "decoder-source"
        for number, head in enumerate(lookup.weights)  # [T, S] each
    }


def _write(path: Path, pairs: Sequence[Written]) -> None:
    write(path, "".join(f"{one.text}\t{one.iso}\n" for one in pairs))
