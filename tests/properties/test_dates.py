"""The embedded task of the demonstration: dates that mean one thing, and a split that is kept."""

import re
from datetime import date

import pytest
from babel import Locale

from regard.demo import dates

TRAINED = dates.for_training(20_000, seed=5)
TESTED = dates.for_testing(2_000, seed=5)


def test_a_text_means_one_date() -> None:
    meanings: dict[str, str] = {}
    for one in (*TRAINED, *TESTED):
        assert meanings.setdefault(one.text, one.iso) == one.iso
    assert len({one.text for one in TRAINED}) == len(TRAINED)


def test_no_name_is_that_of_two_months() -> None:
    months: dict[str, int] = {}
    for language in dates.LANGUAGES:
        for names in Locale.parse(language).months["format"].values():
            for month, name in names.items():
                if len(name) > 2:  # narrow names are not used
                    assert months.setdefault(name.lower().strip("."), month) == month


def test_years_and_formats_that_are_tested_never_occur_in_training() -> None:
    assert not {one.iso[:4] for one in TRAINED} & {one.iso[:4] for one in TESTED}
    assert not {one.format for one in TRAINED} & {one.format for one in TESTED}
    trained = {form for language in dates.LANGUAGES for form in dates.formats(language, tested=False)}
    assert not any(form in trained for language in dates.LANGUAGES for form in dates.formats(language, tested=True))
    assert len({one.format for one in TESTED}) > 30
    assert dates.tested_year(2024)
    assert "EEEE d MMMM y" in dates.formats("fr", tested=True)


def test_every_language_and_script_is_trained_and_tested() -> None:
    for found in (TRAINED, TESTED):
        assert {one.language for one in found} == set(dates.LANGUAGES)
        for digit in "5٥۵৫":
            assert any(digit in one.text for one in found)
    assert len(dates.LANGUAGES) >= 30


@pytest.mark.parametrize(
    ("language", "form", "own_digits", "text"),
    [
        ("fr", "EEEE d MMMM y", False, "mardi 5 mars 2024"),
        ("en", "MMMM d, y", False, "March 5, 2024"),
        ("ja", "y年M月d日", False, "2024年3月5日"),
        ("fa", "d MMM y", True, "۵ مارس ۲۰۲۴"),
        ("ru", "d MMMM y", False, "5 марта 2024"),
    ],
)
def test_dates_are_written_as_people_write_them(language: str, form: str, own_digits: bool, text: str) -> None:
    one = dates.written(date(2024, 3, 5), language, form, own_digits=own_digits)
    assert (one.text, one.iso) == (text, "2024-03-05")


def test_the_months_name_is_in_the_text_and_everything_is_in_normal_form() -> None:
    for one in (*TRAINED, *TESTED):
        assert one.month in one.text
        assert bool(one.month) == ("MMM" in one.format)
        assert one.text == dates.normalise(one.text)
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", one.iso)


def test_the_same_seed_gives_the_same_dates_and_another_gives_others() -> None:
    assert dates.for_testing(50, seed=5) == TESTED[:50]
    assert dates.for_testing(50, seed=6) != TESTED[:50]


def test_no_format_could_be_read_in_two_ways() -> None:
    for language in dates.LANGUAGES:
        for tested in (True, False):
            for form in dates.formats(language, tested=tested):
                slashes = re.search(r"[dM]+/[dM]+/y", form)
                assert not slashes or "MMM" in form, form
