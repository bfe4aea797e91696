"""ONNX graphs, run by onnxruntime, against our own model."""

from __future__ import annotations

import random
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.models.parts.observation import watch
from regard.models.protocols import AttentionName
from regard.models.transformer import Transformer
from small import BEGIN, END, Pair, padded, transformer

onnx = pytest.importorskip("onnx", reason="onnx is not installed: pip install 'regard[onnx]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'regard[onnx]'")

from regard.exchange.onnx import checks, forms, products  # noqa: E402
from regard.exchange.onnx.graph import FLOAT, Graph  # noqa: E402
from regard.exchange.onnx.runtime import Files, Source  # noqa: E402

VARIANTS: list[dict[str, Any]] = [
    {},
    {"norm": "pre"},
    {"activation": "gelu", "output_bias": True},
    {"activation": "swish", "attention_bias": True, "norm": "pre"},
    {"positions": "halves", "start": "token"},
    {"positions": "learned", "learned_positions": 40},
    {"positions": "rotary", "norm": "pre"},
    {"positions": "rotary", "d_k": 6, "d_v": 3, "rotary_base": 100.0, "attention_bias": True},
    {"tied_embeddings": "none", "start": "token", "target_vocabulary": 31},
    {"tied_embeddings": "target-output", "attention_bias": True, "output_bias": True, "target_vocabulary": 17},
    {"tied_embeddings": "source-target"},
    {"encoder_layers": 1, "decoder_layers": 3, "heads": 1},
    {"d_k": 2, "d_v": 8, "attention_bias": True},
]


def written(
    model: Transformer, folder: Path, *, kind: products.Products | None = None, attentions: bool = True
) -> Path:
    """The four files of a model, each checked."""
    folder.mkdir(exist_ok=True)
    for name, made in forms.all_files(model, kind or products.Float32(), attentions=attentions):
        checks.check(made, name, model.settings, attentions=attentions)
        onnx.save(made, folder / f"{name}.onnx")
    return folder


def some_pairs(model: Transformer, count: int = 12) -> list[Pair]:
    draw = random.Random(3)  # noqa: S311
    source, target = (min(23, size) for size in (model.settings.source_vocabulary, model.settings.target_vocabulary))
    return [
        ([draw.randrange(2, source) for _ in range(n % 9 + 1)], [draw.randrange(2, target) for _ in range(n % 7)])
        for n in range(count)
    ]


def in_steps(files: Files, tokens: Any, source: Source, lengths: list[int]) -> tuple[Any, dict[str, Any]]:
    """[B, T, V] the logits of all tokens, given so many at a time, and the outputs of the last call."""
    past, logits, first, outputs = None, [], 0, {}
    for length in lengths:
        outputs = files.decode(tokens[:, first : first + length], source, past)
        past = {name: value for name, value in outputs.items() if name.startswith("past_key_values.")}
        logits.append(outputs["logits"])
        first += length
    return np.concatenate(logits, 1), outputs


@pytest.mark.parametrize("settings", VARIANTS, ids=str)
def test_every_setting_gives_the_same_logits_with_and_without_a_past(settings: dict[str, Any], tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32, **settings)
    pairs = some_pairs(model)
    batch = padded(pairs)
    with torch.no_grad():
        expected = model(batch).numpy()
    target = batch.streams["target"]
    tokens, real = target.tokens.numpy(), (target.segments != 0).numpy()
    folder = written(model, tmp_path)
    for merged in (True, False):
        files = Files(folder, merged=merged)
        source = files.encode([[*source, END] for source, _ in pairs], padding=BEGIN)
        for lengths in ([7], [1] * 7, [3, 1, 2, 1]):
            found, _ = in_steps(files, tokens, source, lengths)
            np.testing.assert_allclose(found[real], expected[real], atol=1e-5, rtol=1e-4)


def test_greedy_search_finds_what_ours_finds_alone_and_in_a_batch(tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32, positions="rotary", norm="pre")
    sources = [[*source, END] for source, _ in some_pairs(model)]
    files = Files(written(model, tmp_path))
    together = files.greedy(sources, begin=BEGIN, end=END, limits=[12] * len(sources))
    alone = [files.greedy([source], begin=BEGIN, end=END, limits=[12])[0] for source in sources]
    assert together == alone
    for source, found in zip(sources, together, strict=True):
        batch = padded([(source[:-1], found)])
        with torch.no_grad():
            best = model(batch)[0].argmax(-1).tolist()
        assert best[: len(found)] == found
        assert len(found) == 12 or best[len(found)] == END


def test_a_past_is_ignored_unless_it_is_to_be_used(tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32)
    files = Files(written(model, tmp_path))
    source = files.encode([[5, 6, END], [7, END]], padding=BEGIN)
    tokens = np.array([[0, 4], [0, 9]])
    plain = files.decode(tokens, source, None)
    given = {"input_ids": tokens, "encoder_attention_mask": source.mask, "encoder_hidden_states": source.states}
    given["use_cache_branch"] = np.array([False])
    for one in files.first.get_inputs():
        if one.name.startswith("past_key_values."):  # one sentence, one position: as older programs fill them in
            given[one.name] = np.full([1, one.shape[1], 1, one.shape[3]], 9.0, np.float32)
    (found,) = files.first.run(["logits"], given)
    np.testing.assert_array_equal(found, plain["logits"])


def test_the_weights_of_attention_are_those_of_our_model(tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32, positions="rotary", decoder_layers=3)
    source, target = [5, 6, 7, 8], [9, 10, 11]
    batch = padded([(source, target)])
    with torch.no_grad(), watch(model) as seen:
        model(batch)
    files = Files(written(model, tmp_path))
    encoded = files.encode([[*source, END]], padding=BEGIN)
    outputs = files.decode(batch.streams["target"].tokens.numpy(), encoded, None)
    given = {"input_ids": np.array([[*source, END]]), "attention_mask": encoded.mask}
    names = [one.name for one in files.encoder.get_outputs()]
    outputs |= dict(zip(names, files.encoder.run(names, given), strict=True))
    kinds = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "decoder-source": "cross_attentions"}
    for kind, name in kinds.items():
        for layer in range(model.settings.encoder_layers if kind == "encoder" else model.settings.decoder_layers):
            expected = seen[AttentionName(kind, layer)][0].weights.numpy()
            np.testing.assert_allclose(outputs[f"{name}.{layer}"], expected, atol=1e-6)
    _, last = in_steps(files, batch.streams["target"].tokens.numpy(), encoded, [1] * 4)
    np.testing.assert_allclose(last["cross_attentions.2"], outputs["cross_attentions.2"][:, :, -1:], atol=1e-6)


def test_a_source_beyond_the_last_learned_position_is_an_error_and_a_decoder_stays_there(tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32, positions="learned", learned_positions=5)
    files = Files(written(model, tmp_path))
    with pytest.raises(Exception, match="out of data bounds"):
        files.encode([[4] * 6], padding=BEGIN)
    tokens = np.array([[0, 3, 4, 5, 6, 7, 8]])
    found, _ = in_steps(files, tokens, files.encode([[4, END]], padding=BEGIN), [1] * 7)
    state = model.start(model.encode(padded([([4], [])]).streams["source"]))
    for place in range(7):
        logits, state = model.step(torch.from_numpy(tokens[0, place : place + 1]), state)
        np.testing.assert_allclose(found[0, place], logits[0].numpy(), atol=1e-5)


def test_names_and_axes_are_those_that_optimum_and_transformers_js_expect() -> None:
    model = transformer(dtype=torch.float32, decoder_layers=1)
    made = dict(forms.all_files(model, products.Float32(), attentions=False))
    inputs = {name: [one.name for one in file.graph.input] for name, file in made.items()}
    outputs = {name: [one.name for one in file.graph.output] for name, file in made.items()}
    past = [f"past_key_values.0.{side}.{part}" for side in ("decoder", "encoder") for part in ("key", "value")]
    present = [name.replace("past_key_values", "present") for name in past]
    first = ["encoder_attention_mask", "input_ids", "encoder_hidden_states"]
    assert inputs == {
        "encoder_model": ["input_ids", "attention_mask"],
        "decoder_model": first,
        "decoder_with_past_model": [*first[:2], *past],
        "decoder_model_merged": [*first, *past, "use_cache_branch"],
    }
    assert outputs == {
        "encoder_model": ["last_hidden_state"],
        "decoder_model": ["logits", *present],
        "decoder_with_past_model": ["logits", *present[:2]],
        "decoder_model_merged": ["logits", *present],
    }
    merged = checks.declared(made["decoder_model_merged"].graph.input)
    assert merged["past_key_values.0.decoder.key"] == ("batch_size", 4, "past_decoder_sequence_length", 4)
    assert merged["past_key_values.0.encoder.value"] == ("batch_size", 4, "encoder_sequence_length", 4)


@pytest.mark.parametrize("kind", [products.Float32(), products.Int8()], ids=lambda kind: kind.name)
def test_no_weight_is_stored_twice_though_embeddings_are_tied_and_the_merged_decoder_has_branches(
    kind: products.Products,
) -> None:
    model = transformer(dtype=torch.float32, d_model=64, d_ff=128)
    made = dict(forms.all_files(model, kind, attentions=False))
    embedding = model.source_embedding.weight.numel()
    for name, stack in (("encoder_model", model.encoder), ("decoder_model_merged", model.decoder)):
        graph = made[f"{name}{kind.suffix}"].graph
        matrices = sum(parameter.numel() for parameter in stack.parameters() if parameter.dim() == 2)
        assert sum(prod(one.dims) for one in graph.initializer if len(one.dims) > 1) == matrices + embedding
        branches = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        assert not any(branch.initializer for branch in branches)


def test_products_in_int8_are_exact_for_the_largest_numbers() -> None:
    """With signed weights, processors without VNNI instructions lose what does not fit into 16 bits."""
    weight = np.full((3, 64), 127.0, np.float32)
    weight[1], weight[2, ::2] = -127.0, -1.0
    x = np.full((1, 2, 64), 255.0, np.float32)
    graph = Graph()
    graph.output("y", products.Int8().linear(graph, graph.input("x", FLOAT, (1, 2, 64)), "w", weight, None), FLOAT, ())
    graph._outputs[0].type.tensor_type.ClearField("shape")
    made = graph.model("product", producer="test", version="0", metadata={})
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weight.T, rtol=1e-6)


def test_int8_changes_logits_little(tmp_path: Path) -> None:
    model = transformer(dtype=torch.float32, d_model=64, d_ff=128, output_bias=True, attention_bias=True)
    pairs = some_pairs(model)
    batch = padded(pairs)
    with torch.no_grad():
        expected = model(batch).numpy()
    files = Files(written(model, tmp_path, kind=products.Int8()), suffix="_quantized")
    source = files.encode([[*source, END] for source, _ in pairs], padding=BEGIN)
    target = batch.streams["target"]
    found, _ = in_steps(files, target.tokens.numpy(), source, [1] * 7)
    real = (target.segments != 0).numpy()
    assert 0 < np.abs(found - expected)[real].mean() < 0.02 * expected[real].std()


@pytest.mark.parametrize(
    "change",
    [
        lambda made: setattr(made.graph.input[0].type.tensor_type.shape.dim[0], "dim_value", 1),
        lambda made: setattr(made.graph.output[0], "name", "scores"),
        lambda made: setattr(made.opset_import[0], "version", 18),
    ],
    ids=["a fixed axis", "another name", "another opset"],
)
def test_a_graph_that_is_not_as_declared_does_not_pass(change: Any) -> None:
    model = transformer(dtype=torch.float32)
    made = forms.encoder(model, products.Float32(), attentions=False)
    checks.check(made, "encoder_model", model.settings, attentions=False)
    change(made)
    with pytest.raises(AssertionError):
        checks.check(made, "encoder_model", model.settings, attentions=False)
