"""GPT-2 and BERT of `transformers`, with random weights copied from them: the same logits, within rounding."""

from typing import Any

import pytest
import torch
from torch import Tensor

from regard import models
from regard.batches.rows import rows_of
from regard.models.decoder_only import DecoderOnly
from regard.models.fast import in_place
from regard.tasks import language, masked

transformers = pytest.importorskip("transformers")

CLOSE = pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-9)])


def gpt2() -> Any:
    torch.manual_seed(3)
    config = transformers.GPT2Config(
        vocab_size=31, n_positions=24, n_embd=16, n_layer=3, n_head=4, attn_implementation="eager", bos_token_id=0,
        eos_token_id=1,
    )  # fmt: skip
    return _shaken(transformers.GPT2LMHeadModel(config).eval())


def bert() -> Any:
    torch.manual_seed(4)
    config = transformers.BertConfig(
        vocab_size=31, max_position_embeddings=24, hidden_size=16, num_hidden_layers=3, num_attention_heads=4,
        intermediate_size=40, attn_implementation="eager",
    )  # fmt: skip
    return _shaken(transformers.BertForMaskedLM(config).eval())


def _shaken(model: Any) -> Any:
    """Every bias and norm is random, so that a forgotten one shows."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) / 4)
    return model


def regards_gpt2(theirs: Any) -> Any:
    """Our model with the weights of GPT-2, whose matrices are transposed and hold queries, keys and values together."""
    table = {
        "architecture": "decoder_only", "vocabulary": 31, "layers": 3, "d_model": 16, "d_ff": 64, "heads": 4,
        "norm": "pre", "activation": "gelu-tanh", "positions": "learned", "learned_positions": 24,
        "scaled_embeddings": False, "attention_bias": True,
    }  # fmt: skip
    ours = models.build("decoder_only", models.read_settings(table, where="a test"))
    names = {"embedding.weight": "wte.weight", "below.positions.weight": "wpe.weight",
             "stack.norm.weight": "ln_f.weight", "stack.norm.bias": "ln_f.bias"}  # fmt: skip
    state, found = theirs.transformer.state_dict(), {}
    for ours_name, name in names.items():
        found[ours_name] = state[name]
    for layer in range(3):
        for part in ("weight", "bias"):
            joined = state[f"h.{layer}.attn.c_attn.{part}"].chunk(3, -1)
            pieces = {"query": joined[0], "key": joined[1], "value": joined[2],
                      "output": state[f"h.{layer}.attn.c_proj.{part}"]}  # fmt: skip
            for name, tensor in pieces.items():
                found[f"stack.layers.{layer}.self_attention.{name}.{part}"] = tensor.t()
            for ours_name, name in {"inner": "c_fc", "outer": "c_proj"}.items():
                found[f"stack.layers.{layer}.feed_forward.{ours_name}.{part}"] = state[
                    f"h.{layer}.mlp.{name}.{part}"
                ].t()
            for ours_name, name in {"self_attention": "ln_1", "feed_forward": "ln_2"}.items():
                found[f"stack.layers.{layer}.{ours_name}_residual.norm.{part}"] = state[f"h.{layer}.{name}.{part}"]
    return _filled(ours, found)


def regards_bert(theirs: Any) -> Any:
    """Our model with the weights of BERT."""
    table = {
        "architecture": "encoder_only", "vocabulary": 31, "layers": 3, "d_model": 16, "d_ff": 40, "heads": 4,
        "activation": "gelu", "positions": "learned", "learned_positions": 24, "scaled_embeddings": False,
        "attention_bias": True, "output_bias": True, "embedding_norm": True, "segment_kinds": 2,
        "norm_epsilon": 1e-12,
    }  # fmt: skip
    ours = models.build("encoder_only", models.read_settings(table, where="a test"))
    names = {
        "embedding.weight": "bert.embeddings.word_embeddings.weight",
        "below.positions.weight": "bert.embeddings.position_embeddings.weight",
        "below.segments": "bert.embeddings.token_type_embeddings.weight",
        "output_bias": "cls.predictions.bias",
    }
    pieces = {"below.norm": "bert.embeddings.LayerNorm", "transform.0": "cls.predictions.transform.dense",
              "transform.2": "cls.predictions.transform.LayerNorm"}  # fmt: skip
    for layer in range(3):
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
    names |= {f"{own}.{part}": f"{other}.{part}" for own, other in pieces.items() for part in ("weight", "bias")}
    state = theirs.state_dict()
    return _filled(ours, {own: state[other] for own, other in names.items()})


def _filled(ours: Any, found: dict[str, Tensor]) -> Any:
    own = models.tensors(ours)
    assert own.keys() == found.keys()
    with torch.no_grad():
        for name, tensor in own.items():
            tensor.copy_(found[name])
    return ours.eval()


TEXTS = [[5, 6, 7, 8, 9], [10, 11, 12], [13, 14, 15, 16, 17, 18, 19, 3, 2]]


@CLOSE
def test_a_decoder_with_the_weights_of_gpt2_gives_its_logits(dtype: torch.dtype, tolerance: float) -> None:
    theirs = gpt2().to(dtype)
    ours = regards_gpt2(theirs).to(dtype)
    batch = language.batch({"text": rows_of([TEXTS[:2], TEXTS[2:]])}, begin=0, tokens=0)
    found = ours(batch)
    for row, number, text in ((0, 1, TEXTS[0]), (0, 2, TEXTS[1]), (1, 1, TEXTS[2])):
        expected = theirs(torch.tensor([text])).logits[0]
        own = found[row][batch.streams["text"].segments[row] == number]
        torch.testing.assert_close(own, expected, rtol=tolerance, atol=tolerance)


@CLOSE
def test_an_encoder_with_the_weights_of_bert_gives_its_logits(dtype: torch.dtype, tolerance: float) -> None:
    theirs = bert().to(dtype)
    ours = regards_bert(theirs).to(dtype)
    rows = rows_of([TEXTS[:2], TEXTS[2:]])
    found = ours(masked.batch_of(rows))
    for row, number, text in ((0, 1, TEXTS[0]), (0, 2, TEXTS[1]), (1, 1, TEXTS[2])):
        expected = theirs(torch.tensor([text])).logits[0]
        torch.testing.assert_close(found[row][rows.segments[row] == number], expected, rtol=tolerance, atol=tolerance)


def test_steps_in_place_give_the_logits_of_steps_in_a_growing_cache() -> None:
    torch.manual_seed(6)
    table = {"architecture": "decoder_only", "vocabulary": 31, "layers": 2, "d_model": 16, "d_ff": 24, "heads": 4,
             "norm": "pre", "positions": "learned", "learned_positions": 48}  # fmt: skip
    model = models.build("decoder_only", models.read_settings(table, where="a test")).double().eval()
    begun = model.encode(rows_of([[text] for text in TEXTS]))
    growing, fixed = model.start(begun, width=2), in_place(model.start(begun, width=2), tokens=12)
    for place in range(12):
        tokens = torch.randint(31, (6,)) if place else torch.zeros(6, dtype=torch.long)
        expected, growing = model.step(tokens, growing)
        found, fixed = model.step(tokens, fixed)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("positions", ["learned", "rotary", "interleaved"])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_steps_from_a_beginning_give_the_logits_of_the_whole_text(positions: str, norm: str) -> None:
    torch.manual_seed(5)
    table = {"architecture": "decoder_only", "vocabulary": 31, "layers": 2, "d_model": 16, "d_ff": 24, "heads": 4,
             "norm": norm, "positions": positions, "learned_positions": 24}  # fmt: skip
    model = models.build("decoder_only", models.read_settings(table, where="a test")).double().eval()
    assert isinstance(model, DecoderOnly)
    state, width = model.start(model.encode(rows_of([[text] for text in TEXTS])), width=2), 2
    more = torch.tensor([[4, 5, 6, 7], [8, 9, 10, 11]])  # of each of the two continuations
    found = []
    for place in range(4):
        tokens = more[:, place - 1].repeat(3) if place else torch.zeros(6, dtype=torch.long)
        logits, state = model.step(tokens, state)
        found.append(logits.view(3, width, -1))
    for number, text in enumerate(TEXTS):
        for one in range(width):
            whole = rows_of([[[*text, *more[one, :3].tolist()]]])
            expected = model(language.batch({"text": whole}, begin=0, tokens=0))[0, len(text) - 1 :]
            own = torch.stack([step[number, one] for step in found])
            torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-9)
