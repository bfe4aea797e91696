"""Which decoder layer's attention aligns words best, on a task whose alignment is known: reversed words.

For each number of layers and some seeds a small model is trained. A row is a layer of its decoder, or the mean of the
last two; `saying` is the attention of the step that says a piece, `reading` that of the step that reads it, one later.
Each figure is the share of target words that are linked to the right word, among translations that are right.
"""

import random
import sys
import tempfile
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import regard
from regard.translation import forced
from regard.translation.alignment import Said, linked, word_numbers
from regard.translation.forced import Forced
from regard.translation.translator import Translator
from trained import model_folder, sentence, translation


def shares(translator: Translator, layers: list[int], texts: list[str]) -> tuple[float, float]:
    """Of right links, saying and reading."""
    over_source = [(name, at) for name, at in translator.model.attentions().items() if name.kind == "decoder-source"]
    forced.aligning = lambda _: dict(over_source[layer] for layer in layers)
    source, target = translator.tokenisers.source, translator.tokenisers.target
    pairs = [
        (Said(text, source.encode(text)), Said(translation(text), target.encode(translation(text)))) for text in texts
    ]
    seen = Forced(translator.loaded).attention([(before.ids, after.ids) for before, after in pairs])
    right, words = [0, 0], 0
    for weights, (before, after) in zip(seen, pairs, strict=True):
        numbers = word_numbers(source, before), word_numbers(target, after)
        words += max(numbers[1]) + 1
        for way, rows in enumerate((weights[:-1, :-1], weights[1:, :-1])):
            right[way] += sum(s == max(numbers[1]) - t for s, t in linked(rows, *numbers))
    return right[0] / words, right[1] / words


def main() -> None:
    torch.set_num_threads(2)
    draw = random.Random(99)  # noqa: S311
    began = time.monotonic()
    print("layers  seed  layer  saying  reading")
    with tempfile.TemporaryDirectory() as folder:
        for layers, seed, steps in ((2, 1, 300), (2, 2, 300), (4, 1, 500)):
            path = model_folder(Path(folder) / f"{layers}-{seed}", steps=steps, seed=seed, layers=layers)
            translator = regard.load(path, device="cpu")
            texts = [sentence(draw) for _ in range(300)]
            found = translator.translate(texts)
            texts = [text for text, said in zip(texts, found, strict=True) if said.text == translation(text)]
            if not texts:
                print(f"{layers:6}  {seed:4}  nothing was learnt")
                continue
            rows = [[layer] for layer in range(layers)] + [[layers - 2, layers - 1]]
            for row in rows:
                saying, reading = shares(translator, row, texts)
                name = "+".join(map(str, row))
                print(f"{layers:6}  {seed:4}  {name:>5}  {saying:6.1%}  {reading:7.1%}")
    print(f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
