"""The web page of the real server, with the shipped models: what people see is what the Translator gives."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server's libraries are not installed: pip install 'regard[serve]'")
sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")

from regard.models.protocols import AttentionName  # noqa: E402
from serving import Running, running  # noqa: E402 it needs the libraries above

expect = sync_api.expect
expect.set_options(timeout=30_000)

Surf = Callable[..., Any]
TEXT = "She opened the old book and began to read. Where is the station?"
TRANSLATION = "Sie öffnete das alte Buch und fing an zu lesen. Wo ist der Bahnhof?"


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running([Path("en-de"), Path("de-en")], engine="auto") as server:
        yield server


@pytest.fixture
def shown(surf: Surf, server: Running) -> Any:
    session = surf(f"{server.url}/")
    session.page.fill("#text", TEXT)
    expect(session.page.locator("#output")).to_have_text(TRANSLATION)
    return session


def test_a_text_is_detected_translated_aligned_and_swapped(shown: Any) -> None:
    page = shown.page
    assert page.locator("#source option").first.inner_text() == "English (detected)"
    page.locator("#output .word", has_text="Buch").hover()
    assert page.locator("#mirror .lit").all_text_contents() == ["book"]
    expect(page.locator("#alternatives button")).to_have_count(3)
    page.click("#swap")
    expect(page.locator("#output")).to_contain_text("book")
    assert page.input_value("#text") == TRANSLATION
    assert (page.input_value("#source"), page.input_value("#target")) == ("de", "en")


def test_a_glossary_is_obeyed(shown: Any) -> None:
    shown.page.click("#open-glossary")
    shown.page.keyboard.type("book")
    shown.page.keyboard.press("Tab")
    shown.page.keyboard.type("Band")
    shown.page.keyboard.press("Escape")
    expect(shown.page.locator("#output")).to_contain_text("Band")


def test_heads_that_are_switched_off_change_the_translation_as_in_python(shown: Any, server: Running) -> None:
    page, translator = shown.page, server.state.catalogue.named("en-de").translator
    source, target = TEXT.split(". ")[0] + ".", TRANSLATION.split(". ")[0] + "."
    page.locator("#output .sentence").first.click()
    expect(page.locator("#attention")).to_be_visible()
    layers, heads = (translator.description.settings[name] for name in ("decoder_layers", "heads"))
    assert page.locator("#heads .thumb").count() == layers * (heads + 1)
    page.click('[data-name="decoder-source.0"]')
    page.focus("#stage canvas")
    page.keyboard.press("ArrowDown")
    weights = translator.look(source, target).weights(AttentionName("decoder-source", 0), words=True)
    told = shown.text("#weights")
    assert told.startswith("“Sie” attends to “She” with ")
    assert float(told.split()[-2]) == pytest.approx(100 * float(weights.mean(dim=0)[0, 0]), abs=0.6)
    page.click("#head-switch")
    without = translator.look(source, without="decoder-source.0").translation
    assert without != target
    expect(page.locator("#inspected-target")).to_have_text(without)
    expect(page.locator("#output .sentence").first).to_have_text(without)
    page.click("#all-on")
    expect(page.locator("#output")).to_have_text(TRANSLATION)


def test_a_file_goes_in_and_its_translation_comes_out(surf: Surf, server: Running, tmp_path: Path) -> None:
    shown = surf(f"{server.url}/")
    file = tmp_path / "letter.txt"
    file.write_text("Where is the station?\n", encoding="utf-8")
    shown.page.select_option("#source", "en")
    shown.page.set_input_files("#file", file)
    with shown.page.expect_download() as download:
        shown.page.click("#files a")
    assert Path(download.value.path()).read_text(encoding="utf-8") == "Wo ist der Bahnhof?\n"


def test_the_page_carries_a_policy_and_every_file_of_it_its_type(shown: Any, server: Running) -> None:
    answer = shown.page.request.get(f"{server.url}/")
    policy = answer.headers["content-security-policy"]
    assert all(part in policy for part in ("script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"))
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-cache"
    own = {url.removeprefix(server.url) for url in shown.requests}
    assert {"/", "/style.css", "/main.js", "/theme.js", "/inspector.js"} <= own
    assert shown.page.request.get(f"{server.url}/../app.py").status == 404
    assert shown.page.request.get(f"{server.url}/%2e%2e/app.py").status == 404
