"""Exported files, run by onnxruntime: states, logits and greedy search, as any program would use them.

Shapes: B sentences, T target positions of a call, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.exchange.onnx.products import Array


def session(path: Path, *, threads: int = 1) -> Any:
    """A file, opened by onnxruntime on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


class Source(NamedTuple):
    """Sentences after the encoder."""

    states: Array  # [B, S, D]
    mask: Array  # [B, S] 1 for tokens, 0 for padding


class Files:
    """The encoder and a decoder of an export: the merged one, or the two others."""

    def __init__(self, folder: Path, *, suffix: str = "", merged: bool = True, threads: int = 1) -> None:
        def opened(name: str) -> Any:
            return session(folder / f"{name}{suffix}.onnx", threads=threads)

        self.encoder, self.merged = opened("encoder_model"), merged
        self.first = opened("decoder_model_merged" if merged else "decoder_model")
        self.later = self.first if merged else opened("decoder_with_past_model")
        self._caches = {
            one.name: tuple(0 if isinstance(axis, str) else axis for axis in one.shape)
            for one in self.first.get_inputs()
            if one.name.startswith("past_key_values.")
        }

    def encode(self, sentences: Sequence[Sequence[int]], *, padding: int) -> Source:
        """Sentences of ids, the end included, padded on the right."""
        longest = max(map(len, sentences))
        tokens = np.full((len(sentences), longest), padding, dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, sentence in enumerate(sentences):
            tokens[row, : len(sentence)], mask[row, : len(sentence)] = sentence, 1
        (states,) = self.encoder.run(["last_hidden_state"], {"input_ids": tokens, "attention_mask": mask})
        return Source(states, mask)

    def decode(self, tokens: Array, source: Source, past: Mapping[str, Array] | None) -> dict[str, Array]:
        """[B, T] the newest tokens -> `logits` [B, T, V], `past_key_values.*`, and what else the file puts out."""
        chosen = self.first if past is None else self.later
        given: dict[str, Array] = {"input_ids": tokens, "encoder_attention_mask": source.mask}
        given["encoder_hidden_states"] = source.states
        given["use_cache_branch"] = np.array([past is not None])
        given |= past if past is not None else self._no_past(len(tokens))
        wanted = {one.name for one in chosen.get_inputs()}
        outputs = [one.name for one in chosen.get_outputs()]
        found = chosen.run(outputs, {name: value for name, value in given.items() if name in wanted})
        renamed = [name.replace("present.", "past_key_values.") for name in outputs]
        return {**(past or {}), **dict(zip(renamed, found, strict=True))}

    def greedy(
        self, sentences: Sequence[Sequence[int]], *, begin: int, end: int, limits: Sequence[int]
    ) -> list[list[int]]:
        """The likeliest next token, again and again, until the end or the limit of each sentence."""
        source, past = self.encode(sentences, padding=begin), None
        found: list[list[int]] = [[] for _ in sentences]
        tokens, open_ = np.full((len(sentences), 1), begin, dtype=np.int64), set(range(len(sentences)))
        while open_:
            outputs = self.decode(tokens, source, past)
            past = {name: value for name, value in outputs.items() if name.startswith("past_key_values.")}
            tokens = outputs["logits"][:, -1:].argmax(-1)
            for row in sorted(open_):
                token = int(tokens[row, 0])
                if token == end or len(found[row]) == limits[row]:
                    open_.discard(row)
                else:
                    found[row].append(token)
        return found

    def _no_past(self, sentences: int) -> dict[str, Array]:
        return {name: np.zeros((sentences, *shape[1:]), np.float32) for name, shape in self._caches.items()}
