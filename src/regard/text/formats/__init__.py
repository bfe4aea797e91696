"""One file per format, found by its name: `tsv.py` is the format `tsv`. To add a format, add a file.

What such a file holds:

    SUFFIXES: tuple[str, ...]
        the endings of its files' names, compression aside: (".tsv", ".tab");
        {source} and {target} in them stand for the language codes
    def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]
        the pairs of one document, as a stream; what is wrong goes to `reading.bad`
    def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None
        optional: a new document, by way of `regard.text.files.replacing`; `CorpusError` for a pair that it cannot hold
    def find(path: Path, reading: Reading) -> tuple[Path, ...]
        optional: the files of the document that `path` names or belongs to; none where the name is not one of the
        format; `CorpusError` where it is, but cannot serve the languages (in a folder, such a file is passed over)
    FILES: int
        optional: of how many files a document is made, where that is not one
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import NamedTuple

from regard.errors import CorpusError
from regard.settings import nearest
from regard.text.bad_input import BadInput
from regard.text.files import bare_name
from regard.text.pairs import Columns, Languages, Pair


class Reading(NamedTuple):
    """What is asked of a format: pairs in which languages, what to do with bad input, and from which columns.

    `columns` names the column of the source language, then that of the target language, as asked for. Text files are
    UTF-8 unless `encoding` says otherwise.
    """

    languages: Languages
    bad: BadInput
    columns: Columns | None = None
    encoding: str | None = None


class Format(NamedTuple):
    """A format, as its file describes it."""

    name: str
    suffixes: tuple[str, ...]
    files: int
    find: Callable[[Path, Reading], tuple[Path, ...]]
    read: Callable[[Sequence[Path], Reading], Iterator[Pair]]
    write: Callable[[Path, Iterable[Pair], Languages], None] | None


@cache
def formats() -> dict[str, Format]:
    """All formats by name."""
    names = sorted(module.name for module in iter_modules(__path__))
    return {name: _described(name, import_module(f"{__name__}.{name}")) for name in names}


def by_name(name: str) -> Format:
    """The format of this name."""
    try:
        return formats()[name]
    except KeyError:
        raise CorpusError(f"There is no format {name!r}: {nearest(name, list(formats()))}") from None


def by_path(path: Path, languages: Languages) -> Format | None:
    """The format that the ending of this file's name says."""
    name = bare_name(path).lower()
    return next((found for found in formats().values() if name.endswith(endings(found, languages))), None)


def endings(format_: Format, languages: Languages) -> tuple[str, ...]:
    """The endings of names in a format, for these languages."""
    source, target = languages.source.lower(), languages.target.lower()
    return tuple(suffix.format(source=source, target=target) for suffix in format_.suffixes)


def _described(name: str, module: ModuleType) -> Format:
    suffixes: tuple[str, ...] = module.SUFFIXES

    def find(path: Path, reading: Reading) -> tuple[Path, ...]:  # noqa: ARG001
        return (path,) if bare_name(path).lower().endswith(suffixes) and path.is_file() else ()

    return Format(
        name=name,
        suffixes=suffixes,
        files=getattr(module, "FILES", 1),
        find=getattr(module, "find", find),
        read=module.read,
        write=getattr(module, "write", None),
    )
