"""A model measured on a test set: scores with signatures, how long its translations are, how fast it is, perplexity."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from typing import Any, NamedTuple

from regard.batches.exchanging import partners
from regard.errors import CorpusError
from regard.evaluation.comparison import ReferenceSet
from regard.evaluation.tokenised import joined, joined_references
from regard.metrics import TOKENISED, Options, Score, score
from regard.search import SearchSettings
from regard.translation.translator import Translation, Translator

_SPELLING = ("characters", "utf8")  # kinds of tokenisers
_EXCHANGED = 1_000  # sentences whose sources are exchanged, or a few more
_FEW_WORDS = 3  # a source of so many words is spelt rather than translated


class Lengths(NamedTuple):
    """Words between spaces, in all lines together. Of several references, the first one counts."""

    hypothesis_words: int
    reference_words: int
    empty: int  # lines without a translation
    length_limited: int  # lines as long as the search allows, so perhaps cut off
    repetition_stopped: int  # lines in which a loop of repetitions was stopped

    @property
    def ratio(self) -> float:
        """How long translations are: below 1, shorter than the references."""
        return self.hypothesis_words / max(1, self.reference_words)


class Speed(NamedTuple):
    """How long translating took, loading the model aside."""

    seconds: float
    sentences_per_second: float
    tokens_per_second: float  # pieces of the translations, and their ends


class Evaluation(NamedTuple):
    """All that is measured."""

    model: str
    held_out: str
    lines: int
    scores: Sequence[Score]
    perplexity: float | None  # of a piece of the first reference; None where it was not asked for
    source_worth: float | None  # nats a piece that are lost if sources are exchanged; None like the perplexity
    lengths: Lengths
    speed: Speed
    engine: str  # what searched
    search: SearchSettings
    translations: Sequence[str]
    remarks: Sequence[str]

    def table(self) -> dict[str, Any]:
        """The evaluation as plain values, ready for JSON; translations aside."""
        return {
            "model": self.model,
            "test": {"name": self.held_out, "lines": self.lines},
            "scores": [found._asdict() | {"details": dict(found.details)} for found in self.scores],
            "perplexity": self.perplexity,
            "source_worth": self.source_worth,
            "lengths": self.lengths._asdict() | {"ratio": self.lengths.ratio},
            "speed": self.speed._asdict(),
            "engine": self.engine,
            "search": {
                "method": self.search.method,
                "beam_size": self.search.beam_size,
                "length_penalty": self.search.length_penalty,
            },
            "remarks": list(self.remarks),
        }


def evaluate(
    translator: Translator,
    held_out: ReferenceSet,
    *,
    name: str = "",
    metrics: Sequence[str] | None = None,
    options: Options | None = None,
    search: SearchSettings | None = None,
    perplexity: bool = True,
) -> Evaluation:
    """Translates the sources and scores what comes out; without `metrics`, by those that are usual for the task."""
    if not held_out.sources:
        raise CorpusError(
            f"{held_out.name}: this test set has references but no sources to translate.\n"
            "  Give sentence pairs, or the sources as --test and the references as --reference."
        )
    options, search = options or Options(), search or translator.default_search
    began = time.perf_counter()
    found = list(translator.stream(held_out.sources, search=search, window=len(held_out.sources), checks=False))
    seconds = time.perf_counter() - began
    texts, references = [each.text for each in found], held_out.references
    if options.tokenised:
        texts, references = joined(texts), joined_references(references)
    chosen = metrics or usual_metrics(translator, held_out)
    with ThreadPoolExecutor(1) as beside:  # lines are counted by other processes, while this one scores references
        scoring = beside.submit(score, chosen, texts, references, options=options)
        found_perplexity = _perplexity(translator, held_out) if perplexity else None
        found_worth = source_worth(translator, held_out) if perplexity else None
        scores = scoring.result()
    return Evaluation(
        model=name,
        held_out=held_out.name,
        lines=len(held_out.sources),
        scores=scores,
        perplexity=found_perplexity,
        source_worth=found_worth,
        lengths=_lengths(found, texts, references),
        speed=_speed(found, seconds),
        engine=translator.engine.name,
        search=search,
        translations=texts,
        remarks=[TOKENISED] if options.tokenised and any(each.metric == "bleu" for each in scores) else [],
    )


def usual_metrics(translator: Translator, held_out: ReferenceSet) -> tuple[str, ...]:
    """Error rates where words are spelt or pronounced, else the three of translation."""
    source, target = translator.tokenisers.source.kind, translator.tokenisers.target.kind
    words = median(len(text.split()) for text in held_out.sources)
    if source not in _SPELLING or words > _FEW_WORDS:
        return ("bleu", "chrf", "ter")
    units = "character_error_rate" if target in _SPELLING else "phoneme_error_rate"
    return ("word_error_rate", units, "exact_match")


def _perplexity(translator: Translator, held_out: ReferenceSet) -> float:
    """Of each piece of the first references, their ends among them."""
    return math.exp(min(700.0, _loss(translator, held_out.sources, [line[0] for line in held_out.references])))


def source_worth(translator: Translator, held_out: ReferenceSet) -> float | None:
    """How many nats a piece of the first references costs more if sources are exchanged between the sentences.

    Each sentence gets a source of nearly the same length. Large test sets are sampled. None where all sources are the
    same.
    """
    step = max(1, len(held_out.sources) // _EXCHANGED)
    sources = held_out.sources[::step]
    found = partners([translator.tokenisers.source.encode(text) for text in sources])
    if found is None:
        return None
    targets = [line[0] for line in held_out.references[::step]]
    others = [sources[number] for number in found]
    return _loss(translator, others, targets) - _loss(translator, sources, targets)


def _loss(translator: Translator, sources: Sequence[str], targets: Sequence[str]) -> float:
    """Nats for each piece of the targets, their ends among them."""
    scored = translator.score(sources, targets)
    return -math.fsum(each.total for each in scored) / max(1, sum(len(each.logprobs) for each in scored))


def _lengths(found: Sequence[Translation], texts: Sequence[str], references: Sequence[Sequence[str]]) -> Lengths:
    return Lengths(
        hypothesis_words=sum(len(text.split()) for text in texts),
        reference_words=sum(len(line[0].split()) for line in references),
        empty=sum(not text.strip() for text in texts),
        length_limited=sum(each.length_limited for each in found),
        repetition_stopped=sum(each.repetition_stopped for each in found),
    )


def _speed(found: Sequence[Translation], seconds: float) -> Speed:
    tokens = sum(len(each.tokens) + 1 for each in found)
    seconds = max(seconds, 1e-9)
    return Speed(seconds, len(found) / seconds, tokens / seconds)
