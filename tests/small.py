"""Small models and batches for tests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from regard.batches import corpus
from regard.batches.corpus import StoredCorpus
from regard.batches.rows import Batch, Rows
from regard.models.transformer import OwnSentence, Transformer, TransformerSettings
from regard.tasks.translation import batch_of

VOCABULARY = 23
BEGIN, END = 0, 1

Pair = tuple[list[int], list[int]]


def transformer(*, seed: int = 0, dtype: torch.dtype = torch.float64, **settings: Any) -> Transformer:
    """A small Transformer without dropout in effect; every bias is random, so that a forgotten one shows."""
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {
        "source_vocabulary": VOCABULARY,
        "target_vocabulary": VOCABULARY,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "d_model": 16,
        "d_ff": 24,
        "heads": 4,
    }
    model = Transformer(TransformerSettings(**(sizes | settings))).to(dtype).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias"):
                parameter.normal_(std=0.3)
    return model


def padded(pairs: list[Pair], **options: Any) -> Batch:
    """One sentence pair a row."""
    return batch_of([[pair] for pair in pairs], begin=BEGIN, end=END, **options)


def packed(rows: list[list[Pair]], **options: Any) -> Batch:
    """Several sentence pairs a row."""
    return batch_of(rows, begin=BEGIN, end=END, **options)


def sight(queries: Tensor, keys: Tensor, *, backwards: bool = False) -> OwnSentence:
    """Who looks at whom, by the numbers of the sentences: [B, T] and [B, S]."""
    of_queries, of_keys = (Rows(numbers, numbers, torch.zeros_like(numbers)) for numbers in (queries, keys))
    return OwnSentence(of_queries, of_keys, backwards=backwards)


def store(folder: Path, pairs: Sequence[Pair], *, begin: int, end: int, vocabulary: int) -> StoredCorpus:
    """A stored corpus of sentence pairs."""
    streams = {"source": [source for source, _ in pairs], "target": [target for _, target in pairs]}
    return corpus.store(folder, streams, begin=begin, end=end, vocabulary=vocabulary)


words = st.integers(min_value=2, max_value=VOCABULARY - 1)
sentences = st.lists(words, min_size=0, max_size=7)
pairs = st.tuples(sentences, sentences)
options = st.fixed_dictionaries(
    {
        "norm": st.sampled_from(["post", "pre"]),
        "activation": st.sampled_from(["relu", "gelu", "swish"]),
        "positions": st.sampled_from(["interleaved", "halves", "learned", "rotary"]),
        "tied_embeddings": st.sampled_from(["all", "target-output", "source-target", "none"]),
        "attention_bias": st.booleans(),
        "output_bias": st.booleans(),
        "start": st.sampled_from(["zero", "token"]),
        "d_k": st.sampled_from([2, 4, 6]),
        "d_v": st.sampled_from([3, 4]),
    }
)
