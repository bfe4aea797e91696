"""The translations of segments: of each as a whole, or of what is between its tags where the whole has lost one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from regard.search import SearchSettings
from regard.text.documents import Origin, Place
from regard.text.inline import LostMarkup
from regard.text.memory import Memory
from regard.text.placeholders import differences
from regard.text.spacing import respaced
from regard.translation.checks import Finding

TAG = re.compile(r'(</?(?:g+|x+)(?: id="\d+")?/?>)')  # as regard.text.inline shows them
_LINE = re.compile(r"(\s*)(.*?)(\s*)", re.DOTALL)
_BREAK = re.compile(r"[\n\t]")
_BREAKS = re.compile(r"([\n\t])")

Progress = Callable[[int, int], None]  # so many of so many texts are done


class Found(Protocol):
    """A translation."""

    @property
    def text(self) -> str:
        """As people read it."""
        ...

    @property
    def confidence(self) -> float:
        """The probability that it is good."""
        ...

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the checks found."""
        ...

    @property
    def refused(self) -> bool:
        """Whether it is the source text, because no translation passed the checks."""
        ...


class Translates(Protocol):
    """What is needed of a Translator."""

    @property
    def languages(self) -> Mapping[str, str]:
        """The codes of the languages, as `source` and `target`; empty where they are unknown."""
        ...

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchSettings | None = None,
        glossary: Mapping[str, str] | None = None,
        checks: bool | None = None,
        syntax: str = "",
    ) -> Iterator[Found]:
        """The translations of the texts, whose placeholders have this syntax, in order."""
        ...


class Options(NamedTuple):
    """What is asked of all translations."""

    search: SearchSettings | None
    glossary: Mapping[str, str] | None
    checks: bool | None

    def stream(self, translator: Translates, texts: Sequence[str], syntax: str) -> Iterator[Found]:
        """The translations of texts whose placeholders have this syntax."""
        return translator.stream(texts, search=self.search, glossary=self.glossary, checks=self.checks, syntax=syntax)


class Texts:
    """The lines of segments, and what tabs separate in them, each translated once however often it occurs.

    The segments are given with the syntax of their placeholders.
    """

    def __init__(self, sources: Iterable[tuple[str, str]], memory: Memory | None = None) -> None:
        self._remembered: dict[str, str] = {}
        self._syntax: dict[str, str] = {}
        for source, syntax in sources:
            for cell in _BREAK.split(source):
                if has_words(cell):
                    self._syntax.setdefault(_core(cell)[1], syntax)
        for cell in self._syntax if memory else ():
            exact = memory.exact(cell) if memory else None
            if exact is not None and _BREAK.search(exact) is None:
                self._remembered[cell] = exact
        self._found: dict[str, Found] = {}
        self._waiting = [cell for cell in self._syntax if cell not in self._remembered]

    def translate(self, translator: Translates, options: Options, progress: Progress | None) -> None:
        """Translates all that the memory does not have."""
        done = 0
        for syntax in dict.fromkeys(self._syntax[text] for text in self._waiting):
            own = [text for text in self._waiting if self._syntax[text] == syntax]
            for text, found in zip(own, options.stream(translator, own, syntax), strict=True):
                self._found[text] = found
                done += 1
                if progress:
                    progress(done, len(self._waiting))

    def translation(self, source: str) -> str | None:
        """Of a segment: that of its lines; None where one of them was refused, or has lost words or a placeholder."""
        pieces = []
        for cell in _BREAKS.split(source):
            before, core, after = _core(cell)
            said = self._said(core) if has_words(cell) else core
            if said is None or (core and not said.strip()) or "\n" in said:
                return None
            if differences(core, said, self._syntax.get(core, ""))[0]:
                return None
            pieces.append(f"{before}{respaced(core, said)}{after}")
        return "".join(pieces)

    def told(self, source: str) -> tuple[tuple[Finding, ...], float]:
        """What the checks found in the lines of a segment, and the lowest confidence in one of them."""
        cores = dict.fromkeys(_core(cell)[1] for piece in TAG.split(source) for cell in _BREAK.split(piece))
        cores |= dict.fromkeys(_core(cell)[1] for cell in _BREAK.split(source))
        found = [self._found[core] for core in cores if core in self._found]
        findings = tuple(finding for one in found for finding in one.findings)
        return findings, min((one.confidence for one in found), default=1.0)

    def _said(self, core: str) -> str | None:
        if core in self._remembered:
            return self._remembered[core]
        found = self._found[core]
        return None if found.refused else found.text

    def between_tags(self, source: str) -> str | None:
        """Of a segment: its tags as they stand, and the translations of what is between them."""
        pieces = [piece if TAG.fullmatch(piece) else self.translation(piece) for piece in TAG.split(source)]
        return None if None in pieces else "".join(piece for piece in pieces if piece)

    def origin(self, source: str) -> Origin:
        """Where the translation of a segment comes from."""
        cores = [_core(cell)[1] for cell in _BREAK.split(source) if has_words(cell)]
        return Origin.MEMORY if cores and all(core in self._remembered for core in cores) else Origin.MACHINE


def _core(line: str) -> tuple[str, str, str]:
    found = _LINE.fullmatch(line)
    assert found
    return found[1], found[2], found[3]


def has_words(line: str) -> bool:
    """Whether there are letters in it."""
    return any(map(str.isalpha, line))


class Filled(NamedTuple):
    """What became of the segments that were to be translated, by their numbers."""

    whole: dict[int, str]
    in_pieces: dict[int, str]  # the whole had lost markup, so the texts between it were translated one by one
    refused: list[int]  # they stay as they are
    texts: Texts
    pieces: Texts

    @property
    def translations(self) -> dict[int, str]:
        """All translations."""
        return self.whole | self.in_pieces

    def told(self, number: int, source: str) -> tuple[tuple[Finding, ...], float]:
        """What the checks found in a segment, and the confidence in its translation."""
        return (self.pieces if number in self.in_pieces else self.texts).told(source)


def filled(
    translator: Translates,
    places: Mapping[int, Place],
    options: Options,
    *,
    holds: Callable[[str], bool] = lambda _: True,
    progress: Progress | None = None,
    memory: Memory | None = None,
) -> Filled:
    """Translates the segments of these places, all together; a document `holds` the characters of a translation."""
    segments = {number: place.segment for number, place in places.items()}
    texts = Texts(((segment.source, segment.syntax) for segment in segments.values()), memory)
    texts.translate(translator, options, progress)
    whole, doubtful = _accepted(places, places, texts.translation, holds)
    pieces = Texts((piece, segments[n].syntax) for n in doubtful for piece in TAG.split(segments[n].source))
    pieces.translate(translator, options, None)
    in_pieces, refused = _accepted(places, doubtful, pieces.between_tags, holds)
    return Filled(whole, in_pieces, refused, texts, pieces)


def _accepted(
    places: Mapping[int, Place],
    chosen: Iterable[int],
    translation_of: Callable[[str], str | None],
    holds: Callable[[str], bool],
) -> tuple[dict[int, str], list[int]]:
    """The translations that have all that they need, and the numbers of the segments whose translations do not."""
    accepted, refused = dict[int, str](), list[int]()
    for number in chosen:
        translation = translation_of(places[number].segment.source)
        try:
            if translation is None or not holds(translation):
                raise LostMarkup
            places[number].put(translation)
            accepted[number] = translation
        except LostMarkup:
            refused.append(number)
    return accepted, refused
