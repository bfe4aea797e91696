"""How cards and reports speak of a model, by its task."""

from __future__ import annotations

from typing import NamedTuple


class Wording(NamedTuple):
    """Words for one task; `{source}` and `{target}` are languages, `{model}` is the folder."""

    does: str  # the first sentence of a card
    command: str
    python: str  # what to call, after `model = regard.load(...)`
    units: str  # what examples are called
    tokens: str  # what is counted while training
    samples: str  # the title of the samples
    about_samples: str
    sides: tuple[str, str, str]  # what is given, what is right, what the model says
    limits: tuple[str, ...]  # sentences


_TRANSLATION = Wording(
    does="Translates {source} to {target}.",
    command='echo "A sentence." | regard translate {model}',
    python='translator.translate("A sentence.")',
    units="sentence pairs",
    tokens="target tokens",
    samples="Sample translations",
    about_samples=(
        "Held-out sentences, translated by the finished model. <ins>Marked</ins> words are not in the reference; "
        "<del>struck</del> words of the reference are missing. A different word can be just as good."
    ),
    sides=("source", "reference", "translation"),
    limits=(
        "It translates only from {source} to {target}, and each line on its own, without the context of other lines.",
        "A fluent translation can be wrong: check names, numbers and negations.",
        "Errors and biases in the data are likely to appear in the translations. Regard does not search for them.",
    ),
)
_DATA = "Errors and biases in the data are likely to appear in what it says. Regard does not search for them."
_SHOWN = "<ins>Marked</ins> words differ from what was right; <del>struck</del> words are missing."

_WORDING = {
    "translation": _TRANSLATION,
    "language": Wording(
        does="A language model: it continues texts.",
        command='regard generate {model} "A beginning"',
        python='model.generate("A beginning")',
        units="documents",
        tokens="tokens",
        samples="Sample texts",
        about_samples="Held-out texts, continued by the finished model. Many other continuations are as good.",
        sides=("beginning", "original", "continuation"),
        limits=("It knows nothing but how texts like its own go on. What it says may be false.", _DATA),
    ),
    "masked": Wording(
        does="A masked language model: it fills in what is hidden, and is a start for classifiers and taggers.",
        command='regard fill {model} "A [MASK] sentence."',
        python='model.fill("A [MASK] sentence.")',
        units="documents",
        tokens="hidden tokens",
        samples="Sample texts",
        about_samples=f"Held-out texts with tokens hidden, filled in by the finished model. {_SHOWN}",
        sides=("given", "original", "filled"),
        limits=("It is a start for other models (--from) more than a model to use by itself.", _DATA),
    ),
    "denoising": Wording(
        does="A Transformer that restores text with spans cut out: a start for translators with few sentence pairs.",
        command="regard train PAIRS --source en --target de --from {model} --out translator",
        python='regard.train("PAIRS", source="en", target="de", from_model="{model}", out="translator")',
        units="documents",
        tokens="target tokens",
        samples="Sample texts",
        about_samples="No texts were restored.",
        sides=("given", "original", "restored"),
        limits=("It does not translate before it is trained on sentence pairs.", _DATA),
    ),
    "classes": Wording(
        does="Classifies texts.",
        command='regard classify {model} "A text"',
        python='model.classify("A text").label',
        units="texts",
        tokens="labels",
        samples="Sample labels",
        about_samples=f"Held-out texts, classified by the finished model. {_SHOWN}",
        sides=("text", "label", "predicted"),
        limits=("It always gives one of its labels, also for a text that fits none.", _DATA),
    ),
    "tags": Wording(
        does="Tags the words of sentences.",
        command='regard tag {model} "A sentence ."',
        python='model.tag("A sentence .").tags',
        units="sentences",
        tokens="tags",
        samples="Sample tags",
        about_samples=f"Held-out sentences, tagged by the finished model. {_SHOWN}",
        sides=("sentence", "tags", "predicted"),
        limits=("It expects words to be separated as they are in its data, punctuation among them.", _DATA),
    ),
    "recognition": Wording(
        does="Classifies sequences of vectors, such as images.",
        command="regard classify {model} FILE",
        python='model.classify("FILE")',
        units="examples",
        tokens="labels",
        samples="Sample labels",
        about_samples=f"Held-out examples, classified by the finished model. {_SHOWN}",
        sides=("example", "label", "predicted"),
        limits=("It always gives one of its labels, also for an example that fits none.", _DATA),
    ),
    "transcription": Wording(
        does="Reads sequences of vectors, such as images, as text.",
        command="regard translate {model} FILE",
        python='model.translate("FILE")',
        units="examples",
        tokens="target tokens",
        samples="Sample texts",
        about_samples=f"Held-out examples, read by the finished model. {_SHOWN}",
        sides=("example", "text", "read"),
        limits=("It reads only vectors or images of the size that it was trained on.", _DATA),
    ),
}


def wording(task: str) -> Wording:
    """The words for a task."""
    return _WORDING.get(task, _TRANSLATION)
