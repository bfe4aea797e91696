"""What all tasks do that learn from plain text: read documents, train a tokeniser on their lines, store them.

Documents are cut into stretches that fit into rows. Without a validation file, documents are held out; of a corpus of
few documents, the last tenth of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch

from regard import tasks
from regard.batches.corpus import StoredCorpus
from regard.batches.splitting import hold_out
from regard.batches.stretches import Stretches, split_end
from regard.batches.texts import hashes, stored
from regard.caches import cache_folder
from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.plain_documents import documents, text_files
from regard.tokens import Tokenisers
from regard.tokens import train as train_tokenisers
from regard.tokens.lines import BREAK, Lines
from regard.training.advice import suitable_vocabulary
from regard.training.corpora import kept_tokenisers
from regard.training.recipe import DataSettings, Recipe, Tables
from regard.training.surroundings import Surroundings
from regard.training.tasks.work import Chosen, Work
from regard.training.token_estimate import side_of, words_a_text

_FEW, _SHARE, _PART = 20, 0.1, 20  # of fewer documents, a tenth of the text is held out; else a twentieth of them
_CHUNK = 1024
_WORDS_A_SENTENCE = 20


@dataclass
class Texts:
    """Examples that are not trained on, with the texts of the first ones."""

    corpus: StoredCorpus
    sources: Sequence[str] = field(default_factory=list)
    references: Sequence[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sources) or len(self.corpus)


class PlainText(Work):
    """How models of plain text are trained."""

    protected: tuple[str, ...] = ()  # strings that need an id of their own
    opens = False  # whether a document is stored with the token that begins all of them
    shared = 0  # tokens that neighbouring stretches share

    def advise(self, data: DataSettings, training: Mapping[str, Any], device: torch.device) -> Chosen:  # noqa: ARG002
        """The preset of the task, with a vocabulary that suits the text."""
        if data.adapt:
            told = f"Adapting the model {data.adapt}: a low, constant learning rate, with its own tokeniser and size."
            return "adapt", {}, [told]
        preset = tasks.task(self.task).preset
        assert preset
        tables, reasons = self._vocabulary(data, 8_000)
        return preset, tables, [f"The preset {preset} is the smallest for this task.", *reasons]

    def fit(self, preset: str, given: Tables, checked: Recipe) -> Chosen:
        """The preset that was named, with a vocabulary that suits the text unless the tokeniser was chosen."""
        if checked.data.adapt or {"kind", "vocabulary"} & given.get("tokeniser", {}).keys():
            return preset, {}, []
        return preset, *self._vocabulary(checked.data, checked.tokeniser.vocabulary)

    def _vocabulary(self, data: DataSettings, own: int) -> tuple[Tables, list[str]]:
        bad = BadInput(skip=True)
        side = side_of(each.text for each in documents(data.files, how=data.documents, bad=bad))
        words = round(words_a_text(side, None) * side.texts)
        suitable = suitable_vocabulary(words // _WORDS_A_SENTENCE, own, [side])
        if suitable is None:
            return {}, []
        vocabulary, _ = suitable
        reason = f"{words:,} words: a vocabulary of {vocabulary:,}, because the preset's {own:,} needs more text."
        return {"tokeniser": {"vocabulary": vocabulary}}, [reason]

    def tokenisers(self, recipe: Recipe, around: Surroundings) -> Tokenisers:
        """Those that the run has already, or new ones from its lines."""

        def make() -> Tokenisers:
            around.journal.say("Training the tokeniser.")
            chosen = recipe.tokeniser
            breaks = (BREAK,) if chosen.kind == "words" else ()
            needed = dict.fromkeys((*chosen.protected, *breaks, *self.protected))
            settings = chosen.model_copy(update={"protected": tuple(needed), "sample": 2 * chosen.sample})
            return train_tokenisers(self._lines(recipe), (), settings)

        return kept_tokenisers(around, make)

    def _lines(self, recipe: Recipe) -> Iterator[str]:
        found = False
        for each in self.read(recipe, recipe.data.files, BadInput(skip=recipe.data.skip_bad)):
            found = True
            yield from each.split("\n")
        if not found:
            raise _empty(recipe.data.files)

    def read(self, recipe: Recipe, files: Sequence[str], bad: BadInput) -> Iterator[str]:
        """The text of each document."""
        return (each.text for each in documents(files, how=recipe.data.documents, bad=bad))

    def split(
        self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers
    ) -> tuple[StoredCorpus, StoredCorpus, str]:
        """Documents to train on, documents that are held out, and a sentence about these."""
        corpus = self._stored(recipe, around, tokenisers, recipe.data.files)
        if recipe.data.valid:
            valid = self._stored(recipe, around, tokenisers, (recipe.data.valid,))
            return corpus, valid, f"Validation uses the {len(valid):,} documents of {recipe.data.valid}."
        if len(corpus) < _FEW:
            rest, held = split_end(corpus, share=_SHARE)
            return rest, held, "No validation file was given, so Regard holds out the last tenth of the text."
        count = max(1, min(recipe.validation.pairs, len(corpus) // _PART))
        rest, held = hold_out(corpus, count=count, seed=recipe.training.seed)
        told = f"No validation file was given, so Regard holds out {len(held):,} documents, and all copies of them."
        return rest, held, told

    def stretches(self, corpus: StoredCorpus, recipe: Recipe, *, moving: bool) -> Stretches:
        """Pieces of documents that fit into rows, cut elsewhere in every epoch if they are `moving`."""
        seed = recipe.training.seed if moving else None
        return Stretches(corpus, length=recipe.training.row_lengths[-1], shared=self.shared, seed=seed)

    def _stored(
        self, recipe: Recipe, around: Surroundings, tokenisers: Tokenisers, files: Sequence[str]
    ) -> StoredCorpus:
        tokeniser, bad = tokenisers.source, BadInput(skip=recipe.data.skip_bad)
        counts = {"kept": 0}

        def examples() -> Iterator[dict[str, list[int]]]:
            opening = [tokeniser.begin] if self.opens else []
            for ids in _encoded(self.read(recipe, files, bad), Lines(tokeniser)):
                counts["kept"] += 1
                yield {"text": [*opening, *ids, tokeniser.end]}
            if not counts["kept"]:
                raise _empty(files)

        return around.first_then_all(
            lambda: stored(
                cache_folder(),
                examples,
                streams=("text",),
                vocabulary=tokeniser.size,
                question={
                    "files": hashes(text_files(files)),
                    "task": self.task,
                    "documents": recipe.data.documents,
                    "skip_bad": recipe.data.skip_bad,
                    "tokenisers": tokenisers.hash,
                },
                describe=lambda: {
                    "begin": tokeniser.begin,
                    "end": tokeniser.end,
                    "tokenisers": tokenisers.hash,
                    **counts,
                    "bad": {problem.name.lower(): tally.count for problem, tally in bad.problems.items()},
                    "summary": bad.summary(),
                },
            )
        )


def _encoded(texts: Iterable[str], lines: Lines) -> Iterator[list[int]]:
    waiting = iter(texts)
    while chunk := list(islice(waiting, _CHUNK)):
        yield from lines.encode_batch(chunk)


def _empty(files: Sequence[str]) -> CorpusError:
    return CorpusError(
        f"{', '.join(map(str, files))}: there is no text in these files.\n  Give files with at least one line of text."
    )
