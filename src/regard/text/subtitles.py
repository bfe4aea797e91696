"""Subtitles, as SRT and WebVTT have them in common: cues of a time line and lines of text, up to a blank line.

The lines of a cue are one sentence or a part of one, so they are translated as one text and broken again into as many
lines of about equal length. Where a sentence ends with a line, the next line begins a text of its own. Lines that start
with a dash are speakers of their own, and stay lines of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate

from regard.text.content import Content
from regard.text.documents import Document, Edit, Place, Segment
from regard.text.sentences import sentences
from regard.text.tagged import tagged

_LINE = re.compile(r"([^\r\n]*)(\r\n|\n|\r|$)")
_SPEAKER = re.compile(r"\s*(?:<[^<>]*>|\{\\[^{}]*\})*\s*[-–—]\s*(?=\S)")


def read(
    content: Content,
    *,
    times: re.Pattern[str],
    codes: re.Pattern[str],
    unescaped: Callable[[str], str] = str,
    escaped: Callable[[str], str] = str,
) -> Document:
    """The document. `times` is how a line of times starts, `codes` finds markup."""
    places = []
    for lines in _cues(content.text, times):
        speakers = len(lines) > 1 and all(_SPEAKER.match(content.text, start) for start, _ in lines)
        for group in [[line] for line in lines] if speakers else [lines]:
            place = _place(content, group, codes, unescaped, escaped)
            if place:
                places.append(place)
    return Document(text=content.text, places=tuple(places))


def _cues(text: str, times: re.Pattern[str]) -> Iterator[list[tuple[int, int]]]:
    """The lines of text of each cue, by where they stand."""
    found = [(line.start(1), line.end(1)) for line in _LINE.finditer(text)]
    is_time = [bool(times.match(text[start:end])) for start, end in found]
    for number, timed in enumerate(is_time):
        if not timed:
            continue
        last = number + 1
        while last < len(found) and text[slice(*found[last])].strip() and not is_time[last]:
            last += 1
        if last < len(found) and is_time[last] and last - 1 > number:
            last -= 1  # no blank line: the line before a time is the number of its cue
        if last > number + 1:
            yield found[number + 1 : last]


def _place(
    content: Content,
    lines: list[tuple[int, int]],
    codes: re.Pattern[str],
    unescaped: Callable[[str], str],
    escaped: Callable[[str], str],
) -> Place | None:
    groups = _groups([content.text[start:end].strip() for start, end in lines], codes)
    raw = "\n".join(" ".join(group) for group in groups)
    speaker = _SPEAKER.match(raw)
    leading = speaker[0] if speaker else ""
    shown = tagged(raw[len(leading) :], codes, unescaped)
    if not shown.text:
        return None
    start, end = lines[0][0], lines[-1][1]
    line_end = content.text[lines[0][1] : lines[1][0]] if len(lines) > 1 else ""
    indentation = re.match(r"\s*", content.text[start:end])

    def put(translation: str) -> list[Edit]:
        text = leading + shown.restored(translation, escaped)
        before = indentation[0] if indentation else ""
        said = text.lstrip().split("\n")
        if len(said) == len(groups):
            parts = [part for one, group in zip(said, groups, strict=True) for part in broken(one, len(group))]
        else:
            parts = broken(" ".join(said), len(lines))
        if all(map(_SPEAKER.match, parts)):  # by chance, they would be speakers of their own
            parts = [" ".join(parts)]
        return [Edit(start, end, before + line_end.join(parts))]

    return Place(Segment(source=shown.text, line=content.line(start)), put)


def _groups(lines: list[str], codes: re.Pattern[str]) -> list[list[str]]:
    """The lines of a cue; those that a sentence goes on over are together."""
    groups = [[lines[0]]]
    for line in lines[1:]:
        before, after = codes.sub("", groups[-1][-1]).strip(), codes.sub("", line).strip()
        ends = set(accumulate(map(len, sentences(f"{before} {after}"))))
        if before and after and len(before) + 1 in ends:
            groups.append([line])
        else:
            groups[-1].append(line)
    return groups


def broken(text: str, lines: int) -> list[str]:
    """A text in at most so many lines, the longest of which is as short as can be."""
    words, low, high = text.split(" "), 1, max(1, len(text))
    while low < high:  # the least width for which filling line after line is enough
        width = (low + high) // 2
        filled = _filled(words, width)
        if len(filled) <= lines and max(map(len, filled)) <= width:
            high = width
        else:
            low = width + 1
    return _filled(words, high)


def _filled(words: list[str], width: int) -> list[str]:
    filled = [words[0]]
    for word in words[1:]:
        if len(filled[-1]) + 1 + len(word) <= width:
            filled[-1] += f" {word}"
        else:
            filled.append(word)
    return filled
