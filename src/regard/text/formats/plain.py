"""Line-aligned plain text: `train.en` and `train.de`, line 7 of the one translated in line 7 of the other.

A document is named by either file, or by what their names share: `train`. A line ends at LF or CRLF and nowhere else.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path

from regard.errors import CorpusError
from regard.text.bad_input import Problem
from regard.text.files import COMPRESSIONS, bare_name, count_lines, lines, replacing
from regard.text.formats import Reading
from regard.text.lines import encoded_line
from regard.text.pairs import Languages, Pair, matches, sides

SUFFIXES = (".{source}", ".{target}")
FILES = 2


def find(path: Path, reading: Reading) -> tuple[Path, ...]:
    """The source file and the target file of a document, given as one of them or as their common stem."""
    stem, ending = _split(path, reading.languages)
    if ending is None and path.exists():
        return ()
    beside = sorted(Path(found) for found in glob.glob(f"{glob.escape(str(stem))}.*"))  # noqa: PTH207
    files = [file for file in beside if file.is_file() and "." not in bare_name(file).removeprefix(f"{stem.name}.")]
    places = sides(reading.languages, tuple(bare_name(file).removeprefix(f"{stem.name}.") for file in files))
    if places:
        return files[places[0]], files[places[1]]
    if ending is None or not path.exists():
        return ()
    other = reading.languages.target if matches(reading.languages.source, ending) else reading.languages.source
    raise CorpusError(
        f"{path}: there is no {stem.name}.{other} next to this file.\n"
        "  Line-aligned text is two files, one per language, whose names end in the language codes.\n"
        "  For other names, give both files with --format plain, the source first."
    )


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of two files, after a first look at whether they have the same number of lines."""
    source, target = paths
    counts = (count_lines(source), count_lines(target)) if reading.encoding is None else (None, None)
    if None not in counts and counts[0] != counts[1] and 0 not in counts:
        what = f"this file has {counts[0]:,} lines, but {target} has {counts[1]:,}."
        reading.bad.file(Problem.UNEQUAL, source, None, what)
        return
    name, both = str(source), zip(*(lines(path, reading.bad, reading.encoding) for path in paths), strict=False)
    for number, (source_line, target_line) in zip(count(1), both, strict=False):
        if source_line is not None and target_line is not None:
            yield Pair(source_line, target_line, name, number)


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """Two files: `out` becomes `out.en` and `out.de`; `out.gz` or `out.en.gz` becomes `out.en.gz` and `out.de.gz`."""
    stem, _ = _split(path, languages)
    compression = path.suffix if path.suffix in COMPRESSIONS else ""
    source_path, target_path = (stem.with_name(f"{stem.name}.{code}{compression}") for code in languages)
    if source_path == target_path:
        raise CorpusError(
            f"{source_path}: both languages are {languages.source}, so both sides would be the same file."
        )
    with replacing(source_path) as source, replacing(target_path) as target:
        for number, pair in enumerate(pairs, start=1):
            source.write(encoded_line((pair.source,), source_path, number))
            target.write(encoded_line((pair.target,), target_path, number))


def _split(path: Path, languages: Languages) -> tuple[Path, str | None]:
    """What the names of both files share, and the language code that this name ends in, if it does."""
    bare = path.with_name(bare_name(path))
    ending = bare.suffix[1:]
    if ending and (matches(languages.source, ending) or matches(languages.target, ending)):
        return bare.with_suffix(""), ending
    return bare, None
