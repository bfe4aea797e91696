"""What happens to input that is not as it should be: the first bad line stops everything, or all are counted."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from shlex import quote

from regard.errors import CorpusError
from regard.text.tally import Tally, merge


class Problem(Enum):
    """What can be wrong with a line, a unit or a file: a name for it, and what would be right."""

    NOT_UTF8 = ("not UTF-8", "Regard reads UTF-8. Convert the file, for example with: iconv -f LATIN1 -t UTF-8")
    UTF16 = ("UTF-16", "Regard reads UTF-8. Convert the file with: iconv -f UTF-16 -t UTF-8")
    NUL = ("NUL byte", "Text files contain no NUL bytes. The file may be damaged, or may not be text.")
    TOO_LONG = ("line too long", "A line should be one sentence or paragraph. Check whether line breaks are missing.")
    EMPTY_FILE = ("empty file", "Every file must contain text.")
    DAMAGED = (
        "damaged compressed file",
        "The file was truncated or changed after it was written. Download or create it again.",
    )
    UNEQUAL = (
        "unequal line counts",
        "In line-aligned files, each line is the translation of the line with the same number.",
    )
    COLUMNS = (
        "wrong number of columns",
        "Expected: source, tab, target. If there are more columns, choose two with --columns.",
    )
    TABLE = (
        "broken table",
        "Choose the columns of source and target with --columns: two numbers, or two names from the first row.",
    )
    JSON = ("not the expected JSON", 'Expected one object per line, such as {"en": "Hello.", "de": "Hallo."}')
    DUPLICATE_KEY = ("duplicate key", "An object may contain each key only once. Remove one of the two.")
    XML = ("broken XML", "Regard needs well-formed XML. Export the file again, or correct this line.")
    ENTITIES = (
        "entity",
        "For safety, Regard does not read XML that defines its own entities: remove the [...] and &...;",
    )
    PO = ("broken PO", "Regard needs a valid PO file. To see what is wrong, run: msgfmt --check")
    NO_TRANSLATIONS = ("no translations", "A template (POT) contains only source text. Give the PO file of a language.")
    LABEL = (
        "missing label or text",
        "Expected: text, tab, label. If there are more columns, choose two with --columns.",
    )
    TAGS = (
        "tags that do not match the words",
        "Expected: words, tab, as many tags, both separated by single spaces. Choose other columns with --columns.",
    )
    LANGUAGES = ("other languages", "Check --source and --target against the languages of the file.")

    def __init__(self, label: str, hint: str) -> None:
        self.label = label
        self.hint = hint


class NotAPair(Enum):
    """What a sound file may hold without its being a sentence pair: passed over and counted, never an error."""

    BLANK = "blank line"
    NO_SOURCE = "unit without the source language"
    NO_TARGET = "unit without the target language"
    UNTRANSLATED = "untranslated"
    FUZZY = "translation marked as unfinished"
    OBSOLETE = "obsolete entry"
    OTHER_LANGUAGES = "unit in other languages"


class BadInput:
    """Raises at the first problem; with `skip=True` counts the problems, by kind and place, and lets reading go on.

    `skip` is None where there is no option to skip bad lines, so that messages do not recommend it. `check` is the
    command that lists all problems, with `{path}` for the file; empty where no command does.
    """

    def __init__(self, *, skip: bool | None = None) -> None:
        self.skip = skip
        self.check = ""
        self.problems: dict[Problem, Tally] = {}
        self.given_up: list[str] = []
        self.not_pairs: dict[NotAPair, Tally] = {}

    def line(self, problem: Problem, path: Path, line: int, what: str) -> None:
        """One line or unit is bad; the ones after it can still be read."""
        if not self.skip:
            raise CorpusError(f"{path}:{line}: {what}\n  {problem.hint}{self._advice(path, 'such lines')}")
        self._count(problem, path, line)

    def file(self, problem: Problem, path: Path, line: int | None, what: str) -> None:
        """A file is bad, from `line` on or as a whole: nothing more of it can be read."""
        place = f"{path}:{line}" if line else str(path)
        if not self.skip:
            raise CorpusError(f"{place}: {what}\n  {problem.hint}{self._advice(path, 'such files')}")
        self._count(problem, path, line or 1)
        self.given_up.append(f"{place}: {what}")

    def pass_over(self, reason: NotAPair, path: Path, line: int) -> None:
        """Something in order that is no sentence pair."""
        self.not_pairs.setdefault(reason, Tally()).add(str(path), line)

    def add(self, later: BadInput) -> None:
        """Adds what was counted in later files."""
        merge(self.problems, later.problems)
        merge(self.not_pairs, later.not_pairs)
        self.given_up += later.given_up

    def summary(self) -> list[str]:
        """A line for each kind of problem, each file given up and each kind of thing passed over."""
        return [
            *(f"{problem.label}: {tally}" for problem, tally in self.problems.items()),
            *(f"given up: {message}" for message in self.given_up),
            *(f"passed over, {reason.value}: {tally}" for reason, tally in self.not_pairs.items()),
        ]

    def _advice(self, path: Path, what: str) -> str:
        skip = f"\n  To skip {what}, give --skip-bad." if self.skip is False else ""
        check = self.check.replace("{path}", quote(str(path)))
        return f"{skip}\n  To list all problems: {check}" if check else skip

    def _count(self, problem: Problem, path: Path, line: int) -> None:
        self.problems.setdefault(problem, Tally()).add(str(path), line)
