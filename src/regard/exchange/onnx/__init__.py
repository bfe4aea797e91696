"""To ONNX: a Transformer as graphs that onnxruntime and transformers.js run, on servers, in browsers and on phones.

The graphs are written operation by operation from the weights (`forms.py`, `transformer.py`), not traced, so their
names, axes and sizes are what other programs expect. Ids are Regard's own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from regard.errors import ModelFolderError, SettingsError
from regard.exchange import Exporter
from regard.exchange.hub_files import as_they_are, side_files
from regard.exchange.onnx.card import card
from regard.exchange.parity import MOST_TOKENS, Peer, Said
from regard.modelfolder import CARD, ModelFolder
from regard.models.transformer import Transformer
from regard.tokens import Tokenisers

FOLDER = "onnx"
QUANTIZATIONS = ("float32", "int8")

_HUB_KINDS = {"subwords", "marian"}  # tokenisers that tokenizer.json can describe


def write(loaded: ModelFolder, out: Path, quantization: str, *, attentions: bool = False) -> None:
    """Into an empty folder: the graphs, the tokeniser, and the files that transformers.js reads beside them."""
    model = _transformer(loaded)
    tokenisers = _tokenisers(loaded)
    (out / FOLDER).mkdir()
    _write_graphs(model, out / FOLDER, quantization, attentions=attentions)
    found = _hub_files(loaded, tokenisers) or dict(loaded.tokeniser)
    for name, content in found.items():
        (out / name).write_bytes(content)
    text = card(
        loaded,
        tokenisers,
        model.settings,
        quantization=quantization,
        attentions=attentions,
        files=found,
    )
    (out / CARD).write_text(text, encoding="utf-8")


def _transformer(loaded: ModelFolder) -> Transformer:
    if loaded.description.architecture != "transformer":
        raise ModelFolderError(
            f"Regard writes only Transformers with an encoder and a decoder as ONNX, but this model is a "
            f"{loaded.description.architecture!r}.\n  Use it with Regard itself."
        )
    return cast("Transformer", loaded.model)


def _tokenisers(loaded: ModelFolder) -> Tokenisers:
    if not loaded.tokeniser:
        raise ModelFolderError("This model has no tokeniser, but an export needs the ids of its tokens.")
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    if tokenisers.reversed:
        raise ModelFolderError(
            "This model reads and generates text from its end, which programs that run ONNX files do not support.\n"
            "  Use it with Regard itself."
        )
    return tokenisers


def _write_graphs(model: Transformer, folder: Path, quantization: str, *, attentions: bool) -> None:
    if find_spec("onnx") is None:
        raise SettingsError(
            "This needs the library onnx, which is not installed.\n  Install it with: pip install 'regard[onnx]'"
        )
    from regard.exchange.onnx import checks, forms, products

    chosen: products.Products = products.Int8() if quantization == "int8" else products.Float32()
    for name, made in forms.all_files(model, chosen, attentions=attentions):
        checks.refuse_if_too_large(made, name)
        checks.check(made, name, model.settings, attentions=attentions)
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())


def _hub_files(loaded: ModelFolder, tokenisers: Tokenisers) -> dict[str, bytes]:
    """What transformers.js reads; nothing where no such file describes the tokeniser.

    With a tokenizer.json, no class for Marian's own files is needed.
    """
    if not {tokenisers.source.kind, tokenisers.target.kind} <= _HUB_KINDS:
        return {}
    files = side_files(loaded, tokenisers, numbering=as_they_are(tokenisers), beams=1)
    if "tokenizer.json" not in files:
        return files
    table = json.loads(files["tokenizer_config.json"]) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    files["tokenizer_config.json"] = (json.dumps(table, ensure_ascii=False, indent=2) + "\n").encode()
    return {name: content for name, content in files.items() if not name.endswith("vocab.json")}


def version() -> str | None:
    """That of onnxruntime, if it is installed."""
    if find_spec("onnxruntime") is None:
        return None
    import onnxruntime

    return str(onnxruntime.__version__)


def said(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
    """What onnxruntime says with a written folder: with the merged decoder, and the same again with the two others."""
    from regard.exchange.onnx.runtime import Files

    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    begin, end = tokenisers.target.begin, tokenisers.target.end
    exact = (folder / FOLDER / "encoder_model.onnx").exists()
    tokenizer = _tokenizer(folder) if tokenisers.joint else None
    sources = [_ids(text, tokenisers, tokenizer) for text in texts]
    groups = [sources] if exact else [[source] for source in sources]  # in int8, a batch is rounded with one scale
    merged, apart = (
        [
            ids
            for group in groups
            for ids in files.greedy(group, begin=begin, end=end, limits=[MOST_TOKENS] * len(group))
        ]
        for files in (
            Files(folder / FOLDER, suffix="" if exact else "_quantized", merged=merged) for merged in (True, False)
        )
    )
    if merged != apart:
        raise ModelFolderError(
            "decoder_model_merged.onnx translates differently from decoder_model.onnx and decoder_with_past_model.onnx,"
            " so Regard has removed the export.\n  Report this as a bug, with the versions that `regard doctor` prints."
        )
    return [Said(ids, tokenizer.decode(ids) if tokenizer else None) for ids in merged]


def _ids(text: str, tokenisers: Tokenisers, tokenizer: Any) -> list[int]:
    if tokenizer is None:
        return [*tokenisers.source.encode(text), tokenisers.source.end]
    return list(tokenizer.encode(text).ids)


def _tokenizer(folder: Path) -> Any:
    """The tokeniser of the written folder, if it has one and a library for it is installed."""
    path = folder / "tokenizer.json"
    if not path.exists() or find_spec("tokenizers") is None:
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True  # as the folder's tokenizer_config.json says
    return tokenizer


EXPORT = Exporter(
    write,
    QUANTIZATIONS,
    Peer("onnxruntime", version, "onnx", said),
    with_attentions=partial(write, attentions=True),
)
