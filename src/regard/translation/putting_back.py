"""A sentence without its placeholders, and its translation with them.

A placeholder is put back beside the word that it stood by: a closing tag after the last word that the word before it
became, all others before the first word that the word after them became.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from regard.errors import SettingsError
from regard.text.placeholders import Placeholder, placeholders
from regard.text.word_spans import sticks, word_spans
from regard.translation.alignment import Aligner, Said
from regard.translation.translation import Alignment

AFTER_WORDS = ".,;:!?…)]}»”’。，、！？；："  # marks that follow a word without a space


class Gap(NamedTuple):
    """Where a placeholder was."""

    placeholder: Placeholder
    place: int  # in the bare text
    space_before: bool
    following: str  # the character behind it; empty at the end
    touched_before: bool = False  # a letter or a digit stands right before it


class Bare(NamedTuple):
    """A sentence without its placeholders."""

    sentence: str
    text: str
    origins: list[int]  # where each character of the bare text stands in the sentence
    gaps: list[Gap]

    @classmethod
    def of(cls, sentence: str, found: Sequence[Placeholder]) -> Bare:
        """No space is left where two of them met, nor before a mark."""
        origins: list[int] = []
        gaps: list[Gap] = []
        last = 0
        for placeholder in found:
            origins += range(last, placeholder.start)
            last = placeholder.end
            following = sentence[last : last + 1]
            space_before = placeholder.start == 0 or sentence[placeholder.start - 1] == " "
            spare = not origins or sentence[origins[-1]] == " "
            if origins and spare and (following in ("", " ") or following in AFTER_WORDS):
                origins.pop()
            elif not origins and following == " ":
                last += 1
            touched = sentence[: placeholder.start][-1:].isalnum()
            gaps.append(Gap(placeholder, len(origins), space_before, following, touched))
        origins += range(last, len(sentence))
        return cls(sentence, "".join(sentence[place] for place in origins), origins, gaps)


def alignments(aligner: Aligner, pairs: Sequence[tuple[Said, Said]]) -> list[Alignment]:
    """The alignment of each pair; without links where a model has no attention, so that places are guessed."""
    try:
        return aligner.align(pairs)
    except SettingsError:
        return [()] * len(pairs)


def put_back(bare: Bare, translation: str, alignment: Alignment) -> tuple[str, Alignment]:
    """The translation of the bare text with the placeholders in it, and the alignment of the two whole sentences."""
    translation, alignment = _without_invented(bare.text, translation, alignment)
    source, target = word_spans(bare.text), word_spans(translation)
    alignment = tuple((s, t) for s, t in alignment if s < len(source) and t < len(target))
    inserted: list[tuple[int, str]] = []
    earliest = 0  # a closing tag stays behind what was opened
    for gap in bare.gaps:
        place, after = _place(gap, bare.text, source, target, alignment, translation)
        if gap.placeholder.closes:
            place = max(place, earliest)
        elif gap.placeholder.opens:
            earliest = next((end for start, end in target if start >= place), len(translation))
        inserted.append((place, spaced(gap, translation, place, after=after)))
    text, moved = _woven(translation, inserted)
    return text, _whole(bare, text, [(source[s][0], moved[target[t][0]]) for s, t in alignment])


def _woven(translation: str, inserted: Sequence[tuple[int, str]]) -> tuple[str, list[int]]:
    """The translation with strings put in at places of it, and where each of its characters stands now."""
    text, last, moved = "", 0, list[int]()
    for place, string in sorted(inserted, key=lambda one: one[0]):  # stable: at one place, as in the source
        moved += range(len(text), len(text) + place - last)
        text += translation[last:place]
        text += string[1:] if string[0] == " " and text[-1:] in ("", " ") else string
        last = place
    moved += range(len(text), len(text) + len(translation) - last)
    return (text + translation[last:]).rstrip(), moved


def _place(
    gap: Gap,
    bare: str,
    source: Sequence[tuple[int, int]],
    target: Sequence[tuple[int, int]],
    alignment: Alignment,
    translation: str,
) -> tuple[int, bool]:
    """Where to put a placeholder, and whether it belongs to the word before that place."""
    following = next((n for n, (start, _) in enumerate(source) if start >= gap.place), None)
    if (inside := between_marks(gap, bare, translation)) is not None:
        return inside, False
    ends_a_phrase = not gap.placeholder.opens and gap.place > 0 and _belongs_to_the_word_before(gap)
    if following is not None and not gap.placeholder.closes and not ends_a_phrase:
        words = _linked(following, alignment, len(source), len(target))
        return (target[words[0]][0] if words else 0), False
    before = max(0, bisect_right([start for start, _ in source], max(0, gap.place - 1)) - 1)
    words = _linked(before, alignment, len(source), len(target))
    place = target[words[-1]][1] if words else len(translation)
    if gap.following and gap.following in AFTER_WORDS:
        while place > 0 and translation[place - 1] in AFTER_WORDS:
            place -= 1
    return place, True


def between_marks(gap: Gap, bare: str, translation: str) -> int | None:
    """Where a placeholder goes that stands between two marks, as in `(%s)`; None where the translation lacks them."""
    marks = bare[gap.place - 1 : gap.place + 1] if gap.place else ""
    if len(marks) < 2 or any(mark.isalnum() or mark.isspace() for mark in marks) or translation.count(marks) != 1:
        return None
    return translation.index(marks) + 1


def _belongs_to_the_word_before(gap: Gap) -> bool:
    """Whether a mark follows that ends a phrase, or the placeholder touches a word before it and none behind it."""
    return (gap.following != "" and gap.following in AFTER_WORDS) or (
        gap.touched_before and not gap.following.isalnum()
    )


def _linked(word: int, alignment: Alignment, source: int, target: int) -> list[int]:
    """The words that a word of the source became, or the nearest word of which that is known; else a guess."""
    if not target:
        return []
    if not alignment:
        return [min(target - 1, word * target // max(1, source))]
    nearest = min((abs(s - word), s) for s, _ in alignment)[1]
    return sorted(t for s, t in alignment if s == nearest)


def spaced(gap: Gap, translation: str, place: int, *, after: bool) -> str:
    """The placeholder with a space on the sides on which it had one, and where it would touch a word as it did not."""
    before, behind = translation[:place][-1:], translation[place : place + 1]
    left = " " if gap.space_before and before and (after or not before.isspace()) else ""
    right = " " if gap.following == " " and behind and not behind.isspace() else ""
    if not gap.placeholder.is_tag:
        left = left or (" " if _runs_together(before) and not gap.touched_before else "")
        right = right or (" " if _runs_together(behind) and not gap.following.isalnum() else "")
    return f"{left}{gap.placeholder.string}{right}"


def _runs_together(beside: str) -> bool:
    return beside.isalnum() and not sticks(beside)


def _whole(bare: Bare, text: str, places: Sequence[tuple[int, int]]) -> Alignment:
    """The links, from places in the bare source and in the text, counted in the words of the whole sentences."""
    source, target = ([start for start, _ in word_spans(whole)] for whole in (bare.sentence, text))
    links = {(bisect_right(source, bare.origins[s]) - 1, bisect_right(target, t) - 1) for s, t in places}
    return tuple(sorted(links, key=lambda link: (link[1], link[0])))


def _without_invented(source: str, translation: str, alignment: Alignment) -> tuple[str, Alignment]:
    """What the bare text does not have, does not belong here; without it, words have other numbers."""
    allowed = Counter(found.string for found in placeholders(source))
    invented = list[Placeholder]()
    for found in placeholders(translation):
        allowed[found.string] -= 1
        if allowed[found.string] < 0:
            invented.append(found)
    if not invented:
        return translation, alignment
    bare = Bare.of(translation, invented)
    starts = [start for start, _ in word_spans(translation)]
    numbers = {bisect_right(starts, bare.origins[start]) - 1: n for n, (start, _) in enumerate(word_spans(bare.text))}
    return bare.text, tuple((s, numbers[t]) for s, t in alignment if t in numbers)
