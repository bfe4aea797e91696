"""Comparisons: chance is told from quality, and people can see what was found."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pages import Reader
from regard.cli import _application
from regard.errors import CorpusError, ModelFolderError, RegardError, SettingsError
from regard.evaluation.comparison import Comparison, ReferenceSet, System, compare
from regard.evaluation.comparison_page import page
from regard.evaluation.reading import read_frequencies, read_held_out, read_systems
from regard.evaluation.significance import Difference, paired
from regard.evaluation.slices import Frequencies, by_length, by_rarity
from regard.metrics import TOKENISED, Options, count
from regard.text.pairs import Languages
from translations import damaged, sentences

REFERENCES = sentences(250)
HELD_OUT = ReferenceSet("made up", [[line] for line in REFERENCES], sentences(250, seed=9), Languages("en", "de"))
BASELINE = System("baseline", damaged(REFERENCES, rate=0.3, seed=1))
BETTER = System("better", damaged(REFERENCES, rate=0.2, seed=2))
AS_GOOD = System("as good", damaged(REFERENCES, rate=0.3, seed=3))


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return compare([BASELINE, BETTER, AS_GOOD, BASELINE._replace(name="itself")], HELD_OUT)


def differences(comparison: Comparison, system: str) -> list[Difference]:
    return [difference for difference in comparison.differences if difference.system == system]


def test_a_better_system_is_found_by_every_metric_whichever_way_it_runs(comparison: Comparison) -> None:
    found = differences(comparison, "better")
    assert [difference.metric for difference in found] == ["bleu", "chrf", "ter"]
    assert [difference.points > 0 for difference in found] == [True, True, False]
    assert [difference.better for difference in found] == ["better"] * 3


def test_a_worse_system_is_found_too() -> None:
    (found,) = compare([BETTER, BASELINE], HELD_OUT, metrics=["ter"]).differences
    assert found.better == "better"
    assert found.points > 0
    assert found.in_words().startswith("better is better than baseline by ")


def test_systems_that_are_as_good_cannot_be_told_apart(comparison: Comparison) -> None:
    found = differences(comparison, "as good")
    assert len(found) == 3
    assert all(difference.points != 0 and difference.better is None for difference in found)


def test_the_halves_of_one_systems_output_cannot_be_told_apart() -> None:
    half = len(REFERENCES) // 2
    held_out = ReferenceSet("halves", [[REFERENCES[0]]] * half)
    noise = damaged([REFERENCES[0]] * 2 * half, rate=0.3, seed=5)
    found = compare([System("first", noise[:half]), System("second", noise[half:])], held_out).differences
    assert [difference.better for difference in found] == [None] * 3


def test_a_system_does_not_differ_from_itself(comparison: Comparison) -> None:
    found = differences(comparison, "itself")
    assert [(difference.points, difference.chance) for difference in found] == [(0, 1)] * 3
    assert found[0].in_words() == "itself and baseline have the same BLEU."


def test_one_differing_line_is_no_evidence() -> None:
    changed = System("changed", ["nothing right here", *BASELINE.translations[1:]])
    for difference in compare([BASELINE, changed], HELD_OUT).differences:
        assert difference.points != 0
        assert difference.randomisation == 1
        assert difference.better is None


def test_swaps_that_give_the_same_difference_count_as_chance() -> None:
    # Of 10 lines that differ, 8 speak for one system: tossing coins gives 8 to 2 or more in 112 of 1,024 cases.
    lines = [str(n) for n in range(100)]
    one = System("one", [*["x"] * 8, *lines[8:]])
    other = System("other", [*lines[:8], "x", "x", *lines[10:]])
    (found,) = compare(
        [one, other], ReferenceSet("lines", [[line] for line in lines]), metrics=["exact_match"]
    ).differences
    assert found.randomisation == pytest.approx(112 / 1024, abs=0.02)
    assert not found.significant


@pytest.mark.parametrize(("test", "field"), [("--paired-ar", "randomisation"), ("--paired-bs", "bootstrap")])
def test_the_p_values_are_those_of_sacrebleus_command(tmp_path: Path, test: str, field: str) -> None:
    files = []
    for name, lines in (("references", REFERENCES), ("one", BASELINE.translations), ("two", AS_GOOD.translations)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        files.append(str(tmp_path / name))
    command = [sys.executable, "-m", "sacrebleu", files[0], "--input", *files[1:], "--metrics", "bleu", "chrf", test]
    told = subprocess.run([*command, "--format", "text"], capture_output=True, text=True, check=True).stdout
    theirs = [float(value) for value in re.findall(r"p = (\d\.\d+)", told)]
    ours = compare([BASELINE, AS_GOOD], HELD_OUT, metrics=["bleu", "chrf"]).differences
    assert [getattr(difference, field) for difference in ours] == pytest.approx(theirs, abs=6e-5)


def test_the_seed_decides_and_nothing_in_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = [count(["chrf"], each.translations, HELD_OUT.references)[0] for each in (BASELINE, AS_GOOD)]
    first = paired(["a", "b"], counted, seed=7)
    monkeypatch.setenv("SACREBLEU_SEED", "none")
    assert paired(["a", "b"], counted, seed=7) == first
    assert paired(["a", "b"], counted, seed=8) != first
    with pytest.raises(SettingsError, match="seed = 0: expected a whole number of at least 1"):
        paired(["a", "b"], counted, seed=0)


def test_the_interval_lies_around_the_score(comparison: Comparison) -> None:
    for scores, intervals in zip(comparison.scores, comparison.intervals, strict=True):
        for score, interval in zip(scores, intervals, strict=True):
            assert interval.low < score.value < interval.high
            assert interval.high - interval.low < 12


@pytest.mark.parametrize(
    ("points", "chance", "result", "cases"),
    [
        (
            1.26,
            0.0001,
            "B is better than A by 1.3 points of BLEU; a difference this large",
            "fewer than 1 of 1,000 cases",
        ),
        (-1.26, 0.004, "A is better than B by 1.3 points of BLEU; a difference this large", "about 4 of 1,000 cases"),
        (
            0.261,
            0.41,
            "B and A do not differ significantly in BLEU: their difference, 0.26 points,",
            "about 41 of 100 cases",
        ),
    ],
)
def test_a_difference_is_told_in_words(points: float, chance: float, result: str, cases: str) -> None:
    found = Difference("bleu", "BLEU", "B", "A", points, True, chance, chance / 2)
    assert found.in_words() == f"{result} would occur by chance in {cases}."


def test_one_test_alone_is_not_enough() -> None:
    assert not Difference("bleu", "BLEU", "B", "A", 1.0, True, 0.01, 0.2).significant
    assert not Difference("bleu", "BLEU", "B", "A", 1.0, True, 0.2, 0.01).significant


def test_lengths_are_grouped_evenly_and_every_line_is_in_one_group() -> None:
    texts = [" ".join(["word"] * length) for length in [*range(1, 11), 10, 10]]
    counted = [count(["exact_match"], ["word", *["wrong"] * 11], [[text] for text in texts])]
    found = by_length(texts, counted, side="reference")
    assert [part.label for part in found.slices] == ["1–2", "3–5", "6–7", "8–9", "10"]
    assert [part.lines for part in found.slices] == [2, 3, 2, 2, 3]
    assert [part.scores[0][0].value for part in found.slices] == [50, 0, 0, 0, 0]
    assert found.about == "Lines are grouped by the number of words in the reference."


def test_lengths_of_single_words_are_their_letters() -> None:
    texts = ["a", "bb", "ccc"]
    counted = [count(["exact_match"], texts, [[text] for text in texts])]
    found = by_length(texts, counted, side="source")
    assert [part.label for part in found.slices] == ["1", "2", "3"]
    assert "number of characters" in found.about


def test_rarity_is_that_of_the_rarest_word_of_the_reference() -> None:
    texts = ["the unseen"] * 12 + ["The once,"] * 11 + ["the"] * 10 + ["..."]
    counted = [count(["exact_match"], texts, [[text] for text in texts])]
    known = Frequencies({"the": 500, "once": 1}, "the training text")
    found = by_rarity(texts, counted, frequencies=known)
    assert [(part.label, part.lines) for part in found.slices] == [("never", 12), ("once", 11), ("2 or more", 11)]
    assert found.about.endswith("occurs in the training text.")
    lacking = by_rarity(texts, counted)
    assert [(part.label, part.lines) for part in lacking.slices] == [("10 or more", 34)]
    assert lacking.about.endswith("in the references, because no training data was given.")


def test_the_sentences_that_differ_most_come_first(comparison: Comparison) -> None:
    spreads = [example.spread for example in comparison.examples]
    assert len(spreads) == 20
    assert spreads == sorted(spreads, reverse=True)
    first = comparison.examples[0]
    assert first.translations[0] == BASELINE.translations[first.line - 1]
    assert list(first.references) == [REFERENCES[first.line - 1]]


def read_page(comparison: Comparison) -> Reader:
    return Reader.of(page(comparison))


def test_the_page_is_whole_and_needs_nothing_beside_it(comparison: Comparison) -> None:
    found = read_page(comparison)
    assert found.addresses == ["#sentences"]
    assert "url(" not in page(comparison)
    assert "<script" not in page(comparison)
    assert "prefers-color-scheme: dark" in page(comparison)


def test_the_page_shows_what_was_found(comparison: Comparison) -> None:
    found = read_page(comparison)
    for difference in comparison.differences:
        assert difference.in_words() in found.text
    for score in comparison.scores[0]:
        assert score.signature in found.text
    for slicing in comparison.slicings:
        assert slicing.about in found.text
    assert all(f"Line {example.line:,}" in found.text for example in comparison.examples)
    assert found.headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in zip(found.headings, found.headings[1:], strict=False))


def test_hostile_text_stays_text() -> None:
    evil = "<script>alert('x')</script> &amp; \"quoted\" <img src=x onerror=alert(1)>"
    held_out = ReferenceSet(evil, [[evil], ["a b c"]], [evil, evil], Languages('"><b>', '"><i>'))
    found = compare([System(evil, ["a", "b"]), System(f"{evil} 2", [evil, evil])], held_out, metrics=["chrf"])
    assert evil in read_page(found).text
    assert "<script" not in page(found)
    assert "<img" not in page(found)
    assert "<b>" not in page(found).split("</header>")[0]


def test_words_that_differ_are_marked() -> None:
    held_out = ReferenceSet("cats", [["the cat sat on the mat"]] * 2)
    found = compare([System("one", ["the dog sat on mat"] * 2), System("two", ["the cat sat", ""])], held_out)
    text = page(found)
    assert "the <del>cat</del> <ins>dog</ins> sat on <del>the</del> mat" in text
    assert "the cat sat <del>on the mat</del>" in text


def test_equal_systems_get_a_page_as_well() -> None:
    found = compare([BASELINE, BASELINE], HELD_OUT, metrics=["exact_match"])
    assert found.examples == []
    assert "The systems translate every sentence in the same way." in read_page(found).text


def test_tokenised_scores_are_explained(comparison: Comparison) -> None:
    found = compare([BASELINE, BETTER], HELD_OUT, metrics=["bleu"], options=Options(tokenised=True))
    assert found.remarks == [TOKENISED]
    assert TOKENISED in read_page(found).text
    assert comparison.remarks == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, lines in (("test.en", HELD_OUT.sources), ("test.de", REFERENCES), ("a.txt", BASELINE.translations)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    with gzip.open(tmp_path / "b.txt.gz", "wt") as file:
        file.write("".join(f"{line}\n" for line in BETTER.translations))
    pairs = zip(HELD_OUT.sources, REFERENCES, strict=True)
    (tmp_path / "test.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    return tmp_path


def run(*arguments: str | Path) -> str:
    told = CliRunner().invoke(_application(), ["compare", *map(str, arguments)], env={"COLUMNS": "200"})
    if isinstance(told.exception, RegardError):
        raise told.exception
    assert told.exit_code == 0, told.output
    return told.stdout


def test_the_command_tells_people_and_writes_the_page(files: Path, comparison: Comparison) -> None:
    told = run(
        files / "a.txt", files / "b.txt.gz", "--test", files / "test", "--source", "en", "--target", "de",
        "--out", files / "page.html",
    )  # fmt: skip
    assert "test, 250 sentences" in told
    bleu = comparison.scores[1][0]
    assert re.search(rf"b\.txt\.gz +{bleu.value:.1f} ± \d", told)
    assert "b.txt.gz is better than a.txt by" in told
    assert bleu.signature in told
    assert "Comparison on test" in (files / "page.html").read_text()


def test_the_command_tells_programs(files: Path, comparison: Comparison) -> None:
    told = run(
        files / "a.txt", files / "b.txt.gz", "--test", files / "test.tsv", "--source", "en", "--target", "de", "--json"
    )
    found = json.loads(told)
    assert found["test"] == {"name": "test.tsv", "lines": 250, "languages": ["en", "de"]}
    assert [system["name"] for system in found["systems"]] == ["a.txt", "b.txt.gz"]
    score = found["systems"][0]["scores"][0]
    assert score["value"] == comparison.scores[0][0].value
    assert score["signature"] == comparison.scores[0][0].signature
    assert score["interval"]["low"] < score["value"] < score["interval"]["high"]
    assert [each["significant"] for each in found["differences"]] == [True] * 3
    assert {slicing["title"] for slicing in found["slices"]} == {
        "By length of the source", "By length of the reference", "By the rarest word",
    }  # fmt: skip
    assert len(found["sentences"]) == 20


def test_references_alone_are_enough_and_further_ones_can_be_added(files: Path) -> None:
    told = run(
        files / "a.txt", files / "b.txt.gz", "--test", files / "test.de", "--reference", files / "a.txt",
        "--metrics", "exact-match,BLEU", "--json",
    )  # fmt: skip
    found = json.loads(told)
    assert "nrefs:2" in found["systems"][0]["scores"][0]["signature"]
    assert found["systems"][0]["scores"][0]["value"] == 100
    assert [slicing["title"] for slicing in found["slices"]] == ["By length of the reference", "By the rarest word"]


def test_words_are_counted_in_the_training_text_where_there_is_one(files: Path) -> None:
    with_languages = read_frequencies([files / "test.tsv"], Languages("en", "de"))
    assert with_languages.where == "the training data (test.tsv)"
    assert with_languages.counts == read_frequencies([files / "test.de"], None).counts
    assert with_languages.counts["ban"] > 100


def test_systems_are_called_by_what_tells_their_files_apart(files: Path) -> None:
    for name in ("one", "two"):
        (files / name).mkdir()
        (files / name / "out.txt").write_text("x\n")
    paths = [files / "one" / "out.txt", files / "two" / "out.txt", files / "a.txt", files / "a.txt"]
    assert [system.name for system in read_systems(paths)] == ["one/out.txt", "two/out.txt", "a.txt", "a.txt (2)"]


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ("a.txt --test test.de", CorpusError, "a comparison needs at least two systems; given: 1"),
        ("a.txt none.txt --test test.de", CorpusError, "none.txt: this file cannot be read: No such file"),
        (
            "a.txt model --test test.de",
            ModelFolderError,
            "regard.json: this file is truncated or was not written by Regard",
        ),
        ("a.txt . --test test.de", CorpusError, "this folder is not a model folder"),
        ("a.txt short.txt --test test.de", CorpusError, "short.txt: there are 2 lines, but test.de has 250 sentences"),
        ("a.txt a.txt --test test.de --reference short.txt", CorpusError, "there are 2 lines, but"),
        (
            "a.txt a.txt --test test.tsv",
            SettingsError,
            "this file contains sentence pairs, but their languages",
        ),
        ("a.txt a.txt --test test.de --source en", SettingsError, "--source and --target: give both"),
        ("a.txt a.txt --test test.de --metrics blue", SettingsError, "did you mean 'bleu'?"),
        ("a.txt a.txt --test test.de --metrics ,", SettingsError, "no metric was given"),
        ("a.txt a.txt --test nothing --source en --target de", CorpusError, "there is no such file or folder"),
    ],
)
def test_what_cannot_be_compared_is_told(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, error: type[Exception], says: str
) -> None:
    monkeypatch.chdir(files)
    (files / "model").mkdir()
    (files / "model" / "regard.json").write_text("{}")
    (files / "short.txt").write_text("one\ntwo\n")
    with pytest.raises(error, match=re.escape(says)):
        run(*arguments.split())


def test_real_captions_are_compared_like_made_up_ones(data: Path) -> None:
    held_out = read_held_out(data / "multi30k" / "test_2016_flickr", Languages("en", "de"))
    references = [line[0] for line in held_out.references]
    systems = [
        System("baseline", damaged(references, rate=0.3, seed=1)),
        System("as good", damaged(references, rate=0.3, seed=2)),
        System("better", damaged(references, rate=0.25, seed=3)),
    ]
    found = compare(systems, held_out, metrics=["chrf"])
    assert [difference.better for difference in found.differences] == [None, "better"]
    assert sum(part.lines for part in found.slicings[0].slices) == 1000
