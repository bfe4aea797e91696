"""Whatever the texts are, the stored corpus holds exactly the pairs that cleaning keeps, in their order."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard import CorpusError
from regard.batches.preparation import Source, prepare
from regard.text.cleaning import CleaningReport, clean_stream
from regard.text.inspection.fingerprint_set import Fingerprints
from regard.tokens import TokeniserSettings, train

few = st.sampled_from(["a", "b ", "  ", "ü", "\0", "\u2028", "😀", "e\u0301", "\n"])
short = st.one_of(st.lists(few, max_size=3).map("".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=9))


@given(st.lists(st.tuples(short, short), min_size=1, max_size=30))
def test_the_stored_corpus_holds_the_pairs_that_cleaning_keeps(pairs: list[tuple[str, str]]) -> None:
    tokenisers = train(["x"], ["y"], TokeniserSettings(kind="utf8"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.jsonl"
        path.write_text("".join(json.dumps({"en": source, "de": target}) + "\n" for source, target in pairs))
        source, report = Source(data=(str(path),), source="en", target="de"), CleaningReport()
        expected = [pair[:2] for pair in clean_stream(source.pairs(), source.cleaning, report)]
        if not expected:
            with pytest.raises(CorpusError, match="no sentence pair is left"):
                prepare(source, tokenisers, Path(folder) / "out", workers=1)
            return
        corpus = prepare(source, tokenisers, Path(folder) / "out", workers=1)
        sides = [
            [tokenisers.source.decode(side.sentence(number)) for number in range(len(corpus))]
            for side in corpus.streams.values()
        ]
        assert list(zip(*sides, strict=True)) == expected
        dropped = {reason.name.lower(): tally.count for reason, tally in report.dropped.items()}
        assert corpus.description["dropped"] == dropped


@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)), max_size=50), st.integers(0, 300))
def test_fingerprints_are_a_set(marks: list[int], more: int) -> None:
    many = [*marks, *(number * 2**54 for number in range(2, more))]  # all begin their search at the same slot or two
    compact, expected = Fingerprints(), set()
    for mark in many:
        assert (mark in compact) == ((mark or 1) in expected)
        compact.add(mark)
        expected.add(mark or 1)
    assert len(compact) == len(expected)
