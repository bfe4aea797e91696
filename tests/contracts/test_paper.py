"""The paper's own figures, line by line: sections 3 and 5, and Table 3."""

import math
from typing import Any

import pytest
import torch
from torch import nn

from regard import models, presets
from regard.models.fast import fast_form
from regard.models.transformer import (
    ARCHITECTURE,
    LearnedPositions,
    Residual,
    Sinusoids,
    Transformer,
    TransformerSettings,
    attention,
)
from regard.training.training_settings import TrainingSettings
from small import padded, sight, transformer

VOCABULARY = 37_000

# name, N, d_model, d_ff, h, d_k, d_v, dropout, smoothing, steps, the paper's parameters in millions
TABLE_3 = """
base                        6  512  2048   8   64   64  0.1  0.1  100000   65
table3-a-heads-1            6  512  2048   1  512  512  0.1  0.1  100000    -
table3-a-heads-4            6  512  2048   4  128  128  0.1  0.1  100000    -
table3-a-heads-16           6  512  2048  16   32   32  0.1  0.1  100000    -
table3-a-heads-32           6  512  2048  32   16   16  0.1  0.1  100000    -
table3-b-key-16             6  512  2048   8   16   64  0.1  0.1  100000   58
table3-b-key-32             6  512  2048   8   32   64  0.1  0.1  100000   60
table3-c-layers-2           2  512  2048   8   64   64  0.1  0.1  100000   36
table3-c-layers-4           4  512  2048   8   64   64  0.1  0.1  100000   50
table3-c-layers-8           8  512  2048   8   64   64  0.1  0.1  100000   80
table3-c-width-256          6  256  2048   8   32   32  0.1  0.1  100000   28
table3-c-width-1024         6 1024  2048   8  128  128  0.1  0.1  100000  168
table3-c-inner-1024         6  512  1024   8   64   64  0.1  0.1  100000   53
table3-c-inner-4096         6  512  4096   8   64   64  0.1  0.1  100000   90
table3-d-dropout-0.0        6  512  2048   8   64   64  0.0  0.1  100000    -
table3-d-dropout-0.2        6  512  2048   8   64   64  0.2  0.1  100000    -
table3-d-smoothing-0.0      6  512  2048   8   64   64  0.1  0.0  100000    -
table3-d-smoothing-0.2      6  512  2048   8   64   64  0.1  0.2  100000    -
table3-e-learned-positions  6  512  2048   8   64   64  0.1  0.1  100000    -
big                         6 1024  4096  16   64   64  0.3  0.1  300000  213
"""
ROWS = {line.split()[0]: line.split()[1:] for line in TABLE_3.strip().splitlines()}


def settings_of(name: str) -> TransformerSettings:
    table = presets.load(name).model | {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    settings = models.read_settings(table, where=name)
    assert isinstance(settings, TransformerSettings)
    return settings


def parameters_by_hand(s: TransformerSettings) -> int:
    """Counted from the formulas of section 3: matrices W^Q, W^K, W^V, W^O; W1, b1, W2, b2; two vectors a norm."""
    one_attention = s.d_model * s.heads * (2 * s.d_k + 2 * s.d_v)
    feed_forward = 2 * s.d_model * s.d_ff + s.d_ff + s.d_model
    norm = 2 * s.d_model
    encoder = s.encoder_layers * (one_attention + feed_forward + 2 * norm)
    decoder = s.decoder_layers * (2 * one_attention + feed_forward + 3 * norm)
    positions = 2 * s.learned_positions * s.d_model if s.positions == "learned" else 0
    return s.source_vocabulary * s.d_model + encoder + decoder + positions


@pytest.mark.parametrize("name", ROWS)
def test_each_row_of_table_3_is_a_preset(name: str) -> None:
    layers, d_model, d_ff, heads, d_k, d_v, dropout, smoothing, steps, millions = ROWS[name]
    settings = settings_of(name)
    assert (settings.encoder_layers, settings.decoder_layers) == (int(layers), int(layers))
    assert (settings.d_model, settings.d_ff, settings.heads) == (int(d_model), int(d_ff), int(heads))
    assert (settings.d_k, settings.d_v, settings.dropout) == (int(d_k), int(d_v), float(dropout))
    assert settings.positions == ("learned" if name.endswith("learned-positions") else "interleaved")
    training = TrainingSettings.read(presets.load(name).training, where=name)
    assert (training.label_smoothing, training.steps) == (float(smoothing), int(steps))
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in Transformer(settings).parameters())
    assert count == parameters_by_hand(settings)
    if millions != "-":
        assert count == pytest.approx(int(millions) * 1e6, rel=0.07)


def test_every_preset_that_is_there_holds_valid_settings() -> None:
    others = {name for name in presets.names() if presets.load(name).model["architecture"] != "transformer"}
    others |= {"transcription"}  # its source is no text
    assert set(ROWS) | {"tiny", "small", "adapt"} == set(presets.names()) - others
    for name in set(presets.names()) - others:
        assert settings_of(name).norm == "post"
        assert TrainingSettings.read(presets.load(name).training, where=name).adam_beta2 == 0.98


def test_the_defaults_are_the_base_preset() -> None:
    defaults = TransformerSettings(source_vocabulary=VOCABULARY, target_vocabulary=VOCABULARY)  # type: ignore[call-arg]
    assert settings_of("base") == defaults
    assert TrainingSettings.read(presets.load("base").training, where="base") == TrainingSettings()


def test_section_5_holds_for_base_and_big() -> None:
    for name, averaged in (("base", 5), ("big", 20)):
        training = TrainingSettings.read(presets.load(name).training, where=name)
        assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.98, 1e-9)
        assert (training.warmup, training.batch_tokens, training.averaged_checkpoints) == (4000, 25_000, averaged)


def test_tiny_is_the_size_with_which_a_score_was_published() -> None:
    tiny = settings_of("tiny")
    assert (tiny.encoder_layers, tiny.decoder_layers, tiny.d_model, tiny.d_ff, tiny.heads) == (4, 4, 128, 256, 4)
    assert (tiny.dropout, tiny.tied_embeddings) == (0.3, "all")


def test_section_3_1_around_each_sub_layer_is_a_residual_and_then_a_norm() -> None:
    residual = Residual(transformer().settings).double().eval()
    x = torch.randn(1, 3, 16, dtype=torch.float64)
    torch.testing.assert_close(residual(x, torch.sin), nn.functional.layer_norm(x + x.sin(), (16,)))
    assert isinstance(transformer().encoder.norm, nn.Identity)
    assert isinstance(transformer().decoder.norm, nn.Identity)
    assert isinstance(transformer(norm="pre").decoder.norm, nn.LayerNorm)


def test_section_3_2_attention_is_a_softmax_over_scaled_products_with_minus_infinity_where_masked() -> None:
    query, key, value = (torch.randn(1, 1, 3, 5, dtype=torch.float64) for _ in range(3))
    allowed = torch.tensor([[True, False, False], [True, True, False], [True, True, True]])
    scores = query @ key.transpose(-1, -2) / math.sqrt(5)
    scores[..., ~allowed] = -math.inf
    torch.testing.assert_close(attention(query, key, value, allowed), scores.softmax(-1) @ value)


def test_section_3_2_3_who_may_look_where() -> None:
    queries, keys = torch.tensor([[1, 1, 2, 0]]), torch.tensor([[1, 2, 2]])
    assert sight(queries, keys).allowed()[0, 0].tolist() == [
        [True, False, False],
        [True, False, False],
        [False, True, True],
        [True, True, True],
    ]
    assert sight(keys, keys, backwards=True).allowed()[0, 0].tolist() == [
        [True, False, False],
        [False, True, False],
        [False, True, True],
    ]


def test_section_3_3_the_feed_forward_network_is_two_maps_with_a_relu_between() -> None:
    network = transformer().encoder.layers[0].feed_forward
    x = torch.randn(1, 3, 16, dtype=torch.float64)
    inner = (x @ network.inner.weight.T + network.inner.bias).clamp(min=0)
    torch.testing.assert_close(network(x), inner @ network.outer.weight.T + network.outer.bias)


def test_section_3_4_one_matrix_serves_source_target_and_output_scaled_at_the_bottom() -> None:
    model = transformer()
    assert model.source_embedding.weight is model.target_embedding.weight is model.output_embedding.weight
    torch.testing.assert_close(model.source_embedding(torch.tensor([7])), model.source_embedding.weight[7:8] * 4)
    x = torch.randn(2, 16, dtype=torch.float64)
    torch.testing.assert_close(model.logits(x), x @ model.source_embedding.weight.T)
    assert ARCHITECTURE.output_weight(model) is model.source_embedding.weight
    assert ARCHITECTURE.output_weight(transformer(output_bias=True)) is None


def test_section_3_5_positions_are_interleaved_sinusoids_from_zero_for_any_length() -> None:
    nothing, positions = torch.zeros(1, 10_001, 8, dtype=torch.float64), torch.arange(10_001)[None]
    table = Sinusoids(8, interleaved=True)(nothing, positions)[0]
    assert table[0].tolist() == [0.0, 1.0] * 4
    for position in (1, 511, 513, 10_000):
        for i in range(4):
            angle = position / 10000 ** (2 * i / 8)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)
    halves = Sinusoids(8, interleaved=False)(nothing, positions)[0]
    assert torch.equal(halves, torch.cat([table[:, 0::2], table[:, 1::2]], dim=1))
    assert isinstance(transformer(positions="learned").source_positions, LearnedPositions)


@pytest.mark.parametrize("without_padding", [True, False])
def test_section_5_4_dropout_is_on_each_sub_layer_and_on_both_embeddings_and_nowhere_else(
    without_padding: bool,
) -> None:
    """Counts what goes through dropout, and compares it with the outputs of the sub-layers."""
    plain, batch = transformer(dropout=0.5).train(), padded([([5, 6], [7])])
    model = fast_form(plain, "training") if without_padding else plain
    dropped: list[torch.Tensor] = []
    given: list[torch.Tensor] = []

    def note(_: nn.Module, inputs: Any, __: Any) -> None:
        dropped.append(inputs[0])

    dropouts = [module for module in model.modules() if isinstance(module, nn.Dropout)]
    for module in dropouts:
        assert module.p == 0.5
        module.register_forward_hook(note)
    for name, module in model.named_modules():
        if name.endswith(("attention", "feed_forward")):
            module.register_forward_hook(lambda _, __, output: given.append(output))
    model(batch)
    assert len(given) == 2 * 2 + 2 * 3
    assert len(dropped) == len(given) + 2
    assert {id(tensor) for tensor in given} <= {id(tensor) for tensor in dropped}
    for module in dropouts:
        module.p = 0.0
    torch.testing.assert_close(model(batch), plain.eval()(batch))  # nothing but these modules drops anything


def test_the_decoder_starts_from_zero_or_from_a_learned_token() -> None:
    for start, depends in (("zero", False), ("token", True)):
        model = transformer(start=start)
        batch = padded([([5, 6], [7])])
        target = batch.streams["target"]._replace(tokens=torch.tensor([[9, 7]]))
        other = batch._replace(streams=batch.streams | {"target": target})
        assert torch.equal(model(batch), model(other)) is not depends


def test_weights_start_with_the_variances_that_their_docstrings_promise() -> None:
    torch.manual_seed(0)
    model = Transformer(settings_of("table3-c-layers-2"))
    assert model.source_embedding.weight.std().item() == pytest.approx(512**-0.5, rel=0.01)
    assert model.encoder.layers[0].self_attention.query.weight.std().item() == pytest.approx(512**-0.5, rel=0.02)
    inner = model.encoder.layers[0].feed_forward.inner
    assert inner.weight.std().item() == pytest.approx((2 / (512 + 2048)) ** 0.5, rel=0.02)
    assert not inner.bias.any()
