"""Numbers that a text says as words: a translation may write them in digits."""

from __future__ import annotations

import re
from functools import cache

_WORDS = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen",
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
}
_ORDINALS = {
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    "de": "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft",
}
_LARGE = {
    "en": {"hundred": 100, "thousand": 1000, "million": 1_000_000, "dozen": 12, "noon": 12, "midnight": 0},
    "de": {"hundert": 100, "tausend": 1000, "million": 1_000_000, "dutzend": 12, "mittag": 12, "mitternacht": 0},
}
_ENDINGS = {"en": "", "de": "(?:s|e[nrms]?)?"}
_HALF = {"en": re.compile(r"half past (\w+)"), "de": re.compile(r"halb (\w+)")}
_TOKEN = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


def small_number(string: str, language: str) -> str | None:
    """A pattern for the word that says a number up to twelve; None for others."""
    words = _WORDS.get(language, "").split()[:13]
    value = int(string) if string.isdecimal() else len(words)
    return rf"\b{words[value]}{_ENDINGS[language]}\b" if value < len(words) else None


def spelt_out(text: str, language: str) -> set[str]:
    """The numbers that a text says as words, in digits: with and without marks between thousands, times as 2:30."""
    values = _values(language)
    if not values:
        return set()
    ending = re.compile(_ENDINGS[language] + "$")
    said, before = set[int](), 0
    for word in _TOKEN.findall(text.lower()):
        value = values.get(word, values.get(ending.sub("", word), -1))
        if value >= 0:
            said |= {value, value * before}
        before = max(value, 0)
    said |= {24} if 0 in said else set()
    written = {form for value in said for form in (f"{value}", f"{value:,}", f"{value:,}".replace(",", "."))}
    return written | _times(text, language, values)


def _times(text: str, language: str, values: dict[str, int]) -> set[str]:
    hours = [values.get(word) for word in _HALF[language].findall(text.lower())]
    earlier = language == "de"  # halb drei is half past two
    starts = [(hour - earlier) % 12 for hour in hours if hour is not None]
    return {f"{start + more}{mark}30" for start in starts for more in (0, 12) for mark in ":."}


@cache
def _values(language: str) -> dict[str, int]:
    if language not in _WORDS:
        return {}
    words, tens = _WORDS[language].split(), _TENS[language].split()
    values = {word: value for value, word in enumerate(words)} | _LARGE[language]
    values |= {word: value for value, word in enumerate(_ORDINALS[language].split(), 1) if word not in values}
    for ten, word in enumerate(tens, 2):
        values[word] = 10 * ten
        for one in range(1, 10):
            values[f"{words[one]}und{word}" if language == "de" else f"{word}-{words[one]}"] = 10 * ten + one
    if language == "de":
        for one in range(1, 13):
            values |= {f"{words[one]}hundert": 100 * one, f"{words[one]}tausend": 1000 * one}
    return values
