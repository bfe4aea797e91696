"""HTML over HTTP: the same as an HTML document, each text of a list as if it were alone."""

from pathlib import Path

import pytest

import regard
from regard.translation.documents import translated_document
from serving import Running
from trained import translation

ASKED = {"source": "en", "target": "de", "format": "html"}
PAGES = [
    '<p class="a">alto <b>cado <i>esta</i></b></p><script>alto()</script><p>gan &lt;script&gt;</p><br>alto',
    '<ul>\n  <li>alto <a href="x?a=1&amp;b=2" title="cado">esta</a></li>\n  <li translate="no">gan</li>\n</ul>',
    '<html lang="en"><body><img alt="alto cado"><pre>gan</pre> esta<br>gan <code>alto</code></body></html>',
    "alto <b>cado</i> esta</b> <em>gan",
    "cado &nbsp; esta &copy; 2024 <!-- alto -->",
    "alto",
]


@pytest.fixture(scope="module")
def in_files(both_ways: list[Path], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The pages as documents."""
    place, translator = tmp_path_factory.mktemp("pages"), regard.load(both_ways[0], device="cpu", engine="torch")
    found = []
    for number, page in enumerate(PAGES):
        path = place / f"{number}.html"
        path.write_text(page, encoding="utf-8")
        found.append(translated_document(translator, path)[0].decode())
    return found


def test_a_list_of_pages_is_what_each_of_them_is_as_a_document(served: Running, in_files: list[str]) -> None:
    assert served.post("/translate", {**ASKED, "q": PAGES}) == (200, {"translatedText": in_files})
    assert translation("alto") in in_files[-1]
    assert 'lang="de"' in in_files[2]


def test_alternatives_of_a_page_have_the_same_tags_and_other_words(served: Running) -> None:
    status, answer = served.post("/translate", {**ASKED, "q": PAGES[1], "alternatives": 2, "confidence": True})
    assert status == 200
    assert 1 <= len(answer["alternatives"]) <= 2
    assert answer["translatedText"] not in answer["alternatives"]
    assert all('href="x?a=1&amp;b=2"' in one and "<li translate" in one for one in answer["alternatives"])
    assert 0 <= answer["confidence"] <= 1


def test_a_page_with_a_character_that_no_page_may_have_is_refused(served: Running) -> None:
    status, answer = served.post("/translate", {**ASKED, "q": ["alto", "<p>al\x01to</p>"]})
    assert status == 400
    assert answer["error"].startswith("text 1:1: there is a control character, U+0001, in this line.")
