"""Spaces around inline tags: where the source has one between a tag and a word, a translation that lost it gets it."""

from __future__ import annotations

import re

_TAG = re.compile(r'<(?:g+|x+) id="\d+"/?>|</g+>')  # as regard.text.inline shows them


def respaced(source: str, translation: str) -> str:
    """The translation with the spaces that its tags have in the source, where words would run into tags."""
    if "<" not in source or source.count("<") != translation.count("<"):
        return translation
    spaced = {name: (before, after) for name, before, after in _sides(source)}
    out, position = [], 0
    for (name, _, _), found in zip(_sides(translation), _TAG.finditer(translation), strict=True):
        before, after = spaced.get(name, (False, False))
        out.append(translation[position : found.start()])
        runs_in = translation[found.start() - 1 : found.start()].isalnum()
        runs_out = translation[found.end() : found.end() + 1].isalnum()
        out.append(f"{' ' if before and runs_in else ''}{found[0]}{' ' if after and runs_out else ''}")
        position = found.end()
    return "".join([*out, translation[position:]])


def _sides(text: str) -> list[tuple[str, bool, bool]]:
    """Each tag by its name, a closing one by that of its opening one, and whether spaces are outside it."""
    sides, opened = [], list[str]()
    for found in _TAG.finditer(text):
        tag = found[0]
        before, after = text[found.start() - 1 : found.start()].isspace(), text[found.end() : found.end() + 1].isspace()
        if tag.startswith("</"):
            sides.append((f"/{opened.pop() if opened else ''}", False, after))
        elif tag.endswith("/>"):
            sides.append((tag, before, after))
        else:
            opened.append(tag)
            sides.append((tag, before, False))
    return sides
