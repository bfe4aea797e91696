"""Pairs as people type them: in capitals, without a full stop, in lists, with addresses, numbers and emoji.

Each variant is made from a pair of the data by changing both sides alike. Which pairs are varied, and how, depends on
their English side alone, so that the same data always give the same variants.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256

Pair = tuple[str, str]

SHARE = 0.12  # of the pairs are varied
_EMOJI = list("😀😂😊😉😍🤔😢😎🙂👍👎🙏👋🎉🔥✨💡✅❌⭐🚀📌📅📞☕🍕🐶🌍")
_BULLETS = (
    "- ",
    "* ",
    "• ",
    "– ",
    "✓ ",
    "→ ",
    "1. ",
    "2. ",
    "3. ",
    "1) ",
    "a) ",
    "b) ",
    "(1) ",
    "# ",
    "> ",
    "[ ] ",
    "[x] ",
)
_TAILS = (
    " ({url})", " {url}", " – {url}", " <{mail}>", " ({mail})", " (v{version})", " [{number}]", " (§ {number})",
    " #{number}", " ({number} %)", " ({number} €)", " (£{number})", " (${number})", " ({number} °C)", " ({number} m²)",
    " (≥ {number})", " (± {number})", " (½)", " {emoji}", " {emoji}{emoji}", " …", " ©", "™", " ®", " ★",
)  # fmt: skip
_END = re.compile(r"[.!?]$")


def varied(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Variants of some of the pairs."""
    for place, pair in enumerate(pairs):
        draw = random.Random(sha256(pair[0].encode()).digest())  # noqa: S311  nothing is secret
        if draw.random() < SHARE:
            made = draw.choice(_KINDS)(pair, pairs[place - 1], draw)
            if made and made != pair:
                yield made


def _capitals(pair: Pair, _: Pair, __: random.Random) -> Pair | None:
    return (pair[0].upper(), pair[1].upper()) if len(pair[0]) < 80 else None


def _small_letters(pair: Pair, _: Pair, __: random.Random) -> Pair | None:
    """Typed in haste; the translation is written as it should be."""
    return pair[0].lower(), pair[1]


def _without_end(pair: Pair, _: Pair, __: random.Random) -> Pair | None:
    ends = all(_END.search(side) and not side.endswith("..") for side in pair)
    return (pair[0][:-1], pair[1][:-1]) if ends else None


def _title(pair: Pair, _: Pair, __: random.Random) -> Pair | None:
    """English headlines have capitals, German ones have no more than usual."""
    short = len(pair[0].split()) <= 9 and all(map(_END.search, pair))
    return (pair[0][:-1].title().replace("'S", "'s"), pair[1][:-1]) if short else None


def _two(pair: Pair, other: Pair, _: random.Random) -> Pair | None:
    whole = all(_END.search(side) for side in (*pair, *other)) and len(pair[0]) + len(other[0]) < 300
    return (f"{other[0]} {pair[0]}", f"{other[1]} {pair[1]}") if whole else None


def _listed(pair: Pair, _: Pair, draw: random.Random) -> Pair | None:
    bullet = draw.choice(_BULLETS)
    return bullet + pair[0], bullet + pair[1]


def _quoted(pair: Pair, _: Pair, draw: random.Random) -> Pair | None:
    if any(mark in side for side in pair for mark in "\"“”„‚‘’'«»"):
        return None
    (left, right), (links, rechts) = draw.choice(
        [(('"', '"'), ('"', '"')), (("“", "”"), ("„", "“")), (("'", "'"), ("'", "'")), (("‘", "’"), ("‚", "‘"))]
    )
    return f"{left}{pair[0]}{right}", f"{links}{pair[1]}{rechts}"


def _typographic(pair: Pair, _: Pair, __: random.Random) -> Pair | None:
    """The other apostrophe, and a real dash."""
    return pair[0].replace("'", "’").replace(" - ", " – "), pair[1].replace(" - ", " – ")


def _with_tail(pair: Pair, _: Pair, draw: random.Random) -> Pair | None:
    """The same address, number or symbol at the end of both sides, before the full stop if they have one."""
    host = f"example.{draw.choice(['org', 'com', 'de'])}"
    tail = draw.choice(_TAILS).format(
        url=f"https://www.{host}/{draw.choice(['a', 'docs', 'news', 'shop'])}/{draw.randrange(10_000)}",
        mail=f"{draw.choice(['info', 'anna.k', 'max_m', 'support'])}@{host}",
        version=f"{draw.randrange(10)}.{draw.randrange(30)}.{draw.randrange(30)}",
        number=draw.choice([draw.randrange(10), draw.randrange(100), draw.randrange(2_100), draw.randrange(100_000)]),
        emoji=draw.choice(_EMOJI),
    )
    ends = [_END.search(side) for side in pair]
    if all(ends) and draw.random() < 0.5:
        return tuple(side[:-1] + tail + side[-1] for side in pair)  # type: ignore[return-value]
    return pair[0] + tail, pair[1] + tail


def _with_emoji_first(pair: Pair, _: Pair, draw: random.Random) -> Pair | None:
    emoji = draw.choice(_EMOJI)
    return f"{emoji} {pair[0]}", f"{emoji} {pair[1]}"


_KINDS: tuple[Callable[[Pair, Pair, random.Random], Pair | None], ...] = (
    _capitals, _small_letters, _without_end, _without_end, _title, _two, _two, _two, _listed, _quoted, _typographic,
    _with_tail, _with_tail, _with_emoji_first,
)  # fmt: skip
