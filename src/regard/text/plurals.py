"""Plural forms of languages, by the rules of Unicode (CLDR), as gettext and Qt write them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple


class PluralForms(NamedTuple):
    """How many forms a noun has with numbers, and the rule that finds the one for a number `n`."""

    count: int
    rule: str

    def header(self) -> str:
        """The value of `Plural-Forms` in a PO catalogue."""
        return f"nplurals={self.count}; plural={self.rule};"


@cache
def plural_forms(language: str) -> PluralForms:
    """The forms of a language; those of English where it is unknown."""
    from babel.messages.plurals import get_plural

    found = get_plural(language.replace("-", "_"))
    rule = found.plural_expr
    return PluralForms(found.num_plurals, rule if rule.startswith("(") or rule == "0" else f"({rule})")
