"""recipes/distilled.py: words that are made up, teachers that say them, and the model that learns from both."""

import gzip
import importlib.util
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import regard
from runs import TRANSFORMER, environment

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "recipes" / "distilled.py"
SOUNDS = dict(zip("bdgaiu", ["B", "D", "G", "A", "I", "U"], strict=True))


def module(path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_for_tests", path)
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    monkeypatch.syspath_prepend(str(path.parent))
    monkeypatch.setitem(sys.modules, spec.name, found)
    spec.loader.exec_module(found)
    return found


def words(count: int, *, seed: int = 0) -> list[str]:
    """Words of one to four syllables: a consonant and a vowel each."""
    draw = random.Random(seed)  # noqa: S311
    spelt = ("".join(draw.choice("bdg") + draw.choice("aiu") for _ in range(draw.randint(1, 4))) for _ in range(count))
    return list(dict.fromkeys(spelt))


def test_made_up_words_are_new_spelt_like_the_others_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    distilled = module(SCRIPT, monkeypatch)
    known = words(150)
    new = distilled.made_up(known, 400)
    assert len(set(new)) == len(new) == 400
    assert not set(new) & set(known)
    assert max(map(len, new)) <= max(map(len, known))
    assert new == distilled.made_up(known, 400)
    assert new != distilled.made_up(known, 400, seed=2)
    alternating = [word for word in new if all((letter in "bdg") == (at % 2 == 0) for at, letter in enumerate(word))]
    assert len(alternating) > 0.8 * len(new)  # where consonants and vowels came at random, one in ten would


def test_where_no_more_words_are_possible_there_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(module(SCRIPT, monkeypatch).made_up(["ab", "bc"], 1_000)) <= {"aa", "ac", "ba", "bb", "ca", "cb", "cc"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, and two recipes: of those that teach, and of the one that learns."""
    folder = tmp_path_factory.mktemp("distilled")
    for number, (name, count) in enumerate({"train": 120, "dev": 10, "test": 10}.items()):
        lines = (f"{word}\t{' '.join(SOUNDS[letter] for letter in word)}\n" for word in words(count, seed=number))
        (folder / f"xx_{name}.tsv").write_text("".join(lines))
    model = "\n".join(setting.removeprefix("model.") for setting in TRANSFORMER)
    for name, steps in (("teacher", 12), ("learner", 15)):
        (folder / f"{name}.toml").write_text(
            'extends = "tiny"\n[data]\nfiles = ["{source}_train.tsv"]\nvalid = "{source}_dev.tsv"\n'
            'target = "ipa"\nformat = "tsv"\n'
            "[cleaning]\nmax_ratio = 1000.0\ndrop_copies = false\ndrop_duplicates = false\n"
            '[tokeniser]\nkind = "characters"\nvocabulary = 400\noptions = { minimum = 1 }\ntarget_kind = "words"\n'
            f'target_options = {{}}\n[model]\n{model}\ntied_embeddings = "target-output"\n'
            f"[training]\nsteps = {steps}\nbatch_tokens = 160\nwarmup = 5\n"
            "row_lengths = [32]\naveraged_checkpoints = 1\n[validation]\nevery = 10\npairs = 10\n"
            '[test]\nfile = "{source}_test.tsv"\nmetrics = ["word_error_rate"]\nlength_penalty = 1.0\n'
        )
    return folder


def distilled(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, cwd=folder, check=False, timeout=300,
        env=environment(folder / "cache") | {"REGARD_DATA": str(folder)},
    )  # fmt: skip


def test_one_command_trains_teachers_makes_words_up_and_trains_the_one_that_learns(folder: Path) -> None:
    command = ["train", "learner.toml", "--teacher", "teacher.toml", "--teachers", "2", "--words", "30"]
    command += ["--source", "xx", "--out", "out", "--device", "cpu"]
    told = distilled(folder, *command)
    assert told.returncode == 0, told.stderr
    out = folder / "out"
    teachers = [out / "teacher-1", out / "teacher-2"]
    pairs = [tuple(line.split("\t")) for line in (folder / "xx_train.tsv").read_text().splitlines()]
    learned = [
        tuple(line.split("\t")) for line in gzip.decompress((out / "words.tsv.gz").read_bytes()).decode().splitlines()
    ]
    assert learned[: 2 * len(pairs)] == pairs * 2
    new = dict(learned[2 * len(pairs) :])
    assert 0 < len(new) <= 30
    assert not set(new) & {source for source, _ in pairs}
    together = regard.load(teachers, engine="torch").translate(list(new), beam_size=4, length_penalty=1.0)
    assert [result.text for result in together] == list(new.values())
    assert [_made_by(model)["training"]["seed"] for model in (*teachers, out / "model")] == [1, 2, 1]
    assert [_made_by(model)["training"]["steps"] for model in (*teachers, out / "model")] == [12, 12, 15]
    assert _made_by(out / "model")["data"]["files"] == [str((out / "words.tsv.gz").resolve())]
    assert "word_error_rate" in (out / "model" / "test.json").read_text()

    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = distilled(folder, *command)
    assert (again.returncode, again.stdout) == (0, ""), again.stderr  # all is there
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    (out / "words.tsv.gz").unlink()
    assert distilled(folder, *command).stdout.startswith("out/words.tsv.gz: ")
    assert gzip.decompress((out / "words.tsv.gz").read_bytes()).decode().split("\n")[:-1] == [
        "\t".join(pair) for pair in learned
    ]


def _made_by(model: Path) -> Any:
    return json.loads((model / "regard.json").read_bytes())["training"]["recipe"]


def test_a_training_that_fails_ends_all_of_it_with_its_message(folder: Path) -> None:
    told = distilled(folder, "train", "learner.toml", "--teacher", "teacher.toml", "--source", "yy", "--out", "other")
    assert told.returncode != 0
    assert "yy_train.tsv" in told.stderr
    assert "Traceback" not in told.stderr
    assert told.stdout.count("== ") == 1  # the next teacher did not begin


def test_who_stops_it_stops_the_training_and_the_same_command_goes_on(folder: Path) -> None:
    command = ["train", "learner.toml", "--teacher", "teacher.toml", "--teachers", "1", "--words", "20"]
    command += ["--source", "xx", "--out", "stopped", "--device", "cpu"]
    command += ["--set", "training.checkpoint_every=5", "--set", "training.steps=150"]
    running = subprocess.Popen(
        [sys.executable, str(SCRIPT), *command], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(folder / "cache") | {"REGARD_DATA": str(folder)},
    )  # fmt: skip
    checkpoints = folder / "stopped" / "teacher-1" / "training" / "checkpoints"
    until = time.monotonic() + 120
    while not (checkpoints.is_dir() and any(checkpoints.iterdir())):
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < until
        time.sleep(0.1)
    running.send_signal(signal.SIGTERM)
    said, complaint = running.communicate(timeout=60)
    assert running.returncode != 0
    assert "Traceback" not in complaint
    assert said.count("== ") == 1
    assert any(checkpoints.iterdir())
    assert not (folder / "stopped" / "teacher-1" / "regard.json").exists()
    again = distilled(folder, *command)
    assert again.returncode == 0, again.stderr
    assert (folder / "stopped" / "model" / "test.json").exists()


def test_a_model_that_is_missing_is_told_and_nothing_is_written(folder: Path) -> None:
    told = distilled(folder, "label", "learner.toml", "--source", "xx", "--models", "nowhere", "--out", "new.tsv.gz")
    assert told.returncode == 1
    assert told.stderr.startswith("nowhere: ")
    assert "Traceback" not in told.stderr
    assert not list(folder.glob("*new.tsv.gz*"))


def test_teachers_translate_each_source_once_and_what_is_written_is_not_written_again(
    folder: Path, trained_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = module(SCRIPT, monkeypatch)
    monkeypatch.setattr(script, "PART", 2)
    sources = ["alto gan", "gan alto", "alto gan", "alto", "gan"]
    (folder / "pairs.tsv").write_text("".join(f"{source}\tx\n" for source in sources))
    command = ["sentences", str(folder / "pairs.tsv"), "--models", str(trained_folder), "--source", "xa"]
    command += ["--target", "xb", "--out", str(folder / "taught"), "--device", "cpu", "--most", "3"]
    script.main(command)
    parts = [gzip.decompress(path.read_bytes()).decode() for path in sorted((folder / "taught").iterdir())]
    lines = "".join(parts).splitlines()
    assert [len(part.splitlines()) for part in parts] == [2, 1]
    assert [line.split("\t")[0] for line in lines] == ["alto gan", "gan alto", "alto"]
    said = regard.load(trained_folder, engine="torch").translate(sources[0], beam_size=4, length_penalty=1.0).text
    assert lines[0].split("\t")[1] == said
    before = {path: path.stat().st_mtime_ns for path in (folder / "taught").iterdir()}
    script.main(command)
    assert {path: path.stat().st_mtime_ns for path in (folder / "taught").iterdir()} == before


def ended(results: Callable[[str, str, list[int]], int]) -> type:
    """Processes of the benchmark that are over at once, with the exit status that is given for each run."""

    class Ended:
        def __init__(self, command: list[str], **_: Any) -> None:
            recipe, language, seeds, settings = json.loads(command[command.index("--one") + 1])
            self.returncode = results(recipe, language, seeds)
            name = "_".join([recipe, *filter(None, [language]), *settings, "seed" + "+".join(map(str, seeds))])
            found = json.dumps({"seconds": 1.0, "valid": {"word_error_rate": 5.0}})
            (Path(command[command.index("--out") + 1]) / name / "result.json").write_text(found)

        def poll(self) -> int:
            return self.returncode

    return Ended


@pytest.mark.parametrize("failing", [None, 8])
def test_the_benchmark_trains_teachers_first_and_what_they_teach_when_their_words_are_written(
    failing: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    published = module(ROOT / "benchmarks" / "published.py", monkeypatch)
    started: list[tuple[str, str, tuple[int, ...]]] = []

    def begun(recipe: str, language: str, seeds: list[int]) -> int:
        started.append((recipe, language, tuple(seeds)))
        return int(recipe == "g2p-medium" and seeds == [failing])

    monkeypatch.setattr(published.subprocess, "Popen", ended(begun))
    asked = ["g2p-medium-distilled:kor@1,2", "g2p-low:ita@1", "--ensemble", "--out", str(tmp_path), "--jobs", "3"]
    monkeypatch.setattr(sys, "argv", ["published.py", *asked])
    published.main()
    teachers = [("g2p-medium", "kor", (seed,)) for seed in range(1, module(SCRIPT, monkeypatch).TEACHERS + 1)]
    words, taught = ("g2p-medium-distilled", "kor", ()), [("g2p-medium-distilled", "kor", (n,)) for n in (1, 2)]
    alone, together = ("g2p-low", "ita", (1,)), ("g2p-medium-distilled", "kor", (1, 2))
    if failing is None:
        assert sorted(started) == sorted([*teachers, words, *taught, alone, together])
        assert max(map(started.index, teachers)) < started.index(words) < min(map(started.index, taught))
        assert started[-1] == together
        assert "| ensemble of 2 |" in capsys.readouterr().out
    else:
        assert sorted(started) == sorted([*teachers, teachers[-1], alone])  # it was tried twice
        assert capsys.readouterr().out.count("not done, since what it needs failed") == 1 + len(taught)


@pytest.mark.parametrize("failures", [0, 1, 5])
def test_the_benchmark_tries_what_failed_once_more(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = module(ROOT / "benchmarks" / "published.py", monkeypatch)
    arguments = published.options().parse_args(["g2p-low:ita,rum@1", "--out", str(tmp_path), "--jobs", "2"])
    pool, todo = published.Pool(arguments), published.runs(arguments)
    started: list[str] = []

    def begun(_: str, language: str, __: list[int]) -> int:
        started.append(language)
        return int(started.count(language) <= failures)

    monkeypatch.setattr(published.subprocess, "Popen", ended(begun))
    pool.work(todo)
    assert len(started) == 2 * min(1 + failures, 2)
    assert set(pool.done) == (set(todo) if failures < 2 else set())
