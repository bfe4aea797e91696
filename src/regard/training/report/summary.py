"""What there is to say about a training run when it has ended: what its card and its report are made of."""

from __future__ import annotations

from typing import Any, NamedTuple


class Summary(NamedTuple):
    """Plain values only."""

    name: str
    languages: dict[str, str]  # source, target
    architecture: str
    parameters: int
    recipe: dict[str, dict[str, Any]]  # every table of it
    reasons: list[str]  # why settings are what they are, where they were chosen
    corpus: dict[str, Any]  # kept, dropped, changed, bad, passed_over, summary (sentences)
    vocabulary: dict[str, int]  # source, target
    validation: str  # a sentence: which pairs were held out
    steps: int
    tokens: int  # target tokens trained on
    seconds: float
    machine: dict[str, str]  # device, precision, torch, regard
    command: str
    events: list[dict[str, Any]]  # of metrics.jsonl
    scores: dict[str, dict[str, float]]  # averaged, best -> loss, perplexity, bleu, chrf on the held-out pairs
    signatures: dict[str, str]  # of the metrics
    samples: list[tuple[str, str, str]]  # source, reference, translation
    search: dict[str, float] = {}  # what was chosen on the held-out pairs: length_penalty  # noqa: RUF012
    task: str = "translation"

    @property
    def kind(self) -> str:
        """The architecture with its article: `A transformer`, `An encoder-only`."""
        name = self.architecture.replace("_", "-")
        return f"{'An' if name[:1] in 'aeiou' else 'A'} {name}"
