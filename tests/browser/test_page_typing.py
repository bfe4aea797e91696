"""The web page while one types: what it asks the server, what it shows, and what it does when the server does not play along."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from page_stub import Answer, Stub, capitals, ok
from regard.text.sentences import sentences

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
expect = sync_api.expect
expect.set_options(timeout=15_000)

Surf = Callable[..., Any]


@pytest.fixture(scope="module")
def server() -> Iterator[Stub]:
    stub = Stub()
    yield stub
    stub.close()


@pytest.fixture
def stub(server: Stub) -> Stub:
    server.reset()
    return server


def output(shown: Any) -> Any:
    return shown.page.locator("#output")


def typed(shown: Any, text: str, translation: str) -> None:
    """Types a text and waits for its translation."""
    shown.page.fill("#text", text)
    expect(output(shown)).to_have_text(translation)
    expect(shown.page.locator(".stale")).to_have_count(0)


def stop_the_clock(shown: Any) -> None:
    """From here on, time passes on the page when a test says so."""
    expect(shown.page.locator("#target")).to_have_value("de")
    shown.page.clock.install(time=0)
    shown.page.clock.pause_at(1000)


def test_a_text_is_translated_sentence_by_sentence_and_keeps_its_paragraphs(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "One. Two, Dr. Smith!\n\n - Three?", "ONE. TWO, DR. SMITH!\n\n - THREE?")
    assert stub.texts() == [["One.", "Two, Dr. Smith!", "- Three?"]]
    assert stub.asked[-1][1]["source"] == "en"
    assert stub.asked[-1][1]["target"] == "de"
    assert shown.page.eval_on_selector("#output", "box => box.textContent") == "ONE. TWO, DR. SMITH!\n\n - THREE?"


def test_only_sentences_that_are_new_are_sent(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "One. Two.", "ONE. TWO.")
    typed(shown, "One. Two. Three.", "ONE. TWO. THREE.")
    typed(shown, "Two. One.", "TWO. ONE.")
    assert stub.texts() == [["One.", "Two."], ["Three."]]


def test_keys_in_quick_succession_are_one_request(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    stop_the_clock(shown)
    for text in ("O", "On", "One"):
        shown.page.fill("#text", text)
        shown.page.clock.run_for(200)
    assert stub.texts() == []
    shown.page.clock.run_for(100)
    expect(output(shown)).to_have_text("ONE")
    assert stub.texts() == [["One"]]


def test_an_outdated_request_is_aborted_and_its_answer_is_never_shown(surf: Surf, stub: Stub) -> None:
    arrived, release = threading.Event(), threading.Event()

    def slow(body: Any) -> Answer:
        if "Slow." in body["text"]:
            arrived.set()
            release.wait(20)
        return capitals(body)

    stub.routes["/v1/translate"] = slow
    shown = surf(stub.address)
    shown.page.fill("#text", "Slow.")
    assert arrived.wait(15)
    expect(shown.page.locator("#working")).to_be_visible()
    shown.page.fill("#text", "Quick.")
    expect(output(shown)).to_have_text("QUICK.")
    release.set()
    typed(shown, "Quick. More.", "QUICK. MORE.")
    assert [body for body in shown.aborted if '"Slow."' in body] == shown.aborted != []
    expect(shown.page.locator("#working")).to_be_hidden()


def test_a_long_text_appears_in_portions(surf: Surf, stub: Stub) -> None:
    first, release = threading.Event(), threading.Event()

    def second_waits(body: Any) -> Answer:
        if first.is_set():
            release.wait(20)
        first.set()
        return capitals(body)

    stub.routes["/v1/translate"] = second_waits
    shown = surf(stub.address)
    shown.page.fill("#text", " ".join(f"Number {n} comes." for n in range(20)))
    expect(shown.page.locator("#output .sentence:not(.stale)")).to_have_count(8)
    release.set()
    expect(shown.page.locator("#output .sentence:not(.stale)")).to_have_count(20)
    assert [len(texts) for texts in stub.texts()] == [8, 12]


def test_the_page_cuts_sentences_where_the_translator_does(surf: Surf, stub: Stub) -> None:
    texts = [
        "One. Two! Three? Four… five. Six",
        "Dr. Smith met Prof. Jones at 3.15 p.m. on the 3. March. They spoke (briefly). \"Really?\" he asked. 'Yes.'",
        "Am 3. März, z. B. um 8 Uhr, kam er. Usw. usf. Das ist Nr. 5. Ja.",
        "A list:\n- one\n- two\ngoes on here\n\nand a new paragraph.\nNext line. J. R. R. Tolkien wrote it.",
        "これは文です。次の文！「はい。」と言った。終わり",
        "Первый, т.е. г. Москва. Второй? Да.",
        "«Bonjour. Ça va ?» Oui ! M. Dupont… Non.",
        "No end",
        "  lead and trail.  \n",
        "Wait... what?! No way!! OK. 5. Go.",
    ]
    shown = surf(stub.address)
    script = "async texts => { const { sentences } = await import('/sentences.js'); return texts.map(sentences); }"
    assert shown.page.evaluate(script, texts) == [sentences(text) for text in texts]


def test_the_server_that_has_too_much_to_do_is_asked_again_when_it_says(surf: Surf, stub: Stub) -> None:
    answers = [(429, {"Retry-After": "7"}, {"error": "Slowdown: too many requests"})]
    stub.routes["/v1/translate"] = lambda body: answers.pop() if answers else capitals(body)
    shown = surf(stub.address)
    stop_the_clock(shown)
    shown.page.fill("#text", "One.")
    shown.page.clock.run_for(300)
    expect(shown.page.locator("#notice")).to_contain_text("The server has too much to do, or you have reached your limit.")
    expect(shown.page.locator("#notice")).to_contain_text("Next try in 7 s.")
    shown.page.clock.run_for(6900)
    assert len(stub.texts()) == 1
    shown.page.clock.run_for(200)
    expect(output(shown)).to_have_text("ONE.")
    assert stub.texts() == [["One."]] * 2
    expect(shown.page.locator("#notice")).to_be_hidden()


def test_a_server_that_does_not_answer_is_reported_and_tried_again_when_the_network_is_back(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "One.", "ONE.")
    shown.page.route("**/v1/translate", lambda route: route.abort())
    shown.page.fill("#text", "One. Two.")
    expect(shown.page.locator("#notice-text")).to_contain_text("The server does not answer.")
    assert shown.text("#output").startswith("ONE.")
    shown.page.unroute("**/v1/translate")
    shown.page.evaluate("dispatchEvent(new Event('online'))")
    expect(output(shown)).to_have_text("ONE. TWO.")
    expect(shown.page.locator("#notice")).to_be_hidden()


def test_a_page_that_opens_before_its_server_is_ready_starts_by_itself(surf: Surf, stub: Stub) -> None:
    answers: list[Answer] = [(503, {"Retry-After": "1"}, {"error": "loading"})]
    usual = stub.routes["/languages"]
    stub.routes["/languages"] = lambda body: answers.pop() if answers else usual(body)
    shown = surf(stub.address)
    expect(shown.page.locator("#notice")).to_contain_text("The server is not ready yet.")
    expect(shown.page.locator("#target")).to_have_value("de")
    typed(shown, "One.", "ONE.")


PROBLEMS: list[tuple[Answer, str]] = [
        ((500, {}, "<html>Bad gateway</html>"), "The server has a problem (500)."),
        ((500, {}, {"error": "the model failed"}), "The server reports a problem: the model failed"),
        ((400, {}, {"error": "Invalid request: too long"}), "Invalid request: too long"),
        ((413, {}, ""), "This is too large for the server."),
        ((200, {}, "<html>Please log in</html>"), "The server sent an answer that is not JSON."),
        ((200, {}, {"translations": []}), "The server sent fewer translations than texts."),
]


def test_other_problems_are_shown_in_words(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    for number, (answer, message) in enumerate(PROBLEMS):
        stub.routes["/v1/translate"] = lambda _, answer=answer: answer
        shown.page.fill("#text", "x" * (number + 1))
        expect(shown.page.locator("#notice-text")).to_contain_text(message)
    stub.routes["/v1/translate"] = capitals
    typed(shown, "Two.", "TWO.")
    expect(shown.page.locator("#notice")).to_be_hidden()


def test_a_server_that_needs_a_key_gets_it_and_the_browser_does_not_keep_it(surf: Surf, stub: Stub) -> None:
    def locked(body: Any) -> Answer:
        return capitals(body) if body.get("api_key") == "sesame" else (403, {}, {"error": "Invalid API key"})

    stub.routes["/v1/translate"] = locked
    shown = surf(stub.address)
    shown.page.fill("#text", "One.")
    expect(shown.page.locator("#notice-text")).to_have_text("Invalid API key")
    shown.page.click("#notice-action")
    shown.page.keyboard.type("sesame")
    shown.page.keyboard.press("Enter")
    expect(output(shown)).to_have_text("ONE.")
    kept = shown.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])")
    assert "sesame" not in kept


def test_texts_are_never_stored(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "Confidential.", "CONFIDENTIAL.")
    shown.page.click("#swap")
    kept = shown.page.evaluate("JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])")
    assert "onfidential" not in kept
    assert "CONFIDENTIAL" not in kept
    assert "regard.languages" in kept


def test_a_text_above_the_limit_is_not_sent(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    shown.page.fill("#text", "word " * 101)
    expect(shown.page.locator("#notice-text")).to_contain_text("The text has more than 500 characters.")
    assert shown.text("#count") == "505 / 500"
    typed(shown, "One.", "ONE.")
    assert stub.texts() == [["One."]]


def test_the_language_is_detected_and_the_target_follows(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "The cat.", "THE CAT.")
    assert shown.page.locator("#source option").first.inner_text() == "English (detected)"
    typed(shown, "Das ist die Katze.", "DAS IST DIE KATZE.")
    assert shown.page.locator("#source option").first.inner_text() == "German (detected)"
    assert shown.page.input_value("#target") == "en"
    assert (stub.asked[-1][1]["source"], stub.asked[-1][1]["target"]) == ("de", "en")


def test_a_language_without_a_model_is_named_and_another_can_be_chosen(surf: Surf, stub: Stub) -> None:
    stub.routes["/detect"] = lambda _: ok([{"language": "fr", "confidence": 95.0}, {"language": "en", "confidence": 3.0}])
    shown = surf(stub.address)
    shown.page.fill("#text", "Le chat.")
    expect(shown.page.locator("#notice-text")).to_contain_text("This looks like French. No model on this server translates from it.")
    assert stub.texts() == []
    shown.page.select_option("#source", "en")
    expect(output(shown)).to_have_text("LE CHAT.")
    expect(shown.page.locator("#notice")).to_be_hidden()


def test_swapping_exchanges_the_languages_and_the_texts(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    typed(shown, "The cat.", "THE CAT.")
    stub.routes["/v1/translate"] = lambda body: ok({"translations": [{"text": t.lower(), "alternatives": [], "alignment": []} for t in body["text"]]})
    shown.page.click("#swap")
    expect(output(shown)).to_have_text("the cat.")
    assert shown.page.input_value("#text") == "THE CAT."
    assert (shown.page.input_value("#source"), shown.page.input_value("#target")) == ("de", "en")


def test_the_languages_are_remembered_and_an_address_can_set_them_with_a_text(surf: Surf, stub: Stub) -> None:
    shown = surf(stub.address)
    shown.page.select_option("#source", "de")
    shown.page.reload()
    expect(shown.page.locator("#source")).to_have_value("de")
    expect(shown.page.locator("#target")).to_have_value("en")
    shown = surf(f"{stub.address}?source=en&target=de&q=Hello%20there.")
    expect(output(shown)).to_have_text("HELLO THERE.")


def test_of_several_models_for_a_pair_one_can_be_chosen(surf: Surf, stub: Stub) -> None:
    one = {"source": "en", "target": "de", "card": "/v1/models/x/card", "engine": "pytorch", "attention": True}
    stub.routes["/v1/models"] = lambda _: ok({"models": [{"name": "first", **one}, {"name": "second", **one}]})
    shown = surf(stub.address)
    typed(shown, "One.", "ONE.")
    assert stub.asked[-1][1]["model"] == "first"
    shown.page.select_option("#model", "second")
    with shown.page.expect_request("**/v1/translate") as asked:
        shown.page.keyboard.press("Tab")
        shown.page.fill("#text", "Two.")
    assert asked.value.post_data_json["model"] == "second"
