"""To Hugging Face: a language model as GPT2LMHeadModel, a masked model as BertForMaskedLM.

The model must have the shape that these have: a departure is refused with its name. A tokeniser that came from such a
folder goes back as it was; of any other, the folder has no file that `transformers` reads, and its card says so.

Shapes: T tokens of a probe, V vocabulary.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import torch
from safetensors.torch import save as save_tensors

from regard import models
from regard.batches.rows import rows_of
from regard.errors import ModelFolderError
from regard.exchange import single_stacks
from regard.exchange.parity import Verdict, sentences
from regard.modelfolder import CARD, ModelFolder
from regard.storage import packed
from regard.tasks.masked import batch_of
from regard.tokens import Tokenisers
from regard.tokens.kinds.hub import Hub
from regard.version import __version__

KINDS = {task: kind for kind, task in single_stacks.TASKS.items()}
_PRESETS = {"gpt2": "gpt2", "bert": "bert-base"}
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"

_PROBES, _LONGEST = 12, 24
_CLOSE, _ROUNDED = 1e-4, 0.5  # largest difference of logits, and where weights are rounded
_NAMES = {
    "gpt2": dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>"),
    "bert": {
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
    },
}
_USE = {
    "gpt2": ("AutoModelForCausalLM", "model(torch.tensor([[BEGIN, 10, 11]])).logits"),
    "bert": ("AutoModelForMaskedLM", "model(torch.tensor([[10, 11, END]])).logits"),
}


def write(loaded: ModelFolder, out: Path, stored_as: str) -> None:
    """Into an empty folder: weights, settings, card and, where there is one, the tokeniser."""
    kind, settings = _refused_or_read(loaded)
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    special = {"bos_token_id": tokenisers.source.begin, "eos_token_id": tokenisers.source.end}
    if kind == "bert":
        special = {"pad_token_id": tokenisers.source.begin}
    config = {**single_stacks.config_of(kind, settings.table()), **special}
    own = {name: tensor.detach().cpu().float() for name, tensor in models.tensors(loaded.model).items()}
    tied = getattr(settings, "tied_embeddings", True)
    theirs = single_stacks.theirs(kind, own, settings.layers, tied=tied)
    files = {
        "config.json": _json(config),
        WEIGHTS: save_tensors(packed(theirs, stored_as), metadata={"format": "pt"}),
    }
    if isinstance(tokenisers.source, Hub):
        files[TOKENIZER] = tokenisers.source.files()["hub.json"]
        named = {"tokenizer_class": "PreTrainedTokenizerFast", **_NAMES[kind]}
        files["tokenizer_config.json"] = _json({**named, "model_max_length": settings.learned_positions})
    files[CARD] = _card(loaded, out.name, kind, tokenisers).encode()
    for name, content in files.items():
        (out / name).write_bytes(content)


def _refused_or_read(loaded: ModelFolder) -> tuple[str, Any]:
    """The kind and the settings of a model that GPT-2 or BERT can express."""
    description = loaded.description
    kind = KINDS[description.task]
    settings: Any = models.read_settings(
        {"architecture": description.architecture, **description.settings}, where="settings"
    )
    for reason in _departures(kind, settings):
        raise ModelFolderError(
            f"Hugging Face's {single_stacks.CLASSES[kind]} cannot express this model: {reason}.\n"
            f"  Train with the settings of the preset {_PRESETS[kind]}, or use it with Regard itself."
        )
    if not loaded.tokeniser:
        raise ModelFolderError("This model has no tokeniser, so its first and last tokens are unknown.")
    return kind, settings


def _departures(kind: str, settings: Any) -> Iterator[str]:
    wanted = {
        "norm": "pre" if kind == "gpt2" else "post",
        "positions": "learned",
        "scaled_embeddings": False,
        "attention_bias": True,
        "output_bias": kind == "bert",
        "embedding_norm": kind == "bert",
    }
    for name, value in wanted.items():
        if getattr(settings, name) != value:
            yield f"{name} is {getattr(settings, name)!r} and not {value!r}"
    if kind == "bert" and not (settings.head_transform and settings.segment_kinds):
        yield "it has no transformation before its logits, or no kinds of segments"
    if kind == "bert" and settings.neighbours:
        yield "it has a convolution below its stack"
    if kind == "gpt2" and settings.segment_kinds:
        yield "it has kinds of segments"
    if {settings.d_k * settings.heads, settings.d_v * settings.heads} != {settings.d_model}:
        yield f"its heads are {settings.d_k} and {settings.d_v} wide, and theirs d_model / heads"


def _card(loaded: ModelFolder, name: str, kind: str, tokenisers: Tokenisers) -> str:
    opens, call = _USE[kind]
    call = call.replace("BEGIN", str(tokenisers.source.begin)).replace("END", str(tokenisers.source.end))
    tokeniser = (
        "tokenizer.json is the tokeniser."
        if isinstance(tokenisers.source, Hub)
        else f"Its tokeniser is Regard's own ({tokenisers.source.kind}), which transformers cannot read: "
        "encode text with Regard, and give ids."
    )
    return (
        f"# {name}\n\nA {single_stacks.CLASSES[kind]}, written by Regard {__version__}. {tokeniser}\n\n"
        f"```python\nimport torch\nfrom transformers import {opens}\n\n"
        f'model = {opens}.from_pretrained("PATH")\n{call}\n```\n\n{loaded.card}'
    )


def check(folder: Path, loaded: ModelFolder, *, program: str, exact: bool) -> Verdict:
    """Compares logits of random tokens, and the ids of probe sentences where the tokeniser was written."""
    from regard.exchange.huggingface import library, quiet

    kind = KINDS[loaded.description.task]
    with quiet():
        opened: Any = getattr(library(), single_stacks.CLASSES[kind])
        model = opened.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
        tokenizer = None
        if (folder / TOKENIZER).exists():
            tokenizer = library().PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)
    tokeniser = Tokenisers.from_files(loaded.tokeniser).source
    draw, most = Random(0), min(_LONGEST, int(loaded.description.settings["learned_positions"]))  # noqa: S311
    probes = [[draw.randrange(tokeniser.size) for _ in range(draw.randint(1, most))] for _ in range(_PROBES)]
    if tokenizer is not None:
        for text in map(tokeniser.normalise, sentences()):
            theirs = tokenizer(text, add_special_tokens=False)["input_ids"]
            own = tokeniser.encode(text)
            if own[len(own) - len(theirs) :] != theirs:
                raise ModelFolderError(f"{program} cuts {text!r} otherwise, so Regard has removed this export.")
    apart = 0.0
    with torch.no_grad():
        for ids in probes:
            ours = loaded.model(batch_of(rows_of([[ids]])))[0]
            apart = max(apart, float((ours - model(torch.tensor([ids])).logits[0]).abs().max()))
    if apart > (_CLOSE if exact else _ROUNDED):
        raise ModelFolderError(
            f"{program} gives other logits with this export, by up to {apart:.2g}, so Regard has removed it.\n"
            "  Report this as a bug. To export without the check, use --unchecked."
        )
    return Verdict(program, len(probes), len(probes), rounded=not exact, what=f"logits, within {apart:.1e},")


def _json(table: dict[str, Any]) -> bytes:
    return (json.dumps(table, indent=2, ensure_ascii=False) + "\n").encode()
