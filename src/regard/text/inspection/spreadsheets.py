"""What a spreadsheet leaves in a file of sentence pairs: a header row, and cells in quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from regard.text.inspection.languages import base
from regard.text.pairs import Chunk, Languages
from regard.text.tally import Tally

_TITLES = "source target src tgt trg text sentence segment string original translation language lang"
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_CODE = re.compile("[A-Za-z]{2,3}[-_][A-Za-z]{2,4}")
_NEARLY_ALL = 0.9


@dataclass
class Spreadsheet:
    """Header rows, and pairs with a side in quotes whose own quotes are doubled, or with both sides in quotes."""

    header: Tally = field(default_factory=Tally)
    doubled: Tally = field(default_factory=Tally)
    quoted: Tally = field(default_factory=Tally)

    def look(self, chunk: Chunk, languages: Languages) -> None:
        """More pairs, as they stand in the file."""
        if chunk.lines[0] == 1 and _is_header(chunk.sources[0], chunk.targets[0], languages):
            self.header.add(chunk.path, 1)
        if not any('"' in side for side in (*chunk.sources, *chunk.targets)):
            return
        for source, target, path, line in chunk.pairs():
            if not (source.startswith('"') or target.startswith('"')):
                continue
            quoted = [side for side in (source, target) if _QUOTED.fullmatch(side)]
            if any('""' in side[1:-1] for side in quoted):
                self.doubled.add(path, line)
            elif len(quoted) == 2:
                self.quoted.add(path, line)

    def cells_in_quotes(self, pairs: int) -> Tally:
        """The pairs whose quotes are a spreadsheet's: those with doubled quotes, or nearly all of them."""
        if self.quoted.count + self.doubled.count < _NEARLY_ALL * pairs:
            return self.doubled
        everything = Tally(self.quoted.count, list(self.quoted.places))
        everything.merge(self.doubled)
        return everything


def _is_header(source: str, target: str, languages: Languages) -> bool:
    known = {*_TITLES.split(), *_names(languages)}
    return source != target and all(_is_title(cell, known) for cell in (source, target))


def _is_title(cell: str, known: set[str]) -> bool:
    """`en_US`, or nothing but known words."""
    words = re.findall(r"[^\W_]+", cell.lower())
    return bool(words) and (known.issuperset(words) or (bool(_CODE.fullmatch(cell)) and base(cell) in known))


def _names(languages: Languages) -> set[str]:
    """The codes and names of the languages, in English and in both of them, in lower case."""
    from babel import Locale, UnknownLocaleError

    found = {part for code in languages for part in re.split(r"[\W_]+", code.lower())}
    for code in map(base, languages):
        for named_in in ("en", *map(base, languages)):
            try:
                found.add((Locale.parse(code).get_display_name(named_in) or code).lower())
            except (UnknownLocaleError, ValueError):
                continue
    return found
