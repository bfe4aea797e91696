"""Scores: equal to sacreBLEU's own command, to examples worked by hand, and never without a signature."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import metrics
from regard.errors import CorpusError, RegardError, SettingsError
from regard.metrics import Options, score, sentence_scores
from regard.metrics import parallel as processes
from regard.metrics.metric import Counts
from regard.metrics.parallel import _asked, _Process, _started, counted_by, processes_for
from translations import damaged, sentences

ERROR_RATES = ["character_error_rate", "phoneme_error_rate", "word_error_rate"]


def value(name: str, hypotheses: list[str], references: list[list[str]], options: Options | None = None) -> float:
    return score([name], hypotheses, references, options=options)[0].value


def write(path: Path, lines: list[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def sacrebleu(*arguments: str) -> list[dict[str, object]]:
    """What sacreBLEU's command prints for several metrics."""
    command = [sys.executable, "-m", "sacrebleu", *arguments, "--metrics", "bleu", "chrf", "ter", "--format", "json"]
    told = subprocess.run([*command, "--width", "6"], capture_output=True, text=True, check=True)
    found: list[dict[str, object]] = json.loads(told.stdout)
    return found


def test_the_metrics_are_the_files() -> None:
    assert set(metrics.metrics()) == {"bleu", "chrf", "ter", "exact_match", *ERROR_RATES}


def test_a_new_file_is_a_new_metric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vowel_errors.py").write_text(
        "from regard.metrics.edits import EditRate\n"
        "class VowelErrors(EditRate):\n"
        "    title, about, unit = 'vowels', 'Edits of vowels.', 'vowel'\n"
        "    def units(self, text):\n"
        "        return [letter for letter in text if letter in 'aeiou']\n"
        "METRIC = VowelErrors\n"
    )
    monkeypatch.setattr(metrics, "__path__", [*metrics.__path__, str(tmp_path)])
    assert "vowel_errors" in metrics.metrics()
    (found,) = score(["vowel-errors"], ["hat bot"], [["hit bat"]])
    assert (found.value, found.title, "unit:vowel" in found.signature) == (100.0, "vowels", True)


def test_values_and_signatures_are_those_of_sacrebleus_command(tmp_path: Path) -> None:
    one, other = sentences(60), sentences(60, seed=1)
    made = damaged(one, rate=0.3, seed=2)
    files = [write(tmp_path / "one", one), write(tmp_path / "other", other), "--input", write(tmp_path / "made", made)]
    ours = score(["bleu", "chrf", "ter"], made, [list(line) for line in zip(one, other, strict=True)])
    for mine, theirs in zip(ours, sacrebleu(*files), strict=True):
        assert mine.value == pytest.approx(theirs["score"], abs=1e-5)
        assert mine.signature == theirs["signature"]
        assert "nrefs:2" in mine.signature


def test_tokenised_and_lower_cased_values_are_those_of_sacrebleus_command(tmp_path: Path) -> None:
    references = sentences(60)
    made = [line.upper() for line in damaged(references, rate=0.3, seed=2)]
    how = ["--tokenize", "none", "--lowercase", "--smooth-method", "none"]
    theirs = sacrebleu(write(tmp_path / "a", references), "--input", write(tmp_path / "b", made), *how)[0]
    (mine,) = score(["bleu"], made, [[line] for line in references], options=Options(tokenised=True, lowercase=True))
    assert mine.value == pytest.approx(theirs["score"], abs=1e-5)
    assert mine.signature == theirs["signature"]
    assert mine.signature == f"nrefs:1|case:lc|eff:no|tok:none|smooth:none|version:{theirs['version']}"


def test_tokenised_bleu_is_multi_bleus() -> None:
    # 8 of 9 words, 4 of 7 pairs, 2 of 5 triples and 1 of 4 quadruples are in the references, which have 10 words
    made = ["the cat sat on the mat .", "a dog"]
    references = [["the cat is on the mat ."], ["a big dog"]]
    by_hand = 100 * math.exp(1 - 10 / 9) * (8 / 9 * 4 / 7 * 2 / 5 * 1 / 4) ** (1 / 4)
    (found,) = score(["bleu"], made, references, options=Options(tokenised=True))
    assert by_hand == pytest.approx(42.4813, abs=1e-4)
    assert found.value == pytest.approx(by_hand)
    assert found.details["precision_2"] == pytest.approx(100 * 4 / 7)
    assert found.details["brevity_penalty"] == pytest.approx(math.exp(-1 / 9))
    assert (found.details["hypothesis_length"], found.details["reference_length"]) == (9, 10)


def test_tokenised_bleu_smooths_nothing_and_splits_nothing() -> None:
    made, references = ["one two three, four"], [["one two three , five"]]
    assert value("bleu", made, references) > 0
    assert value("bleu", made, references, Options(tokenised=True)) == 0
    assert "Never compare one" in metrics.TOKENISED


def test_languages_without_spaces_are_split_otherwise() -> None:
    made, references = ["我喜欢大的红色苹果。"], [["我喜欢小的红色苹果。"]]
    (chinese,) = score(["bleu"], made, references, options=Options(language="zh-CN"))
    assert "tok:zh" in chinese.signature
    assert chinese.value > value("bleu", made, references)
    assert "tok:char" in score(["bleu"], made, references, options=Options(language="ja"))[0].signature


@pytest.mark.parametrize(
    ("made", "references", "word", "phoneme", "character"),
    [
        (["k æ t", "d ɒ g"], [["k æ t"], ["d ɔ g"]], 50, 100 / 6, 100 / 10),
        (["k æ t s"], [["k æ t"]], 100, 100 / 3, 200 / 5),  # one added
        (["k t"], [["k æ t"]], 100, 100 / 3, 200 / 5),  # one dropped
        (["a b c d"], [["b c d e"]], 100, 50, 400 / 7),  # one dropped, one added: cheaper than four changes
        (["x y z w"], [["a b"]], 100, 200, 600 / 3),  # more errors than phonemes
        ([""], [["a b"]], 100, 100, 100),
        (["a"], [[""]], 100, 100, 100),
        ([""], [[""]], 0, 0, 0),
        (["tʃ iː z"], [["tʃ iː z"]], 0, 0, 0),
    ],
)
def test_error_rates_are_those_worked_by_hand(
    made: list[str], references: list[list[str]], word: float, phoneme: float, character: float
) -> None:
    found = [each.value for each in score(ERROR_RATES, made, references)]
    assert found == pytest.approx([character, phoneme, word])
    assert value("exact_match", made, references) == pytest.approx(100 - word)


def test_the_word_error_rate_counts_lines_and_the_phoneme_error_rate_sums_over_all_of_them() -> None:
    made = ["a b c d e f g h i x", "x"]
    references = [["a b c d e f g h i j"], ["y"]]
    assert value("word_error_rate", made, references) == 100
    assert value("phoneme_error_rate", made, references) == pytest.approx(100 * 2 / 11)  # not the mean of 10 and 100
    assert sentence_scores("phoneme_error_rate", made, references) == [10, 100]


def test_of_several_references_the_nearest_counts() -> None:
    made = ["a b c d", "d e"]
    assert value("exact_match", made, [["x", "a b c d"], ["d e", "x", "y"]]) == 100
    assert value("phoneme_error_rate", made, [["a b c x y", "a b z d"], ["d"]]) == pytest.approx(100 * 2 / 5)
    for name in metrics.metrics():
        (found,) = score([name], made, [["x", "a b c d"], ["d e", "x", "y"]])
        assert "nrefs:var" in found.signature
        better, worse = found.value, value(name, made, [["x"], ["x"]])
        assert better > worse if found.higher_is_better else better < worse


def test_neither_spaces_nor_the_spelling_of_accents_are_errors_and_case_is_one_unless_said_otherwise() -> None:
    assert value("exact_match", [" a\u0303  b "], [["ã b"]]) == 100
    assert value("character_error_rate", ["Ab"], [["ab"]]) == 50
    (found,) = score(["character_error_rate"], ["Ab"], [["ab"]], options=Options(lowercase=True))
    assert (found.value, found.signature) == (0, f"nrefs:1|case:lc|unit:character|version:regard-{regard.__version__}")


def test_single_sentences_get_a_bleu_that_is_of_use() -> None:
    right, half, wrong = sentence_scores("bleu", ["a b", "a b c d e", "x"], [["a b"], ["a b c y z"], ["y"]])
    assert right == pytest.approx(100)
    assert 0 < half < 100
    assert wrong == 0


def test_the_score_of_some_lines_needs_no_new_count() -> None:
    references = [[line] for line in sentences(30)]
    made = damaged([line for (line,) in references], rate=0.3, seed=1)
    chosen = [2, 3, 5, 7, 11, 13]
    for counted in metrics.count(["bleu", "chrf", "ter", "exact_match"], made, references):
        alone = score([counted.name], [made[n] for n in chosen], [references[n] for n in chosen])[0]
        assert counted.score(chosen) == alone
        assert counted.score() != alone


def test_a_score_is_told_with_its_signature() -> None:
    (found,) = score(["phoneme_error_rate"], ["a c"], [["a b"]])
    assert str(found) == f"PER = 50.00 (nrefs:1|case:mixed|unit:token|version:regard-{regard.__version__})"
    assert found.details == {"edits": 1, "reference_length": 2}


@pytest.mark.parametrize(
    ("names", "made", "references", "error", "says"),
    [
        (["blue"], ["a"], [["a"]], SettingsError, "metric 'blue': there is no such metric; did you mean 'bleu'?"),
        (["zzz"], ["a"], [["a"]], SettingsError, "valid names: bleu, character_error_rate, chrf, exact_match"),
        ([], ["a"], [["a"]], SettingsError, "no metric was given"),
        (["bleu"], [], [], CorpusError, "there is no output to score"),
        (["bleu"], ["a", "b"], [["a"]], CorpusError, "there are 2 outputs, but references for 1"),
        (["bleu"], ["a", "b"], [["a"], []], CorpusError, "line 2 has no reference"),
        (["bleu"], ["a"], ["a"], CorpusError, "for each of them a list of references"),
        (["bleu"], "a", [["a"]], CorpusError, "expected lists of strings"),
    ],
)
def test_what_cannot_be_scored_is_told(
    names: list[str], made: list[str], references: list[list[str]], error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as told:
        score(names, made, references)
    assert says in str(told.value)


def test_scoring_needs_no_tensors() -> None:
    code = "import sys; from regard.metrics import score; score(['bleu', 'ter'], ['a'], [['a']]); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "sacrebleu" in modules
    assert "torch" not in modules


def test_several_processes_count_what_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, references = damaged(sentences(230), rate=0.3, seed=1), [[line] for line in sentences(230)]
    names, options = ["bleu", "chrf", "ter"], Options(lowercase=True)
    expected = metrics.count(names, outputs, references, options=options)
    monkeypatch.setattr(processes, "LINES_EACH", 100)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    asked: list[_Process] = []

    def noted(process: _Process, question: Any) -> list[list[Counts]]:
        asked.append(process)
        return _asked(process, question)

    monkeypatch.setattr(processes, "_asked", noted)
    found = metrics.count(names, outputs, references, options=options)
    assert [one.counts for one in found] == [one.counts for one in expected]
    assert [one.score() for one in found] == [one.score() for one in expected]
    assert len(asked) == 3  # chunks of a hundred lines


def test_a_process_that_fails_says_why_and_one_that_is_ended_is_reported() -> None:
    with pytest.raises(RegardError, match="Counting for the scores failed: metric 'blue': there is no such metric"):
        counted_by(2, ["blue"], Options(), ["a"] * 3, [["a"]] * 3)
    with _started() as process:
        process.kill()
        process.wait()
        with pytest.raises(RegardError, match=r"was ended from outside\.\n  Perhaps memory is short"):
            _asked(process, (["bleu"], Options(), ["a"], [["a"]]))


def test_few_lines_are_counted_in_this_process() -> None:
    assert processes_for(processes.LINES_EACH * 2 - 1) == 1
