"""The edits of TER, fast: how many words to change, add, drop or move, as sacreBLEU counts them.

TER is a greedy search (Snover et al., 2006): of all moves of a phrase to where the reference has it, the one that
shortens the edit distance most is made, until none does. Nearly all of the time goes into the distances of these
candidates. Here a row of the distance matrix is a few operations on long integers, one bit for each word of the
reference (Myers, 1999; Hyyrö, 2003), and rows before the first word that moves are not computed again. Which candidates
are tried, in which order and how many, follows sacreBLEU exactly; so does the alignment that rules candidates out.

SacreBLEU computes only a band of the matrix. The two agree as long as the shortest path that is preferred stays in the
band. `edits` checks that, and returns None for the few sentences where it does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import floor
from typing import NamedTuple

_LONGEST_PHRASE = 10
_FARTHEST = 50  # words between a phrase and its place in the reference
_MOST_CANDIDATES = 1000
_BAND = 25  # words on both sides of the diagonal


class _Row(NamedTuple):
    """A row of the matrix, after some words of the hypothesis; bit j is about word j of the reference."""

    rises: int  # the distance rises by one from the word before to this one
    falls: int
    distance: int  # at the end of the reference
    diagonal: int  # the distance is that of the row before and the word before
    more: int  # the distance is one more than in the row before, at the same word


class _Alignment(NamedTuple):
    """How the words correspond along a shortest path."""

    places: list[int]  # for each word of the reference, the last word of the hypothesis up to there; -1: none
    wrong_reference: list[bool]
    wrong_hypothesis: list[bool]


class _Shift(NamedTuple):
    """A candidate, in the order of preference."""

    gain: int
    length: int
    before: int  # -start: earlier phrases first
    target: int  # -target: earlier targets first


def edits(hypothesis: Sequence[str], reference: Sequence[str]) -> int | None:
    """The edits that sacreBLEU's TER finds; None where only sacreBLEU itself can tell."""
    if not reference:
        return len(hypothesis)
    try:
        return _edits(list(hypothesis), _Matrix(reference))
    except _LeavesTheBandError:
        return None


class _LeavesTheBandError(Exception):
    """SacreBLEU may find another path."""


def _edits(words: list[str], matrix: _Matrix) -> int:
    shifts = checked = 0
    while True:
        rows = matrix.rows(words)
        distance = rows[-1].distance
        matrix.check_band(words, distance)
        best, checked = _best_shift(words, matrix, rows, checked) if distance else (None, checked)
        if checked >= _MOST_CANDIDATES or best is None or best.gain <= 0:
            return shifts + distance
        words = _shifted(words, -best.before, best.length, -best.target)
        shifts += 1


class _Matrix:
    """Edit distances to one reference."""

    def __init__(self, reference: Sequence[str]) -> None:
        self.reference = reference
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(reference):
            self.places.setdefault(word, []).append(place)
        self._bits = {word: sum(1 << place for place in places) for word, places in self.places.items()}
        self._last = 1 << (len(reference) - 1)
        self._all = (1 << len(reference)) - 1

    def rows(self, words: Sequence[str]) -> list[_Row]:
        """The rows before the first word and after each."""
        rises, falls, distance, everything = self._all, 0, len(self.reference), self._all
        rows = [_Row(rises, falls, distance, 0, 0)]
        for word in words:
            match = self._bits.get(word, 0)
            diagonal = ((((match & rises) + rises) ^ rises) | match | falls) & everything
            more, fewer = falls | (everything & ~(diagonal | rises)), diagonal & rises
            distance += 1 if more & self._last else -1 if fewer & self._last else 0
            moved = (more << 1) | 1
            rises, falls = ((fewer << 1) | ~(diagonal | moved)) & everything, moved & diagonal
            rows.append(_Row(rises, falls, distance, diagonal, more))
        return rows

    def distance(self, row: _Row, words: Sequence[str]) -> int:
        """The edit distance of the words that led to the row, and these. As `rows`, with as little work as possible."""
        rises, falls, distance = row.rises, row.falls, row.distance
        bits, last, everything = self._bits, self._last, self._all
        for word in words:
            if word in bits:
                match = bits[word]
                diagonal = ((((match & rises) + rises) ^ rises) | match | falls) & everything
                fewer = diagonal & rises
            else:
                diagonal, fewer = falls, 0
            more = falls | (everything ^ (diagonal | rises))
            if more & last:
                distance += 1
            elif fewer & last:
                distance -= 1
            more = (more << 1) | 1
            falls = more & diagonal
            rises = ((fewer << 1) | ~(diagonal | more)) & everything
        return distance

    def path(self, words: Sequence[str], rows: Sequence[_Row]) -> Iterator[tuple[int, int]]:
        """The cells of a shortest path, from the end to the beginning.

        A match or a change is preferred, then a dropped word, then an added one.
        """
        i, j = len(words), len(self.reference)
        yield i, j
        while i or j:
            row, bit = rows[i], 1 << (j - 1) if j else 0
            if i and j and (words[i - 1] == self.reference[j - 1] or not row.diagonal & bit):
                i, j = i - 1, j - 1
            elif i and (not j or row.more & bit):
                i -= 1
            else:
                j -= 1
            yield i, j

    def alignment(self, words: Sequence[str], rows: Sequence[_Row]) -> _Alignment:
        """How words correspond along the path."""
        found = _Alignment([-1] * len(self.reference), [True] * len(self.reference), [True] * len(words))
        for (i, j), (before_i, before_j) in pairwise(self.path(words, rows)):
            if before_j < j:
                found.places[j - 1] = i - 1
                if before_i < i and words[i - 1] == self.reference[j - 1]:
                    found.wrong_reference[j - 1] = found.wrong_hypothesis[i - 1] = False
        return found

    def check_band(self, words: Sequence[str], distance: int) -> None:
        """Raises where the path of words at this distance leaves the band that sacreBLEU computes."""
        height, width = len(words), len(self.reference)
        if distance + abs(height - width) < 2 * _BAND - 2:  # a path that leaves it has more edits
            return
        if width > 2 * _BAND * height:  # sacreBLEU widens the band
            raise _LeavesTheBandError
        diagonals = [floor(i * (width / height)) for i in range(height + 1)]
        for i, j in self.path(words, self.rows(words)):
            if i and not (diagonals[i] - _BAND <= j and (j < diagonals[i] + _BAND or i == height)):
                raise _LeavesTheBandError


def _best_shift(words: list[str], matrix: _Matrix, rows: list[_Row], checked: int) -> tuple[_Shift | None, int]:
    """The best of all shifts, and how many were looked at until now."""
    alignment = matrix.alignment(words, rows)
    best: _Shift | None = None
    distances: dict[tuple[int, int, int], int] = {}
    for start, place, length in _same_phrases(words, matrix):
        if (
            start <= alignment.places[place] < start + length
            or True not in alignment.wrong_hypothesis[start : start + length]
            or True not in alignment.wrong_reference[place : place + length]
        ):
            continue
        before = -1
        for target in [0 if at < 0 else alignment.places[at] + 1 for at in range(place - 1, place + length)]:
            if target == before:
                continue
            before, key = target, (start, length, target)
            if key not in distances:
                first, moved = min(start, target), _shifted(words, *key)
                distances[key] = matrix.distance(rows[first], moved[first:])
                if distances[key] < rows[-1].distance:
                    matrix.check_band(moved, distances[key])
            shift = _Shift(rows[-1].distance - distances[key], length, -start, -target)
            best, checked = shift if best is None else max(best, shift), checked + 1
        if checked >= _MOST_CANDIDATES:
            break
    return best, checked


def _same_phrases(words: Sequence[str], matrix: _Matrix) -> Iterator[tuple[int, int, int]]:
    """Where a phrase starts in the hypothesis and in the reference, and its length."""
    reference = matrix.reference
    for start, word in enumerate(words):
        for place in matrix.places.get(word, ()):
            if abs(place - start) > _FARTHEST:
                continue
            longest = min(_LONGEST_PHRASE, len(words) - start, len(reference) - place)
            for length in range(1, longest + 1):
                if words[start + length - 1] != reference[place + length - 1]:
                    break
                yield start, place, length


def _shifted(words: list[str], start: int, length: int, target: int) -> list[str]:
    """The words with a phrase of so many, from `start`, before the word `target`; within itself, that much later."""
    end = start + length
    phrase = words[start:end]
    if target < start:
        return words[:target] + phrase + words[target:start] + words[end:]
    behind = target if target > end else target + length
    return words[:start] + words[end:behind] + phrase + words[behind:]
