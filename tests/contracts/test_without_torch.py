"""Where CTranslate2 translates, PyTorch is not loaded; what needs the model loads it at its first use."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ctranslate2")

TRANSLATING = """
import sys
import regard
translator = regard.load(sys.argv[1], device="cpu", engine=sys.argv[2])
said = translator.translate("alto", checks=False).text
print("torch" in sys.modules)
assert translator.score("alto", said).total < 0
assert translator.look("alto", said).lookups
assert translator.translate("alto", alignment=True, checks=False).text == said
print("torch" in sys.modules)
"""


@pytest.mark.parametrize("engine", ["ctranslate2", "ctranslate2-float32"])
def test_a_converted_model_translates_without_torch_and_scores_and_looks_with_it(
    trained_folder: Path, engine: str
) -> None:
    command = [sys.executable, "-c", TRANSLATING, str(trained_folder), engine]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2))
    assert first.stdout.split()[-1] == "True"  # it converts the model, if no process did before
    assert second.stdout.split() == ["False", "True"]
