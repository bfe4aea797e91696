"""From Hugging Face: folders of MarianMTModel, which every model of OPUS-MT is, and Regard's own exports among them.

config.json, vocab.json, source.spm, target.spm and the weights are read; for two vocabularies target_vocab.json, too.
`transformers` itself is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.errors import ModelFolderError, SettingsError
from regard.exchange import foreign_files, hub_files, origin
from regard.exchange.from_marian_weights import ACTIVATIONS, MarianConfig, from_marian
from regard.exchange.hub_card import without_header
from regard.exchange.importing import Imported, Importer
from regard.exchange.marian_weights import interleaved
from regard.exchange.origin import Origin
from regard.modelfolder import CARD, DEFAULT_TASK, Description
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokenisers
from regard.tokens.kinds import marian

_CONFIG, _VOCABULARY, _TARGET_VOCABULARY = "config.json", "vocab.json", "target_vocab.json"
_SAFE, _PYTORCH, _INDEX = "model.safetensors", "pytorch_model.bin", "model.safetensors.index.json"
_NO_MARIAN = ("normalize_before", "normalize_embedding", "add_final_layer_norm")


def recognises(folder: Path) -> bool:
    """Whether there is a configuration with a type of model."""
    if not foreign_files.has(folder, _CONFIG):
        return False
    try:
        return "model_type" in foreign_files.read_json(folder, _CONFIG)
    except ModelFolderError:
        return True  # reading it says what is wrong


def read(folder: Path) -> Imported:
    """The model in a folder; its own export as it was before."""
    table = foreign_files.read_json(folder, _CONFIG)
    config = _config(folder, table)
    tensors, path, digest = tensors_of(folder)
    generation = _generation(folder, table)
    own = _origin(folder, digest, path)
    if own and (restored := _restored(folder, own, tensors, config, path, digest)):
        return restored
    padding = config.decoder_start_token_id
    forbidden = [padding] if [padding] in generation.get("bad_words_ids", ()) else []
    settings, weights = from_marian(tensors, config, forbidden=forbidden, path=path)
    return Imported(
        settings=settings,
        weights=weights,
        tokeniser=_tokenisers(folder, config, settings).files(),
        weights_file=path,
        weights_hash=digest,
        languages=_languages(folder),
        training={"imported": {"format": "Hugging Face Marian", "name": folder.absolute().name, "sha256": digest}},
        card=card_of(folder),
    )


def _config(folder: Path, table: Mapping[str, Any]) -> MarianConfig:
    where = folder / _CONFIG
    if table.get("model_type") != "marian":
        raise ModelFolderError(
            f"{where}: this is a model of the type {str(table.get('model_type'))[:40]!r}.\n"
            "  Regard imports Marian models (those of OPUS-MT, and those that Regard or Marian wrote), GPT-2 and BERT."
        )
    for key in _NO_MARIAN:
        if table.get(key):
            raise ModelFolderError(
                f"{where}: {key} is set, which neither `transformers` nor Regard supports in Marian."
            )
    known = {key: table[key] for key in MarianConfig.model_fields if table.get(key) is not None}
    known.setdefault("decoder_vocab_size", known.get("vocab_size"))
    try:
        config = MarianConfig.read(known, where=str(where))
    except SettingsError as error:
        raise ModelFolderError(f"{error}\n  The folder is damaged. Copy it again from its origin.") from None
    if config.activation_function not in ACTIVATIONS:
        raise ModelFolderError(
            f"{where}: activation_function = {config.activation_function[:40]!r}: Regard has relu, gelu and swish."
        )
    heads = (config.encoder_attention_heads, config.decoder_attention_heads)
    if len(set(heads)) > 1 or config.d_model % heads[0] or config.d_model % 2:
        raise ModelFolderError(
            f"{where}: {heads[0]} heads in the encoder, {heads[1]} in the decoder, and d_model = {config.d_model}: "
            "Regard needs the same number of heads in both, which divides an even d_model."
        )
    vocabulary = config.vocab_size if config.share_encoder_decoder_embeddings else config.decoder_vocab_size
    if max(config.decoder_start_token_id, config.eos_token_id) >= vocabulary:
        raise ModelFolderError(f"{where}: decoder_start_token_id or eos_token_id lies outside of the vocabulary.")
    return config


def tensors_of(folder: Path) -> tuple[dict[str, Tensor], Path, str]:
    """All weights, the file that has them, and its hash."""
    if foreign_files.has(folder, _SAFE):
        content = foreign_files.read(folder, _SAFE, most=None)
        tensors = foreign_files.safetensors(content, folder / _SAFE)
        return tensors, folder / _SAFE, sha256(content).hexdigest()
    if foreign_files.has(folder, _INDEX):
        return _several(folder)
    if foreign_files.has(folder, _PYTORCH):
        content = foreign_files.read(folder, _PYTORCH, most=None)
        tensors = foreign_files.pytorch(content, folder / _PYTORCH)
        return tensors, folder / _PYTORCH, sha256(content).hexdigest()
    raise ModelFolderError(
        f"{folder}: there are no weights: neither {_SAFE} nor {_PYTORCH}.\n  Copy the folder again from its origin."
    )


def _several(folder: Path) -> tuple[dict[str, Tensor], Path, str]:
    """Weights in several files, which an index lists."""
    listed = foreign_files.read_json(folder, _INDEX).get("weight_map")
    if not isinstance(listed, dict) or not all(isinstance(name, str) for name in listed.values()):
        raise ModelFolderError(f"{folder / _INDEX}: this file does not list weights.")
    tensors: dict[str, Tensor] = {}
    digest = sha256()
    for name in sorted(set(listed.values())):
        content = foreign_files.read(folder, name, most=None)
        digest.update(content)
        tensors |= foreign_files.safetensors(content, folder / name)
    return tensors, folder / _INDEX, digest.hexdigest()


def _generation(folder: Path, table: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of generation, of which older folders have some in config.json."""
    name = "generation_config.json"
    own = foreign_files.read_json(folder, name) if foreign_files.has(folder, name) else {}
    found = {**table, **own}
    return found if isinstance(found.get("bad_words_ids", ()), list) else {}


def _tokenisers(folder: Path, config: MarianConfig, settings: TransformerSettings) -> Tokenisers:
    """One tokeniser for each side; one for both where their files are the same."""
    named = _tokenizer_config(folder)
    separate = named.get("separate_vocabs") is True
    source = foreign_files.read(folder, _VOCABULARY)
    target = foreign_files.read(folder, _TARGET_VOCABULARY) if separate else source
    spm = [foreign_files.read(folder, f"{side}.spm") for side in ("source", "target")]
    sizes = (settings.source_vocabulary, settings.target_vocabulary)
    unknown = _name(named.get("unk_token"), "<unk>")
    made = [
        _tokeniser(folder / name, content, model, size, config, unknown)
        for name, content, model, size in zip(
            (_VOCABULARY, _TARGET_VOCABULARY if separate else _VOCABULARY), (source, target), spm, sizes, strict=True
        )
    ]
    one, other = made
    return Tokenisers(source=one, target=one if one.hash == other.hash else other)


def _tokeniser(
    path: Path, vocabulary: bytes, model: bytes, size: int, config: MarianConfig, unknown: str
) -> marian.Marian:
    table = foreign_files.read_json(path.parent, path.name)
    if type(table.get(unknown)) is not int:
        raise ModelFolderError(f"{path}: {unknown!r} has no id.\n  Copy the folder again from its origin.")
    special = {"begin": config.decoder_start_token_id, "end": config.eos_token_id, "unknown": table[unknown]}
    try:
        options = marian.Options.read({"size": size, **special}, where=str(path))
        return marian.load({"spm": model, "vocab.json": vocabulary}, options=options)
    except (ModelFolderError, SettingsError) as error:
        raise ModelFolderError(f"{path}: {error}\n  The tokeniser does not fit the model, or is damaged.") from None


def _tokenizer_config(folder: Path) -> dict[str, Any]:
    name = "tokenizer_config.json"
    return foreign_files.read_json(folder, name) if foreign_files.has(folder, name) else {}


def _name(token: Any, usual: str) -> str:
    """The name of a special token, which may be a table of its properties."""
    found = token.get("content") if isinstance(token, dict) else token
    return found if isinstance(found, str) else usual


def _languages(folder: Path) -> dict[str, str]:
    named = _tokenizer_config(folder)
    found = {"source": named.get("source_lang"), "target": named.get("target_lang")}
    return {side: code for side, code in found.items() if isinstance(code, str) and code}


def card_of(folder: Path) -> str:
    """The card of an imported model."""
    own = foreign_files.read(folder, CARD).decode(errors="replace") if foreign_files.has(folder, CARD) else ""
    name = folder.absolute().name
    text = f"# {name}\n\nImported from a Hugging Face folder. Its own card, if it had one, follows.\n"
    return f"{text}\n{without_header(own)}" if own else text


def _origin(folder: Path, digest: str, path: Path) -> Origin | None:
    """What Regard wrote beside its export, if that is unchanged."""
    if path.name != _SAFE or not foreign_files.has(folder, origin.FILE):
        return None
    names = [_CONFIG, _VOCABULARY, _TARGET_VOCABULARY, "source.spm", "target.spm", "tokenizer_config.json"]
    names += ["generation_config.json", "tokenizer.json", "target_tokenizer.json", origin.FILE]
    files = {name: foreign_files.read(folder, name) for name in names if foreign_files.has(folder, name)}
    return origin.read(files, {_SAFE: digest})


def _restored(
    folder: Path, own: Origin, tensors: Mapping[str, Tensor], config: MarianConfig, path: Path, digest: str
) -> Imported | None:
    """The model as it was before its export; None where the two do not fit."""
    description = Description.read(own.description, where=origin.FILE)
    if description.architecture != "transformer" or description.task != DEFAULT_TASK:
        return None
    try:
        settings = TransformerSettings.read(description.settings, where=origin.FILE)
        source, target = (foreign_files.read(folder, f"{side}.spm") for side in ("source", "target"))
        tokeniser = origin.tokeniser(own, source=source, target=target)
        tokenisers = Tokenisers.from_files(tokeniser)
    except (ModelFolderError, SettingsError):
        return None
    _, weights = from_marian(tensors, config, forbidden=(), path=path)
    if settings.positions == "interleaved":
        weights = interleaved(weights, settings.d_model)
    restored = _with_rows(weights, own, settings, tokenisers)
    if restored is None:
        return None
    return Imported(
        settings=settings,
        weights=restored,
        tokeniser=tokeniser,
        weights_file=path,
        weights_hash=digest,
        languages=description.languages,
        training=description.training,
        scores=description.scores,
        card=card_of(folder),
    )


def _with_rows(
    weights: Mapping[str, Tensor], own: Origin, settings: TransformerSettings, tokenisers: Tokenisers
) -> dict[str, Tensor] | None:
    """Ids as in Regard, and the padding token's numbers back in their places."""
    numbering = hub_files.padding_last(tokenisers)
    found = dict(weights)
    of_source, of_target = (numbering.source, numbering.padding[0]), (numbering.target, numbering.padding[1])
    for name, (ids, padding) in (
        ("source_embedding.weight", of_source),
        ("target_embedding.weight", of_target),
        ("output_embedding.weight", of_target),
        ("output_bias", of_target),
    ):
        if name not in found:
            continue
        if len(found[name]) != len(ids):
            return None
        rows = torch.empty_like(found[name])
        rows[list(ids)] = found[name]
        lost = origin.row(own, name, rows[0].numel())
        if lost is not None:
            rows[ids[padding]] = lost.view_as(rows[0])
        found[name] = rows
    if not settings.output_bias:
        found.pop("output_bias", None)
    return found


IMPORT = Importer(recognises, read, "Hugging Face folders of Marian models (config.json)")
