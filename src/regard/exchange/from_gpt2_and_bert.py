"""From Hugging Face: folders of GPT2LMHeadModel and of BertForMaskedLM (or BertForPreTraining).

config.json, tokenizer.json and the weights are read. BERT's pooler and its head for pairs of sentences are left out:
Regard has no use for them. `transformers` itself is not needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from regard import models
from regard.errors import ModelFolderError, SettingsError
from regard.exchange import foreign_files, single_stacks
from regard.exchange.from_huggingface import card_of, tensors_of
from regard.exchange.importing import Imported, Importer
from regard.settings import Settings
from regard.tokens import Tokenisers
from regard.tokens.kinds import hub

_CONFIG, _TOKENIZER = "config.json", "tokenizer.json"
_SPECIAL = {"gpt2": ("<|endoftext|>",) * 3, "bert": ("[PAD]", "[SEP]", "[UNK]")}  # begin, end, unknown
_OLD = {".gamma": ".weight", ".beta": ".bias"}


def recognises(folder: Path) -> bool:
    """Whether there is a configuration of GPT-2 or BERT."""
    if not foreign_files.has(folder, _CONFIG):
        return False
    try:
        return foreign_files.read_json(folder, _CONFIG).get("model_type") in single_stacks.TASKS
    except ModelFolderError:
        return False


def read(folder: Path) -> Imported:
    """The model in a folder."""
    config = foreign_files.read_json(folder, _CONFIG)
    kind = str(config["model_type"])
    where, architecture = str(folder / _CONFIG), single_stacks.ARCHITECTURES[kind]
    table = single_stacks.settings_of(kind, config, where)
    try:
        settings = models.read_settings({"architecture": architecture, **table}, where=where)
    except SettingsError as error:
        raise ModelFolderError(f"{error}\n  The folder is damaged. Copy it again from its origin.") from None
    tensors, path, digest = tensors_of(folder)
    return Imported(
        settings=settings,
        architecture=architecture,
        task=single_stacks.TASKS[kind],
        weights=_weights(kind, tensors, settings, path),
        tokeniser=_tokenisers(folder, kind, table["vocabulary"]).files(),
        weights_file=path,
        weights_hash=digest,
        training={"imported": {"format": f"Hugging Face {kind}", "name": folder.absolute().name, "sha256": digest}},
        card=card_of(folder),
    )


def _weights(kind: str, tensors: Mapping[str, Tensor], settings: Settings, path: Path) -> dict[str, Tensor]:
    """Under Regard's names; older folders have others."""
    table: Any = settings
    prefix = {"gpt2": "transformer.", "bert": "bert."}[kind]
    named = {}
    for name, tensor in tensors.items():
        for old, new in _OLD.items():
            name = name.removesuffix(old) + new if name.endswith(old) else name
        inside = name.startswith((prefix, "cls.", "lm_head."))
        named[name if inside else prefix + name] = tensor
    tied = getattr(table, "tied_embeddings", True)
    try:
        return single_stacks.ours(kind, named, table.layers, tied=tied)
    except KeyError as error:
        head = str(error.args[0]).startswith("cls.")
        what = "Give a model with a head for masked tokens, such as BertForMaskedLM." if head else "Copy it again."
        raise ModelFolderError(f"{path}: {error.args[0]} is missing.\n  {what}") from None


def _tokenisers(folder: Path, kind: str, size: int) -> Tokenisers:
    if not foreign_files.has(folder, _TOKENIZER):
        raise ModelFolderError(
            f"{folder}: there is no {_TOKENIZER}.\n  Write one with transformers: "
            "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)"
        )
    content = foreign_files.read(folder, _TOKENIZER)
    listed = foreign_files.read_json(folder, _TOKENIZER)
    added = listed.get("added_tokens")
    tables = [each for each in added if isinstance(each, dict)] if isinstance(added, list) else []
    known = {str(each.get("content")): each["id"] for each in tables if type(each.get("id")) is int}
    known |= {name: number for name, number in _vocabulary(listed).items() if name not in known}
    missing = [name for name in _SPECIAL[kind] if name not in known]
    if missing:
        raise ModelFolderError(f"{folder / _TOKENIZER}: {missing[0]!r} has no id.\n  Copy the folder again.")
    begin, end, unknown = (known[name] for name in _SPECIAL[kind])
    special: dict[str, Any] = {"begin": begin, "end": end, "unknown": unknown, "size": size}
    if kind == "bert" and "[CLS]" in known:
        special["first"] = known["[CLS]"]
    try:
        made = hub.load({"hub.json": content}, options=hub.Options.read(special, where=_TOKENIZER))
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder / _TOKENIZER}: {error}") from None
    return Tokenisers(source=made, target=made)


def _vocabulary(listed: Mapping[str, Any]) -> dict[str, int]:
    model = listed.get("model")
    found = model.get("vocab") if isinstance(model, dict) else None
    return {name: number for name, number in found.items() if type(number) is int} if isinstance(found, dict) else {}


IMPORT = Importer(recognises, read, "Hugging Face folders of GPT-2 and BERT (config.json, tokenizer.json)")
