"""What tasks do that learn from labelled texts: read them, store labels beside tokens, validate by labels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from regard import tasks
from regard.batches.corpus import StoredCorpus
from regard.batches.splitting import hold_out
from regard.batches.texts import hashes, stored
from regard.caches import cache_folder
from regard.errors import CorpusError, LengthError
from regard.search import SearchSettings
from regard.text.bad_input import BadInput
from regard.text.labelled import Labelled
from regard.text.plain_documents import text_files
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.tokens.tokeniser import Tokeniser
from regard.training.advice import suitable_vocabulary
from regard.training.corpora import Corpora, kept_tokenisers
from regard.training.recipe import DataSettings, Recipe, Tables
from regard.training.surroundings import Surroundings
from regard.training.tasks.documents import Texts
from regard.training.tasks.work import Chosen, Work
from regard.training.token_estimate import side_of
from regard.training.validation import Looking, Validation

Choice = Callable[[Tensor], list[int]]

_PART, _SAMPLES = 10, 20  # of the examples, a tenth is held out


class LabelledText(Work):
    """How classifiers and taggers are trained."""

    pooling: str  # what a label is read from

    @abstractmethod
    def read(self, data: DataSettings, files: Sequence[str], bad: BadInput) -> Iterator[Labelled]:
        """The examples of these files."""

    @abstractmethod
    def encode(self, tokeniser: Tokeniser, example: Labelled) -> tuple[list[int], list[int]]:
        """The ids of a text, and beside each the place of its label among the labels of the example, or -1."""

    def found(self, examples: Sequence[Labelled], labels: Sequence[str]) -> dict[str, Any]:  # noqa: ARG002
        """Further settings of a model that follow from the training data."""
        return {}

    def choice(self, model: Any) -> Choice:  # noqa: ARG002  tags choose together
        """Chooses the labels of a text by the logits of a model."""
        return lambda logits: list(map(int, logits.argmax(-1).tolist()))

    @abstractmethod
    def scored(self, predicted: list[list[str]], right: list[list[str]]) -> dict[str, float]:
        """Scores by their names: the labels of each text, and the right ones."""

    def advise(self, data: DataSettings, training: Mapping[str, Any], device: torch.device) -> Chosen:  # noqa: ARG002
        """The preset of the task, with a vocabulary that suits the text."""
        if data.adapt:
            return "adapt", {}, [f"Starting from the model {data.adapt}: a low, constant learning rate."]
        preset = tasks.task(self.task).preset
        assert preset
        return preset, {}, [f"The preset {preset}: a small model, since labelled texts are few."]

    def fit(self, preset: str, given: Tables, checked: Recipe) -> Chosen:
        """The preset that was named, with a vocabulary that suits the texts unless the tokeniser was chosen."""
        if checked.data.adapt or {"kind", "vocabulary"} & given.get("tokeniser", {}).keys():
            return preset, {}, []
        side = side_of(each.text for each in self.read(checked.data, checked.data.files, BadInput(skip=True)))
        suitable = suitable_vocabulary(side.texts, checked.tokeniser.vocabulary, [side])
        if suitable is None:
            return preset, {}, []
        told = f"{side.texts:,} {self.unit}: a vocabulary of {suitable[0]:,}, because a larger one needs more text."
        return preset, {"tokeniser": {"vocabulary": suitable[0]}}, [told]

    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Those that the run has already, or new ones from its texts."""

        def make() -> Tokenisers:
            around.journal.say("Training the tokeniser.")
            settings = recipe.tokeniser.model_copy(update={"sample": 2 * recipe.tokeniser.sample})
            return train_tokenisers((each.text for each in self._examples(recipe, recipe.data.files)), (), settings)

        return kept_tokenisers(around, make)

    def corpora(self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers) -> Corpora:
        """Texts with labels; the labels are those of the training data."""
        examples = self._examples(recipe, recipe.data.files)
        labels = sorted({label for each in examples for label in each.labels})
        if len(labels) < 2:
            raise CorpusError(
                f"{', '.join(recipe.data.files)}: all labels are {labels[0]!r}.\n"
                "  A model needs at least two labels to tell apart. Check the columns of the files: --columns"
            )
        corpus = self._stored(recipe, around, tokenisers, examples, labels, recipe.data.files)
        if recipe.data.valid:
            others = self._examples(recipe, [recipe.data.valid])
            held = self._stored(recipe, around, tokenisers, others, labels, [recipe.data.valid])
            rest, told = corpus, f"Validation uses the {len(held):,} {self.unit} of {recipe.data.valid}."
        else:
            count = max(1, min(recipe.validation.pairs, len(corpus) // _PART))
            rest, held = hold_out(corpus, count=count, seed=recipe.training.seed, by="text")
            told = f"No validation file was given, so Regard holds out {len(held):,} {self.unit}, and copies of them."
        if not len(rest):
            raise CorpusError(
                f"{', '.join(recipe.data.files)}: there are too few {self.unit} to hold some out for validation.\n"
                "  Give a validation file: --valid FILE"
            )
        asked = recipe.model.get("pooling", "none")
        pooling = self.pooling if "none" in (self.pooling, asked) else asked
        settings: dict[str, Any] = {"labels": labels, "pooling": pooling, **self.found(examples, labels)}
        return Corpora(rest, _texts(held, tokenisers.source, labels), told, tasks.task(self.task), settings)

    def validation(self, looking: Looking) -> Validation:
        """Predicts labels."""
        return LabelValidation(looking, self)

    def _examples(self, recipe: Recipe, files: Sequence[str]) -> list[Labelled]:
        found = list(self.read(recipe.data, files, BadInput(skip=recipe.data.skip_bad)))
        if not found:
            raise CorpusError(
                f"{', '.join(map(str, files))}: there are no labelled {self.unit} in these files.\n"
                "  Give files with a text, a tab and its label or labels in each line."
            )
        return found

    def _stored(
        self,
        recipe: Recipe,
        around: Surroundings,
        tokenisers: Tokenisers,
        examples: Sequence[Labelled],
        labels: Sequence[str],
        files: Sequence[str],
    ) -> StoredCorpus:
        tokeniser, ids_of = tokenisers.source, {label: number for number, label in enumerate(labels, start=1)}
        most = recipe.training.row_lengths[-1]

        def encoded() -> Iterator[dict[str, list[int]]]:
            for each in examples:
                unknown = [label for label in each.labels if label not in ids_of]
                if unknown:
                    raise CorpusError(
                        f"{each.path}:{each.line}: the label {unknown[0]!r} does not occur in the training data.\n"
                        f"  Known labels: {', '.join(labels)}."
                    )
                ids, places = self.encode(tokeniser, each)
                if len(ids) >= most:
                    raise LengthError(
                        f"{each.path}:{each.line}: this text has {len(ids):,} tokens, but the longest row holds "
                        f"{most:,}.\n  Shorten it, or allow longer rows with --set training.row_lengths=[{2 * most}]"
                    )
                marks = [0 if place < 0 else ids_of[each.labels[place]] for place in places]
                yield {"text": [*ids, tokeniser.end], "labels": [*marks, 0]}

        return around.first_then_all(
            lambda: stored(
                cache_folder(),
                encoded,
                streams=("text", "labels"),
                vocabulary=max(tokeniser.size, len(labels) + 1),
                question={
                    "files": hashes(text_files(files)),
                    "task": self.task,
                    "labels": list(labels),
                    "columns": recipe.data.columns,
                    "skip_bad": recipe.data.skip_bad,
                    "most": most,
                    "tokenisers": tokenisers.hash,
                },
                describe=lambda: {"begin": tokeniser.begin, "end": tokeniser.end, "kept": len(examples)},
            )
        )


class LabelValidation(Validation):
    """The loss, and the scores of predicted labels."""

    def __init__(self, looking: Looking, work: LabelledText) -> None:
        super().__init__(looking)
        self.work, self.labels = work, looking.model.settings.labels  # type: ignore[attr-defined]
        self.choice = work.choice(looking.model)

    def scores(self, search: SearchSettings, *, count: int) -> tuple[dict[str, float], list[str]]:  # noqa: ARG002
        """The scores of all held-out texts, and the labels of the first ones."""
        self.model.eval()
        predicted: list[list[str]] = []
        right: list[list[str]] = []
        with torch.no_grad():
            for batch in self.batches:
                moved = batch.to(self.device)
                logits = self.model(moved).float().cpu()
                for row in range(len(logits)):
                    segments = batch.streams["text"].segments[row]
                    for number in range(1, int(segments.max()) + 1):
                        here = (segments == number) & batch.labelled[row]
                        predicted.append([self.labels[label] for label in self.choice(logits[row][here])])
                        right.append([self.labels[label] for label in batch.labels[row][here].tolist()])
        return self.work.scored(predicted, right), self._first()

    def _first(self) -> list[str]:
        """The predicted labels of the texts that are shown."""
        from regard.batches.rows import rows_of
        from regard.tasks.masked import batch_of

        found, corpus = [], self.held_out.corpus
        for number in range(len(self.held_out.sources)):
            ids = [*corpus.streams["text"].sentence(number), self.tokenisers.source.end]
            marks = corpus.streams["labels"].sentence(number)
            with torch.no_grad():
                logits = self.model(batch_of(rows_of([[ids]])).to(self.device))[0].float().cpu()
            places = [place for place, mark in enumerate(marks) if mark]
            found.append(" ".join(self.labels[label] for label in self.choice(logits[places])))
        return found


def _texts(corpus: StoredCorpus, tokeniser: Tokeniser, labels: Sequence[str]) -> Texts:
    """The first texts that are held out, and their labels."""
    text, marks = corpus.streams["text"], corpus.streams["labels"]
    numbers = range(min(_SAMPLES, len(corpus)))
    named = [" ".join(labels[mark - 1] for mark in marks.sentence(number) if mark) for number in numbers]
    return Texts(corpus, [tokeniser.decode(text.sentence(number)) for number in numbers], named)
