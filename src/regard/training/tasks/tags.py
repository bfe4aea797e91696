"""Taggers: words with a tag each; validated by spans, or by accuracy where tags mark none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from regard.family.tag_choice import TagChoice
from regard.metrics.spans import are_legal, are_spans, span_scores
from regard.text.bad_input import BadInput
from regard.text.labelled import Labelled, tags
from regard.tokens.tokeniser import Tokeniser
from regard.tokens.words_apart import first_tokens
from regard.training.recipe import DataSettings
from regard.training.tasks.labelled import Choice, LabelledText


class Tagging(LabelledText):
    """How taggers are trained."""

    task, pooling = "tags", "none"

    def read(self, data: DataSettings, files: Sequence[str], bad: BadInput) -> Iterator[Labelled]:
        """Words with a tag each."""
        return tags(files, columns=data.columns, bad=bad)

    def encode(self, tokeniser: Tokeniser, example: Labelled) -> tuple[list[int], list[int]]:
        """The first token of each word carries its tag."""
        ids, firsts = first_tokens(tokeniser, example.text.split(" "))
        places = [-1] * len(ids)
        for word, first in enumerate(firsts):
            places[first] = word
        return ids, places

    def found(self, examples: Sequence[Labelled], labels: Sequence[str]) -> dict[str, Any]:
        """Whether tags mark spans that all begin with `B-`."""
        return {"legal_tags": are_legal([each.labels for each in examples], labels)}

    def choice(self, model: Any) -> Choice:
        """The likeliest legal sequence of tags."""
        return TagChoice(model.settings.labels, legal=model.settings.legal_tags)

    def scored(self, predicted: list[list[str]], right: list[list[str]]) -> dict[str, float]:
        """F1 of spans, if the tags mark some, and the accuracy of tags."""
        found = span_scores(predicted, right)
        marks = are_spans(sorted({tag for tags in right for tag in tags}))
        return {**({"span_f1": found.overall.f1} if marks else {}), "accuracy": found.accuracy}


WORK = Tagging()
