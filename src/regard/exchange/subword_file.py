"""What a SentencePiece file says beside what SentencePiece's own interface tells: the type of each piece, and how text
is normalised before it is cut.

The file is a message of Protocol Buffers. Of its format, this reads the four wire types that such files have, and of
its fields those that another tokeniser needs to cut text in the same way.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from regard.errors import ModelFolderError


class Type(IntEnum):
    """What a piece is for."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class Piece(NamedTuple):
    """A piece, under the number of its place in the file."""

    text: str
    score: float
    type: Type

    @property
    def is_found_in_text(self) -> bool:
        """Whether text can be cut into it as it stands."""
        return self.type in (Type.NORMAL, Type.USER_DEFINED)


class SubwordFile(NamedTuple):
    """The parts of a SentencePiece file that decide how text is cut."""

    pieces: list[Piece]
    algorithm: str  # unigram, bpe, word or char
    byte_fallback: bool
    characters: bytes  # the compiled map of characters that normalises text; empty if it stays as it is
    adds_a_space: bool  # in front of every text
    removes_spaces: bool  # those around a text, and all but one between words
    space_follows: bool  # pieces end with their space, instead of beginning with it


_PIECES, _TRAINER, _NORMALISER = 1, 2, 3
_ALGORITHMS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}

Fields = Iterator[tuple[int, int | bytes]]


def read(content: bytes) -> SubwordFile:
    """The parts of a file; one that is damaged is refused."""
    pieces: list[Piece] = []
    trainer: dict[int, int | bytes] = {}
    normaliser: dict[int, int | bytes] = {}
    try:
        for number, value in _fields(content):
            if number == _PIECES:
                pieces.append(_piece(_bytes(value)))
            elif number == _TRAINER:
                trainer.update(_fields(_bytes(value)))
            elif number == _NORMALISER:
                normaliser.update(_fields(_bytes(value)))
        return SubwordFile(
            pieces=pieces,
            algorithm=_ALGORITHMS[_number(trainer.get(3, 1))],
            byte_fallback=bool(trainer.get(35, 0)),
            characters=_bytes(normaliser.get(2, b"")),
            adds_a_space=bool(normaliser.get(3, 1)),
            removes_spaces=bool(normaliser.get(4, 1)),
            space_follows=bool(trainer.get(24, 0)),
        )
    except (ValueError, KeyError, IndexError, struct.error):
        raise ModelFolderError("this is not a SentencePiece model.") from None


def _piece(content: bytes) -> Piece:
    fields = dict(_fields(content))
    (score,) = struct.unpack("<f", _bytes(fields.get(2, b"\0\0\0\0")))
    return Piece(_bytes(fields[1]).decode(), score, Type(_number(fields.get(3, 1))))


def _fields(content: bytes) -> Fields:
    """Each field of a message: its number, and its value as a number or as bytes."""
    place = 0
    while place < len(content):
        key, place = _varint(content, place)
        wire = key & 7
        if wire == 0:
            value, place = _varint(content, place)
            yield key >> 3, value
            continue
        if wire == 2:
            length, place = _varint(content, place)
        else:
            length = {1: 8, 5: 4}[wire]
        if place + length > len(content):
            raise ValueError
        yield key >> 3, content[place : place + length]
        place += length


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and the place behind it."""
    number = shift = 0
    while True:
        byte = content[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError
    return value


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError
    return value
