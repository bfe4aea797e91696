"""The card of a trained model: README.md in its folder, for people who did not see the training."""

from __future__ import annotations

import json
import re
from shlex import quote
from typing import Any

from regard.training.report import figures
from regard.training.report.data import data_of
from regard.training.report.history import trend
from regard.training.report.summary import Summary
from regard.training.report.wording import wording

LICENCE = "**Fill in: the licence of the training data.** Regard does not know it, nor what it permits."

_OTHERS = "Other domains were not measured and are likely to be worse."
_SPECIAL = re.compile(r"([\\`*_\[\]<>|#~$&])")
_SCORES = {
    "loss": ("loss ↓", 3),
    "perplexity": ("perplexity ↓", 2),
    "source_worth": ("source's worth ↑", 2),
    "length_ratio": ("length", 3),
}
WORTH = (
    "Source's worth: how many nats a token the loss rises if the sources are exchanged between sentences. A model "
    "whose source is worth nothing ignores it and does not translate."
)
_TRAINING = (
    ("tokeniser", "kind", "tokens"),
    ("model", "encoder_layers", "encoder layers"),
    ("model", "decoder_layers", "decoder layers"),
    ("model", "d_model", "width"),
    ("model", "d_ff", "inner width"),
    ("model", "heads", "heads"),
    ("model", "dropout", "dropout"),
    ("training", "batch_tokens", "tokens per batch"),
    ("training", "schedule", "learning rate schedule"),
    ("training", "warmup", "warm-up steps"),
    ("training", "peak_rate", "peak learning rate"),
    ("training", "label_smoothing", "label smoothing"),
    ("training", "averaged_checkpoints", "checkpoints averaged"),
    ("training", "seed", "seed"),
    ("data", "adapt", "started from"),
)


def card(summary: Summary, *, best: bool = False) -> str:
    """The card, in Markdown, of the averaged weights or of the best ones, whose folder is within that of the others."""
    name = f"{summary.name}/best" if best else summary.name
    parts = [
        f"# {_text(name)}",
        _what(summary, report="../report.html" if best else "report.html"),
        f"## Use\n\n{_use(name, summary)}",
        f"## Scores\n\n{_scores(summary, best=best)}",
        f"## Data\n\n{_data(summary)}",
        f"## Licence\n\n{LICENCE}",
        f"## Training\n\n{_training(summary)}",
        f"## Limits\n\n{_limits(summary)}",
    ]
    return "\n\n".join(parts) + "\n"


def _what(summary: Summary, *, report: str) -> str:
    source, target = (_text(side) for side in _sides(summary))
    version = _text(summary.machine.get("regard", ""))
    does = wording(summary.task).does.format(source=source, target=target)
    return (
        f"{does} {_text(summary.kind)} model with "
        f"{figures.count(summary.parameters)} parameters, trained with Regard {version}".rstrip()
        + f". [report.html]({report}) shows how training went."
    )


def _use(name: str, summary: Summary) -> str:
    words = wording(summary.task)
    shell = _code(words.command.replace("{model}", quote(name)), "sh")
    path = json.dumps(name, ensure_ascii=False)
    held = words.python.partition(".")[0]
    load = f"{held} = regard.load({path})\n" if held != "regard" else ""
    python = _code(f"import regard\n\n{load}{words.python.replace('{model}', name)}", "python")
    return f"{shell}\n\n{python}"


def _scores(summary: Summary, *, best: bool) -> str:
    """A row for each set of weights; signatures beneath."""
    names = list(dict.fromkeys(name for scores in summary.scores.values() for name in scores))
    if not names:
        return f"Not measured. {_text(summary.validation)}".strip()
    about = {
        "averaged": "averaged (the folder above)" if best else "averaged (this folder)",
        "best": "best checkpoint (this folder)" if best else "best checkpoint (best/)",
    }
    titles = [_SCORES[name][0] if name in _SCORES else _text(figures.metric_title(name)) for name in names]
    rows = [
        [_text(about.get(weights, weights)), *(_score(name, scores.get(name)) for name in names)]
        for weights, scores in summary.scores.items()
    ]
    signatures = "\n".join(
        f"- {_text(figures.metric_title(name))}: {_inline(signature)}" for name, signature in summary.signatures.items()
    )
    explained = (
        "Averaged: the mean of the weights of the last checkpoints. Best: the checkpoint with the best "
        "validation. Compare scores only on the same sentences and with the same signature."
    )
    if "source_worth" in names:
        explained += f" {WORTH}"
    if summary.search:
        explained += f" {_search(summary)}"
    return "\n\n".join(
        part for part in (_text(summary.validation), _table(["weights", *titles], rows), explained, signatures) if part
    )


def _search(summary: Summary) -> str:
    """The length penalty that was chosen, as a sentence."""
    penalty = summary.search.get("length_penalty")
    return (
        f"The length penalty of this model is {penalty:g}, chosen on the held-out pairs; --length-penalty overrides "
        "it. Length: words of the translations for each word of the references."
    )


def _score(name: str, value: Any) -> str:
    return "" if value is None else figures.value(value, _SCORES.get(name, ("", 1))[1])


def _data(summary: Summary) -> str:
    data = data_of(summary.corpus)
    files = summary.recipe.get("data", {}).get("files", ())
    listed = ", ".join(_inline(str(name)) for name in files) if isinstance(files, list | tuple) else _inline(str(files))
    told = f"{data.kept:,} of {data.looked_at:,} {wording(summary.task).units} were kept."
    parts = [f"Trained on: {listed}.\n\n{told}" if listed else told]
    if data.dropped:
        rows = [[_text(counted.why), f"{counted.pairs:,}"] for counted in data.dropped]
        parts.append(_table(["reason for dropping", "pairs"], rows))
    others = [
        (data.changed, "changed and kept"),
        (data.passed_over, "skipped, because they are not sentence pairs"),
        (data.bad, "skipped bad input"),
    ]
    parts += [
        f"{what[0].upper()}{what[1:]}: {'; '.join(f'{_text(each.why)} ({each.pairs:,})' for each in counts)}."
        for counts, what in others
        if counts
    ]
    return "\n\n".join(parts)


def _training(summary: Summary) -> str:
    rows = [
        ["steps", figures.count(summary.steps)],
        [wording(summary.task).tokens, figures.count(summary.tokens)],
        ["time", figures.duration(summary.seconds)],
        *([_text(name), _text(str(value))] for name, value in summary.machine.items()),
        *([f"vocabulary, {_text(side)}", figures.count(size)] for side, size in summary.vocabulary.items()),
    ]
    for table, key, title in _TRAINING:
        value = summary.recipe.get(table, {}).get(key)
        if value is not None:
            rows.append([title, _text(figures.setting(value))])
    outlook = trend(summary.events)
    parts = [_code(summary.command, "sh"), _table(["", ""], rows), *(_text(reason) for reason in summary.reasons)]
    return "\n\n".join([*parts, *([outlook] if outlook else [])])


def _limits(summary: Summary) -> str:
    source, target = (_text(side) for side in _sides(summary))
    before = summary.recipe.get("data", {}).get("adapt")
    data = "the data named above and on nothing else. It knows only what they contain."
    trained = f"It was trained on {data}"
    if before:
        trained = f"It started from {_inline(str(before))}, which has its own card, and was then trained on {data}"
    sentences = (
        trained,
        f"Its scores were measured on held-out {_held(summary)}. {_OTHERS}",
        *(limit.format(source=source, target=target) for limit in wording(summary.task).limits),
    )
    return "\n".join(f"- {sentence}" for sentence in sentences)


def _held(summary: Summary) -> str:
    return wording(summary.task).units.removeprefix("sentence ")


def _sides(summary: Summary) -> tuple[str, str]:
    return summary.languages.get("source", "the source"), summary.languages.get("target", "the target")


def _text(text: str) -> str:
    """As text, whatever it holds: on one line, with nothing that Markdown would take for itself."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _inline(text: str) -> str:
    """As code within a line."""
    line = " ".join(text.split())
    fence = "`" * (_longest_run(line) + 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"


def _code(text: str, language: str) -> str:
    """As a block of code."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
