"""Words and numbers with spaces between have no placeholders, so nobody has to look for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text import placeholders as searched
from regard.text.placeholders import SYNTAXES, placeholders

PIECES = st.sampled_from([*list("aAbBfFxXvwcdom09 _-.,:;!?'\"()/äÄß+%\\~"), "www.", "de", "http", "ab", "  "])


@given(st.one_of(st.from_regex(searched._PLAIN, fullmatch=True), st.lists(PIECES, max_size=12).map("".join)))
def test_what_is_plain_has_no_placeholder_of_any_syntax(text: str) -> None:
    if searched._PLAIN.fullmatch(text):
        for syntax in ("", *SYNTAXES):
            assert not list(searched._pattern(syntax).finditer(text))


@pytest.mark.parametrize(
    "text",
    [
        "She's a well-known author.",
        "Er wohnt in (Berlin), sagt man.",
        '"Yes", he said: 3,5 of 10.',
        "A",
        "",
        "Hi, you!",
    ],
)
def test_usual_sentences_are_plain(text: str) -> None:
    assert searched._PLAIN.fullmatch(text)
    assert placeholders(text) == []


@pytest.mark.parametrize(
    "text", ["use -f here", "see example.de", "call f()", "a_b", "camelCase", "%s", "{0}", "1.2.3"]
)
def test_names_and_placeholders_are_not(text: str) -> None:
    assert not searched._PLAIN.fullmatch(text)
    assert placeholders(text)
