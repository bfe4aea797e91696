"""Translations and test sets from files; a model makes its translations here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from regard import shipped
from regard.errors import CorpusError, SettingsError
from regard.evaluation.comparison import ReferenceSet, System
from regard.evaluation.slices import Frequencies, word_counts
from regard.text import corpus
from regard.text.bad_input import BadInput
from regard.text.files import bare_name, lines, replacing
from regard.text.formats import Reading, formats
from regard.text.lines import encoded_line
from regard.text.pairs import Columns, Languages

_MODEL = "regard.json"


def read_systems(
    paths: Sequence[Path],
    held_out: ReferenceSet | None = None,
    *,
    beam_size: int = 4,
    length_penalty: float | None = None,
    device: str | None = None,
) -> list[System]:
    """A system for each file of translations, one in each line, called by as much of its path as tells it apart.

    A model folder translates the sources of the test set, with this beam, length penalty (its own if None) and device.
    """
    names = _names(paths)
    models = _models(paths)
    if models and not (held_out and held_out.sources):
        raise SettingsError(
            f"{models[0]}: this is a model, but the test set has no sources for it to translate.\n"
            "  Give a test set of sentence pairs and its languages, for example: --source en --target de"
        )
    systems = []
    for name, path in zip(names, paths, strict=True):
        if path in models and held_out:
            from regard.translation.translator import load  # files of translations are compared without torch

            made = load(path, device=device).translate(
                held_out.sources, beam_size=beam_size, length_penalty=length_penalty, checks=False
            )
            systems.append(System(name, [each.text for each in made]))
        else:
            systems.append(System(name, _translations(path)))
    return systems


def languages_of(paths: Sequence[Path]) -> Languages | None:
    """The languages of the models among these systems; None where there is no model, or it does not say them."""
    found: dict[Languages, Path] = {}
    for path in _models(paths):
        from regard import modelfolder  # files of translations are compared without torch

        known = modelfolder.read_description(path).languages
        if {"source", "target"} <= known.keys():
            found.setdefault(Languages(known["source"], known["target"]), path)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise SettingsError(
            f"{one} translates {first}, and {other} {second}: they cannot be compared.\n"
            "  Give models for the same two languages, or give the languages of the test set: --source en --target de"
        )
    return next(iter(found), None)


def _models(paths: Sequence[Path]) -> list[Path]:
    return [path for path in paths if (shipped.find(path) / _MODEL).is_file()]


def write_translations(path: Path, translations: Sequence[str]) -> None:
    """A file with one translation in each line, whole or not at all."""
    with replacing(path) as file:
        for number, text in enumerate(translations, start=1):
            file.write(encoded_line((text,), path, number))


def read_held_out(path: Path, languages: Languages | None, *, more: Sequence[Path] = ()) -> ReferenceSet:
    """A test set in any format of sentence pairs; without languages, a file of references, one in each line.

    `more` are files of further references, one in each line.
    """
    if languages:
        pairs = list(corpus.read([path], languages))
        sources, references = [pair.source for pair in pairs], [[pair.target] for pair in pairs]
    else:
        _refuse_pairs(path)
        sources, references = [], [[line] for line in _lines(path)]
    return ReferenceSet(path.name, _with_further(path, references, more), sources, languages)


def read_test(
    path: Path,
    languages: Languages,
    *,
    references: Sequence[Path] = (),
    format: str | None = None,  # noqa: A002
    columns: Columns | None = None,
    encoding: str | None = None,
) -> ReferenceSet:
    """A test set to translate: sentence pairs in any format, and files of further references, one in each line.

    Where `references` are given, `path` can be a file of sources alone, one in each line.
    """
    try:
        found = corpus.documents([path], Reading(languages, BadInput(), columns, encoding), format=format)
    except CorpusError:
        if format or not references or not path.is_file():
            raise
        sources = list(_lines(path))
        return ReferenceSet(path.name, _with_further(path, [[] for _ in sources], references), sources, languages)
    pairs = list(corpus.read([path], languages, format=format, columns=columns, encoding=encoding))
    own = {file.resolve() for document in found for file in document.paths}
    further = [file for file in references if file.resolve() not in own]  # `test.de` beside `test.en`, named again
    known = _with_further(path, [[pair.target] for pair in pairs], further)
    return ReferenceSet(path.name, known, [pair.source for pair in pairs], languages)


def _with_further(path: Path, references: Sequence[Sequence[str]], more: Sequence[Path]) -> list[list[str]]:
    """The references of each line, and those in files of further ones."""
    if not references:
        raise CorpusError(f"{path}: this test set contains no sentences.\n  Give at least one.")
    known = [list(line) for line in references]
    for file in more:
        further = list(_lines(file))
        if len(further) != len(known):
            raise CorpusError(
                f"{file}: there are {len(further):,} lines, but {path} has {len(known):,} sentences.\n"
                "  Further references must be in the same order, one per line."
            )
        known = [[*line, another] for line, another in zip(known, further, strict=True)]
    return known


def read_frequencies(paths: Sequence[Path], languages: Languages | None) -> Frequencies:
    """How often words occur in the target language of a training text; without languages, in files of plain text."""
    texts: Iterator[str]
    if languages:
        texts = (pair.target for pair in corpus.read(paths, languages))
    else:
        for path in paths:
            _refuse_pairs(path)
        texts = (line for path in paths for line in _lines(path))
    return Frequencies(word_counts(texts), f"the training data ({', '.join(path.name for path in paths)})")


def _translations(path: Path) -> list[str]:
    if path.is_dir():
        raise CorpusError(
            f"{path}: this folder is not a model folder.\n"
            "  Give a file of translations, one per line, or a model folder, which contains regard.json."
        )
    return list(_lines(path))


def _lines(path: Path) -> Iterator[str]:
    for line in lines(path, BadInput()):
        assert line is not None, "bad lines raise"
        yield line


def _refuse_pairs(path: Path) -> None:
    endings = tuple(ending for format_ in formats().values() for ending in format_.suffixes if "{" not in ending)
    if bare_name(path).lower().endswith(endings):
        raise SettingsError(
            f"{path}: this file contains sentence pairs, but their languages are unknown.\n"
            "  Give the languages, for example: --source en --target de"
        )


def _names(paths: Sequence[Path]) -> list[str]:
    """The ends of the paths, as short as they can be without two being the same; equal paths are numbered."""
    absolute = [path.absolute().parts for path in paths]
    names: list[str] = []
    for parts in absolute:
        others = {other for other in absolute if other != parts}
        length = next(n for n in range(1, len(parts) + 1) if all(other[-n:] != parts[-n:] for other in others))
        name = str(Path(*parts[-length:]))
        again = absolute[: len(names)].count(parts)
        names.append(f"{name} ({again + 1})" if again else name)
    return names
