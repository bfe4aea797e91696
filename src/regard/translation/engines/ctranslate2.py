"""The engine that lets CTranslate2 search: the fastest on processors, in int8 or in float32.

Its beam search follows the same hypotheses as ours (docs/engines.md says why) and differs in two things. It compares
finished hypotheses by another length penalty: all of them are taken, and compared by ours. It stops once so many have
finished, not once nothing better can come: `_patience` says how many.

Batches are small, and each core searches one of its own: that is faster than large batches on several cores. In int8,
a batch has only sentences that do not change each other's bits (`company.py`), so a translation is the same in any
batch.

What CTranslate2 cannot do as our search does is left to another engine, sentence by sentence: see `supports`,
and those that reach their limit or repeat themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from regard.batches.similar_lengths import by_length
from regard.errors import RegardError
from regard.exchange.ctranslate2_runtime import library, tokens
from regard.search import Hypothesis, Request, Result, SearchSettings
from regard.search.length import limit
from regard.tokens import Tokenisers
from regard.tokens.tokeniser import SPECIAL
from regard.translation.engines.company import company
from regard.translation.engines.engine import Engine, EngineFile, Loaded, plain_requests

_BATCH_TOKENS = 192  # source tokens of the sentences that are searched side by side: their caches stay near the core
_TRIED = 8  # tokens of a translation in a trial
_END = SPECIAL[1]
_LIKE_OURS = 0.7  # length^(0.7 alpha) orders hypotheses of usual lengths almost as ((5 + length) / 6)^alpha does
_NEARLY_NONE = 1e-30  # a length penalty that changes no score, and yet is not 0, which would end the search early
_FAVOURS_FEW = 0.6  # a length penalty, the default: long hypotheses gain little by it
_FAVOURS_MANY = 0.9  # one by which they gain much


def available() -> bool:
    """Whether CTranslate2 is installed."""
    return find_spec("ctranslate2") is not None


class _Found(NamedTuple):
    """A hypothesis of CTranslate2."""

    words: Sequence[str]  # without its end
    total: float


class CTranslate2Engine:
    """A converted model, and the engine for what it cannot do."""

    name = "ctranslate2"

    def __init__(
        self,
        folder: Path,
        tokenisers: Tokenisers,
        *,
        compute_type: str,
        positions: int,
        fallback: Callable[[], Engine],
        threads: int | None = None,
    ) -> None:
        self.compute_type, self._open_fallback, self.positions = compute_type, fallback, positions
        self.folder = folder  # may move later; opened from here again by `use_workers`
        self.border = 0  # between lengths that int8 searches apart; 0 while it is not known
        self.use_workers(threads or _threads())
        self._source = tokens(tokenisers.source)
        self._target = {name: number for number, name in enumerate(tokens(tokenisers.target))}

    @cached_property
    def fallback(self) -> Engine:
        """The engine for what CTranslate2 cannot do, opened when it is first needed: it loads PyTorch and the model."""
        return self._open_fallback()

    def use_workers(self, count: int) -> None:
        """From now on, so many searches run at once, on one core each; call this before the first search."""
        self.searches_at_once = count
        self._translator = library().Translator(
            str(self.folder),
            device="cpu",
            compute_type=self.compute_type,
            inter_threads=count,
            intra_threads=1,
        )

    def company(self, length: int) -> int:
        """Sources of the same company may be searched side by side: they do not change each other's translations.

        In float32, all may. The length includes the end.
        """
        return company(length, self.border) if self.compute_type == "int8" else 0

    def scores(self, sentences: Sequence[Sequence[int]]) -> list[float]:
        """The score of a short translation of each of these sentences, which are searched in one batch: for trials."""
        settings = SearchSettings(method="greedy")
        texts = [[self._source[token] for token in sentence] for sentence in sentences]
        return [answer.result().scores[0] for answer in self._started(texts, settings, _TRIED)]

    def supports(self, settings: SearchSettings, requests: Sequence[Request] = ()) -> bool:
        """Whether CTranslate2 searches all of this as our own search does.

        Samples would depend on their neighbours. What is forbidden or forced takes no probability with it there, so
        that hypotheses score and compare otherwise.
        """
        return (
            settings.method in ("beam", "greedy")
            and settings.min_length == 0
            and not any(request.prefix or request.banned or request.required for request in requests)
        )

    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, in order."""
        asked = plain_requests(sentences) if requests is None else requests
        found = self.attempt(sentences, settings, requests=asked)
        left = [n for n in range(len(sentences)) if n not in found]
        if left:
            others = self.fallback.search([sentences[n] for n in left], settings, requests=[asked[n] for n in left])
            found |= zip(left, others, strict=True)
        return [found[n] for n in range(len(sentences))]

    def attempt(
        self,
        sentences: Sequence[Sequence[int]],
        settings: SearchSettings,
        *,
        requests: Sequence[Request],
        cores: int | None = None,
    ) -> dict[int, Result]:
        """What CTranslate2 finds, by the number of the sentence, without those where our search would find another.

        The sentences are divided among so many cores, by default all; a caller that searches on others meanwhile says
        fewer.
        """
        limits = [limit(request, settings) for request in requests]
        fitting = [
            n
            for n, (sentence, request) in enumerate(zip(sentences, requests, strict=True))
            if self.supports(settings, [request]) and sentence and max(len(sentence), limits[n]) + 1 <= self.positions
        ]
        waiting = []
        lengths = [len(sentence) + 1 for sentence in sentences]
        share = -(-sum(lengths[n] for n in fitting) // (cores or self.searches_at_once))
        companies: dict[int, list[int]] = {}
        for n in fitting:
            companies.setdefault(self.company(lengths[n]), []).append(n)
        for _, numbers in sorted(companies.items(), reverse=True):  # the longest first
            for batch in by_length(lengths, tokens=min(_BATCH_TOKENS, share), numbers=numbers):
                texts = [[self._source[token] for token in sentences[n]] for n in batch]
                waiting.append((batch, self._started(texts, settings, max(limits[n] for n in batch))))
        found: dict[int, Result] = {}
        for batch, answers in waiting:
            for n, answer in zip(batch, answers, strict=True):
                result = self._result(answer.result(), requests[n], settings, limits[n])
                if result:
                    found[n] = result
        return found

    def _started(self, texts: list[list[str]], settings: SearchSettings, longest: int) -> list[Any]:
        """Searches a batch in the background: at most `longest` words and the end of each."""
        width = 1 if settings.method == "greedy" else settings.beam_size
        patience = _patience(settings) if width > 1 else 1.0
        best_is_enough = settings.length_penalty == 0 and settings.n_best == 1
        answers: list[Any] = self._translator.translate_batch(
            texts,
            asynchronous=True,
            beam_size=width,
            patience=patience,
            num_hypotheses=1 if best_is_enough else round(width * patience),
            length_penalty=0 if best_is_enough else _their_penalty(settings),
            max_input_length=0,
            max_decoding_length=longest + 1,
            min_decoding_length=0,
            return_scores=True,
            return_end_token=True,
        )
        return answers

    def _result(self, answer: Any, request: Request, settings: SearchSettings, longest: int) -> Result | None:
        """The best hypotheses by our own length penalty; None where our search would have stepped in."""
        found = []
        for words, score in zip(answer.hypotheses, answer.scores, strict=True):
            said = words[:-1]
            if words[-1] != _END or len(said) > longest or _guarded(said, settings):
                return None
            found.append(_Found(said, score * len(words) ** _their_penalty(settings)))
        best = sorted(found, key=lambda one: (-_score(one, settings), len(one.words)))[: settings.n_best]
        return Result(request=request, hypotheses=tuple(self._hypothesis(one, settings, longest) for one in best))

    def _hypothesis(self, found: _Found, settings: SearchSettings, longest: int) -> Hypothesis:
        return Hypothesis(
            ids=tuple(map(self._target.__getitem__, found.words)),
            score=_score(found, settings),
            total=found.total,
            logprobs=(),
            length_limited=len(found.words) >= longest,
            repetition_stopped=False,
            constraints_met=True,
        )


def _threads() -> int:
    """As many threads as PyTorch uses where it is loaded; otherwise OMP_NUM_THREADS, or one for each core."""
    if "torch" in sys.modules:
        return int(sys.modules["torch"].get_num_threads())
    given = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if given.isdigit() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _patience(settings: SearchSettings) -> float:
    """The search of a sentence stops when beam_size times this have finished.

    The best is then among them, in practice; the others of the n best may still be overtaken, so they wait for more.
    So does the best where long hypotheses are favoured: those that finish late may be better than all before them.
    """
    if settings.length_penalty > _FAVOURS_MANY:
        return 3.0
    return 1.0 if settings.n_best == 1 and settings.length_penalty <= _FAVOURS_FEW else 2.0


def _their_penalty(settings: SearchSettings) -> float:
    """The exponent by which CTranslate2 chooses which hypotheses to hand out, where more have finished than it may."""
    return _LIKE_OURS * settings.length_penalty or _NEARLY_NONE


def _guarded(words: Sequence[str], settings: SearchSettings) -> bool:
    """Whether the guard against repetition would have forbidden one of these words."""
    if len(words) - len(set(words)) < settings.repetition_copies:
        return False  # too few words were said before
    for cycle in range(1, settings.repetition_cycle + 1):
        repeated = 0
        for place in range(cycle, len(words)):
            repeated = repeated + 1 if words[place] == words[place - cycle] else 0
            if repeated > cycle * (settings.repetition_copies - 1):
                return True
    return False


def _score(found: _Found, settings: SearchSettings) -> float:
    penalty: float = ((5 + len(found.words) + 1) / 6) ** settings.length_penalty
    return found.total / penalty


def _open(loaded: Loaded) -> Engine:
    from regard.translation.engines.converted import opened  # it needs this file

    return opened(loaded, compute_type="int8")[0]


def _open_if_it_suits(loaded: Loaded) -> Engine | None:
    """The engine, on a processor, for a model that is stored in int8: CTranslate2 computes with the same weights."""
    from regard.translation.engines.converted import opened

    stored = [member.description.stored_as for member in loaded.members]
    if loaded.device.type != "cpu" or stored != ["int8"] or not available():
        return None
    try:
        engine, verdict = opened(loaded, compute_type="int8")
    except (RegardError, OSError):
        return None
    return engine if verdict.mostly_agrees else None


ENGINE = EngineFile(open=_open, open_if_it_suits=_open_if_it_suits)
