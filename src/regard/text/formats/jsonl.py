"""JSON lines: an object a line with the language codes as keys, `{"en": ..., "de": ...}`, or `source` and `target`.

The object may lie in another one under the key `translation`. Other keys are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from regard.text.bad_input import NotAPair, Problem
from regard.text.files import lines, replacing
from regard.text.formats import Reading
from regard.text.lines import encoded
from regard.text.pairs import Languages, Pair, sides

SUFFIXES = (".jsonl", ".ndjson")


class _NotAsExpected(Exception):  # noqa: N818
    """A line that holds no pair, and why."""

    def __init__(self, problem: Problem, what: str) -> None:
        self.problem, self.what = problem, what


def read(paths: Sequence[Path], reading: Reading) -> Iterator[Pair]:
    """The pairs of a file, a line each."""
    (path,) = paths
    name, bad = str(path), reading.bad
    decode = json.JSONDecoder(object_pairs_hook=_unique, parse_int=float).decode
    for number, line in enumerate(lines(path, bad, reading.encoding), start=1):
        if line is None:
            continue
        if not line.strip():
            bad.pass_over(NotAPair.BLANK, path, number)
            continue
        try:
            source, target = _texts(decode(line), reading.languages)
        except json.JSONDecodeError as error:
            what = f"this line is not valid JSON: {error.msg}, at character {error.pos + 1}."
            bad.line(Problem.JSON, path, number, what)
        except RecursionError:
            bad.line(Problem.JSON, path, number, "this line is nested too deeply.")
        except _NotAsExpected as error:
            bad.line(error.problem, path, number, error.what)
        else:
            yield Pair(source, target, name, number)


def write(path: Path, pairs: Iterable[Pair], languages: Languages) -> None:
    """One object a line with the language codes as keys, or `source` and `target` where both codes are the same."""
    first, second = languages if languages.source != languages.target else ("source", "target")
    with replacing(path) as file:
        for number, pair in enumerate(pairs, start=1):
            line = json.dumps({first: pair.source, second: pair.target}, ensure_ascii=False)
            file.write(encoded(line + "\n", path, number))


def _texts(value: Any, languages: Languages) -> tuple[str, str]:
    if isinstance(value, dict) and isinstance(value.get("translation"), dict):
        value = value["translation"]
    if not isinstance(value, dict):
        raise _NotAsExpected(Problem.JSON, "this line is not an object.")
    keys = tuple(value)
    places = sides(languages, keys)
    if places:
        source_key, target_key = keys[places[0]], keys[places[1]]
    elif "source" in value and "target" in value:
        source_key, target_key = "source", "target"
    else:
        found = ", ".join(map(repr, keys)) or "none"
        wanted = f"{languages.source!r} and {languages.target!r}, nor 'source' and 'target'"
        raise _NotAsExpected(Problem.JSON, f"this object has no keys {wanted}; its keys: {found}.")
    return _text(value, source_key), _text(value, target_key)


def _text(value: dict[str, Any], key: str) -> str:
    text = value[key]
    if not isinstance(text, str):
        raise _NotAsExpected(Problem.JSON, f"the value of {key!r} is not a string.")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise _NotAsExpected(
            Problem.JSON, f"the value of {key!r} contains half a surrogate pair, which is not a character."
        )
    return text


def _unique(items: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(items)
    if len(unique) < len(items):
        keys = [key for key, _ in items]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _NotAsExpected(Problem.DUPLICATE_KEY, f"the key {twice!r} occurs more than once in this object.")
    return unique
