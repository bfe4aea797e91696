"""`regard evaluate`, `regard compare` with models, and recipes from data to score."""

import gzip
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import CorpusError, RegardError, SettingsError
from regard.evaluation.comparison import ReferenceSet
from regard.evaluation.evaluate import Evaluation, evaluate, usual_metrics
from regard.evaluation.reading import languages_of, read_systems, read_test, write_translations
from regard.evaluation.tokenised import joined
from regard.metrics import Options, score
from regard.presets import load as preset
from regard.search import Result
from regard.text.pairs import Languages
from regard.training.recipe import Recipe, merged, read_file, with_paths
from regard.translation.translator import Translator
from runs import SMALL, corpus, environment, here

ROOT = Path(__file__).parents[2]
BENCHMARK = ROOT / "benchmarks" / "published.py"
RECIPES = sorted(
    path
    for path in (ROOT / "recipes").glob("*.toml")
    if not path.stem.startswith(("shipped-", "adapt-", "europarl-"))  # their data are made by scripts of their own
)
LANGUAGES = Languages("en", "de")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `model`, made by a recipe that names its data and its test set, and the files of pairs."""
    folder = tmp_path_factory.mktemp("recipes")
    corpus(folder / "pairs.en-de.tsv")
    corpus(folder / "test.en-de.tsv", pairs=20, seed=1)
    corpus(folder / "valid.en-de.tsv", pairs=10, seed=2)
    (folder / "recipe.toml").write_text(
        'extends = "tiny"\n[data]\nfiles = ["pairs.{source}-{target}.tsv"]\nvalid = "valid.{source}-{target}.tsv"\n'
        'source = "en"\ntarget = "de"\n[test]\nfile = "test.{source}-{target}.tsv"\nmetrics = ["bleu", "chrf"]\n'
    )
    sets = [part for setting in SMALL for part in ("--set", setting)]
    told = command(folder, "train", "--recipe", "recipe.toml", "--out", "model", "--steps", "60", *sets)
    assert told.returncode == 0, told.stderr
    return folder


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return here(list(arguments), folder / "cache", folder=folder, REGARD_DATA=str(folder), COLUMNS="200")


@pytest.fixture(scope="module")
def translator(trained: Path) -> Translator:
    return regard.load(trained / "model", device="cpu")


@pytest.fixture(scope="module")
def held_out(trained: Path) -> ReferenceSet:
    return read_test(trained / "test.en-de.tsv", LANGUAGES)


@pytest.fixture(scope="module")
def found(translator: Translator, held_out: ReferenceSet) -> Evaluation:
    return evaluate(translator, held_out, name="mine")


def test_a_recipe_is_one_command_from_data_to_score(trained: Path, found: Evaluation) -> None:
    stored: dict[str, Any] = json.loads((trained / "model" / "test.json").read_text())
    assert stored["test"] == {"name": "test.en-de.tsv", "lines": 20}
    assert {each["metric"]: each["value"] for each in stored["scores"]} == {
        each.metric: each.value for each in found.scores if each.metric != "ter"
    }
    assert (trained / "model" / "test.txt").read_text().splitlines() == list(found.translations)


def test_scores_are_those_of_the_translations(found: Evaluation, held_out: ReferenceSet) -> None:
    assert [each.metric for each in found.scores] == ["bleu", "chrf", "ter"]
    assert list(found.scores) == score(["bleu", "chrf", "ter"], found.translations, held_out.references)
    assert all("version:" in each["signature"] for each in found.table()["scores"])


def test_a_test_set_is_searched_as_a_whole(
    translator: Translator, held_out: ReferenceSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, sizes = translator.engine.search, list[int]()

    def noted(sentences: Sequence[Sequence[int]], *arguments: Any, **named: Any) -> list[Result]:
        sizes.append(len(sentences))
        return search(sentences[:1], *arguments, **named) * len(sentences)

    monkeypatch.setattr(translator.engine, "search", noted)
    many = ReferenceSet("many", list(held_out.references) * 110, list(held_out.sources) * 110, LANGUAGES)
    evaluate(translator, many, metrics=["exact_match"], perplexity=False)
    assert sizes == [2200]


def test_perplexity_lengths_and_speed_are_what_they_say(
    found: Evaluation, translator: Translator, held_out: ReferenceSet
) -> None:
    scored = translator.score(held_out.sources, [line[0] for line in held_out.references])
    logprobs = [value for each in scored for value in each.logprobs]
    assert found.perplexity == pytest.approx(2.718281828459045 ** (-sum(logprobs) / len(logprobs)))
    assert found.lengths.hypothesis_words == sum(len(text.split()) for text in found.translations)
    assert found.lengths.reference_words == sum(len(line[0].split()) for line in held_out.references)
    assert found.lengths.ratio == found.lengths.hypothesis_words / found.lengths.reference_words
    assert found.speed.sentences_per_second == pytest.approx(20 / found.speed.seconds)
    assert found.speed.tokens_per_second > found.speed.sentences_per_second
    json.dumps(found.table())


def test_the_command_prints_a_table_or_json_and_saves_translations(trained: Path, found: Evaluation) -> None:
    told = command(trained, "evaluate", "model", "--test", "test.en-de.tsv", "--save-translations", "out.txt")
    assert told.returncode == 0, told.stderr
    for part in ("model on test.en-de.tsv, 20 sentences", "BLEU ↑", "TER ↓", "tok:13a", "perplexity", "sentences/s"):
        assert part in told.stdout
    assert (trained / "out.txt").read_text().splitlines() == list(found.translations)
    told = command(trained, "evaluate", "model", "--test", "test.en-de.tsv", "--json", "--metrics", "exact-match")
    assert [each["metric"] for each in json.loads(told.stdout)["scores"]] == ["exact_match"]


def test_sources_and_references_can_be_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a\nb\n")
    (tmp_path / "one.txt").write_text("A\nB\n")
    (tmp_path / "two.txt").write_text("AA\nBB\n")
    alone = read_test(tmp_path / "in.txt", LANGUAGES, references=[tmp_path / "one.txt", tmp_path / "two.txt"])
    assert (alone.sources, alone.references) == (["a", "b"], [["A", "AA"], ["B", "BB"]])
    (tmp_path / "test.en").write_text("a\nb\n")
    (tmp_path / "test.de").write_text("A\nB\n")
    beside = read_test(tmp_path / "test.en", LANGUAGES, references=[tmp_path / "test.de", tmp_path / "two.txt"])
    assert (beside.sources, beside.references) == (["a", "b"], [["A", "AA"], ["B", "BB"]])
    (tmp_path / "short.txt").write_text("A\n")
    with pytest.raises(CorpusError, match=r"short\.txt: there are 1 lines, but .*in\.txt has 2 sentences"):
        read_test(tmp_path / "in.txt", LANGUAGES, references=[tmp_path / "short.txt"])
    with pytest.raises(CorpusError, match="the name of this file does not show its format"):
        read_test(tmp_path / "in.txt", LANGUAGES)


def test_references_without_sources_cannot_be_evaluated(translator: Translator) -> None:
    with pytest.raises(CorpusError, match=r"refs\.txt: this test set has references but no sources"):
        evaluate(translator, ReferenceSet("refs.txt", [["A"]]))


def test_pieces_are_joined_before_tokenised_text_is_scored(translator: Translator, held_out: ReferenceSet) -> None:
    assert joined(["transl@@ ation is f@@ un@@", "a @@b c"]) == ["translation is fun", "a @@b c"]
    split = held_out._replace(references=[[line[0].replace("w1", "w@@ 1")] for line in held_out.references])
    options = Options(tokenised=True)
    first = evaluate(translator, split, metrics=["bleu"], options=options, perplexity=False)
    whole = evaluate(translator, held_out, metrics=["bleu"], options=options, perplexity=False)
    assert first.scores == whole.scores
    assert "tok:none|smooth:none" in first.scores[0].signature
    assert "multi-bleu.perl" in first.remarks[0]
    assert first.perplexity is None


def test_error_rates_are_usual_where_words_are_spelt(translator: Translator, held_out: ReferenceSet) -> None:
    class Kinds:
        def __init__(self, source: str, target: str) -> None:
            self.tokenisers = self
            self.source, self.target = type("", (), {"kind": source}), type("", (), {"kind": target})

    def usual(source: str, target: str, text: str) -> tuple[str, ...]:
        return usual_metrics(Kinds(source, target), ReferenceSet("", [["x"]], [text]))  # type: ignore[arg-type]

    assert usual("characters", "words", "word") == ("word_error_rate", "phoneme_error_rate", "exact_match")
    assert usual("utf8", "utf8", "3 March") == ("word_error_rate", "character_error_rate", "exact_match")
    assert usual("characters", "characters", "a whole sentence with words") == ("bleu", "chrf", "ter")
    assert usual_metrics(translator, held_out) == ("bleu", "chrf", "ter")


def test_a_model_is_compared_with_a_file_of_its_own_translations(trained: Path, found: Evaluation) -> None:
    write_translations(trained / "same.txt", found.translations)
    told = command(trained, "compare", "model", "same.txt", "--test", "test.en-de.tsv", "--json")
    assert told.returncode == 0, told.stderr
    comparison = json.loads(told.stdout)
    assert comparison["systems"][0]["scores"] == comparison["systems"][1]["scores"]
    assert not any(difference["significant"] for difference in comparison["differences"])


def test_models_of_other_languages_are_not_compared(trained: Path, trained_folder: Path) -> None:
    assert languages_of([trained / "model", trained / "same.txt"]) == Languages("en", "de")
    assert languages_of([trained / "same.txt"]) is None
    with pytest.raises(SettingsError, match=r"translates en to de, and .* xa to xb: they cannot be compared"):
        languages_of([trained / "model", trained_folder])


def test_a_model_needs_sources_to_be_compared(trained: Path) -> None:
    with pytest.raises(SettingsError, match="this is a model, but the test set has no sources"):
        read_systems([trained / "model"], ReferenceSet("refs", [["a"]]))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_is_right_and_names_data_that_lie_where_it_says(
    path: Path, request: pytest.FixtureRequest
) -> None:
    name, tables = read_file(path)
    assert name
    tables = merged({"data": {"files": ["given-on-the-command-line"]}}, tables)
    whole = Recipe.read(merged(preset(name).tables, with_paths(tables, {})), where=str(path))
    assert f"recipes/{path.name}" in path.read_text() or "recipes/family.py" in path.read_text()
    data = request.getfixturevalue("data")
    if whole.data.task != "translation":
        files = [*whole.data.files, whole.data.valid, whole.test and whole.test.file]
        named = [file for file in files if file and "given-on" not in file]
        assert all((data / file).exists() for file in named), named
        return
    assert whole.test
    for file in (*whole.data.files, whole.data.valid, whole.test.file):
        assert read_test(data / str(file), Languages(whole.data.source, whole.data.target), format=whole.data.format)


def test_a_recipe_speaks_of_its_data_from_one_folder_and_by_language(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {
        "data": {"files": ["g2p/{source}.tsv", "/whole.tsv"], "source": "fre"},
        "test": {"file": "{source}-{target}"},
    }
    monkeypatch.setenv("REGARD_DATA", "/data")
    found = with_paths(tables, {"source": "kor", "target": "ipa"})
    assert found["data"]["files"] == ["/data/g2p/kor.tsv", "/whole.tsv"]
    assert found["test"]["file"] == "/data/kor-ipa"
    monkeypatch.delenv("REGARD_DATA")
    assert with_paths(tables, {"target": "ipa"})["data"]["files"][0] == "g2p/fre.tsv"
    with pytest.raises(SettingsError, match=r"the target language is unknown\.\n  Give it: --target CODE"):
        with_paths(tables, {})


def test_what_is_wrong_with_a_recipe_is_told(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    for text, said in (
        ('extends = "tny"', "extends = 'tny': did you mean 'tiny'?"),
        ("steps = 3", "steps = 3 must be inside a table"),
    ):
        path.write_text(text)
        with pytest.raises(SettingsError) as error:
            read_file(path)
        assert said in str(error.value)
    with pytest.raises(RegardError, match=r"the training data are incomplete: files, source, target missing\."):
        regard.train(out=tmp_path / "out", device="cpu")


def test_the_runner_trains_a_recipe_scores_it_and_prints_a_table(tmp_path: Path) -> None:
    folder = tmp_path / "sigmorphon2021-g2p" / "low"
    folder.mkdir(parents=True)
    words = [(word, " ".join(reversed(word))) for word in ("abc", "bca", "cab", "acb", "bac", "cba")]
    for part in ("train", "dev", "test"):
        (folder / f"ita_{part}.tsv.gz").write_bytes(
            gzip.compress("".join(f"{word}\t{sounds}\n" for word, sounds in words).encode())
        )
    size = "model.d_model=8 model.d_k=2 model.d_v=2 model.d_ff=8 model.encoder_layers=1 model.decoder_layers=1"
    variant = f"{size} training.batch_tokens=128 training.warmup=1 training.checkpoint_every=1"  # a long name
    told = subprocess.run(
        [
            sys.executable,
            BENCHMARK,
            "g2p-low:ita@1,2",
            "--ensemble",
            "--jobs",
            "2",
            "--steps",
            "2",
            "--out",
            "runs",
            "--device",
            "cpu",
            "--set",
            "test.beam_size=1",
            "--variant",
            variant,
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path / "cache") | {"REGARD_DATA": str(tmp_path)},
        check=False,
        timeout=300,
    )
    assert told.returncode == 0, told.stderr
    lines = (tmp_path / "runs" / "results.jsonl").read_text().splitlines()
    *single, result = map(json.loads, lines)
    assert sorted(each["seeds"] for each in single) == [[1], [2]]
    assert (result["recipe"], result["language"], result["seeds"]) == ("g2p-low", "ita", [1, 2])
    assert result["parameters"] == sum(each["parameters"] for each in single)
    assert set(result["valid"]) == set(result["test"]) == {"word_error_rate", "phoneme_error_rate"}
    value = result["test"]["word_error_rate"]
    assert f"| g2p-low | {variant} | ita | ensemble of 2 | word_error_rate | {value:.2f} | {value:.2f} |" in told.stdout
    folders = [path.name for path in (tmp_path / "runs").glob("g2p-low_ita_*")]
    assert len(folders) == 3
    assert all(len(name) < 100 for name in folders)
