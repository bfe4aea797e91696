"""Sentences of similar length in one batch."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from regard.batches.similar_lengths import by_length

LENGTHS = st.lists(st.integers(1, 40), max_size=30)


@given(lengths=LENGTHS, tokens=st.integers(1, 120))
def test_every_sentence_is_in_one_batch_the_longest_first_and_no_batch_is_larger_than_it_may_be(
    lengths: list[int], tokens: int
) -> None:
    batches = list(by_length(lengths, tokens=tokens))
    order = [number for batch in batches for number in batch]
    assert order == sorted(range(len(lengths)), key=lambda n: -lengths[n])
    assert all(len(batch) == 1 or len(batch) * lengths[batch[0]] <= tokens for batch in batches)
    for batch, _ in pairwise(batches):
        assert (len(batch) + 1) * lengths[batch[0]] > tokens  # it is full


@given(lengths=LENGTHS, tokens=st.integers(1, 120), data=st.data())
def test_some_of_the_sentences_are_batched_as_if_the_others_were_not_there(
    lengths: list[int], tokens: int, data: st.DataObject
) -> None:
    some = [number for number in range(len(lengths)) if data.draw(st.booleans())]
    alone = by_length([lengths[number] for number in some], tokens=tokens)
    expected = [[some[place] for place in batch] for batch in alone]
    assert list(by_length(lengths, tokens=tokens, numbers=some)) == expected
