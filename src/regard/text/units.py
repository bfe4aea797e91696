"""What stands beside numbers, and must stay there: currencies, percent signs, degrees, and units such as km or GB.

A translation may say a sign as a word: 5% may become 5 Prozent. Where it says neither, the sign is put back.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from regard.text.numbers import Number, unmatched

_SIGNS = "$€£¥₹₽%‰°"
_UNITS = (
    "km/h|kbit/s|Mbit/s|Gbit/s|MB/s|GB/s|[kMGT]?Hz|[kKMGT]i?B|km|cm|mm|kg|mg|kWh?|mAh|px|dpi|ms|m[lL]|cl|min|ft|mi|mph|lbs?|oz|bn"
    "|p\\.m\\.|pm"
)
_LETTERS = "[mglthsVW]"  # units of one letter, behind a space: 5 m, but not 1990s
_AFTER = re.compile(
    rf"[ \u00a0\u202f]?(?P<unit>[{_SIGNS}]|(?:{_UNITS})(?![\w/])|(?<=[ \u00a0\u202f]){_LETTERS}(?![\w/'’-]))"
)
_BEFORE = re.compile(rf"(?P<unit>[{_SIGNS}])[ \u00a0\u202f]?$")
_QUICK = re.compile(rf"\d[ \u00a0\u202f]?(?:[{_SIGNS}]|{_UNITS}|{_LETTERS}\b)|[{_SIGNS}][ \u00a0\u202f]?\d")
_AS_WORDS = {
    "$": "dollar|usd", "€": "euro|eur", "£": "pound|pfund|livre|libra|gbp", "¥": "yen|jpy|yuan", "₹": "rupi|rupee|inr",
    "₽": "rubel|ro?uble|rub", "%": "prozent|per ?cent|pour cent|por ciento|pct", "‰": "promille|per mil",
    "°": "grad|degr|grado", "km/h": "kilomet", "km": "kilomet", "cm": "zentimeter|centimet", "mm": "millimet",
    "kg": "kilogram|kilo", "mg": "milligram", "kW": "kilowatt", "kWh": "kilowatt", "ms": "millise", "px": "pixel",
    "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "Hz": "hertz", "kB": "kilobyte", "KB": "kilobyte",
    "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte", "ml": "milliliter|millilitre", "mL": "milliliter|millilitre",
    "cl": "centiliter|centilitre|zentiliter", "min": "minut", "ft": "fuß|fuss|feet|foot", "mi": "meile|mile",
    "mph": "meile|mile", "lb": "pfund|pound", "lbs": "pfund|pound", "oz": "unze|ounce", "bn": "milliard|billion|mrd",
    "p.m.": "nachmittag|abend|nacht|pm|afternoon|evening|night", "m": "meter|metre", "g": "gramm?", "l": "liter|litre",
    "pm": r"nachmittag|abend|nacht|p\.m|afternoon|evening|night", "t": "tonne|ton", "h": "stunde|hour|uhr|std",
    "s": "sekunde|second", "V": "volt", "W": "watt",
}  # fmt: skip


def whole(source: str, number: Number) -> Number:
    """A number with its unit, as one string."""
    after, before = _AFTER.match(source, number.end), _BEFORE.search(source, 0, number.start)
    start = before.start() if before and not after else number.start
    end = after.end() if after else number.end
    return Number(source[start:end], start, end)


def is_sign(unit: str) -> bool:
    """Whether a unit is a sign, not an abbreviation."""
    return unit in _SIGNS


def lost_units(source: str, asked: Sequence[Number], target: str) -> list[tuple[Number, str]]:
    """The units that the target does not have as often as the source, each with its number in the source."""
    if not asked or not _QUICK.search(source):
        return []
    lost, seen = list[tuple[Number, str]](), dict[str, int]()
    for number in asked:
        found = _AFTER.match(source, number.end) or _BEFORE.search(source, 0, number.start)
        if found:
            unit = found["unit"]
            seen[unit] = seen.get(unit, 0) + 1
            if _count(target, unit) < seen[unit]:
                lost.append((number, unit))
    return lost


def with_units(target: str, said: Sequence[Number], lost: Sequence[tuple[Number, str]]) -> str:
    """The target with lost units beside their numbers, as far as these are there."""
    for number, unit in reversed(lost):
        there = next((one for one in said if not any(unmatched([number], [one]))), None)
        if there is not None:
            close = "" if unit in "°" else "\u00a0"
            target = f"{target[: there.end]}{close}{unit}{target[there.end :]}"
    return target


def _count(target: str, unit: str) -> int:
    words = _AS_WORDS.get(unit)
    as_sign = (
        len(re.findall(rf"(?<![^\W\d_]){re.escape(unit)}(?!\w)", target)) if unit[0].isalpha() else target.count(unit)
    )
    return as_sign + (len(re.findall(words, target, re.IGNORECASE)) if words else 0)
