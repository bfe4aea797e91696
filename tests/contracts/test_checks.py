"""The checks of translations, the passes around the search, and the reports about them."""

import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polib
import pytest

import regard
from fake_translators import Fake, Said
from regard.cli import main
from regard.text.casing import Case, as_sentence, as_title, case_of, in_capitals
from regard.text.icu import message
from regard.text.numbers import mended, numbers, unmatched
from regard.text.placeholders import placeholders
from regard.text.tags import same_tags
from regard.text.units import lost_units, with_units
from regard.text.unknown_characters import unknown
from regard.translation.checks import Checked, Checks, Finding
from regard.translation.confidence import UNCALIBRATED, fit, read_calibration
from regard.translation.documents import translate_document
from regard.translation.stand_ins import Span, stand_ins
from regard.translation.translator import Translator

KNOWN = frozenset("abcdefghijklmnopqrstuvwxyzäöüÄÖÜß \u00a0")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return regard.load("en-de", device="cpu")


def found(source: str, target: str, **more: object) -> list[str]:
    """The names of the checks that find something."""
    syntax = str(more.get("syntax", ""))
    pair = Checked(source, target, placeholders(source, syntax), **more)  # type: ignore[arg-type]
    return [finding.check for finding in Checks(source="en", target="de", known=KNOWN).findings(pair)]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("It costs $1,299.99.", "Es kostet 1.299,99 $."),
        ("It costs $5.", "Es kostet 5 Dollar."),
        ("At 10:30 on 3/15/2024", "Um 10.30 Uhr am 15.03.2024"),
        ("It is one o'clock.", "Es ist 1 Uhr."),
        ("Open <b>it</b> now: {name}", "Öffne <b>es</b> jetzt: {name}"),
        ("The dog is big.", "Der Hund ist groß."),
        ("Stop! Mr. Jones is here.", "Halt! Herr Jones ist hier."),
        ("It is late and we go.", "Es ist spät. Wir gehen."),
        ("no no no no no no no no no", "nein nein nein nein nein nein nein nein nein"),
    ],
)
def test_a_good_translation_has_no_findings(source: str, target: str) -> None:
    assert found(source, target) == []


@pytest.mark.parametrize(
    ("source", "target", "check"),
    [
        ("It costs 1,299.99.", "Es kostet 1.299,90.", "numbers"),
        ("It is late.", "Es ist 5 Uhr.", "numbers"),
        ("It costs $5.", "Es kostet 5.", "units"),
        ("I like it.", "Ich mag es ℩.", "characters"),
        ("I like it.", "Ich mag es \ufffd.", "characters"),
        ("Open {name}", "Öffne {nome}", "placeholders"),
        ("Open {name}", "Öffne {{name}", "placeholders"),
        ("Open <b>it</b>", "Öffne </b>es<b>", "markup"),
        ("Open <b>it</b>", "Öffne es", "markup"),
        ("I would like to see the whole house now.", "Ja.", "length"),
        ("He is a good man, and we like him.", "Er er er er er er er mag ihn.", "repetition"),
        ("Please open the window and close the door.", "Please open the window und close the door.", "copied"),
        ("We went home because it was late.", "Wir gingen nach Hause, weil", "unfinished"),
        ("Please!", "!", "words"),
        ("Dogs bark. Cats meow.", "Hunde bellen, Katzen miauen.", "sentences"),
        ("i.e. that one", "i.", "length"),
        ("<b>One</b> <i>two</i>", "<b>Eins zwei</b> <i></i>", "markup"),
    ],
)
def test_a_bad_translation_has_the_finding_that_names_what_is_wrong(source: str, target: str, check: str) -> None:
    assert check in found(source, target)


def test_format_strings_are_checked_by_their_syntax() -> None:
    assert found("%d of %s", "%s von %d", syntax="c-format") == ["placeholders"]
    assert found("%d of %s", "%2$s von %1$d", syntax="c-format") == []
    assert found("%1$s and %2$s", "%1$s und %1$s", syntax="c-format") == ["placeholders"]
    assert found("It is 100% sure", "Es ist 100 % sicher", syntax="no-c-format") == []


def test_numbers_are_compared_by_value_and_mended_in_place() -> None:
    def differing(source: str, target: str) -> tuple[list[str], list[str]]:
        lost, invented = unmatched(numbers(source), numbers(target))
        return [one.string for one in lost], [one.string for one in invented]

    assert differing("1,299.99 and 1.5 and 2,000,000", "1.299,99 und 1,5 und 2.000.000") == ([], [])
    assert differing("1.2.3 and 007", "1.2.4 und 7") == (["1.2.3", "007"], ["1.2.4", "7"])
    source, target = "Take 12 and 345.", "Nimm 12 und 34."
    assert mended(target, *unmatched(numbers(source), numbers(target)), "de") == "Nimm 12 und 345."
    source, target = "I have 2 dogs.", "Ich habe zwei Hunde."
    assert mended(target, *unmatched(numbers(source), numbers(target)), "de") == "Ich habe 2 Hunde."
    assert mended("Ich habe Hunde.", *unmatched(numbers(source), []), "de") is None


def test_units_are_put_back_beside_their_numbers() -> None:
    source, target = "It costs $5 for 3 km.", "Es kostet 5 für 3."
    lost = lost_units(source, numbers(source), target)
    assert [unit for _, unit in lost] == ["$", "km"]
    assert with_units(target, numbers(target), lost) == "Es kostet 5\u00a0$ für 3\u00a0km."
    assert lost_units("5 km", numbers("5 km"), "5 Kilometer") == []


def test_capitals_and_titles_are_written_as_sentences_and_back() -> None:
    assert case_of("DO NOT OPEN", "en") is Case.CAPITALS
    assert case_of("NATO", "en") is Case.SHORT
    assert case_of("TCP/IP", "en") is Case.ORDINARY
    assert case_of("How To Open The Door", "en") is Case.TITLE
    assert case_of("Alle Neuen Dateien Öffnen", "de") is Case.ORDINARY
    assert as_sentence("STOP. DO NOT OPEN!") == "Stop. Do not open!"
    assert in_capitals("größer") == "GRÖSSER"
    assert as_title("besuche in new york", "Visits In New York", "de") == "besuche in new York"


def test_unknown_characters_are_found_with_what_belongs_to_them() -> None:
    def strings(text: str) -> list[str]:
        return [one.string for one in unknown(text, KNOWN)]

    assert strings("i live in Łódź now") == ["Łódź"]
    assert strings("it has 20 m² and costs £40 now") == ["20 m²", "£40"]
    assert strings("i ❤️ you") == ["❤️"]
    assert strings("say Привет, мир! now") == ["Привет, мир"]
    assert strings("schön größer") == []


def test_stand_ins_come_back_only_if_each_is_there_once() -> None:
    plan = stand_ins(
        "ask Łódź for £40",
        [Span("Łódź", 4, 8), Span("£40", 13, 16)],
        lambda one: "number" if "4" in one.string else "name",
    )
    assert plan is not None
    assert plan.text == "ask Berlin for 23"
    assert plan.put_back("frage Berlin nach 23.") == "frage Łódź nach £40."
    assert plan.put_back("frage Berlin nach 234.") is None
    assert plan.put_back("frage Berlin und Berlin nach 23.") is None


def test_a_message_is_taken_apart_and_put_together_again() -> None:
    text = "{n, plural, one {# file in {place}} other {# files}} and {g, select, male {his} other {their}} dog"
    parsed = message(text)
    assert parsed is not None
    texts = list(parsed.texts())
    assert texts == ["{n} and {g} dog", "1 file in {place}", "5 files", "his", "their"]
    assert parsed.filled(iter(texts)) == text
    assert message("{n, plural, one {file}") is None
    assert message("{n} files") is None


def test_tags_are_the_same_only_if_they_are_nested() -> None:
    assert same_tags("<b>a</b> <br/>", "<br/> <b>b</b>")
    assert not same_tags("<b>a</b> <i>b</i>", "<b>a <i>b</b></i>")
    assert not same_tags("{% if x %}a{% endif %}", "{% endif %}a{% if x %}")


def test_a_calibration_finds_the_probabilities_that_made_the_data() -> None:
    draw = random.Random(0)  # noqa: S311
    likelihoods = [-3 * draw.random() for _ in range(4000)]
    good = [draw.random() < 1 / (1 + 2.718281828 ** -(3 * value + 4)) for value in likelihoods]
    found = fit(likelihoods, good)
    assert found.slope == pytest.approx(3, abs=0.4)
    assert found.offset == pytest.approx(4, abs=0.5)
    assert read_calibration({"confidence": found.table()}) == found
    assert fit([-1.0, -2.0], [True, True]).confidence(-1.0) <= 1
    assert read_calibration({}) == UNCALIBRATED
    assert UNCALIBRATED.confidence(-0.7) == pytest.approx(0.4966, abs=1e-3)


def test_the_shipped_models_are_calibrated(translator: Translator) -> None:
    sure = translator.translate(["The dog is big.", "Zorva quent glib nar wex."])
    assert sure[0].confidence > sure[1].confidence
    assert 0 <= sure[1].confidence < 0.5 < sure[0].confidence <= 1
    assert translator.description.training["confidence"]["pairs"] >= 500


def test_a_term_that_makes_a_sentence_worse_is_not_forced(translator: Translator) -> None:
    found = translator.translate("New York is big.", glossary={"New York": "Neu-York"})
    assert found.text == "Neu-York ist groß."
    assert found.constraints_met
    found = translator.translate("He sleeps.", glossary={"sleeps": "Donaudampfschifffahrt, Kapitän und so weiter"})
    assert found.constraints_met == ("Donaudampfschifffahrt, Kapitän und so weiter" in found.text)
    assert len(found.text) < 60
    assert found.constraints_met or [finding.check for finding in found.findings] == ["terms"]


def test_without_checks_a_translation_is_what_the_model_says(translator: Translator) -> None:
    plain = translator.translate("DO NOT OPEN THIS DOOR.", checks=False)
    assert plain.findings == ()
    assert plain.text != translator.translate("DO NOT OPEN THIS DOOR.").text
    with pytest.raises(regard.SettingsError, match="there is no such syntax"):
        translator.translate("a", syntax="c-formt")


def test_a_checked_translation_does_not_depend_on_its_company(translator: Translator) -> None:
    texts = [
        "I live in Łódź.",
        "It costs $1,299.99.",
        "The <b>dog</b> is big.",
        "STOP THE CAR.",
        "Add 50%% of %s now.",
        "Hello.",
    ]
    together = translator.translate(texts)
    assert [one.text for one in translator.translate(texts[::-1])] == [one.text for one in together[::-1]]
    assert [translator.translate(text).text for text in texts] == [one.text for one in together]


class Doubtful(Fake):
    """Finds something in every text with a number, and refuses texts that say so."""

    def stream(self, texts: Sequence[str], **_: object) -> Iterator[Said]:  # type: ignore[override]
        for text in texts:
            findings = (Finding("numbers", "7 is missing"),) if "7" in text else ()
            yield Said(text.upper(), 0.25 if findings else 0.9, findings, refused="refuse" in text)


def test_notes_in_po_and_xliff_tell_the_findings_and_the_confidence(tmp_path: Path) -> None:
    (tmp_path / "a.po").write_text('msgid "a 7"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n\nmsgid "refuse"\nmsgstr ""\n')
    report = translate_document(Doubtful(), tmp_path / "a.po", tmp_path / "b.po")
    written = (tmp_path / "b.po").read_text()
    assert written.startswith('# Regard: confidence 0.25\n# Regard: numbers: 7 is missing\n#, fuzzy\nmsgid "a 7"')
    assert written.count("# Regard") == 2
    assert polib.pofile(str(tmp_path / "b.po")).find("refuse").msgstr == ""
    assert [(one.source, one.refused) for one in report.worth_a_look] == [("a 7", False), ("refuse", True)]
    assert report.refused == (8,)
    unit = '<trans-unit id="1"><source>a 7</source></trans-unit>'
    head = '<xliff version="1.2"><file original="a" source-language="en" target-language="de" datatype="x"><body>'
    (tmp_path / "a.xlf").write_text(f"{head}{unit}</body></file></xliff>")
    translate_document(Doubtful(), tmp_path / "a.xlf", tmp_path / "b.xlf")
    assert '<note from="Regard">numbers: 7 is missing</note>' in (tmp_path / "b.xlf").read_text()


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def told(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["regard", "translate", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capfd.readouterr()
        return int(ended.value.code or 0), captured.out, captured.err

    return told


def test_the_command_writes_a_page_and_can_exit_with_an_error(
    run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("The dog is big.\n" + "The file file file file file file <b>is\n", encoding="utf-8")
    (tmp_path / "glossary.tsv").write_text(
        "dog\tDonaudampfschifffahrtskapitän, Hund und Katze und Maus\n", encoding="utf-8"
    )
    glossary = tmp_path / "a.txt", "--glossary", tmp_path / "glossary.tsv", "--device", "cpu"
    code, out, err = run("en-de", *glossary, "--json", "--report", tmp_path / "page.html", "--strict")
    objects = [json.loads(line) for line in out.splitlines()]
    found = sum(bool(one["findings"]) for one in objects)
    assert code == (3 if found else 0)
    assert found >= 1
    assert f"The checks found something in {found} of 2 segments" in err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "http" not in page
    assert all(
        (f"line {n}" in page) == bool(one["findings"] or one["confidence"] < 0.5) for n, one in enumerate(objects, 1)
    )
    assert run("en-de", *glossary, "--strict", "--no-checks")[0] == 0
    assert run("en-de", *glossary, "--report", tmp_path / "page.html")[0] == 1


def test_words_in_capitals_between_tags_are_translated_as_words_and_stay_in_capitals(translator: Translator) -> None:
    said = {
        text: translator.translate(text).text
        for text in (
            "<b>WARNING:</b> Do not open this door.",
            "<b>DO NOT OPEN THIS DOOR.</b> It is locked.",
            "You must **NEVER DELETE** this file.",
            "<i>NOTE</i>: the <b>FILE</b> is too big.",
            "<b>CLICK <i>HERE</i> NOW</b> to go on.",
        )
    }
    assert said["<b>WARNING:</b> Do not open this door."].startswith("<b>WARNUNG:</b> ")
    assert said["<b>DO NOT OPEN THIS DOOR.</b> It is locked."].partition("</b>")[0].endswith(".")
    assert "**NIE LÖSCHEN**" in said["You must **NEVER DELETE** this file."]
    assert "<b>DATEI</b>" in said["<i>NOTE</i>: the <b>FILE</b> is too big."]
    for text, found in said.items():
        assert same_tags(text, found)
    assert as_sentence("NEVER DO THIS. NOW", before="Please ") == "never do this. Now"
    assert as_sentence("{Name} IS HERE", placeholders("{Name} IS HERE")) == "{Name} is here"


def test_each_of_several_short_sentences_is_translated(translator: Translator) -> None:
    found = translator.translate("Dogs bark. Cats meow. What do cows do? They moo!")
    assert found.findings == ()
    assert len(re.findall(r"[.!?]", found.text)) == 4
    assert found.text.startswith("Hunde bellen. ")
