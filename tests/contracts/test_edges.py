"""What surrounds the words of a sentence: list marks, end marks, emphasis, tags that touch, and names for computers."""

import pytest

import regard
from regard.text.edges import marker, with_edges_of
from regard.text.number_words import spelt_out
from regard.text.numbers import localised, numbers, unmatched, with_ordinals, with_versions
from regard.text.placeholders import clusters, placeholders
from regard.text.tags import emptied
from regard.text.units import lost_units
from regard.text.unknown_characters import visible
from regard.translation.putting_back import Bare, put_back
from regard.translation.segments import Segment, Segmenter
from regard.translation.translator import Translator


@pytest.fixture(scope="module")
def translator() -> Translator:
    return regard.load("en-de", device="cpu")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("- Buy milk", "- "), ("* Buy bread", "* "), ("a) First", "a) "), ("(iv) Fourth", "(iv) "),
        ("12) Twelfth", "12) "),
        ("[ ] To do", "[ ] "), (":-) Hello", ":-) "), ("# Title", "# "), ("- 5 °C", ""), ("-v is a flag", ""),
        ("A dog", ""),
        ("> 5 minutes", ""), ("1. Mai", ""), ("(no) way", ""),
    ],
)  # fmt: skip
def test_the_mark_of_a_list_item_is_known(text: str, mark: str) -> None:
    assert marker(text) == mark


@pytest.mark.parametrize(
    ("source", "target", "mended"),
    [
        ("Search...", "Suche..", "Suche..."),
        ("Search…", "Suche", "Suche…"),
        ("What?!", "Was?", "Was?!"),
        ("Welcome!", "Willkommen.", "Willkommen!"),
        ("A title", "Ein schöner Titel.", "Ein schöner Titel"),
        ("Name:", "Der Name.", "Der Name:"),
        ("and so on", "usw.", "usw."),
        ("on the 3rd", "am 3.", "am 3."),
        ("Wichtig ist das.", "that is important.", "That is important."),
        ("Das iPhone ist da.", "iPhone is here.", "iPhone is here."),
        ("Yes.", "Ja.", "Ja."),
        ("(optional)", "(optional)", "(optional)"),
        ("We went home.", "Wir gingen", "Wir gingen"),
    ],
)
def test_a_translation_begins_and_ends_as_its_source(source: str, target: str, mended: str) -> None:
    assert with_edges_of(source, target) == mended


def test_names_for_computers_are_placeholders_and_names_of_people_and_things_are_not() -> None:
    text = "Use /etc/hosts, a.yaml, example.org, --force, -v, my_var, getName, open(), C++, 0x1F, 2001:db8::1"
    found = [one.string for one in placeholders(text)]
    assert found == [part.removeprefix("Use ") for part in text.split(", ")]
    for plain in (
        "Yes/No, and/or, km/h, 24/7",
        "iPhone, YouTube, JavaScript, GmbH, McDonald",
        "e.g. a.m. z.B. U.S. end.Then",
    ):
        assert placeholders(plain) == []
    assert placeholders("use `foo' and `bar', at 10:30:15 -- not -5, Ein- und Ausgabe, Op_en") == []
    assert placeholders("x<y and y>z") == []
    assert [one.string for one in placeholders("<input disabled hidden> <kbd>Ctrl</kbd>")] == [
        "<input disabled hidden>",
        "<kbd>Ctrl</kbd>",
    ]


def test_text_in_backquotes_is_language() -> None:
    """Messages of programs use them as quotation marks: as placeholders they cost one BLEU on software messages."""
    assert placeholders("Verify your `Remote address`, or run `make`.") == []


def test_a_long_text_of_marks_is_searched_for_names_in_no_time() -> None:
    for hard in ("a" + "_" * 20_000, "a." * 20_000, "<a " + "=" * 20_000, "../" * 20_000, "`" * 20_000, "ab:" * 20_000):
        assert len(placeholders(hard)) < 20_000


def test_placeholders_that_touch_are_one() -> None:
    text = "%d/%d (%.1f%%) {a} {b} <b>%s</b>"
    assert [one.string for one in clusters(text, placeholders(text))] == [
        "%d/%d", "%.1f%%", "{a}", "{b}", "<b>", "%s", "</b>",
    ]  # fmt: skip


def test_versions_keep_their_point_and_numbers_may_be_grouped_by_spaces() -> None:
    assert with_versions("Ubuntu 22.04 is out", "Ubuntu 22,04 ist da") == "Ubuntu 22.04 ist da"
    assert with_versions("It costs USD 12.50", "Es kostet USD 12,50") == "Es kostet USD 12,50"
    assert [one.string for one in numbers("1 000 000 stars, 12 345,67 and 2024 100 4111 1111")] == [
        "1 000 000", "12 345,67", "2024", "100", "4111", "1111",
    ]  # fmt: skip
    assert unmatched(numbers("1 000 000"), numbers("1.000.000")) == ([], [])


@pytest.mark.parametrize(
    ("text", "languages", "written"),
    [
        ("1.024 pages, 75,5 m, 1.234,56 €, 24.12.2024", ("de", "en"), "1,024 pages, 75.5 m, 1,234.56 €, 24.12.2024"),
        ("1,024 Seiten, $1,234.56, Kapitel 3.2", ("en", "de"), "1.024 Seiten, $1.234,56, Kapitel 3.2"),
        ("1,024 pages", ("en", "en"), "1,024 pages"),
        ("1,024 pages", ("en", "xx"), "1,024 pages"),
    ],
)
def test_numbers_that_were_copied_get_the_marks_of_their_language(
    text: str, languages: tuple[str, str], written: str
) -> None:
    assert localised(numbers(text), text, numbers(text), languages) == written


def test_a_number_that_the_model_wrote_in_its_own_way_stays() -> None:
    said = "1,024 pages"
    assert localised(numbers("1.024 Seiten"), said, numbers(said), ("de", "en")) == said


def test_english_ordinals_have_their_endings() -> None:
    assert with_ordinals("1th, 2th, 3nd, 4rd, 11st, 12nd, 21th, 112nd, 4th") == (
        "1st, 2nd, 3rd, 4th, 11th, 12th, 21st, 112th, 4th"
    )


def test_numbers_in_words_may_become_digits() -> None:
    assert {"20", "2:30", "14:30"} <= spelt_out("Zwanzig Leute um halb drei", "de")
    assert {"21", "200", "5,000", "12"} <= spelt_out("Twenty-one, two hundred, five thousand, a dozen", "en")
    assert {"300", "3", "45"} <= spelt_out("dreihundert, der dritte, fünfundvierzig", "de")
    assert "7" not in spelt_out("Twenty-one people", "en")


def test_small_units_are_missed_but_not_seen_in_letters_of_words() -> None:
    def lost(source: str, target: str) -> list[str]:
        return [unit for _, unit in lost_units(source, numbers(source), target)]

    assert lost("Ich bin 1,80 m groß", "I am 1,80 tall, my man") == ["m"]
    assert lost("Drive 5 mi", "Fahren Sie 5 Meilen") == lost("in the 1990s", "in den 1990er Jahren") == []
    assert lost("until 5 pm", "bis 5 Uhr") == ["pm"]


def test_ligatures_are_read_as_letters() -> None:
    assert visible("The ﬁle, the ﬂoor, the soft\u00adware") == "The file, the floor, the software"


def test_a_pair_of_tags_must_not_be_emptied() -> None:
    assert emptied("<b>One</b> <i>two</i>", "<b>Eins zwei</b> <i></i>") == "<i>"
    assert emptied("<b></b> <i>two</i>", "<i>zwei</i> <b></b>") == ""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<p>One.</p><p>Two.</p>", ["<p>One.</p>", "<p>Two.</p>"]),
        ("<ul><li>Milk</li> <li>Bread</li></ul>", ["<ul><li>Milk</li>", "<li>Bread</li></ul>"]),
        ("<p>One <b>two</p><p>three</b></p>", ["<p>One <b>two</p><p>three</b></p>"]),
        ("{% if x %}Big{% else %}Small{% endif %}", ["{% if x %}Big", "{% else %}Small{% endif %}"]),
        ("<b>{% if x %}Big{% else %}Small{% endif %}</b>", ["<b>{% if x %}Big{% else %}Small{% endif %}</b>"]),
        ("<i>One.</i><i>Two.</i>", ["<i>One.</i>", "<i>Two.</i>"]),
        ("One <b>two</b> three", ["One <b>two</b> three"]),
        ("- One", ["One"]),
    ],
)
def test_paragraphs_items_and_cells_are_parts_of_their_own(translator: Translator, text: str, parts: list[str]) -> None:
    segmenter = Segmenter(translator.tokenisers.source, split_over=40, most_pieces=500)
    found = segmenter.parts(text, letters=True)
    assert [part.text for part in found if isinstance(part, Segment)] == parts
    assert "".join(part.text if isinstance(part, Segment) else part for part in found) == text


@pytest.mark.parametrize(
    ("text", "translation"),
    [
        ("You must *never* delete this file.", "Du darfst diese Datei *nie* löschen."),
        ("You must _never_ delete this file.", "Du darfst diese Datei _nie_ löschen."),
        ("The file config.yaml is missing.", "Die Datei config.yaml fehlt."),
        ("<b>One</b><i>two</i><u>three</u>", "<b>Ein</b><i>zwei</i><u>drei</u>"),
        ("The ﬁle is open.", "Die Datei ist geöffnet."),
        ("x<y and y>z", "x<y und y>z"),
        ("This is VERY important!", "Das ist SEHR wichtig!"),
        ("TCP/IP", "TCP/IP"),
        ("FAQ", "FAQ"),
        ("[[name]] logged in", "[[name]] angemeldet"),
        ("Hi {{name}}! You've got {{count, number}} points.", "Hallo {{name}}! Du hast {{count, number}} Punkte."),
        (":-) I am happy.", ":-) Ich bin glücklich."),
        ("Loaded %lu of %lu bytes (%.1f%%).", "%lu von %lu Bytes (%.1f%%) geladen."),
    ],
)
def test_the_shipped_model_says_what_is_between(translator: Translator, text: str, translation: str) -> None:
    found = translator.translate(text)
    assert found.text == translation
    assert found.findings == ()


def test_a_placeholder_goes_back_between_its_marks_and_to_the_word_that_it_touched() -> None:
    def back(source: str, translation: str) -> str:
        words = len(translation.split())
        return put_back(Bare.of(source, placeholders(source)), translation, tuple((n, n) for n in range(words)))[0]

    assert back("optional (%s), a mark", "optional (), ein Zeichen") == "optional (%s), ein Zeichen"
    assert back("Run&quot; or stop", "Los oder halt") == "Los&quot; oder halt"
    assert back("Dear {name}, hello", "Lieber hallo") == "Lieber {name} hallo"


def test_a_tag_does_not_reach_into_another_sentence(translator: Translator) -> None:
    found = translator.translate(
        "Markup is the same as for <b>fenced code blocks</b>. Difference is, that marker use another character."
    )
    assert "." not in found.text.partition("<b>")[2].partition("</b>")[0]


def test_an_argument_may_stand_in_a_message_beside_its_plural(translator: Translator) -> None:
    found = translator.translate("Delete {n} {n, plural, one {message} other {messages}}?")
    assert not found.refused
    assert found.text == "{n} {n, plural, one {Nachricht} other {Nachrichten}} löschen?"
