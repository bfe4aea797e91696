"""Packs a trained English-German model for the box: scores, a byte a weight, calibrated confidence, a card.

    REGARD_DATA=folder python recipes/corpus_en_de.py data
    REGARD_DATA=data regard train --recipe recipes/shipped-en-de.toml --out runs/en-de
    REGARD_DATA=data python recipes/shipped.py runs/en-de src/regard/shipped/en-de --notes recipes/shipped-en-de.md

The model is packed to a byte a weight, and what was packed is scored on all test sets of recipes/corpus_en_de.py, on a
processor, by the engine that `regard translate` takes. Its confidence is calibrated on the validation pairs
(benchmarks/confidence.py). `--notes` names a file of Markdown for the card: what the model costs, and what was tried.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from corpus_parts.sources import SOURCES

BOX = 20_000_000  # bytes of a packed model, at the most
TESTS = ("newstest2013", "tatoeba", *(source.name for source in SOURCES if source.test))
ORIGIN = (
    "No sentence of theirs is in this folder; the weights were computed from them. Below one copy, a sample. The "
    "messages of Spyder were held out."
)
LIMITS = """\
- It knows speeches, documentation, messages of programs and everyday sentences. Literature, medicine, law, slang and
  recent events are rare in its data or missing; the score on news shows what to expect of text of other kinds.
- It translates each sentence by itself, without the context of others.
- Some sentences of Tatoeba were written by learners, and translations of speeches are free at times.
- A fluent translation can be wrong: names, numbers and negations deserve a second look.
- Errors and prejudices in the data are likely to be in the translations. They were not looked for.
"""


def main(arguments: list[str]) -> None:
    """Packs a model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("model", type=Path, help="the folder that `regard train` wrote")
    parser.add_argument("out", type=Path, help="the packed model")
    parser.add_argument("--notes", type=Path, help="Markdown for the card")
    parser.add_argument("--stored-as", default="int8")
    given = parser.parse_args(arguments)
    notes = given.notes.read_text(encoding="utf-8") if given.notes else ""
    write_packed(
        given.model, given.out, Path(os.environ.get("REGARD_DATA", "")), notes=notes, stored_as=given.stored_as
    )


def write_packed(model: Path, out: Path, data: Path, *, notes: str, stored_as: str) -> dict[str, dict[str, float]]:
    """Packs a trained model, scores what was packed, and writes both into `out`; the scores by test set and metric."""
    from regard import modelfolder, models
    from regard.exchange import export

    export(model, out, to="regard", quantization=stored_as)
    scores, signatures = _scores(out, data)
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
        card=_card(out.name, loaded, scores, signatures, notes=notes, stored_as=stored_as),
        stored_as=stored_as,
    )
    swapped = ["--swapped"] if described.languages["source"] == "de" else []
    calibrating = [sys.executable, str(Path(__file__).parents[1] / "benchmarks" / "confidence.py"), str(out)]
    subprocess.run([*calibrating, str(data / "valid.en-de.tsv.gz"), "--write", *swapped], check=True)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {size:,} bytes")
    if size > BOX:
        sys.exit(f"{out}: this is more than {BOX:,} bytes.")
    return scores


def _without_folder(training: dict[str, Any]) -> dict[str, Any]:
    """The same, with the names of files alone: their folders on one machine are of no use elsewhere."""
    folder = str(Path(training["recipe"]["data"]["files"][0]).parent)
    cleaned: dict[str, Any] = json.loads(json.dumps(training).replace(json.dumps(f"{folder}/")[1:-1], ""))
    return cleaned


def _scores(model: Path, data: Path) -> tuple[dict[str, dict[str, float]], dict[str, str]]:
    """BLEU and chrF on every test set, as `regard evaluate` computes them on a processor."""
    from regard.evaluation.evaluate import evaluate
    from regard.evaluation.reading import read_test
    from regard.text.pairs import Languages
    from regard.translation.translator import load

    translator = load(model, device="cpu")
    languages = Languages(translator.languages["source"], translator.languages["target"])
    scores: dict[str, dict[str, float]] = {}
    signatures: dict[str, str] = {}
    for name in TESTS:
        held_out = read_test(data / f"{name}.en-de.test.tsv.gz", languages)
        found = evaluate(translator, held_out, metrics=["bleu", "chrf"], perplexity=False)
        scores[name] = {score.metric: round(score.value, 2) for score in found.scores}
        signatures |= {score.metric: score.signature for score in found.scores}
        print(name, scores[name], flush=True)
    return scores, signatures


def _card(
    name: str,
    loaded: Any,
    scores: dict[str, dict[str, float]],
    signatures: dict[str, str],
    *,
    notes: str,
    stored_as: str,
) -> str:
    source, target = ({"en": "English", "de": "German"}[loaded.description.languages[s]] for s in ("source", "target"))
    parameters = sum(parameter.numel() for parameter in loaded.model.parameters())
    training = loaded.description.training
    penalty = training.get("search", {}).get("length_penalty", 0.6)
    about = {each.name: each.about for each in SOURCES} | {"newstest2013": "news, of which nothing was trained on"}
    rows = "\n".join(
        f"| {test} | {about[test]} | {found['bleu']:.1f} | {found['chrf']:.1f} |" for test, found in scores.items()
    )
    signed = "\n".join(f"- {metric}: `{signature}`" for metric, signature in signatures.items())
    data = "\n".join(f"| {each.about} | {each.origin} | {each.licence} | {each.copies:g} |" for each in SOURCES)
    what = (
        f"Translates {source} to {target}: speeches, documentation, messages of programs and everyday sentences. A "
        f"Transformer with {parameters / 1e6:.1f} million parameters, stored as {stored_as}. It comes with Regard."
    )
    held_out = (
        "Nothing was trained on that nearly equals a sentence of a test or validation set, on either side. "
        f"Beam 4, length penalty {penalty:g}. `regard evaluate {name} --test FILE` prints the scores on a processor; "
        "`recipes/corpus_en_de.py` writes the files."
    )
    made = (
        "REGARD_DATA=folder python recipes/corpus_en_de.py data\n"
        f"REGARD_DATA=data regard train --recipe recipes/shipped-{name}.toml --out runs/{name}\n"
        f"REGARD_DATA=data python recipes/shipped.py runs/{name} src/regard/shipped/{name} "
        f"--notes recipes/shipped-{name}.md"
    )
    tokens = f"{training['tokens'] / 1e6:,.0f} million target tokens"
    trained = f"{training['steps']:,} steps, {tokens}. All settings are in regard.json."
    parts = [
        f"# {name}\n\n{what}",
        f'## Use\n\n```sh\necho "A sentence." | regard translate {name}\n```',
        f"## Scores\n\n| test set | what | BLEU | chrF |\n| --- | --- | --- | --- |\n{rows}\n\n{signed}\n\n{held_out}",
        f"## Data\n\n| what | where it is from | licence | copies |\n| --- | --- | --- | --- |\n{data}\n\n{ORIGIN}",
        f"## Training\n\n```sh\n{made}\n```\n\n{trained}",
        *([notes.strip()] if notes.strip() else []),
        f"## Limits\n\n{LIMITS}",
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
