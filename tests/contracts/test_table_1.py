"""Table 1 of the paper, as benchmarks/layers.py measures it: all but the time, which depends on the machine."""

import math
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[2] / "benchmarks" / "layers.py"


def load() -> Any:
    spec = spec_from_file_location("layers", PATH)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LAYERS = load()


@pytest.mark.parametrize("kind", LAYERS.KINDS, ids=lambda kind: kind.name)
def test_the_operations_grow_as_the_paper_says(kind: Any) -> None:
    for variable, power in kind.powers.items():
        sizes = LAYERS.COUNTED[variable]
        counts = [LAYERS.multiplications(kind, {**LAYERS.BASE, "n": 64, "d": 16, variable: size}) for size in sizes]
        assert LAYERS.fitted(sizes, counts) == pytest.approx(power, abs=1e-6)


def test_only_the_recurrence_does_its_steps_one_after_the_other() -> None:
    found = {kind.name: [LAYERS.in_sequence(kind, n) for n in (9, 27)] for kind in LAYERS.KINDS}
    assert found == {
        "self-attention": [2, 2],
        "recurrent": [9, 27],
        "convolutional": [1, 1],
        "self-attention, restricted": [2, 2],
    }


@pytest.mark.parametrize("n", [9, 27, 81])
def test_the_longest_paths_are_the_papers(n: int) -> None:
    paths = {kind.name: LAYERS.longest_path(kind, n) for kind in LAYERS.KINDS}
    assert paths["self-attention"] == 1
    assert paths["recurrent"] == n
    assert paths["convolutional"] == round(math.log(n, 3))
    assert paths["self-attention, restricted"] == math.ceil((n - 1) / 4)  # r = 9: four words to each side
