"""A model that reads and writes from the end: for its user, texts are as they always were."""

from __future__ import annotations

import random

import pytest

import regard
from regard import SettingsError
from regard.text.placeholders import differences
from regard.translation.translator import Translator
from trained import MEANING, model_folder, sentence, translation


@pytest.fixture(scope="module")
def backwards(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    folder = model_folder(tmp_path_factory.mktemp("backwards") / "model", backwards=True, steps=360)
    return regard.load(folder, device="cpu")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    draw = random.Random(5)  # noqa: S311
    return [sentence(draw) for _ in range(60)]


def test_it_knows_its_task(backwards: Translator, texts: list[str]) -> None:
    assert backwards.tokenisers.reversed
    found = backwards.translate(texts)
    assert sum(one.text == translation(text) for one, text in zip(found, texts, strict=True)) > 0.9 * len(texts)


def test_what_it_says_first_is_the_end(backwards: Translator) -> None:
    found = backwards.translate("alto gan")
    assert found.text == "tirlo zorva"
    assert found.tokens == tuple(backwards.tokenisers.target.pieces(backwards.tokenisers.target.encode(found.text)))
    assert "".join(reversed(found.tokens)).replace("▁", " ").strip() == found.text
    assert backwards.score("alto gan", "tirlo zorva").total > backwards.score("alto gan", "zorva tirlo").total


def test_words_are_numbered_from_the_beginning_in_alignments(backwards: Translator, texts: list[str]) -> None:
    found = [one for one in backwards.translate(texts, alignment=True) if one.text == translation(one.source)]
    links = [(one.source.split()[s], one.text.split()[t]) for one in found for s, t in one.alignment]
    assert [t for one in found for _, t in one.alignment] == [n for one in found for n in range(len(one.text.split()))]
    assert sum(MEANING[source] == target for source, target in links) > 0.75 * len(links)


@pytest.mark.parametrize("text", ["alto {name} gan", "<b>alto</b> gan", "{0} alto"])
def test_placeholders_survive(backwards: Translator, text: str) -> None:
    found = backwards.translate(text)
    assert differences(text, found.text) == ([], [])


def test_a_glossary_is_followed(backwards: Translator) -> None:
    assert "wadona" in backwards.translate("alto gan", glossary={"gan": "wadona"}).text.split()


def test_it_can_be_looked_into_in_the_order_in_which_it_reads(backwards: Translator) -> None:
    seen = backwards.look("alto gan")
    assert seen.translation == "tirlo zorva"
    assert [word for word in seen.source.words if not word.startswith("⟨")] == ["gan", "alto"]


def test_it_cannot_go_on_from_a_beginning_and_says_so(backwards: Translator) -> None:
    with pytest.raises(SettingsError, match=r"prefix: this model generates text from its end.*\n  Translate with"):
        backwards.translate("alto gan", prefix="tirlo")
