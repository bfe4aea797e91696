"""GPT-2 and BERT as `transformers` names and shapes their settings and weights, and as Regard does. Both ways.

GPT-2 stores its matrices transposed, with queries, keys and values side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.errors import ModelFolderError

Tensors = Mapping[str, Tensor]

TASKS = {"gpt2": "language", "bert": "masked"}
ARCHITECTURES = {"gpt2": "decoder_only", "bert": "encoder_only"}
CLASSES = {"gpt2": "GPT2LMHeadModel", "bert": "BertForMaskedLM"}
_ACTIVATIONS = {
    "gelu_new": "gelu-tanh", "gelu_pytorch_tanh": "gelu-tanh", "gelu": "gelu", "relu": "relu", "silu": "swish",
}  # fmt: skip
_SHARED = {"positions": "learned", "scaled_embeddings": False, "attention_bias": True}
_PARTS = ("weight", "bias")


def settings_of(kind: str, config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The table [model] of a config.json."""
    usual = ("activation_function", "gelu_new") if kind == "gpt2" else ("hidden_act", "gelu")
    activation = str(config.get(*usual))
    if activation not in _ACTIVATIONS:
        raise ModelFolderError(f"{where}: {usual[0]} = {activation[:40]!r}: Regard has gelu, gelu_new, relu and silu.")
    usual_values: dict[str, dict[str, Any]] = {
        "gpt2": {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False, "add_cross_attention": False},
        "bert": {"position_embedding_type": "absolute", "is_decoder": False},
    }
    for key, expected in usual_values[kind].items():
        if config.get(key, expected) not in (expected, None):
            raise ModelFolderError(f"{where}: {key} = {config[key]!r}: Regard supports only {expected!r}.")
    try:
        table = _gpt2(config) if kind == "gpt2" else _bert(config)
    except KeyError as error:
        raise ModelFolderError(f"{where}: {error.args[0]} is missing.\n  Copy the folder again.") from None
    return {**_SHARED, **table, "activation": _ACTIVATIONS[activation]}


def _gpt2(config: Mapping[str, Any]) -> dict[str, Any]:
    width = config["n_embd"]
    return {
        "vocabulary": config["vocab_size"],
        "layers": config["n_layer"],
        "d_model": width,
        "d_ff": config.get("n_inner") or 4 * width,
        "heads": config["n_head"],
        "dropout": config.get("resid_pdrop", 0.1),
        "norm": "pre",
        "learned_positions": config["n_positions"],
        "norm_epsilon": config.get("layer_norm_epsilon", 1e-5),
        "tied_embeddings": config.get("tie_word_embeddings", True),
    }


def _bert(config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "vocabulary": config["vocab_size"],
        "layers": config["num_hidden_layers"],
        "d_model": config["hidden_size"],
        "d_ff": config["intermediate_size"],
        "heads": config["num_attention_heads"],
        "dropout": config.get("hidden_dropout_prob", 0.1),
        "norm": "post",
        "learned_positions": config["max_position_embeddings"],
        "norm_epsilon": config.get("layer_norm_eps", 1e-12),
        "embedding_norm": True,
        "segment_kinds": config.get("type_vocab_size", 2),
        "output_bias": True,
    }


def config_of(kind: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The config.json of a model with this table of settings."""
    activation = next(theirs for theirs, ours in _ACTIVATIONS.items() if ours == table["activation"])
    shared = {"model_type": kind, "architectures": [CLASSES[kind]], "vocab_size": table["vocabulary"]}
    if kind == "gpt2":
        return {
            **shared,
            "n_embd": table["d_model"],
            "n_layer": table["layers"],
            "n_head": table["heads"],
            "n_inner": table["d_ff"],
            "n_positions": table["learned_positions"],
            "activation_function": activation,
            "layer_norm_epsilon": table["norm_epsilon"],
            "tie_word_embeddings": table["tied_embeddings"],
            **dict.fromkeys(("resid_pdrop", "embd_pdrop"), table["dropout"]),
            "attn_pdrop": 0.0,
        }
    return {
        **shared,
        "hidden_size": table["d_model"],
        "num_hidden_layers": table["layers"],
        "num_attention_heads": table["heads"],
        "intermediate_size": table["d_ff"],
        "max_position_embeddings": table["learned_positions"],
        "type_vocab_size": table["segment_kinds"],
        "hidden_act": activation,
        "layer_norm_eps": table["norm_epsilon"],
        "hidden_dropout_prob": table["dropout"],
        "attention_probs_dropout_prob": 0.0,
    }


def names(kind: str, layers: int, *, tied: bool = True) -> dict[str, str]:
    """Regard's name of every weight that both store alike, and theirs."""
    if kind == "gpt2":
        whole = {"embedding.weight": "transformer.wte.weight", "below.positions.weight": "transformer.wpe.weight"}
        whole |= {} if tied else {"output_embedding.weight": "lm_head.weight"}
        pieces = {"stack.norm": "transformer.ln_f"}
        for layer in range(layers):
            own, other = f"stack.layers.{layer}", f"transformer.h.{layer}"
            pieces[f"{own}.self_attention_residual.norm"] = f"{other}.ln_1"
            pieces[f"{own}.feed_forward_residual.norm"] = f"{other}.ln_2"
    else:
        whole = {
            "embedding.weight": "bert.embeddings.word_embeddings.weight",
            "below.positions.weight": "bert.embeddings.position_embeddings.weight",
            "below.segments": "bert.embeddings.token_type_embeddings.weight",
            "output_bias": "cls.predictions.bias",
        }
        pieces = {
            "below.norm": "bert.embeddings.LayerNorm",
            "transform.0": "cls.predictions.transform.dense",
            "transform.2": "cls.predictions.transform.LayerNorm",
        }
        for layer in range(layers):
            own, other = f"stack.layers.{layer}", f"bert.encoder.layer.{layer}"
            pieces |= {
                f"{own}.self_attention.query": f"{other}.attention.self.query",
                f"{own}.self_attention.key": f"{other}.attention.self.key",
                f"{own}.self_attention.value": f"{other}.attention.self.value",
                f"{own}.self_attention.output": f"{other}.attention.output.dense",
                f"{own}.self_attention_residual.norm": f"{other}.attention.output.LayerNorm",
                f"{own}.feed_forward.inner": f"{other}.intermediate.dense",
                f"{own}.feed_forward.outer": f"{other}.output.dense",
                f"{own}.feed_forward_residual.norm": f"{other}.output.LayerNorm",
            }
    return whole | {f"{own}.{part}": f"{other}.{part}" for own, other in pieces.items() for part in _PARTS}


def _turned(layer: int) -> dict[str, str]:
    """GPT-2's matrices that are stored transposed."""
    own, other = f"stack.layers.{layer}", f"transformer.h.{layer}"
    return {
        f"{own}.self_attention.output": f"{other}.attn.c_proj",
        f"{own}.feed_forward.inner": f"{other}.mlp.c_fc",
        f"{own}.feed_forward.outer": f"{other}.mlp.c_proj",
    }


def ours(kind: str, theirs: Tensors, layers: int, *, tied: bool = True) -> dict[str, Tensor]:
    """Their weights under Regard's names; a missing one raises a KeyError with its name."""
    found = {own: theirs[other] for own, other in names(kind, layers, tied=tied).items()}
    for layer in range(layers if kind == "gpt2" else 0):
        for part in _PARTS:
            for own, other in _turned(layer).items():
                found[f"{own}.{part}"] = theirs[f"{other}.{part}"].t().contiguous()
            joined = theirs[f"transformer.h.{layer}.attn.c_attn.{part}"].chunk(3, -1)
            for name, tensor in zip(("query", "key", "value"), joined, strict=True):
                found[f"stack.layers.{layer}.self_attention.{name}.{part}"] = tensor.t().contiguous()
    return found


def theirs(kind: str, own: Tensors, layers: int, *, tied: bool = True) -> dict[str, Tensor]:
    """Regard's weights under their names."""
    found = {other: own[name].contiguous() for name, other in names(kind, layers, tied=tied).items()}
    for layer in range(layers if kind == "gpt2" else 0):
        for part in _PARTS:
            for name, other in _turned(layer).items():
                found[f"{other}.{part}"] = own[f"{name}.{part}"].t().contiguous()
            joined = [
                own[f"stack.layers.{layer}.self_attention.{name}.{part}"].t() for name in ("query", "key", "value")
            ]
            found[f"transformer.h.{layer}.attn.c_attn.{part}"] = torch.cat(joined, -1).contiguous()
    return found
