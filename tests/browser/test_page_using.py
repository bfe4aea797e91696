"""The web page in use: words, alternatives, glossary, files, attention; by mouse, by keyboard alone, by touch."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from page_stub import Stub, ok

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
expect = sync_api.expect
expect.set_options(timeout=15_000)

Surf = Callable[..., Any]
TEXT, TRANSLATION = "The old cat sleeps. It is late.", "THE OLD CAT SLEEPS. IT IS LATE."
HTML = '<img src=x onerror="window.broken=1"><script>window.broken=1</script>&lt;b&gt;'


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    stub = Stub()
    yield stub
    stub.close()


@pytest.fixture
def stub(server: Stub) -> Stub:
    server.reset()
    return server


@pytest.fixture
def shown(surf: Surf, stub: Stub) -> Any:
    """The page with a text and its translation."""
    return translated(surf(stub.address))


def translated(session: Any, text: str = TEXT, translation: str = TRANSLATION) -> Any:
    session.page.fill("#text", text)
    expect(session.page.locator("#output")).to_have_text(translation)
    expect(session.page.locator("#output .stale")).to_have_count(0)
    return session


def lit(shown: Any, side: str) -> list[str]:
    return list(shown.page.locator(f"{side} .lit").all_text_contents())


def test_pointing_at_a_word_on_either_side_marks_its_words_on_both(shown: Any) -> None:
    shown.page.locator("#output .word", has_text="CAT").hover()
    assert (lit(shown, "#mirror"), lit(shown, "#output")) == (["cat"], ["CAT"])
    assert shown.text("#told") == "“cat” → “CAT”"
    box = shown.page.locator("#mirror .word", has_text="late").bounding_box()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert (lit(shown, "#mirror"), lit(shown, "#output")) == (["late."], ["LATE."])
    shown.page.mouse.move(5, 5)
    assert (lit(shown, "#mirror"), lit(shown, "#output")) == ([], [])


def test_the_mirror_lies_exactly_under_the_text(shown: Any) -> None:
    field, mirror = (shown.page.locator(name).bounding_box() for name in ("#text", "#mirror"))
    assert field == mirror
    styles = """node => { const s = getComputedStyle(node);
        return [s.font, s.letterSpacing, s.padding, s.whiteSpace, s.overflowWrap]; }"""
    assert shown.page.eval_on_selector("#text", styles) == shown.page.eval_on_selector("#mirror", styles)


def test_characters_beyond_the_basic_plane_do_not_shift_the_words(surf: Surf, stub: Stub) -> None:
    shown = translated(surf(stub.address), "𝒳 😀👍🏽 grows here.", "𝒳 😀👍🏽 GROWS HERE.")
    shown.page.locator("#output .word", has_text="GROWS").hover()
    assert (lit(shown, "#mirror"), lit(shown, "#output")) == (["grows"], ["GROWS"])


def test_another_translation_is_taken_with_a_click(shown: Any) -> None:
    shown.page.locator("#output .sentence").first.hover()
    other = shown.page.locator("#alternatives button")
    expect(other).to_have_text("THE OLD CAT SLEEPS!")
    assert other.locator("b").all_inner_texts() == ["SLEEPS!"]
    other.click()
    expect(shown.page.locator("#output")).to_have_text("THE OLD CAT SLEEPS! IT IS LATE.")
    shown.page.fill("#text", TEXT + " Yes.")
    expect(shown.page.locator("#output")).to_have_text("THE OLD CAT SLEEPS! IT IS LATE. YES.")


def test_what_is_shown_is_what_is_copied(shown: Any) -> None:
    shown.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown.page.click("#copy")
    expect(shown.page.locator("#copy")).to_have_text("Copied")
    assert shown.page.evaluate("navigator.clipboard.readText()") == TRANSLATION


def test_the_glossary_is_sent_kept_for_its_languages_and_edited_by_keyboard(shown: Any, stub: Stub) -> None:
    page = shown.page
    page.click("#open-glossary")
    assert (shown.text("#glossary-source"), shown.text("#glossary-target")) == ("English", "German")
    page.keyboard.type("cat")
    page.keyboard.press("Tab")
    page.keyboard.type("Kater")
    page.keyboard.press("Enter")
    page.keyboard.type("half a pair")
    page.keyboard.press("Escape")
    expect(page.locator("#output")).to_have_text("THE OLD Kater SLEEPS. IT IS LATE.")
    assert stub.asked[-1][1]["glossary"] == [["cat", "Kater"]]
    assert shown.text("#glossary-count") == "1"
    page.reload()
    expect(page.locator("#glossary-count")).to_have_text("1")
    page.select_option("#source", "de")
    expect(page.locator("#glossary-count")).to_be_hidden()
    page.select_option("#source", "en")
    page.click("#open-glossary")
    page.locator("#glossary-rows button").first.click()
    expect(page.locator("#glossary-count")).to_be_hidden()


def test_lines_with_tabs_become_rows_of_the_glossary(shown: Any, stub: Stub) -> None:
    shown.page.click("#open-glossary")
    shown.page.evaluate(
        """() => { const data = new DataTransfer(); data.setData("text/plain", "cat\\tKater\\nold\\tgreis\\nno tab");
        const paste = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
        document.activeElement.dispatchEvent(paste); }"""
    )
    expect(shown.page.locator("#output")).to_have_text("THE greis Kater SLEEPS. IT IS LATE.")
    assert stub.asked[-1][1]["glossary"] == [["cat", "Kater"], ["old", "greis"]]


def test_a_file_is_sent_and_its_translation_comes_from_this_server_only(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    file = {"name": f"{HTML.split('>')[0]}.txt", "mimeType": "text/plain", "buffer": b"A file."}
    expect(shown.page.locator("#choose-file")).to_be_visible()
    expect(shown.page.locator("#target")).to_have_value("de")  # the languages are there
    with shown.page.expect_file_chooser() as chooser:
        shown.page.click("#choose-file")
    chooser.value.set_files(file)
    link = shown.page.locator("#files a")
    expect(link).to_have_text("Download the translation")
    assert link.get_attribute("href") == f"{stub.address}download_file/0123.txt"
    body = next(body for path, body in stub.asked if path == "/translate_file")
    assert all(part in body for part in (b"A file.", b'name="source"\r\n\r\nauto', b'name="target"\r\n\r\nde'))
    chooser.value.set_files({**file, "name": "program.exe"})
    expect(shown.page.locator("#files .problem")).to_contain_text("It translates .txt, .po.")
    stub.routes["/translate_file"] = lambda _: (400, {}, {"error": "this file is damaged"})
    chooser.value.set_files({**file, "name": "damaged.txt"})
    expect(shown.page.locator("#files .problem").first).to_have_text("this file is damaged")


def test_a_click_opens_the_attention_of_a_sentence_and_kinds_and_heads_are_switched(shown: Any, stub: Stub) -> None:
    page = shown.page
    page.locator("#output .sentence").last.click()
    expect(page.locator("#attention")).to_be_visible()
    assert shown.text("#inspected-source") == "It is late."
    assert stub.asked[-1][1]["text"] == "It is late."
    assert shown.text("#head-name code") == "decoder-source.0"
    page.click('[data-name="decoder-source.0.1"]')
    page.focus("#stage canvas")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert shown.text("#weights") == "“IS” attends to “is” with 100 %."
    page.keyboard.press("ArrowRight")
    assert shown.text("#weights") == "“IS” attends to “late.” with 0 %."
    page.click("#kinds label:has-text('Decoder')")
    assert shown.text("#head-name code") == "decoder.0.1"
    page.click('[data-name="decoder.0.0"]')
    page.focus("#stage canvas")
    page.keyboard.press("ArrowLeft")
    assert shown.text("#weights") == "“IS” attends to “IT” with 25 %."
    page.click("#unit label:has-text('Tokens')")
    assert shown.text("#weights") == "“▁IS” attends to “▁IT” with 25 %."


def test_a_head_that_is_switched_off_changes_every_translation_and_all_come_back(shown: Any, stub: Stub) -> None:
    page = shown.page
    page.locator("#output .sentence").first.click()
    page.click('[data-name="decoder-source.0.1"]')
    page.click("#head-switch")
    expect(page.locator("#output")).to_have_text("SLEEPS. CAT OLD THE LATE. IS IT")
    assert shown.text("#heads-off-names") == "Switched off: decoder-source.0.1."
    expect(page.locator("#inspected-target mark")).to_have_text(["CAT", "OLD", "THE"])
    expect(page.locator('[data-name="decoder-source.0.1"]')).to_have_class("thumb off")
    assert page.get_attribute("#head-switch", "aria-checked") == "false"
    translations = [body for path, body in stub.asked if path == "/v1/translate"]
    attentions = [body for path, body in stub.asked if path == "/v1/attention"]
    assert translations[-1]["disabled_heads"] == attentions[-1]["disabled_heads"] == [["decoder-source", 0, 1]]
    page.click('[data-name="decoder-source.0"]')
    page.click("#head-switch")
    expect(page.locator("#heads-off-names")).to_have_text("Switched off: decoder-source.0.1, decoder-source.0.0.")
    page.click("#all-on")
    expect(page.locator("#output")).to_have_text(TRANSLATION)
    expect(page.locator("#heads-off")).to_be_hidden()
    assert "disabled_heads" not in translations[0]


def test_the_attention_follows_the_text_and_closes_with_its_sentence(shown: Any) -> None:
    page = shown.page
    page.locator("#output .sentence").last.click()
    expect(page.locator("#inspected-source")).to_have_text("It is late.")
    page.fill("#text", "The old cat sleeps. It is very late.")
    expect(page.locator("#inspected-source")).to_have_text("It is very late.")
    page.fill("#text", "The old cat sleeps.")
    expect(page.locator("#inspector")).to_be_hidden()


def test_a_model_without_attention_says_so_and_still_offers_other_translations(surf: Surf, stub: Stub) -> None:
    model = {"name": "en-de", "source": "en", "target": "de", "card": "", "engine": "pytorch", "attention": False}
    stub.routes["/v1/models"] = lambda _: ok({"models": [model]})
    shown = translated(surf(stub.address))
    shown.page.locator("#output .sentence").first.click()
    expect(shown.page.locator("#inspector-problem")).to_have_text("This model has no attention that can be shown.")
    assert shown.page.locator("#other-list button").all_inner_texts() == ["THE OLD CAT SLEEPS!"]


def test_everything_can_be_done_by_keyboard_alone(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    page, press = shown.page, shown.page.keyboard.press
    focused = lambda: page.evaluate("document.activeElement.id || document.activeElement.className")  # noqa: E731
    expect(page.locator("#text")).to_be_focused()
    page.keyboard.type(TEXT)
    press("Control+Enter")
    expect(page.locator("#output")).to_have_text(TRANSLATION)
    press("Tab")
    assert focused() == "clear"
    press("Tab")
    expect(page.locator("#output .sentence").first).to_be_focused()
    press("ArrowRight")
    press("ArrowRight")
    assert (lit(shown, "#mirror"), shown.text("#told")) == (["old"], "“old” → “OLD”")
    press("ArrowDown")
    expect(page.locator("#output .sentence").last).to_be_focused()
    expect(page.locator("#alternatives button")).to_have_text("IT IS LATE!")
    press("Tab")
    press("Enter")
    expect(page.locator("#output")).to_have_text("THE OLD CAT SLEEPS. IT IS LATE!")
    expect(page.locator("#output .sentence").last).to_be_focused()
    press("Enter")
    expect(page.locator("#attention")).to_be_visible()
    page.locator("#heads [tabindex='0']").focus()
    press("ArrowLeft")
    assert shown.text("#head-name code") == "decoder-source.0.1"
    page.locator("#head-switch").focus()
    press("Space")
    expect(page.locator("#heads-off")).to_be_visible()
    press("Escape")
    expect(page.locator("#inspector")).to_be_hidden()
    expect(page.locator("#output .sentence").last).to_be_focused()


def test_nothing_that_is_typed_or_answered_becomes_html(surf: Surf, stub: Stub) -> None:
    said = {
        "text": HTML,
        "alternatives": [{"text": f"other {HTML}"}],
        "alignment": [[0, 4, 0, 4]],
        "findings": [HTML],
        "score": -1.0,
    }
    stub.routes["/v1/translate"] = lambda body: ok({"translations": [said for _ in body["text"]]})
    stub.routes["/languages"] = lambda _: ok(
        [{"code": "en", "name": f"E{HTML}", "targets": ["de"]}, {"code": "de", "name": f"D{HTML}", "targets": ["en"]}]
    )
    evil = {
        "name": f"m{HTML}",
        "source": "en",
        "target": "de",
        "card": "javascript:window.broken=1",
        "engine": HTML,
        "attention": True,
    }
    stub.routes["/v1/models"] = lambda _: ok({"models": [evil]})
    shown = surf(f"{stub.address}?q=%3Cimg%20src=x%20onerror=%22window.broken=1%22%3E")
    page = shown.page
    expect(page.locator("#output")).to_have_text(HTML)
    page.locator("#output .sentence").first.hover()
    expect(page.locator("#alternatives button")).to_have_text(f"other {HTML}")
    page.locator("#output .sentence").first.click()
    expect(page.locator("#attention")).to_be_visible()
    assert HTML in shown.text("#inspector-facts")
    page.click("#open-glossary")
    page.keyboard.type(HTML)
    page.keyboard.press("Escape")
    stub.routes["/v1/translate"] = lambda _: (400, {}, {"error": HTML})
    page.fill("#text", "Again.")
    expect(page.locator("#notice-text")).to_have_text(HTML)
    page.locator("#models a").click()
    assert page.evaluate("window.broken") is None
    assert page.locator("img, body script, iframe").count() == 0
    assert HTML in page.locator("#target option").first.text_content()


def test_the_policy_of_the_page_refuses_html_and_handlers_in_strings(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    attempts = (
        "document.body.innerHTML = '<b>x</b>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
        "document.body.setAttribute('onclick', 'window.broken = 1')",
        "document.body.append(Object.assign(document.createElement('script'), { text: 'window.broken = 1' }))",
        "document.body.append(Object.assign(document.createElement('iframe'), { srcdoc: '<b>x</b>' }))",
    )
    for attempt in attempts:
        refused = (
            f"() => {{ try {{ {attempt}; return false; }} catch (error) {{ return error instanceof TypeError; }} }}"
        )
        assert shown.page.evaluate(refused), attempt
    assert shown.page.evaluate("window.broken") is None
    assert all("The action has been blocked" in trouble for trouble in shown.troubles)
    shown.troubles.clear()
