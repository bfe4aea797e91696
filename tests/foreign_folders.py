"""Folders of other programs for tests: random MarianMTModels in the layout of OPUS-MT, and files of Marian itself."""

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from regard.models.transformer import Transformer

SENTENCES = ("A small house stands by the lake.", "The old lake is small.", "Häuser & houses: 3.5 km!", "xyz 日本")
_DRAW = (
    "house",
    "lake",
    "small",
    "old",
    "stands",
    "by",
    "the",
    "is",
    "a",
    "Haus",
    "See",
    "klein",
    "alt",
    "steht",
    "am",
)


def subwords(seed: int, size: int) -> bytes:
    """A SentencePiece model with the special pieces and the normalisation of OPUS-MT's."""
    draw, model = random.Random(seed), io.BytesIO()  # noqa: S311
    lines = [" ".join(draw.choice(_DRAW) for _ in range(draw.randint(2, 9))) for _ in range(300)]
    SentencePieceTrainer.train(
        sentence_iterator=iter([*lines, *SENTENCES[:3]]), model_writer=model, vocab_size=size, hard_vocab_limit=False,
        model_type="unigram", character_coverage=1.0, minloglevel=2, num_threads=1,
    )  # fmt: skip
    return model.getvalue()


def pieces(model: bytes) -> list[str]:
    """The pieces of a SentencePiece model, without its special ones."""
    processor = SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(n) for n in range(processor.get_piece_size()) if not processor.is_control(n)][1:]


def vocabulary(*models: bytes, shuffled: bool = True) -> dict[str, int]:
    """OPUS-MT's table of ids: the end, the unknown, all pieces in no order, and the padding token last."""
    found = sorted({piece for model in models for piece in pieces(model)})
    if shuffled:
        random.Random(3).shuffle(found)  # noqa: S311
    return {piece: n for n, piece in enumerate(["</s>", "<unk>", *found, "<pad>"])}


def opus_folder(folder: Path, *, separate: bool = False, bans: bool = False, seed: int = 0, **changes: Any) -> Any:
    """Writes a MarianMTModel with random weights, as `transformers` saves it, and gives the model."""
    import transformers

    source, target = subwords(1, 60), subwords(2, 70)
    ids = vocabulary(source) if separate else vocabulary(source, target)
    of_target = vocabulary(target) if separate else ids
    padding = len(of_target) - 1
    table: dict[str, Any] = {
        "vocab_size": len(ids), "decoder_vocab_size": len(of_target), "d_model": 16, "encoder_layers": 2,
        "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 24,
        "decoder_ffn_dim": 24, "activation_function": "swish", "scale_embedding": True, "pad_token_id": padding,
        "decoder_start_token_id": padding, "eos_token_id": 0, "forced_eos_token_id": 0, "max_position_embeddings": 64,
        "share_encoder_decoder_embeddings": not separate, "init_std": 0.3,
    }  # fmt: skip
    logits_bias, zero_start = changes.pop("logits_bias", True), changes.pop("zero_start", True)
    torch.manual_seed(seed)
    model = transformers.MarianMTModel(transformers.MarianConfig(**(table | changes))).eval()
    if bans:
        model.generation_config.bad_words_ids = [[padding]]
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("bias") and "final" not in name:
                parameter.normal_(std=0.3)
        if logits_bias:
            model.final_logits_bias.normal_()
        decoder = model.get_decoder().embed_tokens.weight
        decoder[padding] = torch.zeros(decoder.size(1)) if zero_start else torch.randn(decoder.size(1))
    folder.mkdir(parents=True)
    model.save_pretrained(folder)
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    (folder / "vocab.json").write_text(json.dumps(ids))
    named = {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"}
    if separate:
        (folder / "target_vocab.json").write_text(json.dumps(of_target))
        named["separate_vocabs"] = True  # type: ignore[assignment]
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return model


def marian_arrays(model: Transformer) -> dict[str, np.ndarray[Any, Any]]:
    """A model with attention's biases under the names of Marian's files, without the last token of its vocabulary."""
    pre = "_pre" if model.settings.norm == "pre" else ""
    arrays: dict[str, torch.Tensor] = {}

    def linear(name: str, suffix: str, layer: torch.nn.Linear) -> None:
        arrays[f"{name}_W{suffix}"], arrays[f"{name}_b{suffix}"] = layer.weight.T, layer.bias[None]

    def norm(name: str, layer: Any, ending: str) -> None:
        arrays[f"{name}_ln_scale{ending}"], arrays[f"{name}_ln_bias{ending}"] = layer.weight[None], layer.bias[None]

    for stack, layers in (("encoder", model.encoder.layers), ("decoder", model.decoder.layers)):
        for number, layer in enumerate(layers, start=1):
            prefix = f"{stack}_l{number}"
            for theirs, ours in (("self", "self_attention"), ("context", "source_attention")):
                if not hasattr(layer, ours):
                    continue
                attention = getattr(layer, ours)
                for suffix, part in zip("qkvo", ("query", "key", "value", "output"), strict=True):
                    linear(f"{prefix}_{theirs}", suffix, getattr(attention, part))
                norm(f"{prefix}_{theirs}_Wo", getattr(layer, f"{ours}_residual").norm, pre)
            linear(f"{prefix}_ffn", "1", layer.feed_forward.inner)
            linear(f"{prefix}_ffn", "2", layer.feed_forward.outer)
            norm(f"{prefix}_ffn_ffn", layer.feed_forward_residual.norm, pre)
    if pre:
        norm("encoder_top", model.encoder.norm, "")
        norm("decoder_top", model.decoder.norm, "")
    arrays |= _marian_embeddings(model)
    return {name: array.detach().float().numpy() for name, array in arrays.items()}


def _marian_embeddings(model: Transformer) -> dict[str, torch.Tensor]:
    assert model.output_bias is not None
    arrays = {"decoder_ff_logit_out_b": model.output_bias[:-1][None]}
    if model.settings.tied_embeddings == "all":
        return {**arrays, "Wemb": model.source_embedding.weight[:-1]}
    arrays["encoder_Wemb"], arrays["decoder_Wemb"] = (
        embedding.weight[:-1] for embedding in (model.source_embedding, model.target_embedding)
    )
    if model.settings.tied_embeddings == "none":
        arrays["decoder_ff_logit_out_W"] = model.output_embedding.weight[:-1].T
    return arrays


def marian_folder(folder: Path, *, activation: str = "swish", **settings: Any) -> Transformer:
    """Writes a folder of Marian with known weights, and gives the model that has them."""
    from small import transformer

    source, target = subwords(1, 60), subwords(2, 70)
    separate = settings.get("tied_embeddings", "all") != "all"
    tables = [vocabulary(source), vocabulary(target)] if separate else [vocabulary(source, target)] * 2
    model = transformer(
        dtype=torch.float32, positions="halves", attention_bias=True, output_bias=True,
        source_vocabulary=len(tables[0]), target_vocabulary=len(tables[1]),
        activation=activation if activation == "relu" else "swish", **settings,
    )  # fmt: skip
    pre = model.settings.norm == "pre"
    options = {
        "type": "transformer", "dim-emb": model.settings.d_model, "enc-depth": model.settings.encoder_layers,
        "dec-depth": model.settings.decoder_layers, "transformer-heads": model.settings.heads,
        "transformer-dim-ffn": model.settings.d_ff, "transformer-ffn-activation": activation,
        "transformer-ffn-depth": 2, "transformer-preprocess": "n" if pre else "",
        "transformer-postprocess": "da" if pre else "dan", "transformer-postprocess-top": "n" if pre else "",
        "transformer-postprocess-emb": "d", "transformer-no-projection": False, "tied-embeddings-all": not separate,
        "transformer-decoder-autoreg": "self-attention", "transformer-guided-alignment-layer": "last",
        "dim-vocabs": [len(table) - 1 for table in tables], "transformer-tied-layers": [],
    }  # fmt: skip
    folder.mkdir(parents=True)
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in options.items())
    special = np.frombuffer(text.encode() + b"\0", dtype=np.int8)
    np.savez(folder / "opus.npz", **{"special:model.yml": special}, **marian_arrays(model))
    for name, table in zip(("source.yml", "target.yml"), tables, strict=True):
        lines = [f"{json.dumps(piece, ensure_ascii=False)}: {token}\n" for piece, token in table.items()]
        (folder / name).write_text("".join(lines[:-1]), encoding="utf-8")
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels:\n- opus.npz\nvocabs:\n- source.yml\n- target.yml\n"
    )
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    return model
