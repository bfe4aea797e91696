"""Model folders that were frozen when their format was new: they load, and give the same logits, for ever."""

import json
from pathlib import Path

import pytest
import torch

from regard import modelfolder
from regard.tasks.translation import batch_of

HERE = Path(__file__).parent
PAIRS = [([5, 6, 7], [8, 9]), ([4], [3, 2, 6])]
FOLDERS = sorted(path.parent for path in HERE.glob("*/regard.json"))


def test_there_is_a_frozen_folder_of_every_format() -> None:
    formats = {json.loads((folder / "regard.json").read_text())["format"] for folder in FOLDERS}
    assert formats == set(range(1, modelfolder.FORMAT + 1))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_frozen_folder_loads_and_gives_the_same_logits(folder: Path) -> None:
    loaded = modelfolder.load(folder)
    expected = torch.tensor(json.loads((HERE / f"{folder.name}.logits.json").read_text()))
    with torch.no_grad():
        logits = loaded.model(batch_of([PAIRS], begin=0, end=1))
    torch.testing.assert_close(logits, expected, rtol=0, atol=1e-6)
    assert loaded.description.languages == {"source": "en", "target": "de"}
    assert loaded.tokeniser == {"vocabulary.txt": b"a\nb\nc\n"}
