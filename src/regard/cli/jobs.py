"""Which files `regard translate` reads and writes: single ones, several, or whole folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from regard.errors import SettingsError, TextError

STANDARD_INPUT = Path("-")


class Job(NamedTuple):
    """A document and where it goes, None for standard output; one of no known format is copied."""

    path: Path
    target: Path | None
    copied: bool = False


def jobs(files: list[Path], out: Path | None, format_: str | None, *, force: bool, dry: bool = False) -> list[Job]:
    """The documents that are to be written; none at all where lines are translated."""
    from regard.text.documents import by_name
    from regard.translation.documents import format_of

    if format_:
        by_name(format_)
    if not (out or format_ or dry or any(map(_is_document, files))):
        for path in files:
            _refuse_structured(path)
        return []
    for path in files:
        if path.is_dir() and path != STANDARD_INPUT:
            _check_folder(path, out, dry=dry)
        elif path != STANDARD_INPUT and not path.is_file():
            raise TextError(f"{path}: there is no such file.\n  Check the path and the name.")
        elif not format_:
            format_of(path)
    return [Job(path, None) for path in _expanded(files, out)] if dry else _targets(files, out, format_, force=force)


def known(path: Path, format_: str | None) -> bool:
    """Whether a file has a known document format."""
    from regard.text.documents import by_content, by_path

    return bool(format_ or by_path(path) or by_content(path))


def _is_document(path: Path) -> bool:
    """Whether a file is more than lines of text."""
    from regard.text.documents import by_content, by_path

    if path == STANDARD_INPUT or not path.exists():
        found = by_path(path)
    elif path.is_dir():
        return True
    else:
        found = by_path(path) or by_content(path)
    return found is not None and found.name != "txt"


def _refuse_structured(path: Path) -> None:
    """Lines of a table or of a program are not sentences."""
    from regard.text.documents import by_path
    from regard.text.looks import structured
    from regard.translation.documents import format_of

    if path != STANDARD_INPUT and path.is_file() and by_path(path) is None and structured(path):
        format_of(path)


def _check_folder(path: Path, out: Path | None, *, dry: bool) -> None:
    if out is None and not dry:
        raise SettingsError(f"{path}: this is a folder.\n  Name a folder for its translation with --out.")
    if out is not None and out.resolve() == path.resolve():
        raise SettingsError(f"{out}: the translation of a folder needs a folder of its own.\n  Give another --out.")
    if out is not None and out.exists() and not out.is_dir():
        raise SettingsError(f"{out}: this is a file, and a folder needs a folder.\n  Name a folder with --out.")


def _expanded(files: list[Path], out: Path | None) -> list[Path]:
    return [path for file in files for path in (_within(file, out) if file.is_dir() else [file])]


def _within(folder: Path, out: Path | None) -> Iterator[Path]:
    """The files of a folder and its folders, by name; not hidden ones, and none of the output."""
    apart = out.resolve() if out else None
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (Path(place) / name).resolve() != apart
        )
        yield from (Path(place) / name for name in sorted(names) if not name.startswith("."))


def _targets(files: list[Path], out: Path | None, format_: str | None, *, force: bool) -> list[Job]:
    if out is None:
        if len(files) > 1:
            raise SettingsError("several documents cannot be written to standard output.\n  Give a folder with --out.")
        return [Job(files[0], None)]
    if len(files) == 1 and not out.is_dir() and not files[0].is_dir():
        found = [Job(files[0], out)]
    elif out.exists() and not out.is_dir():
        raise SettingsError(f"{out}: this is a file, and several documents need a folder.\n  Name a folder with --out.")
    else:
        found = [job for file in files for job in _mirrored(file, out, format_)]
    seen: set[Path] = set()
    for _, target, _ in found:
        assert target
        if target in seen:
            raise SettingsError(
                f"{target}: two documents would be written to this file.\n  Translate them one at a time."
            )
        seen.add(target)
        if target.exists() and not force:
            raise TextError(f"{target}: this file already exists.\n  Give --force to overwrite it.")
    return found


def _mirrored(file: Path, out: Path, format_: str | None) -> Iterator[Job]:
    """A file under its own name, or a folder as it is."""
    if not file.is_dir():
        yield Job(file, out / _named(file).name)
        return
    for path in _within(file, out):
        copied = not known(path, format_)
        yield Job(path, out / (path if copied else _named(path)).relative_to(file), copied)


def _named(path: Path) -> Path:
    """A template becomes a catalogue."""
    return path.with_suffix(".po") if path.suffix == ".pot" else path
