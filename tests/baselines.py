"""Small models of every architecture that the Transformer replaced."""

from typing import Any

import torch

from regard import models
from small import VOCABULARY

RECURRENT = {"d_model": 12, "encoder_layers": 2, "decoder_layers": 2}
CONVS2S = {"d_model": 12, "width": 10, "encoder_layers": 2, "decoder_layers": 3, "learned_positions": 64}
BYTENET = {"d_model": 12, "inner": 8, "encoder_sets": 1, "decoder_sets": 2, "dilations": [1, 2]}
NEURAL_GPU = {"d_model": 8, "lines": 3, "encoder_layers": 1, "decoder_layers": 2, "memory_offset": 0, "longest": 40}

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "rnn": ("recurrent", RECURRENT | {"cell": "rnn", "attention": "none", "feeding": False}),
    "gru": ("recurrent", RECURRENT | {"cell": "gru", "attention": "additive", "feeding": False, "decoder_layers": 3}),
    "lstm": ("recurrent", RECURRENT | {"cell": "lstm", "attention": "none", "feeding": False, "decoder_layers": 1}),
    "lstm-dot": ("recurrent", RECURRENT | {"attention": "dot", "tied_embeddings": "none"}),
    "lstm-general": ("recurrent", RECURRENT | {"attention": "general"}),
    "gru-additive": ("recurrent", RECURRENT | {"cell": "gru", "attention": "additive"}),
    "lstm-cosine": ("recurrent", RECURRENT | {"attention": "cosine", "feeding": False}),
    "convs2s": ("convs2s", CONVS2S),
    "convs2s-wide-kernel": ("convs2s", CONVS2S | {"kernel": 5, "tied_embeddings": "target-output"}),
    "bytenet": ("bytenet", BYTENET),
    "bytenet-unfolded": ("bytenet", BYTENET | {"unfold_factor": 0.5, "unfold_offset": 3}),
    "neural-gpu": ("neural_gpu", NEURAL_GPU),
}
ATTENDING = [name for name, (_, table) in MODELS.items() if table.get("attention", "none") != "none"]
ATTENDING += ["convs2s", "convs2s-wide-kernel"]


def model(name: str, *, seed: int = 0, dtype: torch.dtype = torch.float64, **settings: Any) -> Any:
    """A small model without dropout in effect; every bias is random, so that a forgotten one shows."""
    torch.manual_seed(seed)
    architecture, table = MODELS[name]
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "architecture": architecture}
    read = models.read_settings(table | vocabularies | settings, where=name)
    built: Any = models.build(architecture, read)
    built = built.to(dtype).eval()
    with torch.no_grad():
        for parameter_name, parameter in built.named_parameters():
            if "bias" in parameter_name:
                parameter.normal_(std=0.3)
    return built
