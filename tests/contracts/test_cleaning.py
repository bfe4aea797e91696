"""What cleaning keeps, what it drops and why, and what it changes."""

import pickle
import subprocess
import sys
import time

import pytest

from regard.errors import SettingsError
from regard.text.cleaning import (
    CleaningReport,
    CleaningSettings,
    Reason,
    clean,
    clean_stream,
    drop_duplicates,
    fingerprint,
)
from regard.text.corpus import read
from regard.text.normalisation import Change, normalise
from regard.text.pairs import Chunk, Languages, Pair, chunks
from regard.text.tally import PLACES, Tally


def cleaned_at_once(pairs: list[Pair], settings: CleaningSettings) -> tuple[list[Pair], CleaningReport]:
    (chunk,) = chunks(pairs)
    cleaned = clean(chunk, settings)
    return list(cleaned.chunk.pairs()), cleaned.report


def numbered(*texts: tuple[str, str]) -> list[Pair]:
    return [Pair(source, target, "a.tsv", line) for line, (source, target) in enumerate(texts, start=1)]


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (("", "Hallo."), Reason.EMPTY_SOURCE),
        ((" \u2028\x00", "Hallo."), Reason.EMPTY_SOURCE),
        (("Hello.", "\t"), Reason.EMPTY_TARGET),
        (("x" * 2001, "y" * 2000), Reason.TOO_LONG),
        (("x" * 51, "y" * 10), Reason.RATIO),
        (("y" * 10, "x" * 51), Reason.RATIO),
        (("Berlin", "Berlin "), Reason.COPY),
    ],
)
def test_a_pair_is_dropped_for_its_reason_with_its_line(pair, reason):
    kept, report = cleaned_at_once(numbered(("Hello.", "Hallo."), pair), CleaningSettings())
    assert kept == numbered(("Hello.", "Hallo."))
    assert report.dropped == {reason: Tally(1, [("a.tsv", 2)])}


@pytest.mark.parametrize(
    "pair", [("Hi.", "Guten Tag zusammen."), ("x" * 2000, "y" * 2000), ("x" * 50, "y" * 10), ("x" * 49, "y")]
)
def test_a_pair_within_the_limits_is_kept_and_short_ones_may_have_any_ratio(pair):
    assert cleaned_at_once(numbered(pair), CleaningSettings())[0] == numbered(pair)


def test_every_limit_can_be_lifted():
    lenient = CleaningSettings(
        normalisation="none", max_characters=10_000, max_ratio=None, drop_copies=False, drop_duplicates=False
    )
    pairs = numbered(("x" * 9000, "y"), ("a  b", "a  b"), ("a  b", "a  b"))
    kept, report = cleaned_at_once(pairs, lenient)
    assert kept == pairs == list(clean_stream(pairs, lenient, CleaningReport()))
    assert report.changed == {}


def test_unsound_settings_are_refused():
    with pytest.raises(SettingsError, match=r"max_ratio = 0\.5"):
        CleaningSettings.read({"max_ratio": 0.5}, where="recipe.toml")


@pytest.mark.parametrize(
    ("text", "change", "normal"),
    [
        ("cafe\u0301", Change.COMPOSED, "café"),
        ("a\x07b\ufeff", Change.CONTROLS, "ab"),
        ("a\u2028b", Change.BREAKS, "a b"),
        ("a\rb", Change.BREAKS, "a b"),
        (" a  b\t", Change.SPACES, "a b"),
    ],
)
def test_a_change_is_counted_by_kind_with_its_line(text, change, normal):
    kept, report = cleaned_at_once(numbered(("Hello.", "Hallo."), (text, f"x {text}")), CleaningSettings())
    assert kept[1].source == normal
    assert report.changed == {change: Tally(1, [("a.tsv", 2)])}


def test_duplicates_are_dropped_across_chunks_after_normalisation():
    pairs = numbered(("a", "b"), ("a ", "b"), ("a", "c"), ("a", "b"))
    settings, seen = CleaningSettings(), set()
    cleaned = [drop_duplicates(clean(chunk, settings), seen) for chunk in chunks(pairs, size=3)]
    assert [line for part in cleaned for line in part.chunk.lines] == [1, 3]
    report = CleaningReport()
    assert list(clean_stream(pairs, settings, report)) == numbered(("a", "b"), ("?", "?"), ("a", "c"))[::2]
    assert report.dropped == {Reason.DUPLICATE: Tally(2, [("a.tsv", 2), ("a.tsv", 4)])}


def test_a_fingerprint_is_the_same_in_every_process_and_knows_where_the_source_ends():
    program = "from regard.text.cleaning import fingerprint; print(fingerprint('Grüße', 'x'))"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(other.stdout) == fingerprint("Grüße", "x") == 138912543144764274
    assert fingerprint("ab", "c") != fingerprint("a", "bc")
    assert 0 <= fingerprint("", "") < 2**64


def test_what_a_worker_process_gives_back_can_be_sent_and_added_up():
    settings = CleaningSettings()
    parts = [clean(chunk, settings) for chunk in chunks(numbered(*[("", "x"), ("a\x07", "b")] * 20), size=7)]
    total = CleaningReport()
    for part in pickle.loads(pickle.dumps(parts)):  # noqa: S301
        total.add(part.report)
    assert total.came_in == 40
    assert total.kept == total.changed[Change.CONTROLS].count == 20
    assert total.dropped[Reason.EMPTY_SOURCE].places == [("a.tsv", line) for line in range(1, 2 * PLACES, 2)]
    assert total.summary()[0] == "20 of 40 sentence pairs are kept"
    assert total.summary()[1].startswith("dropped, the source is empty: 20 (a.tsv:1, a.tsv:3, ")
    assert total.summary()[1].endswith(", ...)")


def test_chunks_end_where_files_end():
    pairs = [Pair("a", "b", path, line + 1) for path, lines in (("x", 5), ("y", 2), ("z", 1)) for line in range(lines)]
    found = list(chunks(pairs, size=4))
    assert [(chunk.path, len(chunk.lines)) for chunk in found] == [("x", 4), ("x", 1), ("y", 2), ("z", 1)]
    assert [pair for chunk in found for pair in chunk.pairs()] == pairs
    assert isinstance(found[0], Chunk)


def test_meaningful_spaces_and_joiners_stay():
    for text in ("« oui »".replace(" ", "\u00a0"), "1\u202f000", "क्\u200dष", "👩\u200d👩\u200d👧", "ﬁ Ａ", "a\u00adb"):
        assert normalise(text) is text


def test_real_sentences_are_cleaned_in_a_few_microseconds_each(data):
    pairs = list(read([data / "tatoeba" / "en-de.train.tsv.gz"], Languages("en", "de")))
    report = CleaningReport()
    start = time.process_time()
    kept = sum(1 for _ in clean_stream(pairs, CleaningSettings(), report))
    seconds = time.process_time() - start
    assert kept == report.kept > 0.999 * len(pairs)
    assert report.came_in == len(pairs)
    assert seconds / len(pairs) < 8e-6
