"""The checks of every translation: cheap, and on by default.

Some findings are `SERIOUS`: something of the source is missing, or something was invented. Such a translation is never
the best one; where no safer way mends it, the source text stays. Where several are asked for, it stands behind all
others, with its findings. All other findings are signs of a bad translation: they are reported if no safer way does
better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from regard.text.directives import DIRECTIVES, arguments
from regard.text.number_words import spelt_out
from regard.text.numbers import numbers, unmatched
from regard.text.placeholders import Placeholder, differences, placeholders, without
from regard.text.sentences import sentences
from regard.text.tags import emptied, same_tags
from regard.text.units import lost_units

SERIOUS = frozenset({"characters", "markup", "numbers", "placeholders", "words"})

_WORD = re.compile(r"[^\W\d_]+")
_MARKS = re.compile("[%{}<]")  # placeholders have one of them
_SEVERAL = re.compile(r"[^\W\d_]{2}[.!?…]+\s|[。！？]")  # most texts of several sentences match
_ENDS = ".!?…。！？"
_CLOSERS = "\"'”’“»)]*_ "
_DANGLING = ",;:-–—([{„«"
_SHORTEST, _LONGEST = 0.35, 2.8  # the length of a translation over that of its source, in characters
_FEW = 24  # characters; such short texts may grow or shrink by any factor


@dataclass(frozen=True)
class Finding:
    """What is wrong with a translation: the name of a check, and what it has found."""

    check: str
    detail: str

    @property
    def serious(self) -> bool:
        """Whether something of the source is missing or something was invented."""
        return self.check in SERIOUS


class Checked(NamedTuple):
    """What is checked: a source, its placeholders in their syntax, and what is known of its translation."""

    source: str
    target: str
    placeholders: Sequence[Placeholder] = ()
    syntax: str = ""
    terms: Sequence[str] = ()  # that the translation was to have, and has not
    cut_off: bool = False  # it reached its length limit
    may_repeat: bool = False  # the settings of the search allow loops


class Checks:
    """The checks for one pair of languages, by their codes, and for a model that knows these characters."""

    def __init__(self, *, source: str, target: str, known: frozenset[str] | None) -> None:
        self._source, self._target, self._known = source, target, known

    def findings(self, pair: Checked) -> tuple[Finding, ...]:
        """What is wrong, if anything."""
        found: list[Finding] = []
        source, target = pair.source, pair.target
        there = placeholders(target, pair.syntax)
        if not target.isascii() and (strange := self.strange(source, target)):
            found.append(Finding("characters", f"{' '.join(strange)} is not in the source"))
        if pair.placeholders or _MARKS.search(target):
            found += _of_placeholders(pair, there)
        found += self._of_numbers(pair, there)
        found += [Finding("terms", f"{term!r} would make the sentence worse") for term in pair.terms]
        if not any(map(str.isalnum, target)) and any(map(str.isalnum, source)):
            found.append(Finding("words", "no words are left"))
        elif (letters := _letters(source)) > 8 and letters > 5 * _letters(target):
            found.append(Finding("length", "it is much shorter than the source"))
        elif len(source) > _FEW or len(target) > _FEW:
            found += _of_length(source, target)
            words = without(source, pair.placeholders), without(target, there)
            found += _of_words(*words, copies=self._source != self._target, repetition=not pair.may_repeat)
        if _SEVERAL.search(source) and (asked := _count(source)) > (said := _count(target)):
            found.append(Finding("sentences", f"{asked} sentences became {said}"))
        if pair.cut_off:
            found.append(Finding("unfinished", "it reached the length limit"))
        elif source[-1:] and source[-1] != target[-1:] and _unfinished(source, target):
            found.append(Finding("unfinished", f"it ends with {target[-1:]!r}"))
        return tuple(found)

    def strange(self, source: str, target: str) -> list[str]:
        """The characters that neither the source has nor the model has met often."""
        if self._known is None:
            return ["\ufffd"] if "\ufffd" in target and "\ufffd" not in source else []
        unknown = {one for one in target if not one.isascii() and one not in self._known}
        return sorted(one for one in unknown if one.lower() not in source.lower())

    def _of_numbers(self, pair: Checked, there: Sequence[Placeholder]) -> list[Finding]:
        asked, said = numbers(pair.source, pair.placeholders), numbers(pair.target, there)
        if not asked and not said:
            return []
        lost, invented = unmatched(asked, said)
        words = spelt_out(pair.source, self._source) if invented else ()
        found = [Finding("numbers", f"{one.string} is missing") for one in lost]
        found += [
            Finding("numbers", f"{one.string} is not in the source") for one in invented if one.string not in words
        ]
        return found + [
            Finding("units", f"{unit} is missing") for _, unit in lost_units(pair.source, asked, pair.target)
        ]


def _of_placeholders(pair: Checked, there: Sequence[Placeholder]) -> list[Finding]:
    lost, invented = differences(pair.source, pair.target, pair.syntax)
    found = [Finding(_named(one), f"{one} is missing") for one in lost]
    found += [Finding(_named(one), f"{one} is not in the source") for one in invented]
    if not found and any(one.is_tag for one in pair.placeholders) and not same_tags(pair.source, pair.target):
        found.append(Finding("markup", "tags are not nested as in the source"))
    if not found and any(one.is_tag for one in pair.placeholders) and (empty := emptied(pair.source, pair.target)):
        found.append(Finding("markup", f"{empty} encloses no words"))
    if not found and _braces(pair.source, pair.placeholders) != _braces(pair.target, there):
        found.append(Finding("placeholders", "braces are not those of the source"))
    if not found and pair.syntax in DIRECTIVES:
        asked, said = (arguments(text, pair.syntax) for text in (pair.source, pair.target))
        if asked is not None and asked != said:
            found.append(Finding("placeholders", "the directives are in another order, or one is not valid"))
    return found


def _braces(text: str, found: Sequence[Placeholder]) -> tuple[int, int]:
    """How many braces there are beside placeholders."""
    if "{" not in text and "}" not in text:
        return 0, 0
    rest = without(text, found)
    return rest.count("{"), rest.count("}")


def _named(placeholder: str) -> str:
    return "markup" if placeholder.startswith("<") else "placeholders"


def _count(text: str) -> int:
    """The number of sentences that have words."""
    return sum(any(map(str.isalpha, sentence)) for sentence in sentences(text))


def _letters(text: str) -> int:
    return sum(map(str.isalpha, text))


def _of_length(source: str, target: str) -> list[Finding]:
    ratio = (len(target) + 1) / (len(source) + 1)
    if ratio < _SHORTEST:
        return [Finding("length", "it is much shorter than the source")]
    return [Finding("length", "it is much longer than the source")] if ratio > _LONGEST else []


def _of_words(source: str, target: str, *, copies: bool, repetition: bool) -> list[Finding]:
    """Repetition, and words that were left in the language of the source."""
    said = _WORD.findall(target.lower())
    different = set(said)
    found: list[Finding] = []
    asked = _WORD.findall(source)
    if repetition and len(said) - len(different) >= 3 and _loops(said) > _loops([word.lower() for word in asked]):
        found.append(Finding("repetition", "words are repeated"))
    if copies:
        plain = {word for word in asked if len(word) > 3 and word.islower()}
        if len(plain) > 2 and len(plain & different) > 0.6 * len(plain):
            found.append(Finding("copied", "it is in the language of the source"))
    return found


def _loops(words: Sequence[str]) -> int:
    """How many words repeat what stands one to four words before them, without a gap."""
    longest = 0
    for cycle in range(1, 5):
        run = 0
        for one, before in zip(words[cycle:], words, strict=False):
            run = run + 1 if one == before else 0
            if run >= max(2, 2 * cycle - 1):
                longest = max(longest, run)
    return longest


def _unfinished(source: str, target: str) -> bool:
    core, other = source.rstrip(_CLOSERS), target.rstrip(_CLOSERS)
    if not core or not other:
        return False
    if core[-1] in _ENDS:
        return other[-1] not in _ENDS and (other[-1].isalnum() or other[-1] in _DANGLING)
    return other[-1] in _DANGLING and core[-1] not in _DANGLING
