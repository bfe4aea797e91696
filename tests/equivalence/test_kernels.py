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


@pytest.mark.parametrize(("queries", "keys", "width"), [(4, 70, 16), (1, 5, 32), (5, 130, 64)])
def test_attention_of_few_queries_is_that_of_torch(queries: int, keys: int, width: int) -> None:
    from regard.kernels.attention import attend

    torch.manual_seed(0)
    query = torch.randn(3, queries, 2, width, device=DEVICE).transpose(1, 2)
    key = torch.randn(3, keys, 2, width, device=DEVICE).transpose(1, 2)
    value = torch.randn(3, 2, keys, width, device=DEVICE)
    allowed = torch.rand(3, 1, queries, keys, device=DEVICE) < 0.3
    allowed[..., 0] = True
    for mask in (allowed, allowed[:, :, :1]):
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        torch.testing.assert_close(attend(query, key, value, mask), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("vocabulary", [50, 300, 5000])
@pytest.mark.parametrize("forbidden", [0, 3])
def test_rows_are_read_as_in_the_plain_way(vocabulary: int, forbidden: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.kernels.reading import pick, scan

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


def test_both_are_trusted() -> None:
    assert trusted("attention")
    assert trusted("reading")
