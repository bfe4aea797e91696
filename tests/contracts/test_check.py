"""`regard check`: everything that is wrong is found with its place, little is found where nothing is wrong."""

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner, Result

import regard.cli
from regard.text.bad_input import BadInput
from regard.text.cleaning import CleaningSettings
from regard.text.corpus import read
from regard.text.inspection.direction import Misplaced
from regard.text.inspection.findings import Gravity, findings
from regard.text.inspection.inspect import Corpus, Inspection, look_through
from regard.text.inspection.languages import Profile, words
from regard.text.inspection.statistics import Lengths
from regard.text.pairs import Languages

EN_DE = Languages("en", "de")
ENGLISH = ["the cat", "a dog", "this house", "my friend", "the old man", "our teacher", "the child", "your sister"]
GERMAN = [
    "die Katze",
    "ein Hund",
    "dieses Haus",
    "mein Freund",
    "der alte Mann",
    "unser Lehrer",
    "das Kind",
    "deine Schwester",
]
PAIRS = [
    (
        f"I think that {ENGLISH[a]} is with {ENGLISH[b]} in the garden.",
        f"Ich glaube, dass {GERMAN[a]} mit {GERMAN[b]} im Garten ist.",
    )
    for a in range(8)
    for b in range(8)
]


def tsv(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def looked(*data: Path, tests: tuple[Path, ...] = (), languages: Languages = EN_DE, **options: Any) -> Inspection:
    test = Corpus(tuple(map(str, tests)), languages) if tests else None
    corpus = Corpus(tuple(map(str, data)), languages, **options)
    return look_through(corpus, tests=test, cleaning=CleaningSettings())


def found(inspection: Inspection) -> dict[str, tuple[Gravity, int, list[int]]]:
    return {
        finding.kind: (finding.gravity, finding.tally.count, [line for _, line in finding.tally.places])
        for finding in findings(inspection)
    }


def run(*arguments: object) -> Result:
    environment = {"COLUMNS": "140", "NO_COLOR": "1", "TERM": "dumb"}
    return CliRunner(env=environment).invoke(regard.cli._application(), ["check", *map(str, arguments)])


def test_a_sound_corpus_has_no_findings(tmp_path: Path) -> None:
    assert found(looked(tsv(tmp_path / "a.tsv", PAIRS))) == {}


def test_bad_lines_of_every_kind_are_listed_and_reading_goes_on(tmp_path: Path) -> None:
    path = tsv(tmp_path / "a.tsv", PAIRS)
    with path.open("ab") as file:
        file.write(b"one column\n\xff\tx\na\tb\tc\n\nlast\tzuletzt\n")
    inspection = looked(path)
    assert found(inspection) == {
        "columns": (Gravity.STOPS, 2, [65, 67]),
        "not_utf8": (Gravity.STOPS, 1, [66]),
        "passed_over_blank": (Gravity.NOTE, 1, [68]),
    }
    assert inspection.cleaning.kept == len(PAIRS) + 1


def test_what_cleaning_drops_and_changes_is_a_note_with_its_lines(tmp_path: Path) -> None:
    pairs = [("", "x"), ("x", ""), ("Berlin", "Berlin"), PAIRS[0], PAIRS[0], ("a  b", "c"), ("q" * 60, "r")]
    assert found(looked(tsv(tmp_path / "a.tsv", pairs))) == {
        "dropped_empty_source": (Gravity.NOTE, 1, [1]),
        "dropped_empty_target": (Gravity.NOTE, 1, [2]),
        "dropped_copy": (Gravity.NOTE, 1, [3]),
        "dropped_duplicate": (Gravity.NOTE, 1, [5]),
        "changed_spaces": (Gravity.NOTE, 1, [6]),
        "dropped_ratio": (Gravity.NOTE, 1, [7]),
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Stra\ufffde", "odd_replaced"),
        ("StraÃ\x9fe", "odd_mojibake"),
        ("grÃ¼n", "odd_mojibake"),
        ("donâ€™t", "odd_mojibake"),
        ("ÐŸÑ€Ð¸", "odd_mojibake"),
        ("\ue001 Logo", "odd_private"),
        ("capit\u0430l", "odd_mixed"),
    ],
)
def test_odd_characters_are_found(tmp_path: Path, text: str, kind: str) -> None:
    assert found(looked(tsv(tmp_path / "a.tsv", [*PAIRS, (text, "x")])))[kind] == (Gravity.NOTE, 1, [65])


@pytest.mark.parametrize(
    "text", ["« café » à Orléans", "SÃO PAULO", "5 µm, π, Привет, Linux", "Ñandú — él dijo: «¡Así!»", "naïve"]
)
def test_ordinary_characters_are_not_odd(tmp_path: Path, text: str) -> None:
    inspection = looked(tsv(tmp_path / "a.tsv", [*PAIRS, (text.replace(" »", "\u00a0»"), "x")]))
    assert inspection.odd == {}


def test_pairs_of_the_test_set_and_sources_of_it_are_told_apart(tmp_path: Path) -> None:
    test = tsv(tmp_path / "held.tsv", [PAIRS[5], PAIRS[9], ("not in it", "nicht darin")])
    train = tsv(tmp_path / "a.tsv", [*PAIRS[:9], (f"{PAIRS[9][0]} ", "Anders."), *PAIRS[10:], PAIRS[5]])
    inspection = looked(train, tests=(test,))
    assert found(inspection)["in_test_set"] == (Gravity.WRONG, 2, [6, 65])
    assert found(inspection)["source_in_test_set"] == (Gravity.NOTE, 1, [10])
    (message,) = [finding.what for finding in findings(inspection) if finding.kind == "in_test_set"]
    assert message == "pairs that are also in the test set: 1 of its 3 distinct pairs"


def test_a_corpus_whose_sides_are_swapped_is_told(tmp_path: Path) -> None:
    swapped = tsv(tmp_path / "swapped.tsv", [(target, source) for source, target in PAIRS])
    assert found(looked(swapped))["sides_swapped"] == (Gravity.WRONG, 64, [0])
    assert "sides_swapped" not in found(looked(swapped, languages=Languages("de-AT", "eng")))
    assert "sides_swapped" not in found(looked(swapped, columns=(2, 1)))


def test_swapped_columns_are_exchanged_by_the_command_that_is_advised(tmp_path: Path) -> None:
    swapped = tsv(tmp_path / "my pairs.tsv", [(target, source) for source, target in PAIRS])
    (finding,) = findings(looked(swapped))
    command = f"regard check '{swapped}' --source en --target de --columns 2,1"
    assert finding.advice == f"Swap them: {command}"
    named = tsv(tmp_path / "de-en.tsv", PAIRS)  # the name says that the columns are German and English
    assert [finding.advice for finding in findings(looked(named))] == [
        f"Swap them: regard check {named} --source en --target de --columns 1,2"
    ]
    told = run(swapped, "--source", "en", "--target", "de", "--json")
    assert json.loads(told.stdout)["next"] == command
    assert run(*shlex.split(command)[2:]).exit_code == 0


@pytest.mark.parametrize(
    "header", [("source", "target"), ("English", "Deutsch"), ("en-US", "de"), ("text_en", "text_de")]
)
def test_a_header_row_is_found(tmp_path: Path, header: tuple[str, str]) -> None:
    assert found(looked(tsv(tmp_path / "a.tsv", [header, *PAIRS]))) == {"header_row": (Gravity.NOTE, 1, [1])}


def test_a_first_pair_is_no_header_row_for_being_short(tmp_path: Path) -> None:
    for first in (("Source", "Quelle"), ("German food", "Deutsches Essen"), ("Yes", "Ja")):
        assert found(looked(tsv(tmp_path / "a.tsv", [first, *PAIRS]))) == {}


def test_cells_in_the_quotes_of_a_spreadsheet_are_found(tmp_path: Path) -> None:
    natural = [*PAIRS, ('"Stop!"', '"Halt!"'), ('He said "no".', 'Er sagte "nein".')]
    assert found(looked(tsv(tmp_path / "a.tsv", natural))) == {}
    some = [*PAIRS, ('"He said ""no""."', "Er verneinte.")]
    assert found(looked(tsv(tmp_path / "b.tsv", some))) == {"quoted_cells": (Gravity.NOTE, 1, [65])}
    every = [(f'"{source}"', f'"{target}"') for source, target in PAIRS]
    assert found(looked(tsv(tmp_path / "c.tsv", every))) == {"quoted_cells": (Gravity.WRONG, 64, list(range(1, 11)))}


def test_one_pair_alone_is_not_ready(tmp_path: Path) -> None:
    assert found(looked(tsv(tmp_path / "a.tsv", PAIRS[:1]))) == {"one_pair": (Gravity.STOPS, 1, [])}
    assert found(looked(tsv(tmp_path / "b.tsv", PAIRS[:2]))) == {}


def test_lines_in_a_third_language_are_found_among_the_others(tmp_path: Path) -> None:
    french = [(source, f"Je pense que le chat {n} est dans la maison.") for n, (source, _) in enumerate(PAIRS)]
    half = found(looked(tsv(tmp_path / "a.tsv", [*PAIRS, *french])))
    assert half == {"third_language": (Gravity.WRONG, 64, list(range(65, 75)))}
    (finding,) = findings(looked(tsv(tmp_path / "b.tsv", [*PAIRS, french[0]])))
    assert (finding.kind, finding.gravity) == ("third_language", Gravity.NOTE)
    assert finding.what == "lines whose target looks like fr, not de"


def test_the_command_to_type_next_is_printed_and_can_be_typed(tmp_path: Path) -> None:
    few = tsv(tmp_path / "a.tsv", PAIRS)
    train = f"regard train {few} --source en --target {{}} --out my-model"
    told = json.loads(run(few, "--source", "en", "--target", "de", "--json").stdout)
    assert told["next"] == train.format("de --from en-de")  # so few pairs are best used to adapt a model
    assert "adapt the model en-de, which knows these languages: --from en-de" in told["advice"]["reasons"][3]
    told = json.loads(run(few, "--source", "en", "--target", "xx", "--json").stdout)
    assert told["next"] == train.format("xx")
    assert "adapt an existing model: --from MODEL" in told["advice"]["reasons"][3]
    bad = tsv(tmp_path / "b.tsv", [*PAIRS, ("a", "b\tc")])
    shown = run(bad, "--source", "en", "--target", "xx").stdout
    assert f"Next command:\n  regard train {bad} --source en --target xx --skip-bad --out my-model\n" in shown
    group: Any = typer.main.get_command(regard.cli._application())
    assert group.commands["train"].make_context("train", shlex.split(told["next"])[2:])


def test_a_file_in_another_language_is_told_among_others(tmp_path: Path) -> None:
    french = [
        (source, f"Je pense que le chat numéro {n} est dans la maison avec les enfants.")
        for n, (source, _) in enumerate(PAIRS)
    ]
    russian = [(source, f"Я думаю, что кошка номер {n} в саду с детьми.") for n, (source, _) in enumerate(PAIRS)]
    paths = [tsv(tmp_path / "a.tsv", PAIRS), tsv(tmp_path / "b.tsv", french), tsv(tmp_path / "c.tsv", russian)]
    listed = [finding for finding in findings(looked(*paths)) if finding.kind == "wrong_language"]
    assert [(finding.tally.count, finding.tally.places) for finding in listed] == [
        (64, [(str(paths[1]), 0)]),
        (64, [(str(paths[2]), 0)]),
    ]
    assert "the target looks like fr, not de" in listed[0].what
    assert "not de" in listed[1].what
    assert {finding.gravity for finding in listed} == {Gravity.WRONG}


def test_single_lines_on_the_wrong_side_are_found_without_knowing_the_languages(tmp_path: Path) -> None:
    source, target = PAIRS[20]
    pairs = [*PAIRS, (f"{target} 1", f"{source} 2"), (f"{target} 3", f"{target} 4"), (f"{source} 5", f"{source} 6")]
    inspection = looked(tsv(tmp_path / "a.tsv", pairs), languages=Languages("xx", "yy"))
    assert {what: tally.places[0][1] for what, tally in inspection.misplaced.items()} == {
        Misplaced.SWAPPED: 65,
        Misplaced.SOURCE: 66,
        Misplaced.TARGET: 67,
    }


@pytest.mark.parametrize(
    ("names", "gravity", "like_tests"),
    [
        (["train.tsv", "test.tsv", "valid.2016.tsv"], Gravity.WRONG, ["test.tsv", "valid.2016.tsv"]),
        (["en-de.train.tsv", "newstest2014.tsv", "dev.tsv"], Gravity.WRONG, ["dev.tsv", "newstest2014.tsv"]),
        (["a.tsv", "b_val.tsv"], Gravity.NOTE, ["b_val.tsv"]),
        (["contest.tsv", "latest.tsv", "developers.tsv", "training-test-drive.tsv"], None, []),
    ],
)
def test_a_folder_with_files_named_like_test_sets_is_warned_of(
    tmp_path: Path, names: list[str], gravity: Gravity | None, like_tests: list[str]
) -> None:
    for number, name in enumerate(names):
        tsv(tmp_path / name, PAIRS[number::4])
    for data in (tmp_path, tmp_path / "*.tsv"):
        listed = [finding for finding in findings(looked(data)) if finding.kind == "named_like_test_set"]
        assert [finding.gravity for finding in listed] == ([gravity] if gravity else [])
        assert [Path(path).name for finding in listed for path, _ in finding.tally.places] == like_tests
    assert findings(looked(tmp_path / names[1])) == []  # a file that is named by itself is meant


def test_statistics_are_those_of_the_pairs_that_are_kept(tmp_path: Path) -> None:
    inspection = looked(tsv(tmp_path / "a.tsv", [("ab cd", "x"), ("e", "y z!"), ("", "long " * 99)]))
    assert inspection.source.characters.table() == {"total": 6, "mean": 3.0, "median": 1, "p90": 5, "max": 5}
    assert inspection.source.words.table() == {"total": 3, "mean": 1.5, "median": 1, "p90": 2, "max": 2}
    assert sorted(inspection.target.alphabet) == [" ", "!", "x", "y", "z"]


def test_quantiles_are_lengths_that_so_many_do_not_exceed() -> None:
    lengths = Lengths()
    lengths.add(range(1, 101))
    assert [lengths.quantile(share) for share in (0.01, 0.5, 0.9, 1.0)] == [1, 50, 90, 100]
    assert Lengths().quantile(0.5) == Lengths().longest == Lengths().mean == 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Katze ist auf dem Dach und der Hund im Haus. ", "de"),
        ("Я не знаю, что он сказал, но это так. ", "ru"),
        ("猫は屋根の上", None),
        ("k æ t ", None),
    ],
)
def test_a_text_looks_like_its_language(text: str, expected: str | None) -> None:
    profile = Profile()
    profile.add(Counter(words(text * 100)), Counter(text * 100))
    assert profile.language() == expected


def test_the_command_prints_a_table_and_its_status_says_whether_to_train(tmp_path: Path) -> None:
    good, bad = tsv(tmp_path / "good.tsv", PAIRS), tsv(tmp_path / "bad.tsv", [*PAIRS, ("a", "b\tc")])
    told = run(good, "--source", "en", "--target", "de")
    assert told.exit_code == 0
    for said in (
        "64 pairs read, 64 kept",
        "source en",
        "en, Latin",
        "preset tiny",
        "vocabulary 2,000",
        "Estimate",
        "10 minutes: a model of size tiny",
        "600 minutes: a model of size tiny",
        "Ready for training",
    ):
        assert said in told.stdout
    told = run(bad, "--source", "en", "--target", "de")
    assert told.exit_code == 1
    assert "stops training" in told.stdout
    assert "bad.tsv: line 65" in "".join(told.stdout.split("\n"))
    assert "Not ready" in told.stdout


def test_the_json_has_these_keys(tmp_path: Path) -> None:
    test = tsv(tmp_path / "held.tsv", PAIRS[:2])
    told = run(tsv(tmp_path / "a.tsv", PAIRS), "--source", "en", "--target", "de", "--test", test, "--json")
    assert told.exit_code == 1
    result = json.loads(told.stdout)
    assert list(result) == [
        *("format", "ready", "data", "pairs", "test_pairs", "findings", "given_up", "source", "target"),
        *("length_ratio", "advice", "estimate", "minutes", "next"),
    ]
    assert result["ready"] is False
    assert result["pairs"] == {"read": 64, "kept": 64}
    assert result["test_pairs"] == 2
    (finding,) = result["findings"]
    assert list(finding) == ["kind", "gravity", "what", "count", "places", "advice"]
    assert (finding["kind"], finding["gravity"], finding["count"]) == ("in_test_set", "wrong", 2)
    assert finding["places"] == [{"path": str(tmp_path / "a.tsv"), "line": line} for line in (1, 2)]
    side_keys = ["language", "looks_like", "scripts", "characters", "words", "distinct_characters", "rare_characters"]
    assert list(result["source"]) == list(result["target"]) == side_keys
    assert list(result["advice"]) == ["preset", "vocabulary", "dropout", "tokeniser", "reasons"]
    needs = ["parameters", "memory", "steps", "epochs", "seconds", "device", "precision", "speed"]
    assert list(result["estimate"]) == needs
    assert [list(each) for each in result["minutes"]] == [["minutes", "preset", "steps", "epochs", "share"]] * 3
    assert [each["minutes"] for each in result["minutes"]] == [10, 60, 600]


def test_a_corpus_without_any_pair_gets_no_advice(tmp_path: Path) -> None:
    told = run(tsv(tmp_path / "a.tsv", [("a", "b\tc")]), "--source", "en", "--target", "de", "--json")
    assert told.exit_code == 1
    result = json.loads(told.stdout)
    assert result["advice"] is result["estimate"] is None
    assert [finding["kind"] for finding in result["findings"]] == ["columns"]
    told = run(tsv(tmp_path / "b.tsv", [("same", "same")]), "--source", "en", "--target", "de")
    assert told.exit_code == 1
    assert "no sentence pair is left" in told.stdout


@pytest.mark.parametrize("columns", ["3", "3,", "1,2,3"])
def test_columns_that_are_no_columns_are_refused(tmp_path: Path, columns: str) -> None:
    told = run(tsv(tmp_path / "a.tsv", PAIRS), "--source", "en", "--target", "de", "--columns", columns)
    assert told.exit_code == 2
    assert "expected two columns" in told.stderr


@pytest.mark.parametrize(
    ("path", "target", "columns", "most"),
    [
        ("tatoeba/en-de.train.tsv.gz", "de", None, 0),
        ("libreoffice-help/en-de.tsv.gz", "de", None, 20),
        ("software-catalogs/en-fr.tsv.gz", "fr", (3, 4), 5),
        ("multi30k/train", "fr", None, 0),
    ],
)
def test_real_data_comes_through_with_hardly_any_doubt_and_spoilt_lines_are_found(
    data: Path, tmp_path: Path, path: str, target: str, columns: tuple[int, int] | None, most: int
) -> None:
    languages = Languages("en", target)
    pairs = list(read([data / path], languages, columns=columns, bad=BadInput(skip=True)))
    long = [number for number, pair in enumerate(pairs) if min(len(words(pair.source)), len(words(pair.target))) >= 6]
    spoilt = set(long[:: len(long) // 200][:200])
    lines = [(pair.target, pair.source) if number in spoilt else pair[:2] for number, pair in enumerate(pairs)]
    inspection = looked(tsv(tmp_path / "a.tsv", lines), languages=languages)
    tally = inspection.misplaced[Misplaced.SWAPPED]
    assert 170 <= tally.count <= 200
    assert {line - 1 for _, line in tally.places} <= spoilt
    others = sum(other.count for what, other in inspection.misplaced.items() if what is not Misplaced.SWAPPED)
    assert others <= most + 15
    assert not any(finding.gravity is Gravity.WRONG for finding in findings(inspection))


def test_advice_knows_words_phonemes_and_prepared_subwords(data: Path) -> None:
    from regard.training.advice import advise

    phonemes = looked(data / "sigmorphon2021-g2p" / "medium" / "fre_train.tsv.gz", languages=Languages("fre", "ipa"))
    advice = advise(phonemes.cleaning.kept, source=phonemes.source, target=phonemes.target)
    assert (advice.tokeniser.kind, advice.tokeniser.target_kind) == ("characters", "words")
    pieces = looked(data / "multi30k-bpe" / "en-de" / "train")
    advice = advise(pieces.cleaning.kept, source=pieces.source, target=pieces.target)
    assert advice.tokeniser.is_joint
    assert (advice.tokeniser.kind, advice.tokeniser.options) == ("words", {"join": "@@"})
    assert advice.preset == "tiny"
