"""A subword tokeniser as `tokenizer.json`, the file that fast tokenisers and transformers.js read.

The file is written only where it cuts every text as SentencePiece does. A unigram model is its pieces with their
scores. A BPE model is its pieces and a list of merges: every way to join two pieces into a third, in the order of the
third's score. Pieces that stand for nothing in a text (`<pad>`, single bytes) must stay in the vocabulary, so they get
a score at which no text is cut into them.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from regard.exchange.subword_file import SubwordFile, Type
from regard.tokens.tokeniser import SPACE, SPECIAL

_NEVER = -1e6  # a score so low that a text is cut otherwise wherever it can be
_BRACKET, _BEFORE_A_NAME = "<", "<(?=0x[0-9A-F]{2}>|/s>|unk>|pad>)"
_SPACES = "[\t \u001f\n\u000b\u000c\r\u001c-\u001e\u0085\u2028\u2029\u2581]+"  # these become one space
_CONTROLS = "[\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f\ufeff\ufffe\uffff]+"  # these are removed


def tokenizer_json(file: SubwordFile, names: Sequence[str], *, identity: bool) -> bytes | None:
    """The file for a SentencePiece model whose pieces have the ids of their places in `names`.

    `identity` normalises text as Regard's own subwords do. None where no such file cuts all text alike.
    """
    if not _can_be_written(file, names):
        return None
    pad, end, unknown = (names.index(special) for special in SPECIAL)
    table = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(token, names[token]) for token in sorted((pad, end, unknown))],
        "normalizer": {"type": "Sequence", "normalizers": _normalisers(file, identity=identity)},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": _cuts(file)},
        "post_processor": _ending(end),
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": _unigram(file, names, unknown) if file.algorithm == "unigram" else _bpe(file, names),
    }
    return (json.dumps(table, ensure_ascii=False, indent=1) + "\n").encode()


def _can_be_written(file: SubwordFile, names: Sequence[str]) -> bool:
    """Whether pieces begin with their spaces, all have ids, and the algorithm has a counterpart.

    Unknown characters side by side are one token without bytes, so the text `</s>` must not be cut: see `_cuts`.
    """
    found = [piece for piece in file.pieces if piece.is_found_in_text]
    usual = file.adds_a_space and not file.space_follows and not any(SPACE in piece.text[1:] for piece in found)
    listed = {piece.text for piece in found} <= set(names)
    protects = any(piece.type == Type.USER_DEFINED for piece in found)
    tells_names_apart = file.byte_fallback or any(piece.text == _BRACKET for piece in found)
    known = file.algorithm == "unigram" or (file.algorithm == "bpe" and not protects)
    return usual and listed and known and tells_names_apart


def _added(token: int, name: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": token, "content": name, **flags}


def _ending(end: int) -> dict[str, Any]:
    """`</s>` after every text."""
    name = SPECIAL[1]

    def text(sequence: str) -> dict[str, Any]:
        return {"Sequence": {"id": sequence, "type_id": 0}}

    last = {"SpecialToken": {"id": name, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [text("A"), last],
        "pair": [text("A"), text("B"), last],
        "special_tokens": {name: {"id": name, "ids": [end], "tokens": [name]}},
    }


def _normalisers(file: SubwordFile, *, identity: bool) -> list[dict[str, Any]]:
    """What is done to a text before it is cut: Regard's normal form, or the file's own map of characters."""

    def replace(pattern: str, content: str) -> dict[str, Any]:
        return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}

    trimmed = replace("^ +| +$", "")
    if identity:
        return [{"type": "NFC"}, replace(_CONTROLS, ""), replace(_SPACES, " "), trimmed, {"type": "NFC"}]
    first: list[dict[str, Any]] = []
    if file.characters:
        compiled = base64.b64encode(file.characters).decode()
        first = [{"type": "Precompiled", "precompiled_charsmap": compiled}]
    return [*first, replace(" {2,}", " "), trimmed] if file.removes_spaces else first


def _cuts(file: SubwordFile) -> list[dict[str, Any]]:
    """Where a text is cut at once: before spaces.

    A vocabulary without `<` would take the text `</s>` for the token, which beats four unknown characters.
    """
    words = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": True}
    if any(piece.text == _BRACKET for piece in file.pieces):
        return [words]
    apart = {"type": "Split", "pattern": {"Regex": _BEFORE_A_NAME}, "behavior": "Isolated", "invert": False}
    return [words, apart]


def _unigram(file: SubwordFile, names: Sequence[str], unknown: int) -> dict[str, Any]:
    """Pieces with scores. A protected string has the score that SentencePiece gives it in its search."""
    normal = [piece.score for piece in file.pieces if piece.type == Type.NORMAL]
    best = max(0.0, *normal) if normal else 0.0
    scores: dict[str, float] = {}
    for piece in file.pieces:
        if piece.type == Type.NORMAL:
            scores[piece.text] = piece.score
        elif piece.type == Type.USER_DEFINED:
            scores[piece.text] = len(piece.text.encode()) * best - 0.1
    vocabulary = [[name, scores.get(name, _NEVER)] for name in names]
    return {"type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": file.byte_fallback}


def _bpe(file: SubwordFile, names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": SPECIAL[2],
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": file.byte_fallback,
        "ignore_merges": False,
        "vocab": {name: token for token, name in enumerate(names)},
        "merges": _merges({piece.text: piece.score for piece in file.pieces if piece.type == Type.NORMAL}),
    }


def _merges(scores: Mapping[str, float]) -> list[list[str]]:
    """Every pair of pieces that makes a third, the ones of the best piece first."""
    pairs = [
        (-score, split, piece)
        for piece, score in scores.items()
        for split in range(1, len(piece))
        if piece[:split] in scores and piece[split:] in scores
    ]
    return [[piece[:split], piece[split:]] for _, split, piece in sorted(pairs)]
