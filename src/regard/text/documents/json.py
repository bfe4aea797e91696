"""JSON catalogues, nested or flat, as i18next and others have them: strings that are language are segments.

Keys stay, and so do values that are addresses, paths, formats or names in programs. In the catalogues of browser
extensions, only `message` is translated. A single key around everything that names the source language is renamed.
"""

from __future__ import annotations

import json

from regard.text.catalogues import is_language
from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit
from regard.text.json_places import Value, message, strings
from regard.text.pairs import serves

SUFFIXES = (".json",)
BILINGUAL = False

NOT = frozenset("package.json package-lock.json tsconfig.json composer.json manifest.json".split())  # settings


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    found = strings(content)
    keys = [value for value in found if value.is_key and len(value.path) == 1]
    described = {value.path[0] for value in found if value.is_key and value.path[1:] == ("message",)}
    texts = [value for value in found if not value.is_key and is_language(value.text)]
    if keys and all(key.text in described for key in keys):
        texts = [value for value in texts if value.path[1:] == ("message",)]
    places = (message(content, value, checked=True) for value in texts)
    return Document(
        text=content.text,
        places=tuple(place for place in places if place),
        besides=tuple(_renamed(keys, asked)),
    )


def _renamed(keys: list[Value], asked: Asked) -> list[Edit]:
    if asked.languages is None or len(keys) != 1 or not serves(asked.languages.source, keys[0].text):
        return []
    return [Edit(keys[0].start, keys[0].end, json.dumps(asked.languages.target))]
