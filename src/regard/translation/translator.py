"""The Translator: the one object that users hold. A model folder in, translations out.

translator = regard.load("my-model")
translator.translate("Where is the station?").text
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, overload

import torch

from regard import modelfolder
from regard.batches.rows import batch_of
from regard.errors import ModelFolderError, TextError
from regard.search import Hypothesis, Result, SearchSettings
from regard.tokens import Tokenisers
from regard.translation.engines.engine import Engine
from regard.translation.engines.torch import TorchEngine

if TYPE_CHECKING:
    from regard.insight.attention import Attention

_WINDOW = 512  # sentences that are sorted by length together


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """One translation of a sentence."""

    text: str
    score: float  # the sum of the log-probabilities over the length penalty; larger is better
    tokens: tuple[str, ...]  # the pieces of the text
    logprobs: tuple[float, ...]  # of each piece, and of the end
    length_limited: bool = False  # it is as long as was allowed, so perhaps cut off
    repetition_stopped: bool = False  # a loop of repetitions was stopped


@dataclass(frozen=True, kw_only=True)
class Translation(Alternative):
    """The best translation of a sentence, and others if they were asked for."""

    source: str
    alternatives: tuple[Alternative, ...] = ()  # the best first, this one among them; empty unless n_best > 1


@dataclass(frozen=True, kw_only=True)
class Scored:
    """How likely a model finds a translation that it is given."""

    total: float  # the sum of the log-probabilities
    logprobs: tuple[float, ...]  # of each piece of the target, and of the end
    tokens: tuple[str, ...]


class Translator:
    """A loaded model. `languages`, `description` and `tokenisers` say what it is."""

    def __init__(self, folder: str | Path, *, device: str | None = None) -> None:
        self.folder = Path(folder)
        self.name = self.folder.absolute().name
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        loaded = modelfolder.load(Path(folder), device=self.device)
        if not loaded.tokeniser:
            raise ModelFolderError(f"{folder}: this model has no tokeniser, so it cannot read text.")
        self.model, self.description = loaded.model, loaded.description
        self.tokenisers = Tokenisers.from_files(loaded.tokeniser)
        self.languages = self.description.languages
        self.engine: Engine = TorchEngine(self.model, self.tokenisers, device=self.device)

    @overload
    def translate(  # type: ignore[overload-overlap]  # a text is not meant as its characters
        self, text: str, *, beam_size: int = 4, n_best: int = 1, length_penalty: float = 0.6
    ) -> Translation: ...
    @overload
    def translate(
        self, text: Iterable[str], *, beam_size: int = 4, n_best: int = 1, length_penalty: float = 0.6
    ) -> list[Translation]: ...
    def translate(
        self, text: str | Iterable[str], *, beam_size: int = 4, n_best: int = 1, length_penalty: float = 0.6
    ) -> Translation | list[Translation]:
        """The translation of a text, or of each of several, in order. A text without words stays as it is."""
        search = SearchSettings.read(
            {"beam_size": beam_size, "n_best": n_best, "length_penalty": length_penalty}, where="translate"
        )
        if isinstance(text, str):
            return self._translated([text], search)[0]
        return list(self.stream(text, search=search))

    def stream(
        self, texts: Iterable[str], *, search: SearchSettings | None = None, window: int = _WINDOW
    ) -> Iterator[Translation]:
        """The translations of any number of texts, in order, as they are done; only `window` of them are held."""
        source = iter(texts)
        while taken := list(islice(source, window)):
            yield from self._translated(taken, search or SearchSettings())

    @torch.no_grad()
    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Scored]:
        """How likely the model finds each target as the translation of its source."""
        if len(sources) != len(targets):
            raise TextError(f"{len(sources)} sources and {len(targets)} targets were given.\n  Give one target each.")
        scored = []
        for source, target in zip(sources, targets, strict=True):
            ids = self.tokenisers.target.encode(target)
            pair = (self.tokenisers.source.encode(source), ids)
            batch = batch_of([[pair]], begin=self.tokenisers.target.begin, end=self.tokenisers.target.end)
            logprobs = self.model(batch.to(self.device)).log_softmax(-1)[0]
            said = logprobs.gather(1, batch.labels.to(self.device).T)[:, 0]
            tokens = tuple(self.tokenisers.target.pieces(ids))
            scored.append(Scored(total=float(said.sum()), logprobs=tuple(said.tolist()), tokens=tokens))
        return scored

    def look(self, source: str, target: str | None = None, *, without: str = "", beam_size: int = 4) -> Attention:
        """What the model looks at while it translates `source`, or while it scores `target`.

        `without` names heads or layers that are switched off: `encoder.2.5,decoder-source.0`.
        """
        from regard.insight.capture import heads_named
        from regard.insight.look import look

        return look(
            self.model,
            self.tokenisers,
            source,
            target,
            device=self.device,
            engine=self.engine,
            off=heads_named(self.model, without),
            beam_size=beam_size,
            name=self.name,
            languages=self.languages,
        )

    def _translated(self, texts: Sequence[str], search: SearchSettings) -> list[Translation]:
        wordless = {n for n, text in enumerate(texts) if not self.tokenisers.source.normalise(text)}
        others = [text for n, text in enumerate(texts) if n not in wordless]
        results = iter(self.engine.search([self.tokenisers.source.encode(other) for other in others], search))
        return [
            Translation(source=text, text=text, score=0.0, tokens=(), logprobs=())
            if n in wordless
            else self._translation(text, next(results), several=search.n_best > 1)
            for n, text in enumerate(texts)
        ]

    def _translation(self, source: str, result: Result, *, several: bool) -> Translation:
        alternatives = [self._alternative(hypothesis) for hypothesis in result.hypotheses]
        best = alternatives[0]
        return Translation(
            source=source,
            text=best.text,
            score=best.score,
            tokens=best.tokens,
            logprobs=best.logprobs,
            length_limited=best.length_limited,
            repetition_stopped=best.repetition_stopped,
            alternatives=tuple(alternatives) if several else (),
        )

    def _alternative(self, hypothesis: Hypothesis) -> Alternative:
        return Alternative(
            text=self.tokenisers.target.decode(hypothesis.ids),
            score=hypothesis.score,
            tokens=tuple(self.tokenisers.target.pieces(hypothesis.ids)),
            logprobs=hypothesis.logprobs,
            length_limited=hypothesis.length_limited,
            repetition_stopped=hypothesis.repetition_stopped,
        )


def load(model: str | Path, *, device: str | None = None) -> Translator:
    """The translator in a model folder."""
    return Translator(model, device=device)
