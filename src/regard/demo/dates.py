"""The embedded task: a date as people write it, in one of many languages, to ISO. `mardi 5 mars 2024` -> `2024-03-05`.

Texts are made from the CLDR data in Babel: names of months and weekdays, each language's own formats, and formats of
everyday life: day, month and year (a core), with or without a weekday around them (a frame). The split is by design: a
date for testing lies in a year, and is written in a format, that never occurs in training, in any language; every core
and every frame does, but not together.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from itertools import product
from typing import NamedTuple

from babel import Locale
from babel.dates import DateTimePattern, parse_pattern

from regard.text.normalisation import normalise

LANGUAGES = (
    *("en", "de", "nl", "sv", "da"),
    *("fr", "es", "it", "ro", "nb"),
    *("pl", "cs", "ru", "uk", "el"),
    *("hu", "tr", "id", "ms", "vi"),
    *("ar", "fa", "he", "hi", "bn"),  # scripts that are read from the right, digits of their own
    *("ka", "th", "zh", "ja", "ko"),
)

_CORES = (
    *("d MMMM y", "d MMM y", "dd MMM y", "d. MMMM y", "d. MMM y", "d MMM, y"),
    *("d-MMM-y", "dd/MMM/y", "d.MMM.y", "dd.MMMM.y"),
    *("MMMM d, y", "MMM d, y", "MMM d y", "MMMM dd y", "y MMMM d", "y, MMM d", "y-MMM-dd"),
    *("dd.MM.y", "y-MM-dd", "y/MM/dd"),
)
_SIGNED_CORES = ("y{0}M{1}d{2}", "y{0}MM{1}dd{2}", "y{0} M{1} d{2}", "y-MM-dd", "y/M/d", "y.MM.dd")
_SIGNS = {"zh": "年月日", "ja": "年月日", "ko": "년월일"}  # after the year, the month and the day
_FRAMES = (
    *("{0}", "EEEE {0}", "EEEE, {0}", "EEE {0}", "EEE, {0}"),
    *("{0}, EEEE", "{0} EEE", "{0} (EEE)", "({0})"),
)
_EVERY, _KEPT = 5, 2  # of the ways to put a core into a frame, every fifth is kept for testing: EEEE d MMMM y is

_LATIN = "0123456789"
_DIGITS = {"ar": "٠١٢٣٤٥٦٧٨٩", "fa": "۰۱۲۳۴۵۶۷۸۹", "bn": "০১২৩৪৫৬৭৮৯"}  # beside the Latin ones
_ONE_LETTER = re.compile("(?<!E)E(?!E)")  # another way to write EEE
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_OWN = ("full", "long", "medium", "short")


class Written(NamedTuple):
    """A date, as it is written and as it is meant."""

    text: str
    iso: str
    language: str
    format: str  # in CLDR's letters
    month: str  # the month's name as it stands in the text, or "" where it is a number


def for_training(count: int, *, seed: int) -> list[Written]:
    """So many dates in years and formats of training, each text once."""
    return _distinct(count, random.Random(f"training {seed}"), tested=False)  # noqa: S311


def for_testing(count: int, *, seed: int) -> list[Written]:
    """So many dates in years and formats that never occur in training."""
    return _distinct(count, random.Random(f"testing {seed}"), tested=True)  # noqa: S311


def tested_year(year: int) -> bool:
    """Whether a year is one of those that are kept for testing: every seventh, 2024 among them."""
    return year % 7 == 1


@cache
def formats(language: str, *, tested: bool) -> tuple[str, ...]:
    """The formats of a language, those for testing or those for training; no format is in both, in any language."""
    if tested:
        return tuple(_framed(language, tested=True))
    held_out = {form for each in LANGUAGES for form in formats(each, tested=True)}
    known = dict.fromkeys((*_own(language), *_framed(language, tested=False)))
    return tuple(form for form in known if form not in held_out)


def _framed(language: str, *, tested: bool) -> Iterator[str]:
    """Cores in frames, such as "EEE, d. MMMM y"; with the signs of languages that have some."""
    signs = _SIGNS.get(language)
    cores = [core.format(*signs) for core in _SIGNED_CORES] if signs else _CORES
    for (c, core), (f, frame) in product(enumerate(cores), enumerate(_FRAMES)):
        if ((c + 2 * f) % _EVERY == _KEPT) == tested:
            yield frame.format(core)


def written(day: date, language: str, format: str, *, own_digits: bool = False) -> Written:  # noqa: A002
    """The date in this language and format, in Latin digits or in the language's own."""
    locale = Locale.parse(language)
    digits = str.maketrans(_LATIN, _DIGITS.get(language, _LATIN) if own_digits else _LATIN)
    text = normalise(_parsed(format).apply(day, locale).translate(digits))
    name = ""
    if "MMM" in format:
        width = "wide" if "MMMM" in format else "abbreviated"
        name = normalise(locale.months["format"][width][day.month].translate(digits))
    return Written(text, day.isoformat(), language, format, name)


def _distinct(count: int, draw: random.Random, *, tested: bool) -> list[Written]:
    found: dict[str, Written] = {}
    for one in _drawn(draw, tested=tested):
        found.setdefault(one.text, one)
        if len(found) == count:
            break
    return list(found.values())


def _drawn(draw: random.Random, *, tested: bool) -> Iterator[Written]:
    """Dates without end. Languages are equally frequent, but for those with more digits to learn, in training."""
    languages = LANGUAGES if tested else (*LANGUAGES, *_DIGITS)
    first, days = date(_FIRST_YEAR, 1, 1), (date(_LAST_YEAR, 12, 31) - date(_FIRST_YEAR, 1, 1)).days
    while True:
        day = first + timedelta(days=draw.randint(0, days))
        if tested_year(day.year) != tested:
            continue
        language, own_digits = draw.choice(languages), draw.random() < 0.5
        yield written(day, language, draw.choice(formats(language, tested=tested)), own_digits=own_digits)


def _own(language: str) -> list[str]:
    """The language's own formats: those of CLDR, with whole years, less those that could be read in two ways."""
    locale = Locale.parse(language)
    own = [locale.date_formats[name].pattern for name in _OWN]
    if "yMMMEd" in locale.datetime_skeletons:
        own.append(locale.datetime_skeletons["yMMMEd"].pattern)
    # Babel 2.18 can give the stand-alone names (c, L) of another language; these are the same or nearly so.
    whole = [form.replace("yy", "y").replace("c", "E").replace("L", "M") for form in own]
    whole = [_ONE_LETTER.sub("EEE", form) for form in whole]
    return [form for form in whole if not _ambiguous(form)]


def _ambiguous(form: str) -> bool:
    """Numbers alone with the year last: 5/3 is in March here and in May there. With points it is the day first."""
    return "MMM" not in form and not form.startswith(("y", "E")) and "." not in form


@cache
def _parsed(form: str) -> DateTimePattern:
    return parse_pattern(form)
