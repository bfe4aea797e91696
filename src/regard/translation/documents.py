"""Whole documents: read, translated segment by segment, verified, and only then written.

translate_document(regard.load("my-model"), Path("messages.po"), Path("messages.de.po"))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

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


class Translates(Protocol):
    """What is needed of a Translator."""

    @property
    def languages(self) -> Mapping[str, str]:
        """The codes of the languages, as `source` and `target`; empty where they are unknown."""
        ...

    def stream(
        self, texts: Iterable[str], *, search: SearchSettings | None = None, glossary: Mapping[str, str] | None = None
    ) -> Iterator[Found]:
        """The translations of the texts, in order."""
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
) -> tuple[bytes, Report]:
    """The bytes of a document with its translations, and what became of its segments."""
    found = documents.by_name(format) if format else format_of(path)
    content = found.load(path, encoding)
    asked = _asked(translator.languages, marked=marked)
    document = found.read(content, asked)
    _check_lengths(content, document)
    chosen = [number for number, segment in enumerate(document.segments) if segment.state in states]
    texts = _Texts((document.segments[number].source for number in chosen), memory)
    texts.translate(translator, search, glossary, progress)
    whole, doubtful = _accepted(content, document, chosen, texts.translation)
    pieces = _Texts(piece for number in doubtful for piece in _TAG.split(document.segments[number].source))
    pieces.translate(translator, search, glossary, None)
    in_pieces, refused = _accepted(content, document, doubtful, pieces.between_tags)
    translations = whole | in_pieces
    remarks = {number: Remarks(texts.origin(document.segments[number].source)) for number in whole}
    written = document.translated(translations, remarks)
    _verify(content, written, translations, document, found.read(replace(content, text=written), asked), found)
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
        remembered=sum(_Texts([source], memory).origin(source) is Origin.MEMORY for source in chosen),
    )


def format_of(path: Path) -> Format:
    """The document format that a file's name says, or else its content."""
    found = documents.by_path(path) or (documents.by_content(path) if path.is_file() else None)
    if found is None:
        kind = structured(path) if path.is_file() else None
        what = f"this is {kind}, which Regard does not translate" if kind else "this is not a document that Regard knows"
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


class _Texts:
    """The lines of segments, and what tabs separate in them, each translated once however often it occurs."""

    def __init__(self, sources: Iterable[str], memory: Memory | None = None) -> None:
        self._remembered: dict[str, str] = {}
        cells = dict.fromkeys(
            _core(cell)[1] for source in sources for cell in _BREAK.split(source) if _has_words(cell)
        )
        for cell in cells if memory else ():
            exact = memory.exact(cell) if memory else None
            if exact is not None and _BREAK.search(exact) is None:
                self._remembered[cell] = exact
        self._found = dict(self._remembered)
        self._waiting = [cell for cell in cells if cell not in self._remembered]

    def translate(
        self,
        translator: Translates,
        search: SearchSettings | None,
        glossary: Mapping[str, str] | None,
        progress: Progress | None,
    ) -> None:
        if not self._waiting:
            return
        if glossary is None:
            stream = translator.stream(self._waiting, search=search)
        else:
            stream = translator.stream(self._waiting, search=search, glossary=glossary)
        for number, (text, found) in enumerate(zip(self._waiting, stream, strict=True), start=1):
            self._found[text] = found.text
            if progress:
                progress(number, len(self._waiting))

    def translation(self, source: str) -> str | None:
        """Of a segment: that of its lines; None where one of them has lost all words or a placeholder."""
        pieces = []
        for cell in _BREAKS.split(source):
            before, core, after = _core(cell)
            said = self._found[core] if _has_words(cell) else core
            if (core and not said.strip()) or "\n" in said or differences(core, said)[0]:
                return None
            pieces.append(f"{before}{respaced(core, said)}{after}")
        return "".join(pieces)

    def between_tags(self, source: str) -> str | None:
        """Of a segment: its tags as they stand, and the translations of what is between them."""
        pieces = [piece if _TAG.fullmatch(piece) else self.translation(piece) for piece in _TAG.split(source)]
        return None if None in pieces else "".join(piece for piece in pieces if piece)

    def origin(self, source: str) -> Origin:
        """Where the translation of a segment comes from."""
        cores = [_core(cell)[1] for cell in _BREAK.split(source) if _has_words(cell)]
        return Origin.MEMORY if cores and all(core in self._remembered for core in cores) else Origin.MACHINE


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
