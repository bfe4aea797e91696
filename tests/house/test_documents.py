"""What the documents show is true."""

import re
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).parents[2]


def test_the_readmes_python_runs_and_gives_the_shapes_that_it_claims() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    assert "# 1 x 7 x 37000" in code
    assert names["logits"].shape == (1, 7, 37000)
    assert "# 1 x 8 x 7 x 7:" in code
    assert names["seen"][names["AttentionName"]("decoder-source", 5)][0].weights.shape == (1, 8, 7, 7)
    assert not torch.allclose(names["changed"], names["logits"])


def test_the_parameters_in_the_papers_map_are_those_of_the_presets() -> None:
    from regard import models, presets

    rows = re.findall(r"^\| `([\w.-]+)` \| ([\d,]+) \|", (ROOT / "docs" / "paper.md").read_text(), flags=re.MULTILINE)
    assert len(rows) == 11
    for name, count in rows:
        table = presets.load(name).model | {"source_vocabulary": 37_000, "target_vocabulary": 37_000}
        with torch.device("meta"):
            model = models.build("transformer", models.read_settings(table, where=name))
        assert f"{sum(parameter.numel() for parameter in model.parameters()):,}" == count
