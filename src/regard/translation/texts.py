"""Texts in, translations out: cut into segments, found, checked, aligned, and joined again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from regard.errors import TextError
from regard.search import SearchSettings
from regard.search.request import Phrase
from regard.text.word_spans import word_spans
from regard.tokens import Tokenisers
from regard.translation.alignment import Aligner
from regard.translation.confidence import Calibration
from regard.translation.engines.engine import request_for
from regard.translation.finding import Found, Sentence
from regard.translation.forcing import Forcing
from regard.translation.garbage import no_garbage
from regard.translation.glossary import Glossary
from regard.translation.messages import Messages
from regard.translation.passes import Pass, Reader
from regard.translation.segments import Part, Segment, Segmenter, joined
from regard.translation.translation import Alignment, Alternative, Translation


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of all translations."""

    search: SearchSettings
    alignment: bool
    logprobs: bool
    glossary: Glossary | None
    prefix: Phrase
    checks: bool = True
    syntax: str = ""  # of placeholders, where it is known


@dataclass(frozen=True, kw_only=True)
class Texts:
    """The way of a text through the parts of this room."""

    segmenter: Segmenter
    searching: Pass  # what translates sentences without checks
    verifying: Pass  # ... and with them
    reader: Reader
    aligner: Aligner
    forced: Forcing
    tokenisers: Tokenisers
    calibration: Calibration

    def translated(self, texts: Sequence[str], asked: Asked) -> list[Translation]:
        """The translation of each text, in order."""
        with no_garbage():
            if not asked.checks:
                return self._translated(texts, asked)
            messages = Messages(texts)
            return messages.joined(self._translated(messages.texts, asked))

    def _translated(self, texts: Sequence[str], asked: Asked) -> list[Translation]:
        parts = [self.segmenter.parts(text, syntax=asked.syntax, letters=asked.checks) for text in texts]
        sentences = self._sentences(parts, asked)
        way = self.verifying if asked.checks else self.searching
        found = way.translated(sentences, asked.search) if sentences else []
        if asked.alignment:
            found = self._aligned(sentences, found)
        if asked.logprobs:
            found = self._with_logprobs(found)
        following = iter(found)
        return [
            self._translation(text, own, [next(following) for part in own if isinstance(part, Segment)], asked)
            for text, own in zip(texts, parts, strict=True)
        ]

    def _sentences(self, parts: Sequence[Sequence[Part]], asked: Asked) -> list[Sentence]:
        """The segments of all texts; a text's first one begins with the prefix."""
        own = [[part for part in text if isinstance(part, Segment)] for text in parts]
        segments = [(segment, number == 0) for text in own for number, segment in enumerate(text)]
        all_ids = self.tokenisers.source.encode_batch([segment.text for segment, _ in segments])
        sentences = []
        for (segment, first), ids in zip(segments, all_ids, strict=True):
            terms = asked.glossary.terms(segment.text, segment.placeholders) if asked.glossary else {}
            phrases = tuple(terms)
            required = tuple(tuple(self.tokenisers.target.encode(phrase)) for phrase in phrases)
            prefix = asked.prefix if first else ()
            request = request_for(ids, prefix=prefix, required=required) if prefix or required else None
            sentences.append(
                Sentence(
                    segment.text,
                    ids,
                    segment.placeholders,
                    request,
                    phrases=phrases,
                    terms=tuple(terms.items()),
                    syntax=asked.syntax,
                )
            )
        return sentences

    def _aligned(self, sentences: Sequence[Sentence], found: Sequence[list[Found]]) -> list[list[Found]]:
        """The best translation of each sentence with its alignment."""
        unknown = [n for n, others in enumerate(found) if others[0].alignment is None]
        pairs = [self.reader.said(sentences[n], found[n][0]) for n in unknown]
        known = dict(zip(unknown, self.aligner.align(pairs), strict=True))
        return [
            [others[0]._replace(alignment=known[n]), *others[1:]] if n in known else others
            for n, others in enumerate(found)
        ]

    def _with_logprobs(self, found: Sequence[list[Found]]) -> list[list[Found]]:
        """The translations, those of an engine that gives no log-probabilities scored by the model itself."""
        unknown = [other for others in found for other in others if not other.hypothesis.logprobs]
        scored = iter(self.forced.logprobs([(other.source, other.hypothesis.ids) for other in unknown]))
        return [
            [other if other.hypothesis.logprobs else other.with_logprobs(next(scored)) for other in others]
            for others in found
        ]

    def _translation(self, source: str, parts: Sequence[Part], found: list[list[Found]], asked: Asked) -> Translation:
        ranked = _ranked(found, asked.search)
        alternatives = [self._alternative(parts, chosen, asked) for chosen in ranked]
        return Translation(
            source=source,
            alternatives=tuple(alternatives) if asked.search.n_best > 1 and found else (),
            alignment=_links(source, parts, ranked[0]) if asked.alignment else (),
            **vars(alternatives[0]),
        )

    def _alternative(self, parts: Sequence[Part], chosen: Sequence[Found], asked: Asked) -> Alternative:
        hypotheses = [found.hypothesis for found in chosen]
        ids = tuple(chain.from_iterable([hypothesis.ids for hypothesis in hypotheses]))
        logprobs = chain.from_iterable([hypothesis.logprobs for hypothesis in hypotheses])
        return Alternative(
            text=joined(_filled(parts, chosen)),
            score=float(sum(hypothesis.score for hypothesis in hypotheses)),
            tokens=tuple(self.tokenisers.target.pieces(ids)),
            logprobs=tuple(logprobs) if asked.logprobs else (),
            length_limited=any(hypothesis.length_limited for hypothesis in hypotheses),
            repetition_stopped=any(hypothesis.repetition_stopped for hypothesis in hypotheses),
            constraints_met=all(found.constraints_met for found in chosen),
            lost=tuple(chain.from_iterable([found.lost for found in chosen])),
            confidence=self._confidence(chosen),
            findings=tuple(chain.from_iterable([found.findings for found in chosen])),
            refused=any(found.refused for found in chosen),
        )

    def _confidence(self, chosen: Sequence[Found]) -> float:
        """That of all parts together: of the mean of all tokens."""
        if not chosen:
            return 1.0
        if any(found.refused for found in chosen):
            return 0.0
        total = sum(found.hypothesis.total for found in chosen)
        return self.calibration.confidence(total / sum(len(found.hypothesis.ids) + 1 for found in chosen))


def strings(texts: Any) -> Iterator[str]:
    """The texts one by one. What is not a text, or not several, is refused."""
    if isinstance(texts, bytes | bytearray) or not isinstance(texts, Iterable):
        raise TextError(f"{_named(texts)} cannot be translated.\n  Give a string or a list of strings.")
    return _checked(texts)


def _checked(texts: Iterable[Any]) -> Iterator[str]:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TextError(f"text {number}: {_named(text)} cannot be translated.\n  Give a list of strings.")
        yield text


def _named(value: object) -> str:
    """`5, which is of the type int`; the type alone where the value is long."""
    shown = repr(value)
    kind = f"of the type {type(value).__name__}"
    return f"{shown}, which is {kind}," if len(shown) <= 40 else f"a value {kind}"


def _ranked(found: Sequence[Sequence[Found]], search: SearchSettings) -> list[list[Found]]:
    """The best ways to choose one translation of each segment; samples as they came.

    Those with fewer findings are better, and of these the ones with the larger sum of scores.
    """
    if search.n_best == 1 and all(len(others) == 1 for others in found):  # by far the most frequent case
        return [[others[0] for others in found]]
    if search.method == "sampling":
        return [[others[min(rank, len(others) - 1)] for others in found] for rank in range(search.n_best)]
    ranked: list[list[Found]] = [[]]
    for others in found:
        ranked = sorted(([*chosen, other] for chosen in ranked for other in others), key=_order)[: search.n_best]
    return ranked


def _order(chosen: Sequence[Found]) -> tuple[int, int, float]:
    serious, findings = (sum(found.badness[number] for found in chosen) for number in (0, 1))
    return serious, findings, -sum(found.hypothesis.score for found in chosen)


def _filled(parts: Sequence[Part], chosen: Sequence[Found]) -> list[str]:
    following = iter(chosen)
    return [next(following).text if isinstance(part, Segment) else part for part in parts]


def _links(source: str, parts: Sequence[Part], chosen: Sequence[Found]) -> Alignment:
    """The links of all segments, counted in the words of the whole texts."""
    source_words = len(word_spans(source))
    links: list[tuple[int, int]] = []
    before, following = list[str](), iter(chosen)
    for part in parts:
        if isinstance(part, Segment):
            found = next(following)
            said = len(word_spans(joined(before)))
            links += [(min(part.begins + s, source_words - 1), said + t) for s, t in found.alignment or ()]
            before.append(found.text)
        else:
            before.append(part)
    return tuple(links)
