"""What must be true of logits as a search reads them, whatever they are."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from regard.search import combine
from regard.search.probabilities import best, read

seeds = st.integers(0, 10_000)


@given(
    st.integers(1, 5), st.sampled_from([1, 3, 70]), st.sampled_from([1, 5, 400]), st.sampled_from([None, 2, 30]), seeds
)
def test_the_best_words_are_the_highest_and_of_equals_the_lowest(
    rows: int, count: int, more: int, levels: int | None, seed: int
) -> None:
    vocabulary = count + more
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, 2, vocabulary, generator=generator)
    if levels:
        logits = torch.randint(levels, (rows, 2, vocabulary), generator=generator).float()
    logits[logits > 1.5] = -torch.inf
    values, tokens = best(logits, count)
    for row in range(rows):
        for column in range(2):
            of_row = logits[row, column].tolist()
            expected = sorted(range(vocabulary), key=lambda token: (-of_row[token], token))[:count]
            assert tokens[row, column].tolist() == expected
            assert values[row, column].tolist() == [of_row[token] for token in expected]


@given(seeds, st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_the_normaliser_turns_logits_into_log_probabilities(seed: int, dtype: torch.dtype) -> None:
    logits = (30 * torch.randn(3, 2, 300, generator=torch.Generator().manual_seed(seed))).to(dtype)
    expected = logits.double().logsumexp(-1)
    torch.testing.assert_close(read(logits).normaliser.double(), expected, rtol=0, atol=1e-4)


@given(seeds, st.integers(1, 4))
def test_an_ensemble_gives_the_mean_of_its_members_probabilities(seed: int, members: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = [torch.randn(2, 7, generator=generator, dtype=torch.float64) for _ in range(members)]
    mean = torch.stack([member.softmax(-1) for member in logits]).mean(0)
    torch.testing.assert_close(combine(logits).exp(), mean)
