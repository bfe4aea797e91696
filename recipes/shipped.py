"""The data of the shipped models, English and German: split once, by the text itself: always the same.

    REGARD_DATA=folder python recipes/shipped.py split data
    REGARD_DATA=data regard train --recipe recipes/shipped-en-de.toml --out runs/en-de
    REGARD_DATA=data python recipes/shipped.py pack runs/en-de src/regard/shipped/en-de

`split` reads tatoeba, libreoffice-help, software-catalogs and newstest2013 from the folder and writes to `data`:

    en-de.train.tsv.gz                      what the models are trained on
    en-de.valid.tsv.gz                      Tatoeba's validation split, and 500 lines of each other source
    tatoeba.en-de.test.tsv.gz               Tatoeba's test split
    libreoffice-help.en-de.test.tsv.gz      1,000 lines
    software-catalogs.en-de.test.tsv.gz     1,000 lines
    newstest2013.en-de.test.tsv.gz          news, which is in none of the training data: for honesty
    spyder.en-de.{train,valid,test}.tsv.gz  the strings of one program, Spyder, in no other file: for adapting

Lines are held out by the SHA-256 of their English side, the lowest first, one translation of each. Nothing is trained
on whose English or German side, letter case aside, is in a validation or test file. `pack` scores a trained model on
the test sets, packs it to a byte a weight, and writes its card.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from regard.files import write

Pair = tuple[str, str]  # English, German

HELD_OUT = "spyder-"  # the package whose strings are kept for adapting
TEST, VALID = 1_000, 500
ADAPT_TEST, ADAPT_VALID = 400, 100
TESTS = ("tatoeba", "libreoffice-help", "software-catalogs", "newstest2013")
LARGEST = 20_000_000  # bytes of one packed model: two are to be at most 40 MB

DATA = """\
| what | where it is from | licence |
| --- | --- | --- |
| everyday sentences | Tatoeba (tatoeba.org) by way of www.manythings.org/anki, 2018-05-13 | CC BY 2.0 FR |
| the help of LibreOffice 7.4.7 | LibreOffice contributors, from Debian's libreoffice-help packages | MPL-2.0 |
| messages of Home Assistant, Apache Superset | their contributors, from wheels on PyPI | Apache-2.0 |
| messages of Indico | CERN and its contributors, from its wheel on PyPI | MIT |
| messages of Django, django CMS, Wagtail, Trac, JupyterLab, Sphinx | their contributors, from wheels on PyPI | BSD |

No sentence of theirs is in this folder; the weights were computed from them. The messages of Spyder were held out.
"""
LIMITS = """\
- It knows everyday sentences and the language of software. News, law, medicine and literature it does not know: the
  score on news above says how far that goes.
- It translates every line by itself, and never saw one of more than a paragraph.
- Some sentences of Tatoeba were written by learners, and its translations are free at times; so are the model's.
- A fluent translation can be wrong: names, numbers and negations deserve a second look.
- Errors and prejudices in the data are likely to be in the translations. They were not looked for.
"""


class Split(NamedTuple):
    """Pairs that are held out, and the others."""

    test: list[Pair]
    valid: list[Pair]
    train: list[Pair]


def main(arguments: list[str]) -> None:
    """Splits the data, or packs a model."""
    parser = argparse.ArgumentParser(description="The data of the shipped models, and their packing.")
    commands = parser.add_subparsers(required=True, dest="command")
    split = commands.add_parser("split", help="write the splits to a new folder")
    split.add_argument("out", type=Path)
    pack = commands.add_parser("pack", help="score a trained model, pack it and write its card")
    pack.add_argument("model", type=Path)
    pack.add_argument("out", type=Path)
    pack.add_argument("--tried", type=Path, help="Markdown for the card: what was tried")
    pack.add_argument("--stored-as", default="int8")
    pack.add_argument("--device")
    given = parser.parse_args(arguments)
    folder = Path(os.environ.get("REGARD_DATA", ""))
    if given.command == "split":
        for name, count in write_splits(folder, given.out).items():
            print(f"{count:>9,}  {given.out / name}")
    else:
        tried = given.tried.read_text(encoding="utf-8") if given.tried else ""
        write_packed(given.model, given.out, folder, tried=tried, stored_as=given.stored_as, device=given.device)


def write_splits(folder: Path, out: Path) -> dict[str, int]:
    """Writes every file; their names and how many pairs each has."""
    files = _files(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name, pairs in files.items():
        text = "".join(f"{english}\t{german}\n" for english, german in pairs)
        write(out / name, gzip.compress(text.encode(), mtime=0))  # the same bytes whenever they are written
    return {name: len(pairs) for name, pairs in files.items()}


def _files(folder: Path) -> dict[str, list[Pair]]:
    tatoeba = {part: _pairs(folder / f"tatoeba/en-de.{part}.tsv.gz") for part in ("train", "valid", "test")}
    messages = [line.split("\t") for line in _lines(folder / "software-catalogs/en-de.tsv.gz")]
    program = [(cells[2], cells[3]) for cells in messages if cells[0].startswith(HELD_OUT)]
    others = [(cells[2], cells[3]) for cells in messages if not cells[0].startswith(HELD_OUT)]
    manual = held_out(_pairs(folder / "libreoffice-help/en-de.tsv.gz"), test=TEST, valid=VALID)
    catalogs = held_out(others, test=TEST, valid=VALID)
    adapting = held_out(program, test=ADAPT_TEST, valid=ADAPT_VALID)
    news = [_lines(folder / f"newstest2013/de-en.{side}.gz") for side in ("en", "de")]
    valid = [*tatoeba["valid"], *manual.valid, *catalogs.valid]
    tests = [*tatoeba["test"], *manual.test, *catalogs.test, *adapting.test, *adapting.valid]
    train = without([*tatoeba["train"], *manual.train, *catalogs.train], [*tests, *valid])
    return {
        "en-de.train.tsv.gz": train,
        "en-de.valid.tsv.gz": valid,
        "tatoeba.en-de.test.tsv.gz": tatoeba["test"],
        "libreoffice-help.en-de.test.tsv.gz": manual.test,
        "software-catalogs.en-de.test.tsv.gz": catalogs.test,
        "newstest2013.en-de.test.tsv.gz": list(zip(*news, strict=True)),
        "spyder.en-de.train.tsv.gz": without(adapting.train, [*adapting.test, *adapting.valid]),
        "spyder.en-de.valid.tsv.gz": adapting.valid,
        "spyder.en-de.test.tsv.gz": adapting.test,
    }


def held_out(pairs: list[Pair], *, test: int, valid: int) -> Split:
    """The pairs whose English has the lowest hashes, the first translation of each; then those of the next lowest."""
    first: dict[str, Pair] = {}
    for pair in pairs:
        first.setdefault(pair[0], pair)
    chosen = sorted(first.values(), key=lambda pair: sha256(pair[0].encode()).digest())
    kept_out = {english for english, _ in chosen[: test + valid]}
    return Split(chosen[:test], chosen[test : test + valid], [pair for pair in pairs if pair[0] not in kept_out])


def without(pairs: Iterable[Pair], others: Iterable[Pair]) -> list[Pair]:
    """The pairs that share neither side with any of the others."""
    english, german = (set(map(str.casefold, side)) for side in zip(*others, strict=True))
    return [pair for pair in pairs if pair[0].casefold() not in english and pair[1].casefold() not in german]


def write_packed(
    model: Path, out: Path, data: Path, *, tried: str, stored_as: str, device: str | None
) -> dict[str, dict[str, float]]:
    """Packs a trained model, scores what was packed, and writes both into `out`; the scores by test set and metric."""
    from regard import modelfolder, models
    from regard.exchange import export

    export(model, out, to="regard", quantization=stored_as)
    scores, signatures = _scores(out, data, device=device)
    loaded = modelfolder.load(model)  # what was scored is packed again, to the same bytes, with its scores and its card
    described = loaded.description
    modelfolder.save(
        out,
        loaded.model,
        architecture=described.architecture,
        settings=models.architecture(described.architecture).settings.read(described.settings, where=str(out)),
        languages=described.languages,
        training=_without_folder(described.training),
        scores={**scores, "signatures": signatures},
        tokeniser=loaded.tokeniser,
        card=_card(out.name, loaded, scores, signatures, tried=tried, stored_as=stored_as),
        stored_as=stored_as,
    )
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {size:,} bytes")
    if size > LARGEST:
        sys.exit(f"{out}: this is more than {LARGEST:,} bytes.")
    return scores


def _without_folder(training: dict[str, Any]) -> dict[str, Any]:
    """The same, with the names of files alone: their folders on one machine are of no use elsewhere."""
    folder = str(Path(training["recipe"]["data"]["files"][0]).parent)
    cleaned: dict[str, Any] = json.loads(json.dumps(training).replace(json.dumps(f"{folder}/")[1:-1], ""))
    return cleaned


def _scores(model: Path, data: Path, *, device: str | None) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """BLEU and chrF on every test set, as `regard evaluate` computes them."""
    from regard.evaluation.evaluate import evaluate
    from regard.evaluation.reading import read_test
    from regard.text.pairs import Languages
    from regard.translation.translator import load

    translator = load(model, device=device, engine="torch")
    languages = Languages(translator.languages["source"], translator.languages["target"])
    scores: dict[str, dict[str, float]] = {}
    signatures: dict[str, str] = {}
    for name in TESTS:
        held_out = read_test(data / f"{name}.en-de.test.tsv.gz", languages)
        found = evaluate(translator, held_out, metrics=["bleu", "chrf"], perplexity=False)
        scores[name] = {score.metric: round(score.value, 2) for score in found.scores}
        signatures |= {score.metric: score.signature for score in found.scores}
        print(name, scores[name])
    return scores, signatures


def _card(
    name: str,
    loaded: Any,
    scores: dict[str, dict[str, float]],
    signatures: dict[str, str],
    *,
    tried: str,
    stored_as: str,
) -> str:
    source, target = ({"en": "English", "de": "German"}[loaded.description.languages[s]] for s in ("source", "target"))
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    steps = loaded.description.training["steps"]
    rows = "\n".join(f"| {test} | {found['bleu']:.1f} | {found['chrf']:.1f} |" for test, found in scores.items())
    signed = "\n".join(f"- {metric}: `{signature}`" for metric, signature in signatures.items())
    what = (
        f"Translates {source} to {target}: everyday sentences, and the language of software. A Transformer with "
        f"{parameters / 1e6:.1f} million parameters, stored as {stored_as}. It comes with Regard."
    )
    printed = (
        f"Beam 4, length penalty 0.6. `regard evaluate {name} --test FILE --engine torch` prints them; "
        "`recipes/shipped.py split` writes the files."
    )
    made = (
        f"REGARD_DATA=data regard train --recipe recipes/shipped-{name}.toml --out runs/{name}\n"
        f"REGARD_DATA=data python recipes/shipped.py pack runs/{name} src/regard/shipped/{name}"
    )
    parts = [
        f"# {name}\n\n{what}",
        f'## Use\n\n```sh\necho "A sentence." | regard translate {name}\n```',
        f"## Scores\n\n| test set | BLEU | chrF |\n| --- | --- | --- |\n{rows}\n\n{signed}\n\n{printed}",
        f"## Data\n\n{DATA}",
        f"## Training\n\n```sh\n{made}\n```\n\n{steps:,} steps. All settings are in regard.json.",
        *([f"## What was tried\n\n{tried.strip()}"] if tried.strip() else []),
        f"## Limits\n\n{LIMITS}",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _pairs(path: Path) -> list[Pair]:
    return [(english, german) for english, german in (line.split("\t") for line in _lines(path))]


def _lines(path: Path) -> Iterator[str]:
    if not path.is_file():
        sys.exit(f"{path}: there is no such file. Set REGARD_DATA to the folder with the data.")
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)


if __name__ == "__main__":
    main(sys.argv[1:])
