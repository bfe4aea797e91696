"""From Marian itself: a folder with decoder.yml, a .npz model, vocabularies, source.spm and target.spm.

This is the layout of OPUS-MT's own archives. The weights get the names of Hugging Face's Marian first, and are then
read like those. Marian starts decoding from a zero vector and has no padding token; Regard adds one as the last id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn import functional as F

from regard.errors import ModelFolderError, SettingsError
from regard.exchange import foreign_files, subword_file
from regard.exchange.from_marian_weights import MarianConfig, from_marian
from regard.exchange.importing import Imported, Importer
from regard.exchange.marian_file import Arrays, configuration, read_arrays, read_vocabulary, read_yaml, tensor
from regard.exchange.marian_weights import (
    DECODER,
    DECODER_POSITIONS,
    ENCODER,
    ENCODER_POSITIONS,
    OUTPUT,
    OUTPUT_BIAS,
    layer_names,
    marian_name,
)
from regard.models.parts.transformer_settings import TransformerSettings
from regard.tokens import Tokenisers
from regard.tokens.kinds import marian

_DECODER = "decoder.yml"
_GELU = 1.702  # Marian's gelu is x * sigmoid(1.702 x): a swish of scaled weights
_POST, _PRE = ("", "dan", ""), ("n", "da", "n")  # what is done before and after a sub-layer, and after a stack
_EXPECTED = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-no-projection": (False,),
    "transformer-postprocess-emb": ("", "d"),
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-ffn-activation": ("relu", "swish", "gelu"),
    "transformer-tied-layers": ([],),
    "factors-combine": ("sum",),
    "lemma-dim-emb": (0,),
}
_PARTS = {
    "self_attention.query": "self_{}q",
    "self_attention.key": "self_{}k",
    "self_attention.value": "self_{}v",
    "self_attention.output": "self_{}o",
    "self_attention_residual.norm": "self_Wo_ln_{}",
    "source_attention.query": "context_{}q",
    "source_attention.key": "context_{}k",
    "source_attention.value": "context_{}v",
    "source_attention.output": "context_{}o",
    "source_attention_residual.norm": "context_Wo_ln_{}",
    "feed_forward.inner": "ffn_{}1",
    "feed_forward.outer": "ffn_{}2",
    "feed_forward_residual.norm": "ffn_ffn_ln_{}",
}


def recognises(folder: Path) -> bool:
    """Whether there is a configuration of Marian's decoder."""
    return foreign_files.has(folder, _DECODER)


def read(folder: Path) -> Imported:
    """The model that decoder.yml names."""
    named = read_yaml(foreign_files.read(folder, _DECODER), folder / _DECODER)
    (name,) = _names(folder, named, "models", 1)
    content, path = foreign_files.read(folder, name, most=None), folder / name
    if not name.endswith(".npz"):
        raise ModelFolderError(f"{path}: Regard reads models of Marian in .npz files.\n  Convert it with marian-conv.")
    arrays = read_arrays(content, path)
    options = configuration(arrays, path)
    _check(options, path)
    tables = [_vocabulary(folder, name) for name in _names(folder, named, "vocabs", 2)]
    config = _config(options, tables, path)
    tensors = _tensors(arrays, config, path, pre=_is_pre(options))
    padding = config.decoder_start_token_id
    if options["transformer-ffn-activation"] == "gelu":
        tensors = {name: _as_swish(name, weight) for name, weight in tensors.items()}
    settings, weights = from_marian(tensors, config, forbidden=[padding], path=path)
    if _is_pre(options):
        settings = TransformerSettings.read({**settings.table(), "norm": "pre"}, where=str(path))
        weights |= _final_norms(arrays, config, path)
    digest = sha256(content).hexdigest()
    return Imported(
        settings=settings,
        weights=weights,
        tokeniser=_tokenisers(folder, tables, settings).files(),
        weights_file=path,
        weights_hash=digest,
        training={"imported": {"format": "Marian", "name": folder.absolute().name, "sha256": digest}},
        card=f"# {folder.absolute().name}\n\nImported from files of Marian ({name}).\n",
    )


def _names(folder: Path, named: Mapping[str, Any], key: str, count: int) -> list[str]:
    """Names of files in the folder itself."""
    found = named.get(key)
    if not isinstance(found, list) or len(found) != count or not all(isinstance(name, str) for name in found):
        raise ModelFolderError(
            f"{folder / _DECODER}: {key} should list {count} {'file' if count == 1 else 'files'} of this folder.\n"
            "  Regard imports single models with one source, no ensembles."
        )
    return found


def _check(options: Mapping[str, Any], path: Path) -> None:
    """Refuses what Regard's Transformer does not compute, naming the option."""
    for key, expected in _EXPECTED.items():
        if key in options and options[key] not in expected:
            listed = " or ".join(repr(value) for value in expected)
            raise ModelFolderError(f"{path}: {key} is {str(options[key])[:60]!r}, and Regard supports {listed}.")
    steps = _steps(options)
    if steps not in (_POST, _PRE):
        raise ModelFolderError(
            f"{path}: transformer-preprocess, -postprocess and -postprocess-top are {steps!r}.\n"
            f"  Regard supports {_POST!r} and {_PRE!r}: normalisation after each sub-layer, or before it."
        )


def _steps(options: Mapping[str, Any]) -> tuple[str, ...]:
    keys = ("transformer-preprocess", "transformer-postprocess", "transformer-postprocess-top")
    return tuple(str(options.get(key, usual)) for key, usual in zip(keys, _POST, strict=True))


def _is_pre(options: Mapping[str, Any]) -> bool:
    return _steps(options) == _PRE


def _config(options: Mapping[str, Any], tables: list[dict[str, int]], path: Path) -> MarianConfig:
    """Marian's options under the names of Hugging Face's configuration; vocabularies with a padding token."""
    sizes = [max(table.values()) + 2 for table in tables]
    inner = options.get("transformer-dim-ffn")
    heads = options.get("transformer-heads")
    table = {
        "vocab_size": sizes[0],
        "decoder_vocab_size": sizes[1],
        "d_model": options.get("dim-emb"),
        "encoder_layers": options.get("enc-depth"),
        "decoder_layers": options.get("dec-depth"),
        "encoder_attention_heads": heads,
        "decoder_attention_heads": heads,
        "encoder_ffn_dim": inner,
        "decoder_ffn_dim": options.get("transformer-decoder-dim-ffn") or inner,
        "activation_function": "relu" if options.get("transformer-ffn-activation") == "relu" else "swish",
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": False,
        "tie_word_embeddings": False,
        "decoder_start_token_id": sizes[1] - 1,
        "eos_token_id": tables[1]["</s>"],
    }
    try:
        config = MarianConfig.read(table, where=str(path))
    except SettingsError as error:
        raise ModelFolderError(f"{error}\n  The file is damaged. Copy it again from its origin.") from None
    if config.d_model % config.encoder_attention_heads or config.d_model % 2:
        raise ModelFolderError(f"{path}: {heads} heads do not divide dim-emb = {config.d_model}, or that is odd.")
    return config


def _tensors(arrays: Arrays, config: MarianConfig, path: Path, *, pre: bool) -> dict[str, Tensor]:
    """All weights under the names of Hugging Face's Marian."""
    for stack, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if layers > len(arrays):
            raise ModelFolderError(f"{path}: it declares {layers} layers of the {stack}, which the file does not have.")
    found = {}
    for name in layer_names(config.encoder_layers, config.decoder_layers):
        found[marian_name(name)] = _layer_weight(arrays, name, path, pre=pre)
    shared = "Wemb"
    source, target = (
        _with_padding(tensor(arrays, f"{stack}_Wemb" if f"{stack}_Wemb" in arrays else shared, path))
        for stack in ("encoder", "decoder")
    )
    output = target
    if "decoder_ff_logit_out_W" in arrays:
        output = _with_padding(tensor(arrays, "decoder_ff_logit_out_W", path).T)
    elif "decoder_ff_logit_out_Wt" in arrays:
        output = _with_padding(tensor(arrays, "decoder_ff_logit_out_Wt", path))
    found |= {ENCODER: source, DECODER: target, OUTPUT: output}
    if "decoder_ff_logit_out_b" in arrays:
        found[OUTPUT_BIAS] = F.pad(tensor(arrays, "decoder_ff_logit_out_b", path).flatten(), (0, 1))[None]
    if "Wpos" in arrays:
        found[ENCODER_POSITIONS] = found[DECODER_POSITIONS] = tensor(arrays, "Wpos", path)
    return found


def _layer_weight(arrays: Arrays, name: str, path: Path, *, pre: bool) -> Tensor:
    """The weight that has this name in Regard."""
    stack, _, number, part, kind = _split(name)
    pattern, prefix = _PARTS[part], f"{stack}_l{int(number) + 1}"
    if part.endswith("norm"):
        ending = "_pre" if pre else ""
        return tensor(
            arrays, f"{prefix}_{pattern.format('scale' if kind == 'weight' else 'bias')}{ending}", path
        ).flatten()
    weight = tensor(arrays, f"{prefix}_{pattern.format('W' if kind == 'weight' else 'b')}", path)
    return weight.T if kind == "weight" else weight.flatten()


def _split(name: str) -> tuple[str, str, str, str, str]:
    stack, layers, number, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    return stack, layers, number, part, kind


def _with_padding(rows: Tensor) -> Tensor:
    """One row of zeros more."""
    return F.pad(rows, (0, 0, 0, 1)) if rows.dim() == 2 else rows


def _as_swish(name: str, weight: Tensor) -> Tensor:
    """X * sigmoid(c x) is swish(c x) / c."""
    if name.endswith(("fc1.weight", "fc1.bias")):
        return weight * _GELU
    return weight / _GELU if name.endswith("fc2.weight") else weight


def _final_norms(arrays: Arrays, config: MarianConfig, path: Path) -> dict[str, Tensor]:
    found = {}
    for stack in ("encoder", "decoder"):
        for kind, theirs in (("weight", "scale"), ("bias", "bias")):
            norm = tensor(arrays, f"{stack}_top_ln_{theirs}", path).flatten()
            if len(norm) != config.d_model:
                raise ModelFolderError(f"{path}: {stack}_top_ln_{theirs} does not have {config.d_model} numbers.")
            found[f"{stack}.norm.{kind}"] = norm
    return found


def _vocabulary(folder: Path, name: str) -> dict[str, int]:
    """Piece to id: in YAML, or those of a SentencePiece model."""
    content, path = foreign_files.read(folder, name), folder / name
    if not name.endswith(".spm"):
        return read_vocabulary(content, path)
    try:
        table = {piece.text: token for token, piece in enumerate(subword_file.read(content).pieces)}
    except ModelFolderError as error:
        raise ModelFolderError(f"{path}: {error}") from None
    if not {"</s>", "<unk>"} <= table.keys():
        raise ModelFolderError(f"{path}: </s> or <unk> is missing.")
    return table


def _tokenisers(folder: Path, tables: list[dict[str, int]], settings: TransformerSettings) -> Tokenisers:
    """SentencePiece models, with the ids of the vocabularies."""
    sizes = (settings.source_vocabulary, settings.target_vocabulary)
    made = []
    for side, table, size in zip(("source", "target"), tables, sizes, strict=True):
        model = foreign_files.read(folder, f"{side}.spm")
        vocabulary = json.dumps({**table, "<pad>": size - 1}, ensure_ascii=False).encode()
        special = {"begin": size - 1, "end": table["</s>"], "unknown": table["<unk>"]}
        try:
            options = marian.Options.read({"size": size, **special}, where=side)
            made.append(marian.load({"spm": model, "vocab.json": vocabulary}, options=options))
        except (ModelFolderError, SettingsError) as error:
            raise ModelFolderError(f"{folder / f'{side}.spm'}: {error}") from None
    one, other = made
    return Tokenisers(source=one, target=one if one.hash == other.hash else other)


IMPORT = Importer(recognises, read, "folders of Marian (decoder.yml and a .npz model)")
