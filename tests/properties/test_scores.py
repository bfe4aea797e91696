"""What holds for every score."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluation.differences import Change, word_differences
from regard.metrics import Options, metric, metrics, score
from regard.metrics.edits import edit_distance

NAMES = metrics()

words = st.sampled_from(["a", "b", "C", "der", "die", "ß", "漢字", "é", ".", "🙂"])
text = st.lists(words, max_size=8).map(" ".join)
long_text = st.lists(words, min_size=4, max_size=8).map(" ".join)
line = st.tuples(text, st.lists(text, min_size=1, max_size=3))
units = st.lists(st.sampled_from("abc"), max_size=7)
options = st.builds(Options, tokenised=st.booleans(), lowercase=st.booleans())


@pytest.mark.parametrize("name", NAMES)
@given(lines=st.lists(line, min_size=1, max_size=5), options=options)
def test_scores_are_numbers_from_nought_and_those_that_are_better_when_higher_end_at_100(name, lines, options):
    (found,) = score([name], [made for made, _ in lines], [references for _, references in lines], options=options)
    assert found.value >= 0
    if found.higher_is_better:
        assert found.value <= 100 + 1e-9


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(long_text, min_size=1, max_size=5), options=options)
def test_the_reference_itself_gets_the_perfect_score(name, texts, options):
    (found,) = score([name], texts, [[text] for text in texts], options=options)
    assert found.value == pytest.approx(100 if found.higher_is_better else 0)


@pytest.mark.parametrize("name", NAMES)
@given(lines=st.lists(line, min_size=2, max_size=6), seed=st.integers(0, 99))
def test_the_order_of_the_lines_changes_nothing(name, lines, seed):
    shuffled = random.Random(seed).sample(lines, len(lines))  # noqa: S311
    one, other = (
        score([name], [made for made, _ in each], [references for _, references in each])[0]
        for each in (lines, shuffled)
    )
    assert one.value == pytest.approx(other.value)
    assert one.signature == other.signature


@pytest.mark.parametrize("name", [name for name in NAMES if name != "bleu"])
@given(lines=st.lists(line, min_size=1, max_size=5))
def test_the_sum_of_equal_lines_scores_like_one_of_them(name, lines):
    made, references = lines[0]
    (alone,) = score([name], [made], [references])
    (many,) = score([name], [made] * 3, [references] * 3)
    assert many.value == pytest.approx(alone.value)
    assert metric(name).sentence_value([*metric(name).counts([made], [references])[0]]) == pytest.approx(alone.value)


@given(one=units, other=units, third=units)
def test_the_edit_distance_is_a_distance(one, other, third):
    distance = edit_distance(one, other)
    assert distance == edit_distance(other, one)
    assert (distance == 0) == (one == other)
    assert distance <= edit_distance(one, third) + edit_distance(third, other)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))


@given(one=units, other=units)
def test_the_edit_distance_is_that_of_the_recursive_definition(one, other):
    def plainly(left: list[str], right: list[str]) -> int:
        if not left or not right:
            return len(left) + len(right)
        if left[0] == right[0]:
            return plainly(left[1:], right[1:])
        return 1 + min(plainly(left[1:], right), plainly(left, right[1:]), plainly(left[1:], right[1:]))

    assert edit_distance(one[:5], other[:5]) == plainly(one[:5], other[:5])


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(made=st.one_of(text, any_text), reference=st.one_of(text, any_text))
def test_the_pieces_of_a_difference_make_up_the_text_and_the_words_of_the_reference(made, reference):
    pieces = word_differences(made, reference)
    assert "".join(piece.text for piece in pieces if piece.change is not Change.MISSING) == made
    kept = "".join(piece.text for piece in pieces if piece.change is not Change.ADDED)
    assert "".join(kept.split()) == "".join(reference.split())
    if made == reference:
        assert all(piece.change is Change.KEPT for piece in pieces)
