"""A text and the parts of it that are translated one by one: lines, cells between tabs, sentences if it is long.

Sentences in capitals beside others are parts of their own, too: `recasing.py` knows a part in capitals only as a whole.

What is between the parts stays as it is, and so does white space around the text. Short texts of one line, by far
the most, are one part each, and looking for more costs them nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from regard.text.casing import Case, case_of
from regard.text.edges import marker
from regard.text.placeholders import Placeholder, only_placeholders, placeholders
from regard.text.sentences import clauses, has_breaks, lines, pieces_between_spaces, sentences
from regard.text.tags import well_nested
from regard.text.unknown_characters import unknown
from regard.text.word_spans import count_words, sticks
from regard.tokens.tokeniser import Tokeniser, utf8

_MOST_WORDS = 80  # a single sentence of more words is cut at its clauses
_TAG_BREAK = re.compile(r"(?<=[.!?:…])\s*<br ?/?>\s*()|<br ?/?>\s*()(?=[^\W\d_a-z])")  # a new sentence behind a tag
_BLOCKS = "p|div|li|ul|ol|dl|dt|dd|table|tr|td|th|h[1-6]|blockquote|section|article|option"
_BLOCK_TAG = re.compile(rf"</?(?:{_BLOCKS})(?:\s[^<>]*)?>")
_BLOCK_END = re.compile(
    rf"</(?:{_BLOCKS})>\s*()(?=<(?:{_BLOCKS})[\s>]|[^\s<])|(?<=[^\s>])\s*()(?=<(?:{_BLOCKS})[\s>])"
    r"|(?<=[.!?…])(?:</[\w:.-]+>)+()(?=<[A-Za-z][^<>/]*>)"
)
_BRANCH = re.compile(r"()(?=\{%-?\s*(?:else|elif|elsif|elseif|empty|plural)\b|\{\{-?\s*else\b)")  # of a template
_TEMPLATE = re.compile(r"\{%.*?%\}|\{\{[#^/].*?\}\}")
_CELL = re.compile(r"[^\t]*\t+|[^\t]+")
_CAPITALS = re.compile(r"[^\W\d_a-z]{2}")
_PIECES_A_CHARACTER = 4  # one for each byte, at most


@dataclass(frozen=True)
class Segment:
    """A part that is translated: in normal form, with its placeholders."""

    text: str
    placeholders: tuple[Placeholder, ...]
    begins: int  # where its words start among those of the text: the first has the number 0


Part = str | Segment  # a string stays as it is


class Segmenter:
    """Cuts texts into parts that a model can translate.

    A line of more than `split_over` words is translated sentence by sentence; no part has more than `most_pieces`.
    `known` are the characters that the model knows; None: all.
    """

    def __init__(
        self, tokeniser: Tokeniser, *, split_over: int, most_pieces: int, known: frozenset[str] | None = None
    ) -> None:
        self._tokeniser, self._split_over, self._most_pieces = tokeniser, split_over, most_pieces
        self._known = known

    def parts(self, text: str, *, syntax: str = "", letters: bool = False) -> list[Part]:
        """The parts; joined, the text. Placeholders have this syntax.

        With `letters`, a part is translated only if it has letters that the model knows, and sentences in capitals
        are parts of their own.
        """
        if not text.isascii():
            utf8(text)
        parts: list[Part] = []
        begins = 0
        shouting = letters and _CAPITALS.search(text)
        for piece in _by_case(self._pieces(text), syntax) if shouting else self._pieces(text):
            core = piece.strip()
            before, after = piece[: len(piece) - len(piece.lstrip())], piece[len(piece.rstrip()) :] if core else ""
            mark = marker(core) if letters else ""
            own = self._part(core[len(mark) :], begins + count_words(mark), syntax, letters=letters)
            parts += [part for part in (before + mark, own, after) if part]
            begins += count_words(piece) if len(piece) < len(text) else 0
        return parts

    def _part(self, core: str, begins: int, syntax: str, *, letters: bool) -> Part:
        normal = self._tokeniser.normalise(core)
        found = placeholders(normal, syntax)
        if not normal or (found and only_placeholders(normal, found)):
            return core
        if letters and not self._has_letters(normal, found):
            return core
        return Segment(normal, tuple(found), begins)

    def _has_letters(self, text: str, found: Sequence[Placeholder]) -> bool:
        if text.isascii() and not found:
            return any(map(str.isalpha, text))
        within = {place for one in found for place in range(one.start, one.end)}
        within |= {place for one in unknown(text, self._known, found) for place in range(one.start, one.end)}
        return any(letter.isalpha() for place, letter in enumerate(text) if place not in within)

    def _pieces(self, text: str) -> Iterable[str]:
        if not has_breaks(text) and "\t" not in text and "<" not in text and "{" not in text:
            return self._of_a_line(text)
        cells = _CELL.findall(text) if "\t" in text else [text]
        parts = [part for cell in cells for line in lines(cell) for part in _at_tags(line)]
        return [piece for part in parts for piece in self._of_a_line(part)]

    def _of_a_line(self, line: str) -> Iterator[str]:
        if self._fits(line, self._split_over):
            yield line
            return
        for sentence in sentences(line):
            yield from self._shortened(sentence, (clauses, pieces_between_spaces, self._characters))

    def _shortened(self, text: str, ways: Sequence[Callable[[str], list[str]]]) -> Iterator[str]:
        """The text in parts that fit, cut in the first of the ways that helps, each as long as it can be.

        The parts of the last way surely fit.
        """
        if self._fits(text, _MOST_WORDS):
            yield text
            return
        if len(ways) == 1:
            yield from ways[0](text)
            return
        waiting, words, pieces = "", 0, 0
        for part in ways[0](text):
            more_words, more_pieces = self._size(part)
            if waiting and (words + more_words > _MOST_WORDS or pieces + more_pieces > self._most_pieces):
                yield from self._shortened(waiting, ways[1:])
                waiting, words, pieces = "", 0, 0
            waiting, words, pieces = waiting + part, words + more_words, pieces + more_pieces
        yield from self._shortened(waiting, ways[1:])

    def _fits(self, text: str, words: int) -> bool:
        few = len(text) <= words or count_words(text) <= words
        short = len(text) * _PIECES_A_CHARACTER < self._most_pieces
        return few and (short or len(self._tokeniser.encode(text)) <= self._most_pieces)

    def _size(self, text: str) -> tuple[int, int]:
        return count_words(text), len(self._tokeniser.encode(text))

    def _characters(self, text: str) -> list[str]:
        """What has no place to cut, in parts that surely fit."""
        size = max(1, min(_MOST_WORDS, self._most_pieces // _PIECES_A_CHARACTER - 1))
        return [text[start : start + size] for start in range(0, len(text), size)]


def _by_case(pieces: Iterable[str], syntax: str) -> Iterator[str]:
    """The pieces; one of several sentences of which some, but not all, are in capitals is cut into these."""
    for piece in pieces:
        own = sentences(piece) if _CAPITALS.search(piece) else []
        found = [placeholders(sentence, syntax) for sentence in own]
        cases = {_shouts(one, apart) for one, apart in zip(own, found, strict=True)}
        yield from own if len(cases) > 1 and all(map(well_nested, own)) else [piece]  # no pair of tags is cut apart


def _shouts(sentence: str, apart: Sequence[Placeholder]) -> bool:
    """Whether a sentence is in capitals; a single word may be a name."""
    return " " in sentence.strip() and case_of(sentence, "", apart) is Case.CAPITALS


def _at_tags(line: str) -> list[str]:
    """A line cut between paragraphs, items, cells and branches, and behind tags that break it before a sentence."""
    if "<" not in line and "{" not in line:
        return [line]
    ends = sorted(match.end() for pattern in (_BLOCK_END, _BRANCH) for match in pattern.finditer(line))
    blocks = _cut(line, ends)
    if not all(well_nested(_TEMPLATE.sub("", _BLOCK_TAG.sub("", block))) for block in blocks):
        blocks = [line]  # a pair of tags would be cut apart
    return [part for block in blocks for part in _cut(block, (match.end() for match in _TAG_BREAK.finditer(block)))]


def _cut(line: str, ends: Iterable[int]) -> list[str]:
    places = [place for place in ends if 0 < place < len(line)]
    return [line[start:end] for start, end in zip([0, *places], [*places, len(line)], strict=True)]


def joined(parts: Iterable[str]) -> str:
    """Translated parts and what is between them.

    Sentences of scripts without spaces may become others that need one, and the other way round.
    """
    text = ""
    for part in parts:
        close = text.endswith((">", "%}")) or part.startswith(("<", "{%", "{{"))
        if (
            text
            and part
            and not (text[-1].isspace() or part[0].isspace() or sticks(text[-1]) or sticks(part[0]) or close)
        ):
            text += " "
        elif text.endswith(" ") and part and sticks(text[-2:-1] or " ") and sticks(part[0]):
            text = text[:-1]
        text += part
    return text
