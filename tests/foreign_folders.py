"""Folders of other programs for tests: random MarianMTModels in the layout of OPUS-MT, and files of Marian itself."""

import io
import json
import random
from pathlib import Path
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

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
