"""Plural forms of languages, by the rules of Unicode (CLDR), as gettext and Qt write them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class PluralForms:
    """How many forms a noun has with numbers, and the rule that finds the one for a number `n`."""

    count: int
    rule: str

    def header(self) -> str:
        """The value of `Plural-Forms` in a PO catalogue."""
        return f"nplurals={self.count}; plural={self.rule};"


@cache
def plural_forms(language: str) -> PluralForms:
    """The forms of a language; those of English where it is unknown."""
    from babel.core import UnknownLocaleError
    from babel.messages.plurals import get_plural

    try:
        found = get_plural(language.replace("-", "_"))
    except (UnknownLocaleError, ValueError):
        return PluralForms(2, "(n != 1)")
    rule = found.plural_expr
    return PluralForms(found.num_plurals, rule if rule.startswith("(") or rule == "0" else f"({rule})")
