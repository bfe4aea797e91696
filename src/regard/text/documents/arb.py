"""ARB, the catalogues of Flutter: each message is a segment; keys that start with `@` stay.

`@@locale` states the language of the file, so it changes if it states the source language.
"""

from __future__ import annotations

import json

from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit
from regard.text.json_places import message, strings
from regard.text.pairs import serves

SUFFIXES = (".arb",)
BILINGUAL = False


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    besides, places = list[Edit](), []
    for value in strings(content):
        if value.is_key or len(value.path) != 1:
            continue
        if value.path == ("@@locale",) and asked.languages and serves(asked.languages.source, value.text):
            written = asked.languages.target.replace("-", "_")
            besides.append(Edit(value.start, value.end, json.dumps(written)))
        elif not value.path[0].startswith("@"):
            place = message(content, value, checked=False)
            places += [place] if place else []
    return Document(text=content.text, places=tuple(places), besides=tuple(besides))
