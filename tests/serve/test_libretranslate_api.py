"""LibreTranslate's API as its documentation and its own server have it."""

import json
from urllib.parse import urlencode

import pytest

from serving import Running
from trained import translation

TEXT = "alto cado esta"
SAID = translation(TEXT)
ASKED = {"q": TEXT, "source": "en", "target": "de"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_a_text_is_translated_from_json_a_form_and_the_query_string(served: Running) -> None:
    assert served.post("/translate", ASKED) == (200, {"translatedText": SAID})
    assert served.send("/translate", urlencode(ASKED).encode(), FORM) == (200, {"translatedText": SAID})
    assert served.send(f"/translate?{urlencode(ASKED)}", b"", {}) == (200, {"translatedText": SAID})


def test_a_list_is_answered_by_a_list_and_every_text_has_its_own_language(served: Running) -> None:
    texts = [TEXT, "Das ist ein deutscher Satz, den man nicht übersetzen muss.", "gan"]
    status, answer = served.post("/translate", {"q": texts, "source": "auto", "target": "de"})
    assert status == 200
    assert answer["translatedText"][1] == texts[1]
    assert answer["detectedLanguage"][1]["language"] == "de"
    assert answer["detectedLanguage"][1]["confidence"] > 90
    assert len(answer["detectedLanguage"]) == 3
    status, answer = served.post("/translate", {**ASKED, "q": [TEXT, "", " ", "😀", "gan"]})
    assert (status, answer) == (200, {"translatedText": [SAID, "", " ", "😀", translation("gan")]})


def test_alternatives_are_other_texts_and_as_many_as_the_search_finds(served: Running) -> None:
    status, answer = served.post("/translate", {**ASKED, "alternatives": 3})
    assert status == 200
    assert answer["translatedText"] == SAID
    assert 1 <= len(answer["alternatives"]) <= 3
    assert SAID not in answer["alternatives"]
    assert served.post("/translate", {**ASKED, "alternatives": "many"}) == (
        400,
        {"error": "Invalid request: alternatives parameter is not a number"},
    )


def test_nested_html_keeps_its_tags_and_what_the_model_says_cannot_become_markup(served: Running) -> None:
    html = '<p class="a">alto <b>cado <i>esta</i></b></p><script>alto()</script><p>gan &lt;script&gt;</p><br>alto'
    status, answer = served.post("/translate", {**ASKED, "q": html, "format": "html"})
    said = answer["translatedText"]
    assert status == 200
    assert said.count("<p") == said.count("</p>") == 2
    assert said.count("<b>") == said.count("</b>") == said.count("<i>") == said.count("</i>") == 1
    assert "<script>alto()</script>" in said
    assert said.count("<script") == 1
    assert translation("alto") in said.rpartition("<br>")[2]


@pytest.mark.parametrize(
    ("changed", "status", "error"),
    [
        ({"q": ""}, 400, "Invalid request: missing q parameter"),
        ({"q": []}, 400, "Invalid request: missing q parameter"),
        ({"source": None}, 400, "Invalid request: missing source parameter"),
        ({"target": ""}, 400, "Invalid request: missing target parameter"),
        ({"source": "zz"}, 400, "zz is not supported"),
        ({"target": "zz"}, 400, "zz is not supported"),
        ({"format": "xml"}, 400, "xml format is not supported"),
        ({"q": 5}, 400, "Invalid request: q must be a text or a list of texts"),
        ({"q": "a" * 100_001}, 400, "Invalid request: request (100001) exceeds text limit (100000)"),
        ({"q": ["a"] * 1001}, 400, "Invalid request: request (1001) exceeds batch limit (1000)"),
    ],
)
def test_errors_have_the_texts_and_codes_of_libretranslate(
    served: Running, changed: dict[str, object], status: int, error: str
) -> None:
    assert served.post("/translate", ASKED | changed) == (status, {"error": error})


def test_a_wrong_method_and_a_wrong_address_are_errors_in_json(served: Running) -> None:
    assert served.get("/translate")[0] == 405
    assert "error" in served.get("/translate")[1]
    assert served.get("/nothing")[0] == 404
    assert "error" in served.get("/nothing")[1]


def test_languages_are_listed_even_for_a_get_with_a_form(served: Running) -> None:
    expected = [
        {"code": "en", "name": "English", "targets": ["de", "en"]},
        {"code": "de", "name": "German", "targets": ["de", "en"]},
    ]
    assert served.get("/languages") == (200, expected)
    assert served.send("/languages", b"api_key=x", FORM, method="GET") == (200, expected)


def test_a_language_is_detected_with_a_confidence(served: Running) -> None:
    status, found = served.post("/detect", {"q": "Where is the station, please?"})
    assert status == 200
    assert found[0]["language"] == "en"
    assert 90 < found[0]["confidence"] <= 100
    assert served.post("/detect", {"q": "12345"}) == (200, [{"confidence": 0.0, "language": "en"}])
    assert served.post("/detect", {}) == (400, {"error": "Invalid request: missing q parameter"})


def test_the_same_language_twice_gives_the_text_back(served: Running) -> None:
    assert served.post("/translate", {**ASKED, "target": "en"}) == (200, {"translatedText": TEXT})


def test_extra_fields_appear_only_where_a_request_has_them(served: Running) -> None:
    _, plain = served.post("/translate", ASKED)
    status, answer = served.post("/translate", {**ASKED, "alignment": True, "confidence": True})
    assert status == 200
    assert set(plain) == {"translatedText"}
    assert set(answer) == {"translatedText", "alignment", "confidence"}
    words = {(TEXT[a:b], SAID[c:d]) for a, b, c, d in answer["alignment"]}
    assert ("alto", translation("alto")) in words


def test_a_glossary_decides_a_word(served: Running) -> None:
    status, answer = served.post("/translate", {**ASKED, "q": "alto cado", "glossary": [["cado", "sul"]]})
    assert status == 200
    assert "sul" in answer["translatedText"].split()
    assert served.post("/translate", {**ASKED, "glossary": [["cado"]]})[0] == 400


def test_suggestions_are_written_down(served: Running) -> None:
    assert served.post("/suggest", {**ASKED, "s": "besser"}) == (200, {"success": True})
    path = served.state.settings.suggestions
    assert path is not None
    assert json.loads(path.read_text().splitlines()[-1]) == {**ASKED, "s": "besser"}


def test_settings_health_and_the_description_are_there(served: Running) -> None:
    status, settings = served.get("/frontend/settings")
    assert status == 200
    assert {"apiKeys", "charLimit", "filesTranslation", "frontendTimeout", "keyRequired", "language"} <= set(settings)
    assert ".txt" in settings["supportedFilesFormat"]
    assert served.get("/health") == (200, {"status": "ok"})
    assert {"/translate", "/detect", "/languages", "/translate_file"} <= set(served.get("/spec")[1]["paths"])
    for page in ("/docs", "/v1/docs"):
        status, html = served.get(page)
        assert status == 200
        assert b"<script" not in html
        assert b"http" not in html.replace(b"http-equiv", b"")


def test_pages_of_any_origin_may_call_it(served: Running) -> None:
    headers = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    answer = served.request("OPTIONS", "/translate", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "POST" in answer.headers["access-control-allow-methods"]
    assert served.request("GET", "/languages").headers["access-control-allow-origin"] == "*"
