"""Models of other tasks than translation, measured on a test set: perplexity, labels, spans."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from regard import metrics
from regard.batches.rows import rows_of
from regard.errors import CorpusError, SettingsError
from regard.family.classifier import Classifier
from regard.family.language_model import LanguageModel
from regard.family.masked_model import MaskedModel
from regard.family.opening import load
from regard.family.recogniser import Recogniser
from regard.family.tagger import Tagger
from regard.family.transcriber import Transcriber
from regard.metrics.labels import Counts, LabelScores, label_scores
from regard.metrics.spans import are_spans, span_scores
from regard.tasks.masked import MASK, Masking
from regard.text import labelled
from regard.text.bad_input import BadInput
from regard.text.labelled import Labelled
from regard.text.normalisation import normalise
from regard.text.pairs import Columns
from regard.text.plain_documents import How, documents
from regard.tokens.lines import id_of
from regard.tokens.tokeniser import SPECIAL
from regard.vectors.examples import cut, raw
from regard.vectors.shape import VectorShape


class Measured(NamedTuple):
    """All that is measured."""

    model: str
    held_out: str
    task: str
    examples: int
    scores: dict[str, float]  # by their names, the most important first
    details: dict[str, dict[str, Any]]  # by label or type of span: counts, precision, recall, F1
    seconds: float
    labels: LabelScores | None = None  # where texts or words have labels
    predicted: Sequence[str] = ()  # for each example, a line
    right: Sequence[Labelled] = ()

    def table(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "model": self.model,
            "test": {"name": self.held_out, "examples": self.examples},
            "task": self.task,
            "scores": self.scores,
            "by_label": self.details,
            "seconds": self.seconds,
        }


def measure(
    model: str | Path,
    test: Path,
    *,
    device: str | None = None,
    how: How = "auto",
    columns: Columns | None = None,
) -> Measured:
    """The scores of a model on a file of its task."""
    opened = load(model, device=device)
    began = time.perf_counter()
    by_task: dict[str, Callable[..., Measured]] = {
        "language": _language,
        "masked": _masked,
        "classes": _classes,
        "tags": _tags,
        "recognition": _recognition,
        "transcription": _transcription,
    }
    if opened.task not in by_task:
        raise SettingsError(f"{model}: Regard cannot measure models for the task {opened.task!r}.")
    found = by_task[opened.task](opened, test, how, columns)
    return found._replace(model=str(model), held_out=str(test), seconds=time.perf_counter() - began)


def _texts(test: Path, how: How) -> list[str]:
    texts = [each.text for each in documents([test], how=how)]
    if not texts:
        raise CorpusError(f"{test}: there is no text in this file.\n  Give a file with at least one line of text.")
    return texts


def _language(model: LanguageModel, test: Path, how: How, _: Columns | None) -> Measured:
    if how == "auto":
        trained = model.description.training.get("recipe", {}).get("data", {}).get("documents", "auto")
        how = trained
    found = model.perplexity(_texts(test, how))
    table = found.table()
    names = ("by_token", "by_word", "by_byte", "bits_per_byte", "nats_per_token")
    scores = {(f"perplexity_{name}" if name.startswith("by_") else name): table[name] for name in names}
    return _made(
        "language", found.documents, scores, {"counts": {name: table[name] for name in ("tokens", "words", "bytes")}}
    )


def _masked(model: MaskedModel, test: Path, how: How, _: Columns | None) -> Measured:
    """The share of hidden tokens that are restored; which ones are hidden is always the same."""
    texts = _texts(test, how)
    tokeniser = model.tokeniser
    masking = Masking(mask=id_of(tokeniser, MASK), first=len(SPECIAL), vocabulary=tokeniser.size)
    most = model.stretch
    ids = [[*model.lines.encode(text), tokeniser.end] for text in texts]
    pieces = [each[first : first + most] for each in ids for first in range(0, len(each), most)]
    right = there = 0
    loss = 0.0
    for number, group in enumerate(model.grouped(pieces, tokens=4096)):
        rows = rows_of([[pieces[place]] for place in group])
        batch = masking.batch({"text": rows}, begin=0, tokens=0, key=(number,)).to(model.device)
        with torch.no_grad():
            logits = model.model.logits(model.model.states(batch)[batch.labelled]).float()
        labels = batch.labels[batch.labelled]
        right += int((logits.argmax(-1) == labels).sum())
        loss += float(torch.nn.functional.cross_entropy(logits, labels, reduction="sum"))
        there += len(labels)
    scores = {"accuracy": 100 * right / max(1, there), "nats_per_hidden_token": loss / max(1, there)}
    return _made("masked", len(texts), scores, {})


def _classes(model: Classifier, test: Path, _: How, columns: Columns | None) -> Measured:
    examples = _examples(labelled.classes([test], columns=columns, bad=BadInput()), test)
    predicted = [found.label for found in model.classify([each.text for each in examples])]
    scores = label_scores(predicted, [each.labels[0] for each in examples])
    summary = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    made = _made("classes", len(examples), summary, _details(scores.by_label))
    return made._replace(labels=scores, predicted=predicted, right=examples)


def _tags(model: Tagger, test: Path, _: How, columns: Columns | None) -> Measured:
    examples = _examples(labelled.tags([test], columns=columns, bad=BadInput()), test)
    tagged = [each.tags for each in model.tag([each.text for each in examples])]
    right = [each.labels for each in examples]
    found = span_scores(tagged, right)
    labels = label_scores([tag for tags in tagged for tag in tags], [tag for tags in right for tag in tags])
    marks = are_spans(model.labels)
    overall = found.overall
    spans = {"span_f1": overall.f1, "span_precision": overall.precision, "span_recall": overall.recall}
    scores = {**(spans if marks else {}), "accuracy": found.accuracy}
    made = _made("tags", len(examples), scores, _details(found.by_type if marks else labels.by_label))
    return made._replace(labels=labels, predicted=[" ".join(tags) for tags in tagged], right=examples)


def _recognition(model: Recogniser, test: Path, _: How, __: Columns | None) -> Measured:
    examples = list(cut(raw([test], wanted="labels", colour=_colour(model.shape)), model.shape))
    predicted = [found.label for found in model.of(examples)]
    scores = label_scores(predicted, [each.said for each in examples])
    summary = {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    made = _made("recognition", len(examples), summary, _details(scores.by_label))
    right = [Labelled(each.where, (each.said,), test, number) for number, each in enumerate(examples, start=1)]
    return made._replace(labels=scores, predicted=predicted, right=right)


def _transcription(model: Transcriber, test: Path, _: How, __: Columns | None) -> Measured:
    examples = list(cut(raw([test], wanted="texts", colour=_colour(model.shape)), model.shape))
    texts = [found.text for found in model.of(examples)]
    references = [[normalise(each.said)] for each in examples]
    names = ["exact_match", "character_error_rate", "chrf"]
    scores = {score.metric: score.value for score in metrics.score(names, texts, references)}
    right = [Labelled(each.where, (each.said,), test, number) for number, each in enumerate(examples, start=1)]
    return _made("transcription", len(examples), scores, {})._replace(predicted=texts, right=right)


def _colour(shape: VectorShape) -> bool | None:
    return shape.image.channels > 1 if shape.image else None


def _examples(found: Any, test: Path) -> list[Labelled]:
    examples = list(found)
    if not examples:
        raise CorpusError(f"{test}: there are no labelled texts in this file.\n  Expected: text, tab, labels.")
    return examples


def _details(by_label: dict[str, Counts]) -> dict[str, dict[str, Any]]:
    return {label: counts.table() for label, counts in by_label.items()}


def _made(task: str, examples: int, scores: dict[str, float], details: dict[str, dict[str, Any]]) -> Measured:
    return Measured("", "", task, examples, scores, details, 0.0)
