"""Whole documents: read, translated segment by segment, verified, and only then written.

translate_document(regard.load("my-model"), Path("messages.po"), Path("messages.de.po"))
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from regard.errors import TextError
from regard.search import SearchSettings
from regard.text import documents
from regard.text.content import Content
from regard.text.documents import Asked, Document, Format, Origin, Remarks, SegmentState
from regard.text.files import MAX_CHARACTERS, replacing
from regard.text.looks import structured
from regard.text.memory import Memory
from regard.text.pairs import Languages
from regard.text.word_spans import count_words
from regard.translation import review
from regard.translation.checks import Finding
from regard.translation.filling import TAG, Options, Progress, Texts, Translates, filled, has_words

UNTRANSLATED = frozenset({SegmentState.UNTRANSLATED})
UNFINISHED = frozenset({SegmentState.UNTRANSLATED, SegmentState.UNFINISHED})
EVERYTHING = frozenset(SegmentState)


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
    near: tuple[review.Near, ...] = ()  # what the memory has for texts that the model translated


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
    result = filled(
        translator,
        {number: document.places[number] for number in chosen},
        Options(search, glossary, checks),
        holds=content.holds,
        progress=progress,
        memory=memory,
    )
    translations, texts = result.translations, result.texts
    sources = {number: document.segments[number].source for number in translations}
    looked = {number: result.told(number, source) for number, source in sources.items()}
    remarks = {
        number: Remarks(texts.origin(source), review.notes(*looked[number]) if marked else ())
        for number, source in sources.items()
    }
    written = document.translated(translations, remarks)
    _verify(content, written, translations, document, found.read(replace(content, text=written), asked), found)
    refusals = {number: texts.told(document.segments[number].source) for number in result.refused}
    report = Report(
        path=str(path),
        format=found.name,
        segments=len(document.segments),
        translated=len(translations),
        in_pieces=len(result.in_pieces),
        kept=len(document.segments) - len(chosen),
        refused=tuple(document.segments[number].line for number in result.refused),
        refused_parts=tuple(document.segments[number].part for number in result.refused),
        remembered=sum(remark.origin is Origin.MEMORY for remark in remarks.values()),
        worth_a_look=tuple(_worth_a_look(document, path, looked | refusals, translations)),
        near=tuple(_near(document, path, chosen, translations, texts, memory)) if memory else (),
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
        words=sum(count_words(TAG.sub(" ", source)) for source in chosen),
        remembered=sum(Texts([(source, "")], memory).origin(source) is Origin.MEMORY for source in chosen),
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


def _near(
    document: Document, path: Path, chosen: Sequence[int], said: Mapping[int, str], texts: Texts, memory: Memory
) -> Iterator[review.Near]:
    """What the memory has for segments that are not from it; those without a translation have their source text."""
    for number in chosen:
        segment = document.segments[number]
        if texts.origin(segment.source) is Origin.MACHINE and has_words(segment.source):
            matches = tuple(memory.near(TAG.sub("", segment.source)))
            if matches:
                yield review.Near(
                    where=_where(path, segment),
                    line=segment.line,
                    part=segment.part,
                    source=segment.source,
                    text=said.get(number, segment.source),
                    matches=matches,
                )


def _worth_a_look(
    document: Document, path: Path, looked: Mapping[int, tuple[tuple[Finding, ...], float]], said: Mapping[int, str]
) -> Iterator[review.Segment]:
    """The segments with findings or low confidence; those without a translation have their source text."""
    for number, (findings, confidence) in sorted(looked.items()):
        segment, refused = document.segments[number], number not in said
        if findings or refused or confidence < review.UNSURE:
            yield review.Segment(
                where=_where(path, segment),
                source=segment.source,
                text=said.get(number, segment.source),
                confidence=0.0 if refused else confidence,
                findings=findings,
                refused=refused,
            )


def _where(path: Path, segment: documents.Segment) -> str:
    return f"{path}, {segment.part}, paragraph {segment.line}" if segment.part else f"{path}:{segment.line}"


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
