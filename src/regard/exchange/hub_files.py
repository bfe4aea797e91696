"""The files of a Hugging Face folder beside its weights: configuration, generation settings, tokeniser.

`transformers` opens them as a Marian model; transformers.js needs the same ones beside ONNX files. Ids may be numbered
otherwise than in Regard: `ids` has Regard's number for each of theirs. In folders of Marian models the padding token is
the last one, as in all models of OPUS-MT, since some programs remove the last one without looking (`padding_last`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from regard.errors import ModelFolderError
from regard.exchange import subword_file
from regard.exchange.hub_tokeniser import tokenizer_json
from regard.modelfolder import ModelFolder
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokenisers
from regard.tokens.tokeniser import SPECIAL, Tokeniser

POSITIONS = 1024  # of a sentence, the most that a folder's positions are computed for

_KINDS = ("subwords", "marian")


class Numbering(NamedTuple):
    """[their id] Regard's id, of each side, and their id of the padding token."""

    source: Sequence[int]
    target: Sequence[int]
    padding: tuple[int, int]


def as_they_are(tokenisers: Tokenisers) -> Numbering:
    """The same ids as in Regard."""
    source, target = tokenisers.source, tokenisers.target
    return Numbering(range(source.size), range(target.size), (source.begin, target.begin))


def padding_last(tokenisers: Tokenisers) -> Numbering:
    """The padding token, which the decoder starts from, after all others; these keep their order.

    A Marian model has one number of it for both sides, so in a larger vocabulary of the target it is where it is in
    that of the source.
    """

    def numbers(tokeniser: Tokeniser, place: int) -> list[int]:
        others = [token for token in range(tokeniser.size) if token != tokeniser.begin]
        return [*others[:place], tokeniser.begin, *others[place:]]

    last = tokenisers.source.size - 1
    target = min(last, tokenisers.target.size - 1)
    return Numbering(numbers(tokenisers.source, last), numbers(tokenisers.target, target), (last, target))


def names(tokeniser: Tokeniser, ids: Sequence[int]) -> list[str]:
    """[their id] a different string for each: its piece, and its number where another id shows the same."""
    special = dict(zip((tokeniser.begin, tokeniser.end, tokeniser.unknown), SPECIAL, strict=True))
    pieces = tokeniser.pieces(list(range(tokeniser.size)))
    taken, found = set(SPECIAL), []
    for token in ids:
        name = special.get(token, pieces[token] if pieces[token] not in taken else f"{pieces[token]}<{token}>")
        taken.add(name)
        found.append(name)
    return found


def refuse_other_tokenisers(tokenisers: Tokenisers, *, instead: str) -> None:
    """Only SentencePiece has a counterpart there; `instead` names the format for others."""
    if tokenisers.reversed:
        raise ModelFolderError(
            "This model reads and generates text from its end, which other programs do not support.\n"
            "  Use it with Regard itself."
        )
    for side, tokeniser in (("source", tokenisers.source), ("target", tokenisers.target)):
        if tokeniser.kind not in _KINDS:
            raise ModelFolderError(
                f"Hugging Face's Marian tokeniser is SentencePiece, but the tokeniser of this model's {side} is of "
                f"the kind {tokeniser.kind!r}.\n  {instead}"
            )


def side_files(
    loaded: ModelFolder,
    tokenisers: Tokenisers,
    *,
    numbering: Numbering,
    beams: int = 4,
    stored_as: str = "float32",
) -> dict[str, bytes]:
    """Name and content of each file but the weights and the card."""
    settings = TransformerSettings.read(loaded.description.settings, where="settings")
    tables = {
        "config.json": _config(settings, tokenisers, numbering, stored_as),
        "generation_config.json": _generation(tokenisers, numbering, beams),
        "tokenizer_config.json": _tokenizer_config(loaded, tokenisers),
    }
    files = {name: _json(table) for name, table in tables.items()}
    return files | tokeniser_files(tokenisers, numbering)


def tokeniser_files(tokenisers: Tokenisers, numbering: Numbering) -> dict[str, bytes]:
    """What the slow tokeniser reads, and the fast one where it cuts all text alike.

    Two vocabularies need two fast tokenisers; that of the target has a name of its own.
    """
    source, target = names(tokenisers.source, numbering.source), names(tokenisers.target, numbering.target)
    files = {
        "source.spm": tokenisers.source.files()["spm"],
        "target.spm": tokenisers.target.files()["spm"],
        "vocab.json": _json({name: token for token, name in enumerate(source)}),
    }
    fast = {"tokenizer.json": _fast(tokenisers.source, source)}
    if two_vocabularies(tokenisers):
        files["target_vocab.json"] = _json({name: token for token, name in enumerate(target)})
        fast["target_tokenizer.json"] = _fast(tokenisers.target, target)
    return files | {name: content for name, content in fast.items() if content is not None}


def two_vocabularies(tokenisers: Tokenisers) -> bool:
    """Whether an id means different pieces on the two sides."""
    source, target = tokenisers.source, tokenisers.target
    if source.size != target.size:
        return True
    every = list(range(source.size))
    return source.pieces(every) != target.pieces(every)


def _fast(tokeniser: Tokeniser, listed: Sequence[str]) -> bytes | None:
    file = subword_file.read(tokeniser.files()["spm"])
    return tokenizer_json(file, listed, identity=tokeniser.kind == "subwords")


def special_ids(tokeniser: Tokeniser, ids: Sequence[int]) -> tuple[int, int, int]:
    """Their ids of padding, end and unknown."""
    places = {ours: theirs for theirs, ours in enumerate(ids)}
    return places[tokeniser.begin], places[tokeniser.end], places[tokeniser.unknown]


def _config(
    settings: TransformerSettings, tokenisers: Tokenisers, numbering: Numbering, stored_as: str
) -> dict[str, Any]:
    """A MarianConfig; the keys of newer and of older versions of `transformers`."""
    padding, end, _ = special_ids(tokenisers.target, numbering.target)
    shared = settings.tied_embeddings in ("all", "source-target")
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": settings.source_vocabulary,
        "decoder_vocab_size": settings.target_vocabulary,
        "d_model": settings.d_model,
        "encoder_layers": settings.encoder_layers,
        "decoder_layers": settings.decoder_layers,
        "num_hidden_layers": settings.encoder_layers,
        "encoder_attention_heads": settings.heads,
        "decoder_attention_heads": settings.heads,
        "encoder_ffn_dim": settings.d_ff,
        "decoder_ffn_dim": settings.d_ff,
        "activation_function": settings.activation,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": POSITIONS,
        "share_encoder_decoder_embeddings": shared,
        "tie_word_embeddings": settings.tied_embeddings in ("all", "target-output"),
        "dropout": settings.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "pad_token_id": padding,
        "eos_token_id": end,
        "decoder_start_token_id": padding,
        "forced_eos_token_id": end,
        "use_cache": True,
        "dtype": stored_as,
        "torch_dtype": stored_as,
    }


def _generation(tokenisers: Tokenisers, numbering: Numbering, beams: int) -> dict[str, Any]:
    padding, end, _ = special_ids(tokenisers.target, numbering.target)
    return {
        "pad_token_id": padding,
        "eos_token_id": end,
        "decoder_start_token_id": padding,
        "forced_eos_token_id": end,
        "bad_words_ids": [[padding]],
        "max_length": POSITIONS // 2,
        "num_beams": beams,
        "length_penalty": 0.5,  # of length ** alpha; closest to the paper's ((5 + length) / 6) ** 0.6
    }


def _tokenizer_config(loaded: ModelFolder, tokenisers: Tokenisers) -> dict[str, Any]:
    padding, end, unknown = SPECIAL
    languages = loaded.description.languages
    return {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": languages.get("source"),
        "target_lang": languages.get("target"),
        "pad_token": padding,
        "eos_token": end,
        "unk_token": unknown,
        "model_max_length": POSITIONS,
        "separate_vocabs": two_vocabularies(tokenisers),
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,
        "sp_model_kwargs": {},
    }


def _json(table: dict[str, Any]) -> bytes:
    return (json.dumps(table, ensure_ascii=False, indent=2) + "\n").encode()
