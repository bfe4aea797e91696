"""The outermost pass: every translation is checked, and what fails is translated in a safer way.

The safer ways are the other hypotheses of the search, and shorter pieces. The best of what was found is kept. Where it
still lacks something of the source, or has something that the source has not, the source text stays: a translation must
never be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from regard.search import Hypothesis, SearchSettings
from regard.text.sentences import clauses
from regard.text.sentences import sentences as sentences_of
from regard.translation.checks import Checked, Checks
from regard.translation.finding import Found, Sentence
from regard.translation.glossary import says
from regard.translation.passes import Pass, Reader

_HOPELESS = -3.0  # the model finds its best translation so unlikely that no other search will do better
_MANY = 24  # characters that a piece has at least

Way = Callable[[Sequence[Sentence], SearchSettings], list[list[Found]]]


class Verifying:
    """Translations that pass the checks, and findings about those that do not."""

    def __init__(self, inner: Pass, reader: Reader, checks: Checks) -> None:
        self._inner, self._reader, self._checks = inner, reader, checks

    def translated(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations with their findings; the best first."""
        found = self._inner.translated(sentences, settings)
        checked = [
            [self._checked(sentence, other, settings) for other in others]
            for sentence, others in zip(sentences, found, strict=True)
        ]
        ways: tuple[Way, ...] = (self._others, self._pieces)
        waiting = [n for n, others in enumerate(checked) if _worth_another_way(others[0], settings)]
        for way in ways:
            waiting = [n for n in waiting if _worth_another_way(checked[n][0], settings)]
            results = way([sentences[n] for n in waiting], settings) if waiting else []
            for n, others in zip(waiting, results, strict=True):
                again = [self._checked(sentences[n], other, settings) for other in others]
                by_text: dict[str, Found] = {}
                for other in (*checked[n], *again):
                    by_text.setdefault(other.text, other)
                checked[n] = sorted(by_text.values(), key=lambda other: other.badness)[: settings.n_best]
        return [
            _given_out(sentence, others, settings) if any(other.findings for other in others) else others
            for sentence, others in zip(sentences, checked, strict=True)
        ]

    def _checked(self, sentence: Sentence, found: Found, settings: SearchSettings) -> Found:
        missing = [] if found.constraints_met else [one for one in sentence.phrases if not says(found.text, one)]
        findings = self._checks.findings(
            Checked(
                source=sentence.text,
                target=found.text,
                placeholders=sentence.placeholders,
                syntax=sentence.syntax,
                terms=missing,
                cut_off=found.hypothesis.length_limited,
                may_repeat=not settings.repetition_cycle,
            )
        )
        if not findings and not found.lost:
            return found
        lost = tuple(one.detail.removesuffix(" is missing") for one in findings if _is_lost(one.check, one.detail))
        return found._replace(findings=findings, lost=lost)

    def _others(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """All hypotheses of the beam."""
        if settings.method != "beam" or settings.n_best == settings.beam_size:
            return [[] for _ in sentences]
        more = SearchSettings.read(settings.model_dump() | {"n_best": settings.beam_size}, where="translate")
        return self._inner.translated(sentences, more)

    def _pieces(self, sentences: Sequence[Sentence], settings: SearchSettings) -> list[list[Found]]:
        """The translations of shorter pieces, joined again."""
        cut = [_cut(sentence) for sentence in sentences]
        texts = [(piece.strip(), sentence) for pieces, sentence in zip(cut, sentences, strict=True) for piece in pieces]
        asked = self._reader.read([text for text, _ in texts], [sentence for _, sentence in texts])
        found = iter(self._inner.translated(asked, settings) if asked else ())
        results = list[list[Found]]()
        for pieces, sentence in zip(cut, sentences, strict=True):
            parts = [next(found)[0] for _ in pieces]
            results.append([_joined(sentence, pieces, parts)] if parts else [])
        return results


def _is_lost(check: str, detail: str) -> bool:
    return check in ("placeholders", "markup") and detail.endswith(" is missing")


def _worth_another_way(found: Found, settings: SearchSettings) -> bool:
    """Whether something failed that another search may do better."""
    if not found.findings:
        return False
    checks = {finding.check for finding in found.findings} - {"terms"}
    if found.hypothesis.length_limited and settings.max_length is not None:
        checks -= {"unfinished", "length"}  # it may not be longer
    return bool(checks) and found.likelihood > _HOPELESS


def _given_out(sentence: Sentence, others: Sequence[Found], settings: SearchSettings) -> list[Found]:
    """Those with serious findings last; before them the source text, if there are no others."""
    ordered = sorted(others, key=lambda other: other.badness) if len(others) > 1 else list(others)
    if ordered[0].is_sound:
        return ordered
    source = ordered[0]._replace(text=sentence.text, changed=True, alignment=None, lost=(), refused=True)
    return [source, *ordered][: settings.n_best]


def _cut(sentence: Sentence) -> list[str]:
    """The pieces of a sentence; none where it cannot be cut, or its translation must begin with or have something."""
    if sentence.request is not None:
        return []
    whole = sentences_of(sentence.text)
    pieces = whole if len(whole) > 1 else _long_enough(clauses(sentence.text))
    return pieces if len(pieces) > 1 else []


def _long_enough(pieces: Sequence[str]) -> list[str]:
    """The pieces, short ones joined with what follows them."""
    joined: list[str] = []
    for piece in pieces:
        if joined and (len(joined[-1]) < _MANY or len(piece) < _MANY):
            joined[-1] += piece
        else:
            joined.append(piece)
    return joined


def _joined(sentence: Sentence, pieces: Sequence[str], parts: Sequence[Found]) -> Found:
    spaces = [piece[len(piece.rstrip()) :] for piece in pieces]
    text = "".join(part.text + space for part, space in zip(parts, spaces, strict=True)).strip()
    hypotheses = [part.hypothesis for part in parts]
    together = Hypothesis(
        ids=tuple(chain.from_iterable(one.ids for one in hypotheses)),
        score=sum(one.score for one in hypotheses),
        total=sum(one.total for one in hypotheses),
        logprobs=tuple(chain.from_iterable(one.logprobs for one in hypotheses)),
        length_limited=any(one.length_limited for one in hypotheses),
        repetition_stopped=any(one.repetition_stopped for one in hypotheses),
        constraints_met=all(one.constraints_met for one in hypotheses),
    )
    return Found(
        sentence.ids, text, together, constraints_met=all(part.constraints_met for part in parts), changed=True
    )
