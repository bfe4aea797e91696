"""Where texts may be cut, what their words are, and what in them is no language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.text.placeholders import differences, only_placeholders, placeholders
from regard.text.sentences import clauses, lines, pieces_between_spaces, sentences
from regard.text.word_spans import word_spans

CUT = [
    "Mr. Smith paid 3.50 for it.| Did he?| Yes!| Perhaps...| Who knows.",
    "Am 3. März kam Dr. Müller.| Dann ging er z. B. nach Hause.| Das war 2016.| Später nicht mehr.",
    "J. R. R. Tolkien wrote it, e.g. in the U.S. Army.| Others did not.",
    "«Nein!» sagte er.| „Ja.“| Sie (alle!) kamen.| Gut.",
    "M. Dupont est là.| Mme. Durand aussi, cf. p. 112.| ¿Quién es?| ¡Vale!",
    "日本語です。|そうですか？|「はい。」と言った。|終わり",
    "यह एक है।| वह दो है।",
    "هل هذا صحيح؟| نعم.| شكرا۔| حسنا.",
    "See https://example.org/a.b?c=D. |Then write to a.b@example.org. |Done.",
    'Click <a title="Yes. No. Maybe.">Here.| Or</a> there.| Then go.',
    "First line\n|Second line\n|- one\n|- two\n\n|last",
    "A sentence that was wrapped\nin the middle of it.\n|Another one.",
    "no end here",
    "версия 2.0 вышла.| Это хорошо, см. рис. 115. |Да.",
]


@pytest.mark.parametrize("marked", CUT)
def test_a_text_is_cut_where_sentences_end(marked: str) -> None:
    text = marked.replace("|", "")
    parts = [part.strip() for part in marked.split("|")]
    assert [part.strip() for part in sentences(text)] == parts


texts = st.lists(
    st.one_of(
        st.text(max_size=8),
        st.sampled_from(
            [". ", "! ", "?", "。", "… ", "\n", "\r\n", "Dr. ", "{a}", "<b c> ", "</b>", "3. ", ", ", "»", "A"]
        ),
    ),
    max_size=20,
).map("".join)


@given(texts)
def test_the_parts_of_a_text_make_the_text_and_cut_no_placeholder(text: str) -> None:
    for cut in (sentences, clauses, pieces_between_spaces, lines):
        parts = cut(text)
        assert "".join(parts) == text
        assert all(parts) or not text
        ends = {sum(map(len, parts[:n])) for n in range(1, len(parts))}
        assert not any(found.start < end < found.end for found in placeholders(text) for end in ends)


def test_placeholders_are_found_and_ordinary_signs_are_not() -> None:
    asked = ["{name}", "%s", "%(a)d", "$HOME", "${x}", "{{ y }}", "<b>", "</b>", "<br/>", "&amp;", "a@b.co", "%1$s"]
    asked += ["www.example.org/a", "https://example.org/?q=a&b=c", "{0:>8.2f}", "&#160;", "%1", '<a href="x y">']
    text = " and, ".join(asked) + "."
    assert [found.string for found in placeholders(text)] == asked
    assert placeholders("5 < 6 > 4, 50% sure, 100% discount, $5, AT&T, R&D; a @ b, {not this one}") == []


def test_lost_and_invented_placeholders_are_counted() -> None:
    assert differences("{a} and {a} and {b}", "{a} und {c}") == (["{a}", "{b}"], ["{c}"])
    assert differences("<b>x</b>", "<b>y</b>") == ([], [])


def test_a_text_of_placeholders_alone_is_known() -> None:
    assert only_placeholders("{0}: {1}", placeholders("{0}: {1}"))
    assert not only_placeholders("{0} of {1}", placeholders("{0} of {1}"))


def test_words_stand_between_spaces_and_are_characters_where_there_are_none() -> None:
    def words(text: str) -> list[str]:
        return [text[start:end] for start, end in word_spans(text)]

    assert words(" It's a  man-made\u00a0thing, ok? ") == ["It's", "a", "man-made", "thing,", "ok?"]
    assert words("我爱Python。好") == ["我", "爱", "Python。", "好"]
    assert words("สวัสดี") == ["ส", "วั", "ส", "ดี"]
    assert words("") == []
