"""Sentences in, translations of each out: searched by an engine, and ids turned into text.

Constrained searches are slow, and a safer way that checks try is to ask for all that such a search has found. So the
last results are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from typing import NamedTuple

from regard.search import Hypothesis, Request, Result, SearchSettings
from regard.text.placeholders import Placeholder
from regard.tokens.tokeniser import Tokeniser
from regard.translation.checks import Finding
from regard.translation.engines.engine import Engine, search_each
from regard.translation.glossary import says
from regard.translation.translation import Alignment

_KEPT = 64  # results of constrained searches


class Sentence(NamedTuple):
    """One that is to be translated."""

    text: str  # in normal form
    ids: Sequence[int]
    placeholders: tuple[Placeholder, ...] = ()
    request: Request | None = None  # what is asked of the translation, if anything
    phrases: tuple[str, ...] = ()  # that it is to say as whole words
    terms: tuple[tuple[str, str], ...] = ()  # such phrases, each with the phrase of the source that asks for it
    syntax: str = ""  # of its placeholders, where a catalogue states it


class Found(NamedTuple):
    """One translation of a sentence."""

    source: Sequence[int]  # the ids that were searched: without placeholders, where those were put back
    text: str
    hypothesis: Hypothesis
    constraints_met: bool
    lost: tuple[str, ...] = ()
    alignment: Alignment | None = None  # where it is known already
    changed: bool = False  # the text is no longer what the ids say: something was put into it
    findings: tuple[Finding, ...] = ()
    refused: bool = False  # no translation passed the checks: the text is that of the source

    @property
    def likelihood(self) -> float:
        """The mean log-probability of its pieces and of the end."""
        return self.hypothesis.total / (len(self.hypothesis.ids) + 1)

    @property
    def badness(self) -> tuple[int, int]:
        """How many findings there are, the serious ones first; none where the source text stays."""
        if self.refused or not self.findings:
            return 0, 0
        return sum(one.serious for one in self.findings), len(self.findings)

    @property
    def is_sound(self) -> bool:
        """Whether nothing of the source is missing, and nothing was invented."""
        return not self.badness[0]

    def saying(self, text: str) -> Found:
        """The same, with another text."""
        return self if text == self.text else self._replace(text=text, changed=True, alignment=None)

    def with_logprobs(self, logprobs: Sequence[float]) -> Found:
        """The same, with the log-probability of each piece and of the end."""
        return self._replace(hypothesis=replace(self.hypothesis, logprobs=tuple(logprobs)))


class Finder:
    """An engine, and the tokeniser of its target."""

    def __init__(self, engine: Engine, tokeniser: Tokeniser) -> None:
        self._engine, self._tokeniser = engine, tokeniser
        self._kept: OrderedDict[tuple[tuple[int, ...], Request, SearchSettings], Result] = OrderedDict()
        self._lock = Lock()

    def find(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations of each sentence, the best first."""
        free = [n for n, sentence in enumerate(sentences) if sentence.request is None]
        asked = [n for n, sentence in enumerate(sentences) if sentence.request is not None]
        found: dict[int, list[Found]] = {}
        if free:
            ids = [sentences[n].ids for n in free]
            made = search_each(self._engine, ids, settings, lambda n, result: self._found(sentences[free[n]], result))
            found |= zip(free, made, strict=True)
        if asked:
            all_there_are = _with_all_hypotheses(settings)
            results = self._constrained([sentences[n] for n in asked], all_there_are, again=settings == all_there_are)
            for n, result in zip(asked, results, strict=True):
                translations = self._found(sentences[n], result)
                if settings.method == "beam":
                    translations.sort(key=lambda other: not other.constraints_met)  # stable: else the best first
                found[n] = translations[: settings.n_best]
        return [found[n] for n in range(len(sentences))]

    def _constrained(self, sentences: Sequence[Sentence], settings: SearchSettings, *, again: bool) -> list[Result]:
        """What the engine finds for sentences of which something is asked, or has found if they are asked again."""
        requests = [request for sentence in sentences if (request := sentence.request) is not None]
        if settings.method == "sampling":
            return self._engine.search([one.ids for one in sentences], settings, requests=requests)
        keys = [(tuple(one.ids), asked, settings) for one, asked in zip(sentences, requests, strict=True)]
        with self._lock:
            found = {key: self._kept[key] for key in keys if again and key in self._kept}
        new = {key: n for n, key in enumerate(keys) if key not in found}
        if new:
            ids, asked = [sentences[n].ids for n in new.values()], [requests[n] for n in new.values()]
            found |= zip(new, self._engine.search(ids, settings, requests=asked), strict=True)
        with self._lock:
            self._kept |= found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return [found[key] for key in keys]

    def _found(self, sentence: Sentence, result: Result) -> list[Found]:
        found = []
        for hypothesis in result.hypotheses:
            text = self._tokeniser.decode(hypothesis.ids)
            text = text if text.isprintable() else self._tokeniser.normalise(text)
            met = hypothesis.constraints_met and all(says(text, phrase) for phrase in sentence.phrases)
            found.append(Found(sentence.ids, text, hypothesis, met))
        return found


def _with_all_hypotheses(settings: SearchSettings) -> SearchSettings:
    """Ids that must be said do not say where a word ends: of all that a beam finds, one with the words is chosen."""
    if settings.method != "beam" or settings.n_best == settings.beam_size:
        return settings
    return SearchSettings.read(settings.model_dump() | {"n_best": settings.beam_size}, where="translate")
