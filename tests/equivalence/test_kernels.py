"""Our own kernels against the plain way. They need Triton, and a GPU or Triton's interpreter (TRITON_INTERPRET=1)."""

import os

import pytest
import torch
from torch.nn import functional as F

from regard.kernels import trusted
from regard.search import probabilities

pytest.importorskip("triton", reason="Triton is not installed: it comes with PyTorch for GPUs")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = pytest.mark.skipif(
    DEVICE == "cpu" and not os.environ.get("TRITON_INTERPRET"), reason="no GPU, and TRITON_INTERPRET is not set"
)


@pytest.mark.parametrize(("queries", "keys", "width"), [(4, 70, 16), (1, 5, 32), (5, 130, 64), (16, 300, 16)])
def test_attention_of_few_queries_is_that_of_torch(queries: int, keys: int, width: int) -> None:
    from regard.kernels.step_attention import attend

    torch.manual_seed(0)
    query = torch.randn(3, queries, 2, width, device=DEVICE).transpose(1, 2)
    key = torch.randn(3, keys, 2, width, device=DEVICE).transpose(1, 2)
    value = torch.randn(3, 2, keys, width, device=DEVICE)
    allowed = torch.rand(3, 1, queries, keys, device=DEVICE) < 0.3
    allowed[..., 0] = True
    for mask in (allowed, allowed[:, :, :1]):
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        torch.testing.assert_close(attend(query, key, value, mask), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("keys", [130, 300, 1100])
def test_attention_looks_no_further_than_the_last_key_that_is_allowed(keys: int) -> None:
    from regard.kernels.step_attention import attend

    torch.manual_seed(0)
    query, key, value = (torch.randn(5, 2, size, 16, device=DEVICE) for size in (4, keys, keys))
    allowed = torch.zeros(5, 1, 4, keys, dtype=torch.bool, device=DEVICE)
    allowed[0, :, :, :7] = True  # ends early
    allowed[1, :, :, [3, -1]] = True  # nothing in the blocks between
    allowed[2, :, :, keys // 2] = True  # one key
    allowed[3, :, 0] = allowed[3, :, 1:, :1] = True  # one query looks further than the others
    allowed[4, :, :, 0] = torch.arange(4, device=DEVICE) < 3  # one query looks at nothing
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=allowed).nan_to_num()
    found = attend(query, key, value, allowed)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
    for sentence, end in ((0, 7), (2, keys // 2 + 1), (4, 1)):
        key[sentence, :, end:] = value[sentence, :, end:] = torch.nan
    assert torch.equal(attend(query, key, value, allowed), found)
    fewer = [tensor[:3, :, : keys // 2 + 1] for tensor in (key, value)]
    shorter = attend(query[:3], *fewer, allowed[:3, ..., : keys // 2 + 1])
    assert torch.equal(shorter[[0, 2]], found[[0, 2]])


@pytest.mark.parametrize("vocabulary", [50, 300, 5000])
@pytest.mark.parametrize("forbidden", [0, 3])
def test_rows_are_read_as_in_the_plain_way(vocabulary: int, forbidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.kernels.logit_reading import pick, scan

    torch.manual_seed(0)
    logits = 3 * torch.randn(5, vocabulary, device=DEVICE)
    logits[1, 3:30] = -torch.inf
    logits[2] = logits[2].round()
    normalisers, maxima = scan(logits)
    monkeypatch.setattr(probabilities, "_kernel", lambda _: None)
    torch.testing.assert_close(normalisers, probabilities.read(logits).normaliser, rtol=0, atol=1e-5)
    if forbidden:
        logits.scatter_(1, logits.topk(forbidden).indices, -torch.inf)
    values, words = pick(logits, maxima, 4, forbidden=forbidden)
    expected_values, expected_words = probabilities.best(logits, 4)
    assert torch.equal(values, expected_values)
    assert torch.equal(words, expected_words)


@pytest.mark.parametrize(("heads", "hypotheses", "width"), [(2, 4, 64), (3, 5, 16), (1, 1, 8)])
def test_what_is_said_is_written_into_each_sentences_column(heads: int, hypotheses: int, width: int) -> None:
    from regard.kernels.writing import write

    torch.manual_seed(0)
    key, value = (torch.randn(4, hypotheses, heads, width, device=DEVICE).transpose(1, 2) for _ in range(2))
    caches = [torch.randn(4, heads, 6, hypotheses, width, device=DEVICE) for _ in range(2)]
    expected, columns = [cache.clone() for cache in caches], torch.tensor([5, 0, 3, 3], device=DEVICE)
    for cache, new in zip(expected, (key, value), strict=True):
        cache[torch.arange(4, device=DEVICE), :, columns] = new
    write(*caches, key, value, columns)
    assert torch.equal(caches[0], expected[0])
    assert torch.equal(caches[1], expected[1])


@pytest.mark.parametrize(
    "name",
    ["step_attention", "cache_attention", "word_vectors", "beam_step", "logit_reading", "writing", "residual", "relu"],
)
def test_kernels_of_a_search_are_trusted(name: str) -> None:
    assert trusted(name)
