"""Figures as people read them: times, sizes, counts and values, also where a value is not a number."""

from __future__ import annotations

import math
from typing import Any

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def finite(value: Any) -> float | None:
    """The value, if it is a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def duration(seconds: Any) -> str:
    """`4 s`, `12 min`, `2 h 5 min`, `3 d 4 h`."""
    number = finite(seconds)
    if number is None:
        return "unknown"
    if number < 9.95:
        return f"{max(0.0, number):.1f} s"
    if number < 90:
        return f"{number:.0f} s"
    minutes = round(number / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def size(number: Any) -> str:
    """Bytes, in the largest unit that fits."""
    left = finite(number)
    if left is None:
        return "unknown"
    for unit in ("B", "kB", "MB"):
        if left < 1000:
            return f"{left:.0f} {unit}"
        left /= 1000
    return f"{left:.1f} GB"


def count(number: Any) -> str:
    """A whole number, with commas."""
    known = finite(number)
    return "unknown" if known is None else f"{known:,.0f}"


def value(number: Any, digits: int = 3) -> str:
    """A measured value; what is not a number is called so."""
    known = finite(number)
    if known is not None:
        return f"{known:,.{digits}f}"
    return "infinite" if isinstance(number, float) and math.isinf(number) else "NaN"


def perplexity(number: Any) -> str:
    """With as many digits as matter."""
    known = finite(number)
    return value(number) if known is None else f"{known:,.{2 if known < 100 else 0}f}"


def small(number: Any) -> str:
    """A rate: `0.0007`, `5 × 10⁻⁶`."""
    known = finite(number)
    if known is None:
        return value(number)
    if known == 0 or abs(known) >= 1e-4:
        return f"{known:.3g}"
    mantissa, _, exponent = f"{known:.2e}".partition("e")
    power = str(int(exponent)).translate(_SUPERSCRIPTS)
    return f"{float(mantissa):g} × 10{power}"


def percent(part: Any, whole: Any) -> str:
    """`12.3 %`; of nothing, nothing."""
    some, of = finite(part), finite(whole)
    if some is None or not of:
        return ""
    return f"{100 * some / of:.1f} %" if not 0 < some / of < 0.0005 else "under 0.1 %"


def metric_title(name: str) -> str:
    """`bleu` as people write it."""
    from regard.metrics import metric, metrics

    return metric(name).title if name in metrics() else name


def setting(value: Any) -> str:
    """A setting as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(setting, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} {setting(inner)}" for key, inner in value.items()) or "none"
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else str(value)
