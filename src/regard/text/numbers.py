"""Numbers within a text, and whether a translation has the same ones.

A language writes a number in its own way: 1,299.99 and 1.299,99 are the same number, and so are 10:30 and 10.30, or
3/15/2024 and 15.03.2024. Everything else that has digits must have the same digits: versions, telephone numbers, x86.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from regard.text.number_words import small_number
from regard.text.placeholders import Placeholder

_NUMBER = re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,:'’\u00a0\u202f/]\d+)*")
_DIGIT = re.compile(r"\d")
_DATE = re.compile(r"(\d{1,2})[./](\d{1,2})[./](\d{4})")
_DOTTED = re.compile(r"\b(0?[1-9]|1[0-2])\.(\d{1,2})\.(\d{4})\b")
_GROUPED = re.compile(r"\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+")
_WITH_FRACTION = re.compile(r"(\d{1,3}(?:([.,'’ \u00a0\u202f])\d{3})+)([.,])(\d+)")
_CURRENCIES = "USD|EUR|GBP|CHF|JPY|CNY|INR|RUB|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD"
_VERSION = re.compile(rf"(?<!\w)(?!(?:{_CURRENCIES}) )([A-Z]\w\w+ )(\d+)\.(\d+)(?![.,]?\d)")
_ORDINAL = re.compile(r"(?<![\w.,])(\d+)(?:st|nd|rd|th)(?!\w)")
_MARKS = {"en": (",", "."), "de": (".", ",")}  # between thousands, and before a fraction
_ONE_MARK = re.compile(r"(\d+)[.,:](\d+)")


class Number(NamedTuple):
    """One, as it is written, and where it stands."""

    string: str
    start: int
    end: int


_Keys = Callable[[Number], tuple[str, ...]]


def numbers(text: str, apart: Sequence[Placeholder] = ()) -> list[Number]:
    """All numbers of a text in order, but for those within placeholders."""
    if not _DIGIT.search(text):
        return []
    found = [Number(match.group(), *match.span()) for match in _NUMBER.finditer(text)]
    if not apart:
        return found
    return [one for one in found if not any(one.start < other.end and other.start < one.end for other in apart)]


def unmatched(source: Sequence[Number], target: Sequence[Number]) -> tuple[list[Number], list[Number]]:
    """The numbers of the source that the target lacks, and those of the target that the source has not."""
    if not source and not target:
        return [], []
    lost, invented = _without_equals(source, target, lambda one: (one.string,))
    return _without_equals(lost, invented, lambda one: _values(one.string))


def mended(text: str, lost: Sequence[Number], invented: Sequence[Number], language: str) -> str | None:
    """The text with the lost numbers in it: in the places of invented ones, in their order, or of number words.

    None where this cannot be done: not as many were invented, and no word says the number.
    """
    if len(lost) == len(invented):
        for right, wrong in reversed(list(zip(lost, invented, strict=True))):
            text = text[: wrong.start] + right.string + text[wrong.end :]
        return text
    if invented:
        return None
    for number in lost:
        pattern = small_number(number.string, language)
        if pattern is None or len(re.findall(pattern, text, re.IGNORECASE)) != 1:
            return None
        text = re.sub(pattern, number.string, text, flags=re.IGNORECASE)
    return text


def with_months_that_exist(text: str) -> str:
    """The text with the day and the month of a date like 3.15.2024 exchanged: there, the day comes first."""
    return _DOTTED.sub(lambda date: date.group() if int(date[2]) <= 12 else f"{date[2]}.{date[1]}.{date[3]}", text)


def with_ordinals(text: str) -> str:
    """An English text with 2nd where it says 2th."""

    def right(found: re.Match[str]) -> str:
        teens = len(found[1]) > 1 and found[1][-2] == "1"
        return found[1] + ("th" if teens else {"1": "st", "2": "nd", "3": "rd"}.get(found[1][-1], "th"))

    return _ORDINAL.sub(right, text)


def localised(source: Sequence[Number], text: str, said: Sequence[Number], languages: tuple[str, str]) -> str:
    """The text with numbers in the marks of its language where they were copied from a language with other marks.

    Behind a name, 22.04 is a version; so in English, a single point alone does not make a number.
    """
    before, after = (_MARKS.get(language) for language in languages)
    if before is None or after is None or before == after:
        return text
    (group, point), (new_group, new_point) = before, after
    amount = re.compile(rf"\d{{1,3}}(?:\{group}\d{{3}})+(?:\{point}\d+)?" + (r"|\d+,\d+" if point == "," else ""))
    copied = {one.string for one in source if amount.fullmatch(one.string)}
    exchanged = str.maketrans({group: new_group, point: new_point})
    for one in reversed(said):
        if one.string in copied:
            text = text[: one.start] + one.string.translate(exchanged) + text[one.end :]
    return text


def with_versions(source: str, target: str) -> str:
    """The target with `Ubuntu 22.04` as in the source where it says `Ubuntu 22,04`: behind a name, it is a version."""
    for name, first, second in _VERSION.findall(source) if "." in source else ():
        target = target.replace(f"{name}{first},{second}", f"{name}{first}.{second}")
    return target


def _without_equals(
    source: Sequence[Number], target: Sequence[Number], keys: _Keys
) -> tuple[list[Number], list[Number]]:
    asked, said = (Counter(key for one in some for key in keys(one)) for some in (source, target))
    lost = _beyond(source, asked - said, keys)
    return lost, _beyond(target, said - asked, keys)


def _beyond(found: Sequence[Number], surplus: Counter[str], keys: _Keys) -> list[Number]:
    """The last numbers that have a key of which there are too many."""
    left, kept = surplus.copy(), list[Number]()
    for one in reversed(found):
        wanted = [key for key in keys(one) if left[key] > 0]
        if wanted:
            left.subtract(wanted)
            kept.append(one)
    return kept[::-1]


def _values(string: str) -> tuple[str, ...]:
    """What a number says, however it is written; several values for a date or a fraction."""
    if date := _DATE.fullmatch(string):
        return tuple(str(int(part)) for part in date.groups())
    if "/" in string:
        return tuple(string.split("/"))
    if _GROUPED.fullmatch(string):
        return (re.sub(r"\D", "", string),)
    if (grouped := _WITH_FRACTION.fullmatch(string)) and grouped[2] != grouped[3]:
        return (re.sub(r"\D", "", grouped[1]) + "." + grouped[4],)
    if parts := _ONE_MARK.fullmatch(string):
        return (f"{parts[1]}.{parts[2]}",)
    return (string,)
