"""HTML in a request: its texts are translated, its tags stay, nested ones too.

Text between two block elements is one segment. Inline elements within it are shown to the translator as numbered tags
(`regard.text.inline`) and put back. A translation that lost one of them is made again from the texts between the tags.
Whatever the model says is escaped, so that it cannot become markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape, unescape
from typing import NamedTuple

from regard.text.inline import Inline, LostMarkup, Shown

_INLINE = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "b",
        "bdi",
        "bdo",
        "big",
        "cite",
        "data",
        "del",
        "dfn",
        "em",
        "font",
        "i",
        "img",
        "input",
        "ins",
        "label",
        "mark",
        "q",
        "ruby",
        "s",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
        "var",
        "wbr",
    ]
)
_VOID = frozenset(["area", "base", "col", "embed", "img", "input", "link", "meta", "param", "source", "track", "wbr"])
_KEPT = frozenset(
    ["code", "kbd", "math", "noscript", "pre", "samp", "script", "style", "svg", "template", "textarea", "xmp"]
)
_TOKEN = re.compile(
    r"(?P<other><!--.*?(?:-->|\Z)|<![A-Za-z\[][^>]*>|<\?[^>]*>)"
    r"|<(?P<end>/?)(?P<name>[A-Za-z][\w:-]*)(?P<rest>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>",
    re.DOTALL,
)
_UNTRANSLATED = re.compile(r"""translate\s*=\s*["']?no\b|class\s*=\s*["'][^"']*\bnotranslate\b""", re.IGNORECASE)
_TAG = re.compile(r'(</?(?:g+|x+)(?: id="\d+")?/?>)')  # as regard.text.inline shows them

Translate = Callable[[Sequence[str]], Sequence[str]]


class _Token(NamedTuple):
    raw: str
    name: str = ""  # of an element, in small letters; a text has none
    ends: bool = False
    kept: bool = False  # as it is, with all that it has in it


def translated_html(html: str, translate: Translate) -> str:
    """The same HTML with its texts translated, all at once, and once more where a translation lost a tag."""
    pieces = _pieces(_tokens(html))
    shown = [piece for piece in pieces if isinstance(piece, Shown)]
    wanted = [one.text for one in shown]
    said = dict(zip(wanted, translate(wanted), strict=True))
    lost = [one for one in shown if _restored(one, said[one.text]) is None]
    between = list(dict.fromkeys(part.strip() for one in lost for part in _TAG.split(one.text) if _has_words(part)))
    in_parts = dict(zip(between, translate(between) if between else [], strict=True))
    filled = []
    for piece in pieces:
        if isinstance(piece, str):
            filled.append(piece)
            continue
        whole = _restored(piece, said[piece.text])
        filled.append(piece.restored(_in_parts(piece.text, in_parts), _escaped) if whole is None else whole)
    return "".join(filled)


def text_of_html(html: str) -> str:
    """The texts without the tags."""
    return " ".join(unescape(token.raw) for token in _tokens(html) if not token.name)


def _restored(shown: Shown, translation: str) -> str | None:
    try:
        return shown.restored(translation, _escaped)
    except LostMarkup:
        return None


def _in_parts(text: str, said: dict[str, str]) -> str:
    parts = []
    for part in _TAG.split(text):
        core = part.strip()
        parts.append(part if not _has_words(part) or _TAG.fullmatch(part) else part.replace(core, said[core]))
    return "".join(parts)


def _has_words(text: str) -> bool:
    return not _TAG.fullmatch(text) and any(map(str.isalpha, text))


def _escaped(text: str) -> str:
    return escape(text, quote=False)


def _tokens(html: str) -> list[_Token]:
    tokens, place = list[_Token](), 0
    while found := _TOKEN.search(html, place):
        if found.start() > place:
            tokens.append(_Token(html[place : found.start()]))
        place = found.end()
        name = (found["name"] or "").lower()
        opens = bool(name) and not found["end"] and name not in _VOID and not found["rest"].endswith("/")
        if opens and (name in _KEPT or _UNTRANSLATED.search(found["rest"])):
            place = _end_of(html, name, place)
            tokens.append(_Token(html[found.start() : place], name, kept=True))
        else:
            tokens.append(_Token(found[0], name or "!", bool(found["end"])))
    return [*tokens, _Token(html[place:])] if place < len(html) else tokens


def _end_of(html: str, name: str, place: int) -> int:
    """Where the element that is open at this place ends; elements of the same name within it end first."""
    depth = 1
    for found in re.finditer(rf"<(/?){re.escape(name)}\b[^>]*>", html[place:], re.IGNORECASE):
        depth += -1 if found[1] else 1
        if depth == 0:
            return place + found.end()
    return len(html)


def _pieces(tokens: Sequence[_Token]) -> list[str | Shown]:
    """What stays as it is, and segments."""
    pieces: list[str | Shown] = []
    run: list[_Token] = []
    for token in [*tokens, _Token("", "end")]:
        inline = not token.name or (token.name in _INLINE or (token.kept and token.name not in ("script", "style")))
        if inline:
            run.append(token)
            continue
        pieces += _segment(run)
        pieces.append(token.raw)
        run = []
    return pieces


def _segment(run: Sequence[_Token]) -> list[str | Shown]:
    if not any(_has_words(unescape(token.raw)) for token in run if not token.name):
        return [token.raw for token in run]
    pairs, inline = _matched(run), Inline()
    for place, token in enumerate(run):
        if not token.name:
            inline.text(unescape(token.raw))
        elif place not in pairs:
            inline.alone(token.raw)
        elif token.ends:
            inline.close(token.raw)
        else:
            inline.open(token.raw)
    return [inline.shown()]


def _matched(run: Sequence[_Token]) -> set[int]:
    """The places of tags that belong together, one within the other; the rest stand alone."""
    matched: set[int] = set()
    opened: list[int] = []
    for place, token in enumerate(run):
        if not token.name or token.kept or token.name in _VOID or token.raw.endswith("/>"):
            continue
        if not token.ends:
            opened.append(place)
        elif any(run[other].name == token.name for other in opened):
            while run[opened[-1]].name != token.name:
                opened.pop()
            matched |= {opened.pop(), place}
    return matched
