"""What benchmarks/training_gpu.py counts and compares: all but the time, which depends on the machine."""

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import kernels
from regard.batches.corpus import StoredCorpus
from regard.tasks.translation import batch_of


@pytest.fixture(scope="module")
def parts() -> Any:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        from training_parts import breakdown, corpora, ours, peers, products, scale, work
    finally:
        sys.path.pop(0)
    modules = breakdown, corpora, ours, peers, products, scale, work
    return {module.__name__.rpartition(".")[2]: module for module in modules}


@pytest.fixture(scope="module")
def corpus(parts: Any, tmp_path_factory: pytest.TempPathFactory) -> StoredCorpus:
    folder: Path = tmp_path_factory.mktemp("training") / "corpus"
    stored: StoredCorpus = parts["corpora"].stored(folder, parts["scale"].TINY._replace(pairs=3_000))
    return stored


def test_a_step_of_the_base_model_on_full_rows_is_9_3_teraflops(parts: Any) -> None:
    settings = parts["scale"].FULL.settings("base")
    lengths = np.full(192 * 128 // 28, 28)
    counted = parts["work"].operations(settings, lengths, lengths)
    assert sum(counted) / 1e12 == pytest.approx(9.3, abs=0.05)
    assert counted.output == 6 * 512 * 37_000 * lengths.sum()


def test_operations_are_those_that_pytorch_counts(parts: Any) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    from regard.models.transformer import Transformer

    settings = parts["scale"].TINY.settings("base", dropout=0.0)
    batch = batch_of([[(list(range(5, 12)), list(range(5, 14)))]], begin=0, end=1)
    counted = parts["work"].operations(settings, np.array([8]), np.array([10]))
    with FlopCounterMode(display=False) as seen:
        Transformer(settings).eval()(batch).sum().backward()  # training on a processor counts otherwise
    assert seen.get_total_flops() == pytest.approx(counted.output + counted.products + counted.attention, rel=0.02)


def test_the_products_alone_are_all_products_that_are_counted_but_those_of_attention(parts: Any) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    from regard.models.transformer import Transformer

    settings = parts["scale"].TINY.settings("base", dropout=0.0)
    batch = batch_of([[([5] * 31, [6] * 63)]], begin=0, end=1)  # and an end each: round numbers
    counted = parts["work"].operations(settings, np.array([32]), np.array([64]))
    step = parts["products"].step_of(Transformer(settings), iter([batch]), torch.float32)
    with FlopCounterMode(display=False) as seen:
        assert step() == 64
    assert seen.get_total_flops() == counted.output + counted.products


def test_the_made_up_sentences_have_the_lengths_of_wmt(parts: Any) -> None:
    source, target = parts["corpora"].lengths(np.random.default_rng(0), 100_000, 100)
    assert source.mean() == pytest.approx(28, abs=0.5)
    assert target.mean() == pytest.approx(28, abs=0.5)
    assert max(source.max(), target.max()) == 100
    assert np.corrcoef(source, target)[0, 1] > 0.9


def test_peers_get_every_token_of_their_sentences_once_and_batches_as_large_as_ours(
    parts: Any, corpus: StoredCorpus
) -> None:
    batches = parts["corpora"].padded(corpus, 2_048, most=10**6)
    assert sum(batch.tokens for batch in batches) >= 0.97 * corpus.streams["target"].lengths.sum()
    assert np.mean([batch.tokens for batch in batches]) == pytest.approx(2_048, rel=0.05)
    for batch in batches:
        real = batch.streams["target"].segments == 1
        assert batch.tokens == real.sum()
        assert (batch.labels[real] != 0).all()
        assert (batch.labels[~real] == 0).all()
        assert torch.equal(batch.streams["target"].tokens[:, 1:][real[:, 1:]], batch.labels[:, :-1][real[:, 1:]])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor", "ignore:Support for mismatched")  # what its tutorial does
def test_torch_transformer_computes_the_same_in_both_ways_of_calling_it(parts: Any, corpus: StoredCorpus) -> None:
    settings, peers = parts["scale"].TINY.settings("base"), parts["peers"]
    batch = parts["corpora"].padded(corpus, 512, most=1)[0]
    losses = []
    for make in (peers.TorchTransformer, peers.TutorialTransformer):
        torch.manual_seed(1)
        losses.append(peers.WithLoss(make(settings, 128)).eval()(batch))
    assert losses[0].item() == pytest.approx(losses[1].item(), abs=1e-5)


def test_a_learnable_corpus_replaces_each_id_by_another(parts: Any, tmp_path: Path) -> None:
    corpus = parts["corpora"].stored(tmp_path / "corpus", parts["scale"].TINY, learnable=True)
    replaced: dict[int, set[int]] = {}
    for number in range(100):
        for one, other in zip(
            corpus.streams["source"].sentence(number), corpus.streams["target"].sentence(number), strict=True
        ):
            replaced.setdefault(one, set()).add(other)
    assert all(len(others) == 1 for others in replaced.values())


@pytest.mark.parametrize(
    ("name", "microseconds", "kind"),
    [
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", 90, "other matrix products"),
        ("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT", 1300, "output projection"),
        ("fmha_cutlassB_bf16_aligned_64x64_k64_sm80", 200, "attention"),
        ("triton_per_fused_add_native_dropout_native_layer_norm_12", 60, "LayerNorm, dropout, residual"),
        ("triton_red_fused_logsumexp_3", 900, "cross-entropy"),
        ("triton_poi_fused_threshold_backward_7", 80, "ReLU and biases"),
        ("triton_poi_fused_embedding_dense_backward_1", 40, "embedding"),
        ("void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", 400, "optimiser"),
        ("_attend", 50, "attention"),
        ("_attend_backward", 90, "attention"),
        ("_normalise", 27, "LayerNorm, dropout, residual"),
        ("_normalise_backward", 30, "LayerNorm, dropout, residual"),
        ("_cut", 75, "ReLU and biases"),
        ("_lose", 470, "cross-entropy"),
        ("_differ", 930, "cross-entropy"),
        ("_lose_and_differ", 930, "cross-entropy"),
        ("Memcpy DtoD (Device -> Device)", 9, "copies and casts"),
        ("something else", 1, "not recognised"),
    ],
)
def test_kernels_are_told_apart_by_their_names(parts: Any, name: str, microseconds: float, kind: str) -> None:
    kernel = parts["breakdown"].Kernel(name, 0.0, microseconds)
    assert parts["breakdown"].kind_of(kernel) == kind


def test_the_kernels_of_training_are_all_recognised(parts: Any) -> None:
    named = set()
    for file in ("row_attention", "relu", "residual", "loss"):
        text = (Path(kernels.__path__[0]) / f"{file}.py").read_text()
        named |= set(re.findall(r"kernel: Any = (\w+)\n", text))
    assert len(named) == 7
    for name in named:
        assert parts["breakdown"].kind_of(parts["breakdown"].Kernel(name, 0.0, 50.0)) != "not recognised"


def test_a_peer_keeps_no_number_that_compiled_code_would_hold_on_the_processor(parts: Any) -> None:
    peer = parts["peers"].TorchTransformer(parts["scale"].TINY.settings("base"), 64)
    assert not [name for name, value in vars(peer).items() if isinstance(value, float)]


def test_time_in_which_two_kernels_run_counts_once(parts: Any) -> None:
    kernel = parts["breakdown"].Kernel
    assert parts["breakdown"].busy([kernel("a", 0, 10), kernel("b", 5, 8), kernel("c", 20, 25)]) == 15


def test_the_plain_language_model_beside_ours_has_its_weights_and_its_loss() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    try:
        import training_gpt
    finally:
        sys.path.pop(0)
    size, device = training_gpt.TINY, torch.device("cpu")
    ids = torch.randint(3, size.vocabulary, (size.rows, size.length), generator=torch.Generator().manual_seed(1))
    step, parameters, model = training_gpt.ours(size, [ids], device, compiled=False)
    plain = training_gpt.Plain(size)
    assert sum(parameter.numel() for parameter in plain.parameters()) == parameters
    own = dict(model.named_parameters())
    state = {"tokens.weight": own["embedding.weight"], "positions.weight": own["below.positions.weight"]}
    names = {"first": "self_attention_residual.norm", "second": "feed_forward_residual.norm", "inner":
             "feed_forward.inner", "outer": "feed_forward.outer", "joining": "self_attention.output"}  # fmt: skip
    for part in ("weight", "bias"):
        state[f"norm.{part}"] = own[f"stack.norm.{part}"]
        for layer in range(size.layers):
            of = f"stack.layers.{layer}"
            state |= {f"blocks.{layer}.{name}.{part}": own[f"{of}.{ours}.{part}"] for name, ours in names.items()}
            joined = [own[f"{of}.self_attention.{name}.{part}"] for name in ("query", "key", "value")]
            state[f"blocks.{layer}.joined.{part}"] = torch.cat(joined)
    plain.load_state_dict(state)
    batch = training_gpt.batch_of(ids)
    with torch.no_grad():
        logits = model(batch)[batch.labelled]
        expected = torch.nn.functional.cross_entropy(logits, batch.labels[batch.labelled])
        torch.testing.assert_close(plain(ids), expected, rtol=1e-5, atol=1e-5)
    step()
    assert not torch.equal(own["stack.norm.bias"], plain.norm.bias)
