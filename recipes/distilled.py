"""One model that learns what several know together: they say how made-up words sound, and it learns these as well.

    REGARD_DATA=folder python recipes/distilled.py train recipes/g2p-medium-distilled.toml \
        --teacher recipes/g2p-medium.toml --source kor --out g2p-kor

trains eight models by the teacher's recipe, which differ by their seeds, makes words up, lets the eight say together
what they sound like, and trains one model on all of it by the other recipe. In the folder are then:

    teacher-1 ...   the models that taught
    words.tsv.gz    the pairs to train on, twice, and the words that were made up with what the teachers say
    model           the one that learned, a model folder like any other, scored on the recipe's test set

What exists already is not made again, and a training that was stopped goes on. `label` is the step in the middle
alone, for models that exist. Words are made up letter by letter, each by the four before it, as often as it follows
them in the words to train on; so this is for single words and short names. For sentences,

    python recipes/distilled.py sentences data/train.*.tsv.xz --models teacher --source en --target de --out taught

lets the teachers translate the source side of files of pairs, each sentence once, and writes pairs of the sources and
these translations into files `taught/part-N.tsv.gz`. A student learns from them alone, or from them and the original
pairs (sequence-level knowledge distillation, Kim and Rush, 2016). A run that was stopped goes on with the next part.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import signal
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

TEACHERS = 8
WORDS = 100_000
ORDER = 5  # letters: four, and the one that follows
TRIES = 12  # for each word that is wanted; small vocabularies have no more new ones
REPEATED = 2  # of each pair to train on
BEAM = 4
PART = 200_000  # sentences in a file
TOGETHER = 20_000  # words in a window of the search, so that a GPU is seldom half empty
FIRST, LAST = "\x02", "\x03"


class Spelling:
    """How words are spelt: which letter follows which letters, by Witten and Bell."""

    def __init__(self, words: Iterable[str]) -> None:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for word in words:
            letters = f"{FIRST}{word}{LAST}"
            for place in range(1, len(letters)):
                for known in range(min(ORDER, place + 1)):
                    found[letters[place - known : place]][letters[place]] += 1
        self.following = {before: (list(after), list(after.values())) for before, after in found.items()}

    def word(self, draw: random.Random, *, longest: int) -> str:
        """A word, or nothing where it became too long."""
        word = FIRST
        while len(word) < longest + 2:
            letters, counts = self.following[self._known(word, draw)]
            letter = draw.choices(letters, counts)[0]
            if letter == LAST:
                return word[1:]
            word += letter
        return ""

    def _known(self, word: str, draw: random.Random) -> str:
        """How much of the word's end decides what follows: the more, the oftener it was seen with the same letters."""
        for known in range(min(ORDER - 1, len(word)), 0, -1):
            end = word[-known:]
            if end in self.following:
                letters, counts = self.following[end]
                if draw.random() < sum(counts) / (sum(counts) + len(letters)):
                    return end
        return ""


def made_up(words: Sequence[str], count: int, *, seed: int = 1) -> list[str]:
    """So many words, or as many as are found, that are not among these and are spelt like them."""
    draw, known, longest = random.Random(seed), set(words), max(map(len, words))  # noqa: S311  nothing is secret
    spelling = Spelling(words)
    new: dict[str, None] = {}
    for _ in range(TRIES * count):
        word = spelling.word(draw, longest=longest)
        if len(word) > 1 and word not in known:
            new[word] = None
        if len(new) == count:
            break
    return list(new)


def label(given: argparse.Namespace) -> None:
    """Writes the pairs to train on: those that are there, and made-up words as the models say them together."""
    import torch

    import regard
    from regard.files import write
    from regard.presets import load as preset
    from regard.search import SearchSettings
    from regard.training.recipe import Recipe, merged, read_file, with_paths

    name, tables = read_file(given.recipe)
    languages = {"source": given.source} if given.source else {}
    tables = merged(with_paths(tables, languages), {"data": languages})
    recipe = Recipe.read(merged(preset(name).tables if name else {}, tables), where=str(given.recipe))
    torch.set_float32_matmul_precision("high")  # on a GPU: teachers differ by more than what that rounds
    translator = regard.load(given.models, device=given.device, engine="torch")
    pairs = [(unicodedata.normalize("NFC", pair.source), pair.target) for pair in recipe.source().pairs()]
    words = made_up([source for source, _ in pairs], given.words)
    search = SearchSettings(beam_size=BEAM, length_penalty=recipe.test.length_penalty if recipe.test else 1.0)
    said = (result.text for result in translator.stream(words, search=search, window=TOGETHER))
    new = [(word, sounds) for word, sounds in zip(words, said, strict=True) if sounds.strip()]
    text = "".join(f"{source}\t{target}\n" for source, target in [*pairs * REPEATED, *new])
    write(given.out, gzip.compress(text.encode(), mtime=0))
    print(f"{given.out}: {len(pairs):,} pairs, {REPEATED} times, and {len(new):,} made-up words")


def sentences(given: argparse.Namespace) -> None:
    """Writes the different sources of files of pairs, with the translations of the teachers."""
    import regard
    from regard.files import write
    from regard.search import SearchSettings
    from regard.text.corpus import read
    from regard.text.pairs import Languages

    translator = regard.load(given.models, device=given.device, engine="torch")
    pairs = read(given.files, Languages(given.source, given.target))
    sources = list(dict.fromkeys(unicodedata.normalize("NFC", pair.source) for pair in pairs))[: given.most]
    search = SearchSettings(beam_size=given.beam_size, length_penalty=given.length_penalty)
    given.out.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, len(sources), PART)):
        file = given.out / f"part-{number}.tsv.gz"
        if file.exists():
            continue
        some = sources[start : start + PART]
        said = (result.text for result in translator.stream(some, search=search, window=TOGETHER))
        text = "".join(f"{source}\t{target}\n" for source, target in zip(some, said, strict=True) if target.strip())
        write(file, gzip.compress(text.encode(), mtime=0))
        print(f"{file}: {len(some):,} sentences", flush=True)


def train(given: argparse.Namespace) -> None:
    """All of it: teachers, words, and the one that learns."""
    given.out.mkdir(parents=True, exist_ok=True)
    teachers = [given.out / f"teacher-{number}" for number in range(1, given.teachers + 1)]
    for number, folder in enumerate(teachers, start=1):
        _regard_train(given, given.teacher, folder, seed=number, settings=given.set)
    words = given.out / "words.tsv.gz"
    if not words.exists():
        label(argparse.Namespace(**vars(given) | {"models": teachers, "out": words}))
    files = f"data.files={json.dumps([str(words.resolve())])}"
    _regard_train(given, given.recipe, given.out / "model", seed=given.seed, settings=[*given.set, files])


def _regard_train(given: argparse.Namespace, recipe: Path, out: Path, *, seed: int, settings: Sequence[str]) -> None:
    """`regard train`, unless its model is there; it shows itself what it does, and ends this where it fails."""
    if (out / "regard.json").exists():
        return
    command = [sys.executable, "-m", "regard", "train", "--recipe", str(recipe), "--seed", str(seed), "--out", str(out)]
    command += ["--source", given.source] if given.source else []
    command += ["--device", given.device] if given.device else []
    command += ["--resume"] if (out / "training" / "recipe.json").exists() else []
    for setting in settings:
        command += ["--set", setting]
    print(f"== {out.name}", flush=True)
    ended = _waited_for(subprocess.Popen(command))
    if ended or not (out / "regard.json").exists():
        sys.exit(ended or f"{out}: the training was stopped. The same command goes on with it.")


def _waited_for(training: subprocess.Popen[bytes]) -> int:
    """Its exit status. Who wants to stop this stops the training, which writes a checkpoint first."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal tells the training as well
    signal.signal(signal.SIGTERM, lambda *_: training.terminate())
    try:
        return training.wait()
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="One model that learns what several know together.")
    commands = parser.add_subparsers(required=True, dest="command")
    whole = commands.add_parser("train", help="teachers, words, and the model that learns from them")
    whole.add_argument("recipe", type=Path, help="of the model that learns")
    whole.add_argument("--teacher", type=Path, required=True, help="the recipe of the models that teach")
    whole.add_argument("--teachers", type=int, default=TEACHERS, help="so many of them")
    whole.add_argument("--seed", type=int, default=1, help="of the model that learns")
    whole.add_argument("--set", action="append", default=[], help="a setting for all models: table.key=value")
    middle = commands.add_parser("label", help="only the words, by models that are there")
    middle.add_argument("recipe", type=Path, help="its training files say how words are spelt")
    middle.add_argument("--models", type=Path, nargs="+", required=True)
    texts = commands.add_parser("sentences", help="sentences of files, as the teachers translate them")
    texts.add_argument("files", nargs="+", help="files of pairs, of which the source side is translated")
    texts.add_argument("--models", type=Path, nargs="+", required=True, help="the teachers; several translate together")
    texts.add_argument("--source", required=True)
    texts.add_argument("--target", required=True)
    texts.add_argument("--out", type=Path, required=True, help="a folder")
    texts.add_argument("--most", type=int, help="no more sentences than these")
    texts.add_argument("--beam-size", type=int, default=BEAM)
    texts.add_argument("--length-penalty", type=float, default=1.0)
    texts.add_argument("--device", choices=("cpu", "cuda"))
    for command in (whole, middle):
        command.add_argument("--source", help="the language, where the recipe is for many")
        command.add_argument("--out", type=Path, required=True)
        command.add_argument("--words", type=int, default=WORDS, help="so many are made up")
        command.add_argument("--device", choices=("cpu", "cuda"))
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> None:
    from regard.errors import RegardError

    given = options(arguments)
    try:
        {"train": train, "label": label, "sentences": sentences}[given.command](given)
    except RegardError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command goes on.")


if __name__ == "__main__":
    main(sys.argv[1:])
