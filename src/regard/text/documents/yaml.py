"""YAML catalogues, as Rails and others have them: strings that are language are segments; keys and comments stay.

A translation is written in the style of its source: plain, quoted, or as a block; a plain one that YAML would read as
something else gets quotes. The key around everything, if it names the source language, is renamed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from regard.errors import SettingsError
from regard.text.catalogues import is_language
from regard.text.content import Content
from regard.text.documents import Asked, Document, Edit, Place, Segment
from regard.text.inline import LostMarkup
from regard.text.pairs import serves
from regard.text.tagged import tagged

if TYPE_CHECKING:
    from ruamel.yaml.nodes import Node

SUFFIXES = (".yml", ".yaml")
BILINGUAL = False

_STRING = "tag:yaml.org,2002:str"
_BLOCK = re.compile(r"[|>][-+\d]*[^\n]*\n")
_SWITCH = re.compile(r"y|n|yes|no|on|off|true|false|null", re.IGNORECASE)  # plain, YAML 1.1 reads a switch
_DEEPEST = 100


class _Scalar(NamedTuple):
    start: int
    end: int
    text: str
    style: str | None
    path: tuple[str, ...]  # the keys that lead to it


def read(content: Content, asked: Asked) -> Document:
    """The document."""
    roots = _composed(content, content.text)
    scalars = [scalar for root in roots for scalar in _scalars(content, root, (), set())]
    places = (_place(content, scalar) for scalar in scalars if _is_message(scalar))
    besides = tuple(edit for root in roots for edit in _renamed(root, asked))
    return Document(text=content.text, places=tuple(place for place in places if place), besides=besides)


def _library() -> Any:
    try:
        from ruamel import yaml
    except ImportError:
        raise SettingsError(
            "YAML needs ruamel.yaml, which is not installed.\n  Install it with: pip install 'regard[documents]'"
        ) from None
    return yaml


def _composed(content: Content, text: str) -> list[Node]:
    """The documents in a text, as nodes that know where they stand."""
    yaml = _library()
    try:
        return [node for node in yaml.YAML().compose_all(text) if node is not None]
    except yaml.error.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise content.wrong(line, f"this is not valid YAML: {error.problem}.", "Correct this line.") from None
    except yaml.YAMLError as error:
        what = f"this is not valid YAML: {str(error).splitlines()[0]}"
        raise content.wrong(None, what, "Correct the file.") from None
    except RecursionError:
        raise content.wrong(None, "this YAML is nested too deeply.", "Check whether it is a catalogue.") from None


def _scalars(content: Content, node: Node, path: tuple[str, ...], seen: set[int]) -> Iterator[_Scalar]:
    """The strings in the order of the file; one that several aliases name comes once."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if len(path) > _DEEPEST:
        raise content.wrong(None, "this YAML is nested too deeply.", "Check whether it is a catalogue.")
    if isinstance(node.value, str):
        if str(node.tag) == _STRING:
            style: str | None = getattr(node, "style", None)
            text = node.value.replace("\a", "")  # ruamel's mark of a fold
            yield _Scalar(node.start_mark.index, node.end_mark.index, text, style, path)
        return
    for item in node.value:
        key, value = (str(item[0].value), item[1]) if isinstance(item, tuple) else ("", item)
        yield from _scalars(content, value, (*path, key), seen)


def _is_message(scalar: _Scalar) -> bool:
    """Whether a string is language, and not a symbol of Rails: the order of a date, a way of rounding."""
    if scalar.style is None and _SWITCH.fullmatch(scalar.text):
        return False
    return is_language(scalar.text) and "round_mode" not in scalar.path and scalar.path[-3:-1] != ("date", "order")


def _renamed(root: Node, asked: Asked) -> Iterator[Edit]:
    if asked.languages is None or isinstance(root.value, str) or len(root.value) != 1:
        return
    key = root.value[0][0] if isinstance(root.value[0], tuple) else None
    if key is not None and isinstance(key.value, str) and serves(asked.languages.source, key.value):
        raw_length = key.end_mark.index - key.start_mark.index
        quote = '"' if raw_length > len(key.value) else ""
        yield Edit(key.start_mark.index, key.end_mark.index, f"{quote}{asked.languages.target}{quote}")


def _place(content: Content, scalar: _Scalar) -> Place | None:
    shown = tagged(scalar.text)
    if not shown.text:
        return None

    def put(translation: str) -> list[Edit]:
        text = shown.restored(translation)
        if not is_language(text):
            raise LostMarkup
        if scalar.style in ("|", ">"):
            return [_block(content, scalar, text)]
        return [Edit(scalar.start, scalar.end, _flow(scalar, text))]

    return Place(Segment(source=shown.text, line=content.line(scalar.start)), put)


def _flow(scalar: _Scalar, text: str) -> str:
    """A text in one line, in quotes where they are needed."""
    double = '"' + "".join(map(_escaped, text)) + '"'
    single = "'" + text.replace("'", "''") + "'"
    wanted = {"'": [single], '"': [double]}.get(scalar.style or "", [text, single])
    if scalar.style != '"' and ("\n" in text or not text.isprintable()):
        return double
    plain_is_a_switch = _SWITCH.fullmatch(text) is not None
    return next((form for form in wanted if _reads(form, text) and not (form == text and plain_is_a_switch)), double)


def _reads(form: str, text: str) -> bool:
    """Whether YAML reads this form as the text, in the place of the scalar as well as within brackets."""
    yaml = _library()
    probe = f"- [{form}]\n- a: {form}\n" if "\n" not in form else ""
    try:
        found = yaml.YAML(typ="safe", pure=True).load(probe)
    except yaml.YAMLError:
        return False
    return bool(found == [[text], {"a": text}])


def _escaped(character: str) -> str:
    named = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    if character in named:
        return named[character]
    return character if character.isprintable() else f"\\U{ord(character):08x}"


def _block(content: Content, scalar: _Scalar, text: str) -> Edit:
    """A block with the indentation that it had; its end, and the blank lines there, stay."""
    raw = content.text[scalar.start : scalar.end]
    head = _BLOCK.match(raw)
    first = re.search(r"^([ \t]+)\S", raw[head.end() :], re.MULTILINE) if head else None
    if not head or not first or re.match(r"[|>][-+]?\d", raw) or text[:1].isspace():
        raise LostMarkup
    indent, end = first[1], raw[len(raw.rstrip()) :]
    lines = text.strip("\n").split("\n")
    body = f"{content.line_end}".join(f"{indent}{line}" if line else "" for line in lines)
    if scalar.style == ">":
        body = f"{content.line_end}{content.line_end}".join(f"{indent}{line}" for line in lines if line)
    return Edit(scalar.start, scalar.end, head[0] + body + end)
