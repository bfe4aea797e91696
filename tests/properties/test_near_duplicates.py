"""Near-duplicates are found whatever was changed in them, and nothing else is."""

from hypothesis import given
from hypothesis import strategies as st

from regard.text.near_duplicates import NearDuplicates, allowed, words_of

WORDS = st.sampled_from(
    [
        "a",
        "the",
        "dog",
        "cat",
        "runs",
        "sleeps",
        "in",
        "on",
        "house",
        "garden",
        "big",
        "small",
        "very",
        "today",
        "often",
        "red",
    ]
)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=14).map(" ".join), min_size=1, max_size=12)


def distance(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The textbook's recursion, written as a table."""
    table = {(row, 0): row for row in range(len(one) + 1)} | {(0, column): column for column in range(len(other) + 1)}
    for row, word in enumerate(one, start=1):
        for column, against in enumerate(other, start=1):
            changed = table[row - 1, column - 1] + (word != against)
            table[row, column] = min(table[row - 1, column] + 1, table[row, column - 1] + 1, changed)
    return table[len(one), len(other)]


@given(TEXTS, TEXTS)
def test_the_index_finds_what_comparing_with_every_text_finds(known: list[str], others: list[str]) -> None:
    found = NearDuplicates(known)
    for text in others:
        words = words_of(text)
        near = any(distance(words, each) <= allowed(max(len(words), len(each))) for each in map(words_of, known))
        assert (text in found) == near, (text, known)


def test_case_punctuation_and_numbers_do_not_count_and_short_texts_must_agree() -> None:
    known = NearDuplicates(["Tom has 12 red apples.", "Save file", "The committee met on Monday in the old town hall."])
    assert "tom has 47 red apples" in known
    assert "Mary has 12 red apples!" in known
    assert "Mary had no apples" not in known
    assert "Open file" not in known
    assert "save  FILE…" in known
    assert "The committee met in the old town hall on Tuesday." not in known
    assert known.find("The committees met on Monday in the new town hall.") == (
        "the committee met on monday in the old town hall"
    )
