"""Whole documents: read, translated segment by segment, verified, and only then written.

translate_document(regard.load("my-model"), Path("messages.po"), Path("messages.de.po"))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from regard.errors import TextError
from regard.search import SearchSettings
from regard.text import documents
from regard.text.content import Content
from regard.text.documents import Asked, Document, Format, Origin, Remarks, SegmentState
from regard.text.files import MAX_CHARACTERS, replacing
from regard.text.inline import LostMarkup
from regard.text.looks import structured
from regard.text.memory import Match, Memory
from regard.text.pairs import Languages
from regard.text.placeholders import differences
from regard.text.spacing import respaced
from regard.text.word_spans import count_words
from regard.translation import review
from regard.translation.checks import Finding

UNTRANSLATED = frozenset({SegmentState.UNTRANSLATED})
UNFINISHED = frozenset({SegmentState.UNTRANSLATED, SegmentState.UNFINISHED})
EVERYTHING = frozenset(SegmentState)

_TAG = re.compile(r'(</?(?:g+|x+)(?: id="\d+")?/?>)')  # as regard.text.inline shows them
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


@dataclass(frozen=True, kw_only=True)
class Report:
    """What became of the segments of a document."""

    path: str
    format: str
    segments: int
    translated: int
    in_pieces: int  # of these; the whole had lost markup, so the texts between it were translated one by one
    kept: int  # had a translation already
    refused: tuple[int, ...]  # lines of segments left as they were: a placeholder or all words were lost
    refused_parts: tuple[str, ...] = ()  # of these: the files within a package
    remembered: int = 0  # of those translated; their translations come from the memory
    worth_a_look: tuple[review.Segment, ...] = ()  # those in which the checks found something, or with low confidence
    near: tuple[Near, ...] = ()  # what the memory has for texts that the model translated


@dataclass(frozen=True, kw_only=True)
class Near:
    """Pairs of a translation memory whose sources are near that of a segment."""

    line: int
    part: str
    source: str
    matches: tuple[Match, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would be translated of a document."""

    path: str
    format: str
    segments: int
    to_translate: int
    words: int  # of these segments
    remembered: int = 0  # of these segments; the memory has a translation


def translate_document(
    translator: Translates,
    path: Path,
    out: Path,
    *,
    format: str | None = None,  # noqa: A002
    states: Collection[SegmentState] = UNTRANSLATED,
    marked: bool = True,
    search: SearchSettings | None = None,
    glossary: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    encoding: str | None = None,
    memory: Memory | None = None,
    checks: bool | None = None,
) -> Report:
    """A document translated into `out`, which appears whole or not at all; it may be `path` itself.

    The segments in one of the `states` are translated. `marked` ones are left for a person to review, where the format
    can say so. The format follows from the name or the content if it is not given. What `memory` translates is taken
    from there.
    """
    written, report = translated_document(
        translator,
        path,
        format=format,
        states=states,
        marked=marked,
        search=search,
        glossary=glossary,
        progress=progress,
        encoding=encoding,
        memory=memory,
        checks=checks,
    )
    with replacing(out) as file:
        file.write(written)
    return report


def translated_document(
    translator: Translates,
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    states: Collection[SegmentState] = UNTRANSLATED,
    marked: bool = True,
    search: SearchSettings | None = None,
    glossary: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    encoding: str | None = None,
    memory: Memory | None = None,
    checks: bool | None = None,
    content: Content | None = None,
) -> tuple[bytes, Report]:
    """The bytes of a document with its translations, and what became of its segments.

    The file is read, unless its `content`, or a part of that, is given.
    """
    found = documents.by_name(format) if format else format_of(path)
    content = content or found.load(path, encoding)
    asked = _asked(translator.languages, marked=marked)
    document = found.read(content, asked)
    _check_lengths(content, document)
    chosen = [number for number, segment in enumerate(document.segments) if segment.state in states]
    options = _Options(search, glossary, checks)
    texts = _Texts(((document.segments[n].source, document.segments[n].syntax) for n in chosen), memory)
    texts.translate(translator, options, progress)
    whole, doubtful = _accepted(content, document, chosen, texts.translation)
    pieces = _Texts(
        (piece, document.segments[number].syntax)
        for number in doubtful
        for piece in _TAG.split(document.segments[number].source)
    )
    pieces.translate(translator, options, None)
    in_pieces, refused = _accepted(content, document, doubtful, pieces.between_tags)
    translations = whole | in_pieces
    sources = {number: document.segments[number].source for number in translations}
    looked = {n: (texts if n in whole else pieces).told(source) for n, source in sources.items()}
    remarks = {
        number: Remarks(texts.origin(source), review.notes(*looked[number]) if marked else ())
        for number, source in sources.items()
    }
    written = document.translated(translations, remarks)
    _verify(content, written, translations, document, found.read(replace(content, text=written), asked), found)
    refusals = {number: texts.told(document.segments[number].source) for number in refused}
    report = Report(
        path=str(path),
        format=found.name,
        segments=len(document.segments),
        translated=len(translations),
        in_pieces=len(in_pieces),
        kept=len(document.segments) - len(chosen),
        refused=tuple(document.segments[number].line for number in refused),
        refused_parts=tuple(document.segments[number].part for number in refused),
        remembered=sum(remark.origin is Origin.MEMORY for remark in remarks.values()),
        worth_a_look=tuple(_worth_a_look(document, path, looked | refusals, translations)),
        near=tuple(_near(document, chosen, texts, memory)) if memory else (),
    )
    return content.encoded(written), report


def plan_document(
    languages: Mapping[str, str],
    path: Path,
    *,
    format: str | None = None,  # noqa: A002
    states: Collection[SegmentState] = UNTRANSLATED,
    encoding: str | None = None,
    memory: Memory | None = None,
) -> Plan:
    """What would be translated of a document, by a translator of these languages."""
    found = documents.by_name(format) if format else format_of(path)
    content = found.load(path, encoding)
    document = found.read(content, _asked(languages))
    _check_lengths(content, document)
    chosen = [segment.source for segment in document.segments if segment.state in states]
    return Plan(
        path=str(path),
        format=found.name,
        segments=len(document.segments),
        to_translate=len(chosen),
        words=sum(count_words(_TAG.sub(" ", source)) for source in chosen),
        remembered=sum(_Texts([(source, "")], memory).origin(source) is Origin.MEMORY for source in chosen),
    )


def format_of(path: Path) -> Format:
    """The document format that a file's name says, or else its content."""
    found = documents.by_path(path) or (documents.by_content(path) if path.is_file() else None)
    if found is None:
        kind = structured(path) if path.is_file() else None
        what = (
            f"this is {kind}, which Regard does not translate" if kind else "this is not a document that Regard knows"
        )
        raise TextError(
            f"{path}: {what}.\n"
            f"  Give its format with --format: {', '.join(documents.formats())}.\n"
            "  To translate it line by line, markup and all, give: --format txt"
        )
    return found


def _asked(languages: Mapping[str, str], *, marked: bool = True) -> Asked:
    return Asked(Languages(languages["source"], languages["target"]) if languages else None, marked)


def _near(document: Document, chosen: Sequence[int], texts: _Texts, memory: Memory) -> Iterator[Near]:
    for number in chosen:
        segment = document.segments[number]
        if texts.origin(segment.source) is Origin.MACHINE and _has_words(segment.source):
            matches = tuple(memory.near(_TAG.sub("", segment.source)))
            if matches:
                yield Near(line=segment.line, part=segment.part, source=segment.source, matches=matches)


class _Options(NamedTuple):
    """What is asked of all translations."""

    search: SearchSettings | None
    glossary: Mapping[str, str] | None
    checks: bool | None

    def stream(self, translator: Translates, texts: Sequence[str], syntax: str) -> Iterator[Found]:
        """The translations of texts whose placeholders have this syntax."""
        return translator.stream(texts, search=self.search, glossary=self.glossary, checks=self.checks, syntax=syntax)


class _Texts:
    """The lines of segments, and what tabs separate in them, each translated once however often it occurs.

    The segments are given with the syntax of their placeholders.
    """

    def __init__(self, sources: Iterable[tuple[str, str]], memory: Memory | None = None) -> None:
        self._remembered: dict[str, str] = {}
        self._syntax: dict[str, str] = {}
        for source, syntax in sources:
            for cell in _BREAK.split(source):
                if _has_words(cell):
                    self._syntax.setdefault(_core(cell)[1], syntax)
        for cell in self._syntax if memory else ():
            exact = memory.exact(cell) if memory else None
            if exact is not None and _BREAK.search(exact) is None:
                self._remembered[cell] = exact
        self._found: dict[str, Found] = {}
        self._waiting = [cell for cell in self._syntax if cell not in self._remembered]

    def translate(self, translator: Translates, options: _Options, progress: Progress | None) -> None:
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
            said = self._said(core) if _has_words(cell) else core
            if said is None or (core and not said.strip()) or "\n" in said:
                return None
            if differences(core, said, self._syntax.get(core, ""))[0]:
                return None
            pieces.append(f"{before}{respaced(core, said)}{after}")
        return "".join(pieces)

    def told(self, source: str) -> tuple[tuple[Finding, ...], float]:
        """What the checks found in the lines of a segment, and the lowest confidence in one of them."""
        cores = dict.fromkeys(_core(cell)[1] for piece in _TAG.split(source) for cell in _BREAK.split(piece))
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
        pieces = [piece if _TAG.fullmatch(piece) else self.translation(piece) for piece in _TAG.split(source)]
        return None if None in pieces else "".join(piece for piece in pieces if piece)

    def origin(self, source: str) -> Origin:
        """Where the translation of a segment comes from."""
        cores = [_core(cell)[1] for cell in _BREAK.split(source) if _has_words(cell)]
        return Origin.MEMORY if cores and all(core in self._remembered for core in cores) else Origin.MACHINE


def _worth_a_look(
    document: Document, path: Path, looked: Mapping[int, tuple[tuple[Finding, ...], float]], said: Mapping[int, str]
) -> Iterator[review.Segment]:
    """The segments with findings or low confidence; those without a translation have their source text."""
    for number, (findings, confidence) in sorted(looked.items()):
        segment, refused = document.segments[number], number not in said
        if findings or refused or confidence < review.UNSURE:
            where = f"{path}, {segment.part}, paragraph {segment.line}" if segment.part else f"{path}:{segment.line}"
            yield review.Segment(
                where=where,
                source=segment.source,
                text=said.get(number, segment.source),
                confidence=0.0 if refused else confidence,
                findings=findings,
                refused=refused,
            )


def _core(line: str) -> tuple[str, str, str]:
    found = _LINE.fullmatch(line)
    assert found
    return found[1], found[2], found[3]


def _has_words(line: str) -> bool:
    return any(map(str.isalpha, line))


def _accepted(
    content: Content, document: Document, chosen: Sequence[int], translation_of: Callable[[str], str | None]
) -> tuple[dict[int, str], list[int]]:
    """The translations that have all that they need, and the numbers of the segments whose translations do not."""
    accepted, refused = dict[int, str](), list[int]()
    for number in chosen:
        place = document.places[number]
        translation = translation_of(place.segment.source)
        try:
            if translation is None or not content.holds(translation):
                raise LostMarkup
            place.put(translation)
            accepted[number] = translation
        except LostMarkup:
            refused.append(number)
    return accepted, refused


def _check_lengths(content: Content, document: Document) -> None:
    for segment in document.segments:
        if len(segment.source) > MAX_CHARACTERS:
            what = f"this segment is longer than {MAX_CHARACTERS:,} characters."
            raise content.wrong(segment.line, what, "Check whether the file has the right format.")


def _verify(
    content: Content,
    written: str,
    translations: Mapping[int, str],
    before: Document,
    after: Document,
    format_: Format,
) -> None:
    """Whether what was written has the same segments in the same order."""
    pairs = list(zip(before.segments, after.segments, strict=False))
    sound = len(before.segments) == len(after.segments) and all(
        new.source == old.source or (number in translations and not format_.bilingual)
        for number, (old, new) in enumerate(pairs)
    )
    sound = sound and all(after.segments[number].target or not format_.bilingual for number in translations)
    if not sound or (not translations and written != content.text):
        raise TextError(
            f"{content.path}: the translated document would not have the same segments as the original: "
            f"{len(after.segments)} instead of {len(before.segments)}, or with other text.\n"
            "  Nothing has been written. A translation may contain markup of this format. Please report this file."
        )
