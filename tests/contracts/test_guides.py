"""The commands in the guides are run, on small files and with few steps."""

import gzip
import importlib
import re
import shlex
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner

from example_documents import EXAMPLES
from regard.cli import _application
from regard.demo import dates
from runs import SMALL, TRAINING, corpus

ROOT = Path(__file__).parents[2]
FEW = [part for setting in SMALL for part in ("--set", setting)]
FEW_OF_DATES = [
    part
    for setting in SMALL
    if not setting.startswith("tokeniser")
    for part in ("--set", setting.replace("[16,32]", "[64]"))
]
FEW_OF_ANY = [part for setting in TRAINING for part in ("--set", setting)]


def commands(guide: str) -> list[tuple[list[str], str | None]]:
    """The commands in the guide's blocks of shell, and what is piped into them."""
    found = []
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / guide).read_text(), flags=re.DOTALL):
        for line in block.splitlines():
            piped, _, command = line.partition(" > ")[0].rpartition(" | ")
            found.append((shlex.split(command)[1:], shlex.split(piped)[1] if piped else None))
    return found


def run(arguments: list[str], piped: str | None) -> None:
    if arguments[0] == "train":
        arguments = [*arguments, "--steps", "3", "--device", "cpu"]
        if "--from" in arguments:
            arguments += ["--set", "training.batch_tokens=256", "--set", "training.row_lengths=[64]"]
        else:
            few = FEW if "dates" not in arguments else FEW_OF_DATES
            few = FEW_OF_ANY if "lstm-attention" in arguments else ["--preset", "tiny", *few]
            arguments += few
    result = CliRunner().invoke(_application(), arguments, input=piped and piped + "\n")
    assert result.exit_code == 0 or (arguments[0] == "check" and result.exit_code == 1), (arguments, result.output)
    assert result.exception is None or isinstance(result.exception, SystemExit)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the guides speak of, made up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    corpus(tmp_path / "pairs.tsv", pairs=100)
    corpus(tmp_path / "test.tsv", pairs=5, seed=1)
    corpus(tmp_path / "memory.tsv", pairs=60, seed=2)
    corpus(tmp_path / "memory.test.tsv", pairs=5, seed=3)
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>'
        for source, target in (line.split("\t") for line in Path("pairs.tsv").read_text().splitlines())
    )
    header = '<header srclang="en" adminlang="en" segtype="sentence" datatype="plaintext" o-tmf="x" creationtool="x" '
    Path("memory.tmx").write_text(
        f'<tmx version="1.4">{header}creationtoolversion="1"/><body>{units}</body></tmx>', encoding="utf-8"
    )
    Path("regard-demo").mkdir()
    for name, pairs in (("train", dates.for_training(200, seed=1)), ("valid", dates.for_testing(10, seed=1))):
        text = "".join(f"{one.text}\t{one.iso}\n" for one in pairs)
        Path("regard-demo", f"{name}.tsv").write_text(text, encoding="utf-8")


def test_the_guide_to_a_first_model_works_from_a_table_and_from_a_translation_memory() -> None:
    guide = commands("first-model.md")
    assert len(guide) == 10
    for number, (arguments, piped) in enumerate(guide):
        if arguments[0] == "train" and number == 4:
            Path("my-model").rename("my-first-model")
        run(arguments, piped)
    assert Path("attention.html").is_file()


def test_the_commands_of_the_readme_work() -> None:
    shown = commands("../README.md")
    assert len(shown) == 5
    for arguments, piped in shown:
        run(arguments, piped)
    assert Path("attention.html").is_file()


def test_the_guide_to_adapting_works() -> None:
    run(["train", "pairs.tsv", "--source", "en", "--target", "de", "--out", "my-model"], None)
    for arguments, piped in commands("adapt.md"):
        run(arguments, piped)
    assert "It started from `my-model`" in Path("adapted/README.md").read_text()


@pytest.mark.parametrize(
    ("guide", "count", "written"),
    [
        ("comparison.md", 1, "my-model/weights.safetensors"),
        ("data.md", 1, None),
        ("evaluation.md", 2, "page.html"),
        ("looking.md", 3, "knock-out.html"),
        ("training.md", 1, "my-model/weights.safetensors"),
        ("translating.md", 8, "big.de.txt"),
    ],
)
def test_what_the_other_guides_show_works(guide: str, count: int, written: str | None) -> None:
    shown = commands(guide)
    assert len(shown) == count
    if shown[0][0][0] not in ("train", "check"):
        run(["train", "pairs.tsv", "--source", "en", "--target", "de", "--out", "my-model"], None)
    for name, example in (
        ("notes.txt", "a.txt"), ("messages.po", "a.po"), ("guide.md", "a.md"), ("strings.xlf", "one.xlf"),
        ("film.srt", "a.srt"),
    ):  # fmt: skip
        Path(name).write_text(EXAMPLES[example], encoding="utf-8")
    Path("docs").mkdir()
    Path("docs/index.html").write_text(EXAMPLES["a.html"], encoding="utf-8")
    for name in ("old.txt", "new.txt"):
        Path(name).write_text("w1 w2 x\nw3 x\n" + f"{name} x\n" * 3, encoding="utf-8")
    Path("big.txt.zst").write_bytes(zstandard.compress(b"w1 w2\nw3\n"))
    for name, table in (("train.tsv.gz", "pairs.tsv"), ("test.tsv.gz", "test.tsv")):
        Path(name).write_bytes(gzip.compress(Path(table).read_bytes()))
    for arguments, piped in shown:
        run(arguments, piped)
    assert written is None or Path(written).is_file()
    assert guide != "translating.md" or Path("docs.de/index.html").is_file()


def test_the_guides_counts_are_those_of_the_split(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "recipes"))
    split = importlib.import_module("corpus_en_de").adapting(data)
    trained, valid, test = (len(pairs) for pairs in (split.train, split.valid, split.test))
    told = f"{trained:,} pairs to train on, {valid} to validate on, {test} to test on"
    assert told in (ROOT / "docs" / "adapt.md").read_text()


def test_the_guide_names_the_number_of_languages() -> None:
    assert f"written dates in {len(dates.LANGUAGES)} languages" in (ROOT / "docs" / "first-model.md").read_text()
