"""Translation memories: exact matches are taken without the model, near ones are offered."""

import json
from pathlib import Path

import polib
from lxml import html
from typer.testing import CliRunner

from fake_translators import Fake
from regard.cli import _application
from regard.text.memory import Memory
from regard.text.pairs import Pair
from regard.translation.documents import translated_document
from regard.translation.review import Review
from regard.translation.review_page import review_page


def memory(*pairs: tuple[str, str]) -> Memory:
    return Memory(Pair(*pair) for pair in pairs)


def test_the_same_text_in_normal_form_is_an_exact_match_and_the_last_translation_is_taken() -> None:
    known = memory(("Open  the file", "alt"), ("Open the file", "Datei öffnen"), ("Cafe\u0301", "Kaffee"), ("x", " "))
    assert known.exact(" Open the file ") == "Datei öffnen"
    assert known.exact("Caf\u00e9") == "Kaffee"
    assert known.exact("open the file") is None
    assert known.exact("x") is None


def test_near_matches_are_those_of_at_least_three_quarters_the_nearest_first() -> None:
    known = memory(
        ("Open the file now", "a"), ("Open the files now", "b"), ("Close all windows", "c"), ("Open the file", "d")
    )
    found = known.near("Open the file now!")
    assert [match.target for match in found] == ["a", "b", "d"]
    assert found[0].ratio > found[1].ratio > found[2].ratio >= 0.75
    assert known.near("Something else entirely") == []


def test_a_text_of_a_large_memory_is_found_among_its_neighbours() -> None:
    known = Memory(Pair(f"Sentence number {n} of the book", str(n)) for n in range(20_000))
    assert known.near("Sentence number 12345 of the books")[0].target == "12345"


def test_a_document_takes_exact_matches_records_them_and_is_offered_near_ones(tmp_path: Path) -> None:
    path, fake = tmp_path / "a.po", Fake()
    path.write_text(
        'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "Open it"\nmsgstr ""\n\nmsgid "Close the window"\nmsgstr ""\n'
    )
    known = memory(("Open it", "Öffne es"), ("Close the windows", "Schließe die Fenster"))
    written, report = translated_document(fake, path, memory=known)
    catalogue = polib.pofile(written.decode())
    assert (catalogue.find("Open it").msgstr, catalogue.find("Open it").fuzzy) == ("Öffne es", False)
    assert catalogue.find("Open it").tcomment == "Regard: from the translation memory"
    assert catalogue.find("Close the window").fuzzy
    assert fake.asked == ["Close the window"]
    assert (report.translated, report.remembered) == (2, 1)
    (near,) = report.near
    assert (near.source, near.matches[0].target) == ("Close the window", "Schließe die Fenster")
    json.dumps(near.matches)


def test_a_message_of_several_lines_matches_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text('msgid "One\\nTwo"\nmsgstr ""\n')
    written, report = translated_document(Fake(), tmp_path / "a.po", memory=memory(("One\nTwo", "Eins\nZwei")))
    assert polib.pofile(written.decode()).find("One\nTwo").msgstr == "Eins\nZwei"
    assert report.remembered == 1


def test_the_report_page_offers_near_matches_beside_what_the_model_said(tmp_path: Path) -> None:
    source = "Close & lock the window"
    (tmp_path / "a.po").write_text(f'msgid "{source}"\nmsgstr ""\n\nmsgid "Else"\nmsgstr ""\n')
    known = memory(("Close & lock the windows", "a < b"), ("Close & lock the door", "a > b"))
    report = translated_document(Fake(), tmp_path / "a.po", memory=known)[1]
    review = Review()
    review.offer(report.near)
    page = html.fromstring(review_page(review, title="Checks", languages={"source": "en", "target": "de"}))
    (table,) = [found for found in page.iter("table") if found.getprevious() is not None]
    rows = [[cell.text_content() for cell in row] for row in table.iter("tr")][1:]
    assert rows == [
        [f"{tmp_path / 'a.po'}:2", source, source.upper(), "Close & lock the windows", "a < b", "98%"],
        ["Close & lock the door", "a > b", "86%"],
    ]
    assert [cell.get("lang") for cell in table.iter("td") if cell.text_content().startswith("a ")] == ["de", "de"]
    assert "Near matches" not in review_page(Review(), title="Checks", languages={})


def test_lines_are_offered_near_matches_on_the_page(trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alto berin cado dumel\nesta fobir\n", encoding="utf-8")
    (tmp_path / "pairs.tsv").write_text("alto berin cado dumels\tnear\nesta fobir\texact\n", encoding="utf-8")
    page = tmp_path / "page.html"
    given = [tmp_path / "a.txt", "--memory", tmp_path / "pairs.tsv", "--report", page, "--device", "cpu"]
    told = CliRunner().invoke(_application(), ["translate", str(trained_folder), *map(str, given)])
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[1] == "exact"
    cells = [cell.text_content() for cell in html.fromstring(page.read_text(encoding="utf-8")).iter("td")]
    assert cells[-4:] == [told.stdout.splitlines()[0], "alto berin cado dumels", "near", "98%"]
    assert "exact" not in cells  # it is taken
