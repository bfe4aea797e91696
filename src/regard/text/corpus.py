"""A corpus: sentence pairs from files, folders and patterns of any of the formats, as one stream."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from regard.errors import CorpusError
from regard.settings import nearest
from regard.text.bad_input import BadInput
from regard.text.formats import Format, Reading, by_name, by_path, endings, formats
from regard.text.pairs import Columns, Languages, Pair


class Document(NamedTuple):
    """What is read as one: a file, or the two files of line-aligned text."""

    format: Format
    paths: tuple[Path, ...]


def read(
    data: Sequence[str | Path],
    languages: Languages,
    *,
    format: str | None = None,  # noqa: A002
    columns: Columns | None = None,
    encoding: str | None = None,
    bad: BadInput | None = None,
) -> Iterator[Pair]:
    """The sentence pairs of `data`: files, folders, patterns, or stems of line-aligned files, in this order.

    `columns` are those of the source and of the target in a table: numbers from 1, or names from its first row. What is
    missing or of no known format raises at once; everything else that is wrong goes to `bad`, which by default raises
    as well.
    """
    reading = Reading(languages, bad or BadInput(), columns, encoding)
    reading.bad.check = check_command(["{path}"], languages, format=format, columns=columns, encoding=encoding)
    return _pairs(documents(data, reading, format=format), reading)


def check_command(
    data: Sequence[str],
    languages: Languages,
    *,
    format: str | None = None,  # noqa: A002
    columns: Columns | None = None,
    encoding: str | None = None,
) -> str:
    """The command that lists everything that is wrong with `data`."""
    options = reading_options(languages, format=format, columns=columns, encoding=encoding)
    return f"regard check {' '.join(data)} {options}"


def reading_options(
    languages: Languages,
    *,
    format: str | None = None,  # noqa: A002
    columns: Columns | None = None,
    encoding: str | None = None,
) -> str:
    """The options of a command that reads sentence pairs in this way."""
    chosen = f" --format {quote(format)}" if format else ""
    chosen += f" --columns {quote(f'{columns[0]},{columns[1]}')}" if columns else ""
    chosen += f" --encoding {quote(encoding)}" if encoding else ""
    return f"--source {quote(languages.source)} --target {quote(languages.target)}{chosen}"


def write(path: str | Path, pairs: Iterable[Pair], languages: Languages, *, format: str | None = None) -> None:  # noqa: A002
    """Write the pairs to a new file, in the format given or the one that its name says; whole or not at all."""
    path = Path(path)
    chosen = by_name(format) if format else by_path(path, languages)
    if chosen is None:
        raise _unknown(path, languages)
    if chosen.write is None:
        raise CorpusError(f"{path}: Regard reads the format {chosen.name}, but does not write it.")
    chosen.write(path, pairs, languages)


def documents(data: Sequence[str | Path], reading: Reading, *, format: str | None = None) -> list[Document]:  # noqa: A002
    """The documents of `data`, each once, in the order in which they are named; those of a folder by name."""
    chosen = [by_name(format)] if format else list(formats().values())
    found: dict[Document, None] = {}
    loose: list[Path] = []
    for item in [data] if isinstance(data, str | Path) else data:
        paths, several = _expanded(Path(item))
        fitting = [_document(path, chosen, reading, named=not several, given=bool(format)) for path in paths]
        served = [document for document in fitting if document and document.paths]
        strangers = [path for path, document in zip(paths, fitting, strict=True) if not document]
        found.update(dict.fromkeys(served))
        if format and not Path(item).is_dir():
            loose += strangers
        elif not served:
            raise _nothing_in(Path(item), paths, reading) if several else _unknown(paths[0], reading.languages)
    return [*found, *_grouped(loose, chosen[0])]


def _pairs(found: list[Document], reading: Reading) -> Iterator[Pair]:
    for document in found:
        yield from document.format.read(document.paths, reading)


def _expanded(path: Path) -> tuple[list[Path], bool]:
    """The paths that are meant, and whether they are the contents of a folder or what fits a pattern."""
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")), True
    if glob.has_magic(str(path)) and not path.exists():
        matched = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207
        files = [file for file in matched if file.is_file()]
        if not files:
            raise CorpusError(f"{path}: no file matches this pattern.\n  Check the path and the pattern.")
        return files, True
    return [path], False


def _document(path: Path, chosen: list[Format], reading: Reading, *, named: bool, given: bool) -> Document | None:
    """The document that a path belongs to; one without files where it cannot serve the languages and is passed over.

    A path that was `named`, rather than found in a folder, must serve; unless its format was `given`, so must its name.
    """
    for format_ in chosen:
        try:
            paths = format_.find(path, reading)
        except CorpusError:
            if named and not given:
                raise
            return None if named else Document(format_, ())
        if paths:
            return Document(format_, paths)
    if not path.exists():
        raise _missing(path, reading.languages)
    return None


def _grouped(loose: list[Path], chosen: Format) -> list[Document]:
    """Documents of files whose names do not say the format that they were given as."""
    if len(loose) % chosen.files:
        raise CorpusError(
            f"{loose[-1]}: the format {chosen.name} needs {chosen.files} files per document; given: {len(loose)}.\n"
            "  Give the source file and the target file, in this order."
        )
    starts = range(0, len(loose), chosen.files)
    return [Document(chosen, tuple(loose[start : start + chosen.files])) for start in starts]


def _missing(path: Path, languages: Languages) -> CorpusError:
    beside = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
    advice = f"In {path.parent}, {nearest(path.name, beside)}" if beside else "Check the path and the name."
    stem = f"{path}.{languages.source} and {path}.{languages.target}"
    return CorpusError(f"{path}: there is no such file or folder, nor {stem}.\n  {advice}")


def _nothing_in(path: Path, files: list[Path], reading: Reading) -> CorpusError:
    names = ", ".join(file.name for file in files[:5]) + (", ..." if len(files) > 5 else "")
    there = f"It contains: {names}." if files else "It is empty."
    return CorpusError(
        f"{path}: Regard finds no file here that it can read as {reading.languages}.\n"
        f"  {there}\n  {_endings(reading.languages)}"
    )


def _unknown(path: Path, languages: Languages) -> CorpusError:
    return CorpusError(
        f"{path}: the name of this file does not show its format.\n  {_endings(languages)}\n"
        f"  Or give the format: --format {'|'.join(formats())}"
    )


def _endings(languages: Languages) -> str:
    known = [ending for format_ in formats().values() for ending in endings(format_, languages)]
    return f"Names must end in {', '.join(sorted(known))}, optionally followed by .gz, .xz or .zst."
