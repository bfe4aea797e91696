"""Strings that must survive translation: placeholders, addresses, language tags.

A declared string is a single piece wherever it stands. A pattern has a name, listed in PATTERNS; of the strings that it
finds in the training text, the frequent ones become single pieces, most frequent first, up to a limit. All others
are spelt in several pieces, and survive a round trip because nothing is lost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

PATTERNS = {
    "braces": re.compile(r"\{\{ ?\w[\w.]* ?\}\}|\$?\{\w*[\w.]*(?:![rsa])?(?::[^{}\s]*)?\}"),
    "percent": re.compile(
        r"%\(\w+\)[-+#0]*\d*(?:\.\d+)?[diouxXeEfFgGcrsa]"
        r"|(?<![\d%])%(?:\d+\$)?[-+#0]*\d*(?:\.\d+)?(?:hh?|ll?|[jzt])?[diouxXeEfFgGcrsa@](?![A-Za-z])"
    ),
    "tag": re.compile(r">>[\w-]+<<"),
    "url": re.compile(r"(?:https?|ftp)://[^\s<>\"'\]]*[^\s<>\"'\].,;:!?)]"),
}
LEAST = 5  # a string that is seen less often is not worth an id that would hardly be trained


def protected_strings(
    texts: Iterable[str], *, literals: Sequence[str], patterns: Sequence[str], limit: int
) -> tuple[str, ...]:
    """The strings that become single pieces: the declared ones, then at most `limit` that the patterns find."""
    chosen = [PATTERNS[name] for name in patterns]
    found: Counter[str] = Counter()
    if chosen:
        for text in texts:
            for pattern in chosen:
                found.update(string for string in pattern.findall(text) if " " not in string)
    frequent = [string for string, count in found.items() if count >= LEAST and string not in literals]
    frequent.sort(key=lambda string: (-found[string], string))
    return (*dict.fromkeys(literals), *frequent[:limit])
