"""Imported files of Marian against the model whose weights they have, and against CTranslate2's own reader of them."""

from pathlib import Path
from typing import Any

import pytest
import torch

from foreign_folders import SENTENCES, marian_folder
from regard.exchange.importing import opened
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
from regard.tokens import Tokenisers
from regard.translation.engines.torch import TorchEngine

pytest.importorskip("yaml", reason="pip install 'regard[exchange]'")

SETTINGS: list[dict[str, Any]] = [
    {},
    {"activation": "relu", "encoder_layers": 3},
    {"norm": "pre"},
    {"tied_embeddings": "target-output"},
    {"tied_embeddings": "none", "norm": "pre", "activation": "relu"},
]
PAIRS = [([5, 6, 7, 8], [9, 10]), ([3, 4], [11, 12, 13, 14, 15]), ([2], [])]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_an_imported_marian_file_computes_what_its_weights_say(settings: dict[str, Any], tmp_path: Path) -> None:
    model = marian_folder(tmp_path / "marian", **settings)
    loaded = opened(tmp_path / "marian")
    assert loaded.description.settings["tied_embeddings"] == model.settings.tied_embeddings
    batch = batch_of([[pair] for pair in PAIRS], begin=model.settings.target_vocabulary - 1, end=0)
    with torch.no_grad():
        ours, expected = loaded.model(batch)[..., :-1], model(batch)[..., :-1]
    real = batch.streams["target"].segments != 0
    torch.testing.assert_close(ours[real], expected[real], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "settings", [*SETTINGS, {"activation": "gelu"}, {"activation": "gelu", "norm": "pre"}], ids=str
)
def test_ctranslate2_reads_the_same_model_from_the_same_files(settings: dict[str, Any], tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="pip install 'regard[fast]'")
    from ctranslate2.converters import MarianConverter

    folder = tmp_path / "marian"
    marian_folder(folder, **settings)
    paths = [str(folder / name) for name in ("source.yml", "target.yml")]
    MarianConverter(str(folder / "opus.npz"), paths).convert(str(tmp_path / "converted"))
    translator = ctranslate2.Translator(str(tmp_path / "converted"), intra_threads=1)
    loaded = opened(folder)
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    sources = [tokenisers.source.encode(text) for text in SENTENCES]
    found = translator.translate_batch(
        [tokenisers.source.pieces(ids) for ids in sources], beam_size=1, max_decoding_length=12
    )
    search = SearchSettings(method="greedy", max_length=12, max_length_offset=50, repetition_cycle=0)
    answers = TorchEngine(loaded.model, tokenisers, device=torch.device("cpu")).search(sources, search)
    ours = [tokenisers.target.pieces(answer.hypotheses[0].ids) for answer in answers]
    assert ours == [one.hypotheses[0] for one in found]
    assert max(map(len, ours)) > 3
