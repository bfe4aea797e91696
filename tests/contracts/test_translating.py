"""From a model folder and text to translations."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import regard
from regard import ModelFolderError, TextError
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
from regard.translation.translator import Translator
from runs import corpus, environment, run

LINES = ["w1 w2 w3", "", "w4", "w5 w6 w7 w8 w9", "   ", "w10 w11"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = corpus(tmp_path_factory.mktemp("translating") / "pairs.tsv")
    told = run(
        data, data.parent / "model", "--steps", "200", "--checkpoint-every", "20", settings=("validation.every=100",)
    )
    assert told.returncode == 0, told.stderr
    return data.parent / "model"


@pytest.fixture(scope="module")
def translator(folder: Path) -> Translator:
    return regard.load(folder, device="cpu", engine="torch")


def command(folder: Path, *more: str, text: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-m", "regard", "translate", str(folder), *more]
    return subprocess.run(
        arguments, input=text, capture_output=True, text=True, env=environment(folder.parent / "cache"), check=False
    )


def test_a_string_gives_a_translation_and_a_list_gives_a_list_in_order(translator: Translator) -> None:
    alone = [translator.translate(line) for line in LINES]
    together = translator.translate(LINES)
    assert [found.source for found in together] == LINES
    assert [found.text for found in together] == [found.text for found in alone]
    assert [found.text for found in translator.translate(LINES[::-1])] == [found.text for found in alone[::-1]]
    assert together[0].text
    assert (together[1].text, together[4].text) == ("", "   ")


def test_any_window_gives_the_same_stream(translator: Translator) -> None:
    expected = [found.text for found in translator.translate(LINES * 3)]
    for window in (1, 2, 7, 100):
        stream = translator.stream(iter(LINES * 3), search=SearchSettings(), window=window)
        assert [found.text for found in stream] == expected


def test_several_translations_are_sorted_distinct_and_led_by_the_best(translator: Translator) -> None:
    found = translator.translate("w1 w2 w3", n_best=4, checks=False)
    scores = [other.score for other in found.alternatives]
    assert len(found.alternatives) == 4
    assert scores == sorted(scores, reverse=True)
    assert len({other.tokens for other in found.alternatives}) == 4
    assert found.text == found.alternatives[0].text == translator.translate("w1 w2 w3", checks=False).text
    assert translator.translate("w1 w2 w3").alternatives == ()


def test_checks_put_the_best_first_and_keep_the_others(translator: Translator) -> None:
    found = translator.translate("w1 w2 w3", n_best=4)
    serious = [sum(finding.serious for finding in other.findings) for other in found.alternatives]
    assert len({other.text for other in found.alternatives}) == 4
    assert serious == sorted(serious)
    assert serious[0] == 0 or found.refused
    assert found.text == found.alternatives[0].text == translator.translate("w1 w2 w3").text


def test_a_score_is_the_sum_of_what_forward_says_and_that_of_search(translator: Translator) -> None:
    found = translator.translate("w1 w2 w3", logprobs=True, checks=False)  # which would put numbers into the text
    (scored,) = translator.score(["w1 w2 w3"], [found.text])
    assert scored.tokens == found.tokens
    assert scored.logprobs == pytest.approx(found.logprobs, abs=1e-4)
    assert scored.total == pytest.approx(sum(found.logprobs), abs=1e-4)
    ids = translator.tokenisers.target.encode("w3 w2")
    batch = batch_of([[(translator.tokenisers.source.encode("w2 w3"), ids)]], begin=0, end=1)
    with torch.no_grad():
        expected = -torch.nn.functional.cross_entropy(translator.model(batch)[0], batch.labels[0], reduction="sum")
    assert translator.score(["w2 w3"], ["w3 w2"])[0].total == pytest.approx(expected.item(), abs=1e-4)


def test_unequal_sources_and_targets_and_broken_text_are_told(translator: Translator) -> None:
    with pytest.raises(TextError, match=r"2 sources and 1 targets were given\.\n  Give one target per source"):
        translator.score(["a", "b"], ["c"])
    with pytest.raises(TextError):
        translator.translate("a \ud800 b")


@pytest.mark.parametrize("text", ["🙂", "日本語 текст", "w1 " * 2000, "a\x00b", "\u2028", "w1\tw2"])
def test_any_text_comes_back_as_one_translation(translator: Translator, text: str) -> None:
    found = translator.translate([text, "w1"], beam_size=2)
    assert len(found) == 2
    assert "\n" not in found[0].text
    assert found[1].text == translator.translate("w1", beam_size=2).text


def test_the_command_keeps_order_and_blank_lines(folder: Path, translator: Translator) -> None:
    told = command(folder, text="\n".join(LINES) + "\n")
    assert told.returncode == 0, told.stderr
    assert told.stdout.split("\n")[:-1] == [found.text for found in translator.translate(LINES)]


def test_the_command_reads_files_and_writes_json_and_several_translations(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("w1 w2\n\nw3\n", encoding="utf-8")
    told = command(folder, str(tmp_path / "text"), "--json", text="")
    objects = [json.loads(line) for line in told.stdout.splitlines()]
    assert [found["source"] for found in objects] == ["w1 w2", "", "w3"]
    assert set(objects[0]) >= {"text", "score", "tokens", "alternatives"}
    told = command(folder, str(tmp_path / "text"), "--n-best", "2", text="")
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "1", "", "3", "3"]


def test_mistakes_are_told(folder: Path, tmp_path: Path) -> None:
    told = command(tmp_path / "nothing", text="w1\n")
    assert told.returncode == 1
    assert "there is no such folder" in told.stderr
    told = command(folder, "--n-best", "9", text="w1\n")
    assert told.returncode == 1
    assert "n_best = 9 needs a beam_size of at least that" in told.stderr
    with pytest.raises(ModelFolderError, match="no such folder"):
        regard.load(tmp_path / "nothing")
