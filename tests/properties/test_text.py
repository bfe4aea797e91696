"""What holds for every text."""

import re
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.errors import CorpusError
from regard.text.bad_input import BadInput
from regard.text.cleaning import CleaningReport, CleaningSettings, Reason, clean_stream
from regard.text.corpus import read, write
from regard.text.normalisation import changes, normalise, normalise_all
from regard.text.pairs import Languages, Pair
from regard.text.tally import Tally

ENGLISH_GERMAN = Languages("en", "de")
AWKWARD = list(
    " \t\r\n\x0b\x0c\x00\x07\x1c\x1f\x7f\x85\xa0\u202f\u2028\u2029\ufeff\uffff\\\"'<>&{}[]#~é\u0301ﬁ😀\u200d"
)

PIECES = [
    "<",
    "</tu>",
    "&x;",
    "<!--",
    "]]>",
    '\nmsgstr[0] "a"',
    "\nmsgstr[x]",
    '\nmsgid_plural "b"',
    "\n#~ ",
    "{",
    "\n",
    "\t",
]

any_text = st.text(st.one_of(st.sampled_from(AWKWARD), st.characters(exclude_categories=["Cs"])), max_size=20)
line = any_text.map(lambda text: "".join(c for c in text if c not in "\n\r\t\0\ufeff"))
xml_text = any_text.map(
    lambda text: "".join(c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff"))
)
po_text = any_text.map(lambda text: text.replace("\0", "") or "x")

LEGAL = {
    "a.en": line,
    "a.tsv": line,
    "a.jsonl": any_text,
    "a.tmx": xml_text,
    "a.xlf": xml_text.map(lambda text: text or "x"),
    "a.po": po_text,
}


@pytest.mark.parametrize("name", LEGAL)
@given(choice=st.data())
def test_what_is_written_is_read_again(name, choice):
    texts = choice.draw(st.lists(st.tuples(LEGAL[name], LEGAL[name]), min_size=1, max_size=5))
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, [Pair(*pair) for pair in texts], ENGLISH_GERMAN)
        assert [(pair.source, pair.target) for pair in read([path], ENGLISH_GERMAN)] == texts


@pytest.mark.parametrize("name", [*LEGAL, "a.tsv.gz", "a.tsv.xz", "a.tsv.zst"])
@given(choice=st.data())
def test_no_bytes_whatever_fail_otherwise_than_with_an_explanation(name, choice):
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path, [Pair("Hello <you>.", 'Hallo "Du".'), Pair("{Bye}", "[Tschüss]\\")], ENGLISH_GERMAN)
        sound = path.read_bytes()
        start = choice.draw(st.integers(0, len(sound)))
        length = choice.draw(st.integers(0, 20))
        damage = choice.draw(st.one_of(st.binary(max_size=8), st.sampled_from(PIECES).map(str.encode)))
        path.write_bytes(sound[:start] + damage + sound[start + length :])
        bad = BadInput(skip=True)
        pairs = list(read([path], ENGLISH_GERMAN, bad=bad))
        assert all(pair.path == str(path) and pair.line >= 1 for pair in pairs)
        if bad.problems:
            with pytest.raises(CorpusError, match=re.escape(folder)):
                list(read([path], ENGLISH_GERMAN))
        else:
            assert list(read([path], ENGLISH_GERMAN)) == pairs


@given(any_text)
def test_the_normal_form_of_a_normal_form_is_itself(text):
    normal = normalise(text)
    assert normalise(normal) is normal
    assert unicodedata.is_normalized("NFC", normal)
    assert normal == normal.strip(" ")
    assert "  " not in normal
    assert not set(normal) & set("\t\r\n\x0b\x0c\x00\x07\x1c\x1f\x7f\x85\u2028\u2029\ufeff\uffff")


@given(any_text)
def test_the_normal_form_keeps_every_character_that_carries_meaning(text):
    def visible(text: str) -> list[str]:
        composed = unicodedata.normalize("NFD", text)
        return sorted(c for c in composed if c.isprintable() and c != " ")

    assert visible(normalise(text)) == visible(text)
    assert normalise(text).count("\u202f") == text.count("\u202f")
    assert normalise(text).count("\u200d") == text.count("\u200d")


@given(any_text)
def test_a_text_has_changes_exactly_where_its_normal_form_differs(text):
    assert bool(changes(text)) == (normalise(text) != text)


@given(st.lists(st.tuples(any_text, any_text), max_size=30), st.booleans(), st.booleans())
def test_what_is_kept_and_what_is_dropped_add_up_to_what_came_in(texts, drop_copies, drop_duplicates):
    settings = CleaningSettings(
        max_characters=15, max_ratio=2.0, ratio_from=5, drop_copies=drop_copies, drop_duplicates=drop_duplicates
    )
    report = CleaningReport()
    kept = list(clean_stream([Pair(*pair) for pair in texts * 2], settings, report))
    assert report.came_in == 2 * len(texts)
    assert report.kept == len(kept)
    assert not drop_duplicates or len({pair[:2] for pair in kept}) == len(kept)
    changeable = report.kept + report.dropped.get(Reason.DUPLICATE, Tally()).count
    assert all(tally.count <= changeable for tally in report.changed.values())


@given(st.lists(st.text(alphabet=st.sampled_from(list(" ab\u00b6\u0308\u00e4\u00a0\n\x07")), max_size=6), max_size=6))
def test_texts_together_have_the_normal_forms_that_they_have_alone(texts):
    assert normalise_all(texts) == [normalise(text) for text in texts]
