"""The page of `regard look` in a real browser: every assertion is on what is shown."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looking import SOURCE, TARGET, base_model_and_sixty_words, pairs_file, translator
from regard.insight.attention import Attention
from regard.insight.attention_page import First, write_page
from regard.insight.heads import head_statistics
from regard.insight.sample import Sample
from regard.insight.tables import heads_page
from regard.insight.tables import write_page as write_table
from regard.models.parts.observation import Head
from regard.models.protocols import AttentionName
from regard.text import corpus
from regard.text.pairs import Languages
from regard.translation.translator import Translator

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return translator(tmp_path_factory.mktemp("browser") / "small-model")


@pytest.fixture(scope="module")
def seen(model: Translator) -> Attention:
    return model.look(SOURCE, TARGET, without="decoder.0.2")


@pytest.fixture(scope="module")
def path(seen: Attention, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "attention.html"
    write_page(file, seen)
    return file


def dots(visit: Any, selector: str) -> list[int]:
    """The colours of a canvas."""
    script = "c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data]"
    return list(visit.page.eval_on_selector(selector, script))


def percents(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"([\d.]+) %", text)]


def test_it_shows_every_head_the_sentence_and_where_its_words_came_from(
    visit: Open, path: Path, seen: Attention
) -> None:
    shown = visit(path)
    assert shown.text("h1") == SOURCE
    assert shown.text(".translation").endswith(TARGET)
    assert shown.page.locator(".thumb").count() == 3 * 2 * (4 + 1)
    assert shown.page.locator(".thumb.off").get_attribute("data-name") == "decoder.0.2"
    words = shown.page.locator(".gloss .said").all_inner_texts()
    assert words == list(seen.said.words[:-1])
    sources = shown.page.locator(".gloss .source").all_inner_texts()
    assert sources == [seen.source.words[each.source] for each in seen.alignment()[:-1]]
    shades = dots(shown, '[data-name="encoder.0.1"] canvas')
    assert len(shades) == 4 * len(seen.source.pieces) ** 2
    assert len(set(zip(*[iter(shades)] * 4, strict=True))) > 10


def test_a_head_is_chosen_from_the_map_and_kinds_are_switched(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    assert shown.text("#large-name code").startswith("decoder-source.")
    shown.page.click('[data-name="encoder.1.2"]')
    assert shown.text("#large-name") == "encoder.1.2 layer 1, head 2"
    assert "Each source word (rows) attends to all source words (columns)." in shown.text("#large-about")
    assert shown.page.locator('[aria-checked="true"]').get_attribute("data-name") == "encoder.1.2"
    assert shown.page.locator("#query option").all_inner_texts() == list(seen.source.pieces)
    shown.page.keyboard.press("ArrowLeft")
    assert shown.text("#large-name code") == "encoder.1.1"
    shown.page.keyboard.press("ArrowUp")
    assert shown.text("#large-name code") == "encoder.0.1"
    shown.page.click('[data-name="decoder.1.0"]')
    assert "the words that it has generated" in shown.text("#large-about")
    assert shown.page.locator("#query option").all_inner_texts() == list(seen.said.pieces)
    shown.page.click('[data-name="decoder.0.2"]')
    assert shown.text("#large-about") == "This head was switched off, so it has no weights."
    assert "switched off" in shown.text("#lookup-told")


def test_pointing_at_a_square_says_who_looks_at_whom_and_how_much(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.click('[data-name="encoder.1.2"]')
    weights = seen.weights(AttentionName("encoder", 1), words=True)[2]
    canvas = shown.page.locator("#stage canvas")
    canvas.focus()
    shown.page.keyboard.press("ArrowDown")
    before = shown.text("#told")
    canvas.hover(position={"x": canvas.bounding_box()["width"] / 2, "y": canvas.bounding_box()["height"] * 0.7})
    told = shown.text("#told")
    assert told != before
    match = re.match(r"“(.+)” attends to “(.+)” with ([\d.]+) %", told)
    assert match
    rows = [n for n, word in enumerate(seen.source.words) if word == match[1]]
    columns = [n for n, word in enumerate(seen.source.words) if word == match[2]]
    shares = [100 * float(weights[row, column]) for row in rows for column in columns]
    assert min(abs(share - float(match[3])) for share in shares) <= 0.51


def test_arrow_keys_walk_over_the_heat_map(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.click('[data-name="decoder-source.1.3"]')
    shown.page.focus("#stage canvas")
    for key in ("ArrowUp",) * 14 + ("ArrowLeft",) * 2 + ("ArrowDown", "ArrowRight"):
        shown.page.keyboard.press(key)
    weights = seen.weights(AttentionName("decoder-source", 1), words=True)[3]
    told = shown.text("#told")
    assert told.startswith(f"“{seen.said.words[1]}” attends to “{seen.source.words[1]}” with")
    assert percents(told)[0] == pytest.approx(100 * float(weights[1, 1]), abs=0.51)
    assert shown.page.input_value("#query") == str(seen.said.word_of.index(1))


def test_lines_between_words_show_both_directions(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.click('[data-name="decoder-source.0.1"]')
    shown.page.check('input[value="lines"]', force=True)
    weights = seen.weights(AttentionName("decoder-source", 0), words=True)[1]
    assert shown.page.locator(".from .word").all_inner_texts() == list(seen.said.words)
    assert shown.page.locator(".to .word").all_inner_texts() == list(seen.source.words)
    assert shown.page.locator("#stage path").count() == int((weights >= 0.02).sum())
    shown.page.hover(".from .word:nth-child(2)")
    best = int(weights[1].argmax())
    assert shown.text("#told").startswith(f"“{seen.said.words[1]}” attends to “{seen.source.words[best]}”")
    assert percents(shown.text("#told"))[0] == pytest.approx(100 * float(weights[1, best]), abs=0.51)
    shown.page.hover(".to .word:nth-child(3)")
    most = int(weights[:, 2].argmax())
    assert shown.text("#told").startswith(f"“{seen.source.words[2]}” is attended to by “{seen.said.words[most]}”")
    assert shown.page.locator(".word.chosen").inner_text() == seen.source.words[2]


def test_words_and_pieces_are_switched(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.check('input[value="lines"]', force=True)
    shown.page.check('input[value="pieces"]', force=True)
    assert shown.page.locator(".from .word").all_inner_texts() == list(seen.said.pieces)
    assert shown.page.locator(".to .word").all_inner_texts() == list(seen.source.pieces)
    shown.page.click("#numbers summary")
    shown.page.wait_for_selector("#numbers tbody tr")
    assert shown.page.locator("#numbers tbody tr").count() == len(seen.said.pieces)
    shown.page.check('input[value="words"]', force=True)
    assert shown.page.locator("#numbers tbody tr").count() == len(seen.said.words)


def test_a_word_is_looked_up_step_by_step(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.click('[data-name="decoder-source.1.1"]')
    shown.page.select_option("#query", "4")
    name = AttentionName("decoder-source", 1)
    weights, scores = seen.weights(name)[1, 4], seen.scores(name)[0][1, 4]
    rows = shown.page.locator("#lookup tbody tr:not(.asked):not(.mixed)")
    assert rows.locator(".piece").all_inner_texts() == list(seen.source.pieces)
    assert [float(text) for text in rows.locator(".score b").all_inner_texts()] == pytest.approx(
        scores.tolist(), abs=0.006
    )
    shares = [percents(text)[0] for text in rows.locator(".share b").all_inner_texts()]
    assert shares == pytest.approx((100 * weights).tolist(), abs=0.51)
    assert sum(shares) == pytest.approx(100, abs=3)
    assert shown.page.locator("#lookup .strip").count() == 2 + 2 * len(seen.source.pieces)
    assert f"“{seen.source.pieces[int(weights.argmax())]}”" in shown.text("#lookup-told")
    value = shown.page.locator("#lookup tbody .value .strip").first
    for step, words in enumerate(["has a query vector of 4 numbers", "compared with every key", "softmax"], start=1):
        shown.page.check(f'input[name="step"][value="{step}"]', force=True)
        assert words in shown.text("#lookup-told")
        assert not value.is_visible()
        assert rows.locator(".score b").first.is_visible() == (step >= 2)
        assert rows.locator(".share b").first.is_visible() == (step >= 3)
    shown.page.check('input[name="step"][value="4"]', force=True)
    assert value.is_visible()


def test_a_word_of_the_alignment_leads_to_what_it_looked_at(visit: Open, path: Path, seen: Attention) -> None:
    shown = visit(path)
    shown.page.click('[data-name="encoder.1.2"]')
    shown.page.click(".gloss li:nth-child(2) button")
    assert shown.text("#large-name code").startswith("decoder-source.")
    assert shown.text("#told").startswith(f"“{seen.said.words[1]}” attends to")
    assert shown.page.locator("#query").input_value() == str(seen.said.word_of.index(1))


def test_dark_is_drawn_in_other_colours_and_follows_the_reader(visit: Open, path: Path) -> None:
    shown = visit(path)
    light = dots(shown, ".thumb canvas")
    shown.page.emulate_media(color_scheme="dark")
    shown.page.wait_for_timeout(50)
    dark = dots(shown, ".thumb canvas")
    assert light != dark
    assert dots(visit(path, dark=True), ".thumb canvas") == dark


def test_a_narrow_screen_never_scrolls_sideways(visit: Open, path: Path) -> None:
    shown = visit(path, width=380)
    for view in ("heat", "lines"):
        shown.page.check(f'input[value="{view}"]', force=True)
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= 380


def test_everything_that_can_be_chosen_has_a_name_for_who_cannot_see_it(visit: Open, path: Path) -> None:
    shown = visit(path)
    named = "e => e.getAttribute('aria-label') || e.innerText || e.closest('label')?.innerText || ''"
    names = shown.page.eval_on_selector_all(
        "button, select, input, canvas[tabindex], summary", f"all => all.map({named})"
    )
    assert len(names) > 40
    assert [name for name in names if not name.strip()] == []
    assert shown.page.locator('.heads [tabindex="0"]').count() == 3, "one stop of Tab for each map"


def test_sixty_words_in_a_base_model_open(visit: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "large.html", base_model_and_sixty_words())
    shown = visit(tmp_path / "large.html")
    assert shown.page.locator(".thumb").count() == 3 * 6 * (8 + 1)
    shown.page.click('[data-name="decoder.5.7"]')
    assert shown.text("#large-name code") == "decoder.5.7"
    assert shown.page.locator("#lookup tbody tr").count() <= 24 + 2
    shown.page.click(".more-keys")
    assert shown.page.locator("#lookup tbody tr").count() > 90


def test_a_table_of_heads_sorts_when_a_heading_is_chosen(visit: Open, model: Translator, tmp_path: Path) -> None:
    pairs = corpus.read([pairs_file(tmp_path / "pairs.tsv")], Languages("en", "de"))
    sample = Sample.of(pairs, model.tokenisers, sentences=9)
    found = head_statistics(model.model, sample, device=model.device)
    write_table(tmp_path / "heads.html", heads_page(found, model="small", about="here"))
    shown = visit(tmp_path / "heads.html")
    for turned in (True, False):
        shown.page.click("th button:has-text('entropy')")
        column = [float(text) for text in shown.page.locator("tbody td:nth-child(2)").all_inner_texts()]
        assert column == sorted(column, reverse=turned)


def test_a_page_opens_with_the_head_and_the_piece_that_it_was_told(
    visit: Open, seen: Attention, tmp_path: Path
) -> None:
    write_page(tmp_path / "first.html", seen, first=First(Head("decoder-source", 1, 2), 3))
    shown = visit(tmp_path / "first.html")
    assert shown.text("#large-name").startswith("decoder-source.1.2")
    assert shown.page.locator("#unit input[value=pieces]").is_checked()
    assert seen.said.pieces[3] in shown.text("#told")
