"""The directives of format strings, as C and Python define them: `%s`, `%-5d`, `%1$s`, `%(name)s`, `%%`.

The n-th directive without a number takes the n-th argument. A translation may therefore put directives into another
order only if it numbers them, which C can do and Python cannot: Python has names for this purpose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_WIDTH = r"(?:\*(?:\d+\$)?|\d+)"
_SIZE = r"(?:hh|h|ll|l|q|L|j|z|t|I64|I32|I)"
_FIXED = r"<PRI[diouxX](?:(?:LEAST|FAST)?(?:8|16|32|64)|MAX|PTR)>"  # as gettext writes the macros of inttypes.h
DIRECTIVES = {
    "c-format": rf"%(?:\d+\$)?[-+#0 'I]*{_WIDTH}?(?:\.{_WIDTH}?)?(?:{_SIZE}?[diouxXeEfFgGaAcsCSpnm%]|{_FIXED})",
    "python-format": r"%(?:\(\w+\))?[-+#0 ]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[diouxXeEfFgGcrsa%]",
}
_READERS = {syntax: re.compile(pattern) for syntax, pattern in DIRECTIVES.items()}
_NUMBER = re.compile(r"%(\d+)\$")
_NAME = re.compile(r"%(\(\w+\))")
_KINDS = (("d", "di"), ("u", "ouxX"), ("f", "eEfFgGaA"), ("c", "cC"), ("s", "sS"))


class Argument(NamedTuple):
    """What a directive asks for: the number or the name of an argument, and the type that it must have."""

    key: str
    type: str


def arguments(text: str, syntax: str) -> list[Argument] | None:
    """The arguments that a format string needs, sorted; None where it is not valid: a lone %, or mixed numbering."""
    found, rest = list[str](), _READERS[syntax].split(text)
    if any("%" in between for between in rest):
        return None
    found = [match.group() for match in _READERS[syntax].finditer(text) if not match.group().endswith("%")]
    keys = [_key(directive) for directive in found]
    if len({bool(key) for key in keys}) > 1:
        return None
    needed, next_free = list[Argument](), 1
    for directive, key in zip(found, keys, strict=True):
        if directive.endswith("m") and syntax == "c-format":
            continue  # the text of errno, which needs no argument
        stars = 0 if key else directive.count("*")
        needed += [Argument(str(next_free + n), "d") for n in range(stars)]
        needed.append(Argument(key or str(next_free + stars), _type(directive)))
        next_free += stars + 1
    return sorted(set(needed) if any(keys) else needed)


def numbered(source: str, target: str, syntax: str) -> str | None:
    """The target with its directives numbered by their order in the source, so that the order no longer matters.

    Equal directives keep their order among each other. None where the syntax has no numbers, or they are not all there.
    """
    asked, said = ([match.group() for match in _READERS[syntax].finditer(text)] for text in (source, target))
    asked, said = ([one for one in some if one[-1] not in "%m"] for some in (asked, said))
    plain = not any(_key(one) or "*" in one for one in (*asked, *said))
    if syntax != "c-format" or not plain or sorted(asked) != sorted(said):
        return None
    places = _places(asked)

    def number(match: re.Match[str]) -> str:
        directive = match.group()
        return directive if directive[-1] in "%m" else f"%{places[directive].pop(0)}${directive[1:]}"

    return _READERS[syntax].sub(number, target)


def _places(directives: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, directive in enumerate(directives, start=1):
        places.setdefault(directive, []).append(place)
    return places


def _key(directive: str) -> str:
    found = _NUMBER.match(directive) or _NAME.match(directive)
    return found[1] if found else ""


def _type(directive: str) -> str:
    """The type of an argument: its size and whether it is a number, a character or a string."""
    if directive.endswith(">"):
        return directive[directive.index("<") :]
    size = re.search(rf"({_SIZE}?)[A-Za-z]$", directive)
    assert size
    return size[1] + next((kind for kind, letters in _KINDS if directive[-1] in letters), directive[-1])
