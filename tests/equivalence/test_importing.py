"""Imported Marian models against `transformers` itself: the same logits, the same tokens."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from foreign_folders import SENTENCES, opus_folder
from regard.exchange.importing import import_model, opened
from regard.modelfolder import ModelFolder
from regard.tasks.translation import batch_of
from regard.tokens import Tokenisers

transformers = pytest.importorskip("transformers", reason="pip install 'regard[exchange]'")

CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"activation_function": "relu"},
    {"activation_function": "gelu"},
    {"logits_bias": False},
    {"scale_embedding": False},
    {"zero_start": False},
    {"tie_word_embeddings": False},
    {"separate": True},
    {"separate": True, "tie_word_embeddings": False},
    {"separate": True, "scale_embedding": False, "activation_function": "relu"},
    {"d_model": 32, "encoder_attention_heads": 2, "decoder_attention_heads": 2},
    {"encoder_layers": 3, "decoder_layers": 1},
    {"encoder_ffn_dim": 40, "decoder_ffn_dim": 20},
    {"encoder_ffn_dim": 12, "decoder_ffn_dim": 48, "activation_function": "gelu"},
    {"d_model": 24, "encoder_attention_heads": 8, "decoder_attention_heads": 8, "logits_bias": False},
    {"decoder_layers": 4, "activation_function": "silu", "zero_start": False, "seed": 5},
]


def logits(loaded: ModelFolder, sources: list[list[int]], targets: list[list[int]]) -> torch.Tensor:
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    begin, end = tokenisers.target.begin, tokenisers.target.end
    rows = [[pair] for pair in zip(sources, targets, strict=True)]
    batch = batch_of(rows, begin=begin, end=end, source_end=tokenisers.source.end)
    with torch.no_grad():
        found: torch.Tensor = loaded.model(batch)
    return found[batch.streams["target"].segments != 0]


def their_logits(model: Any, sources: list[list[int]], targets: list[list[int]], end: int) -> torch.Tensor:
    found = []
    for source, target in zip(sources, targets, strict=True):
        start = model.config.decoder_start_token_id
        with torch.no_grad():
            answer = model(input_ids=torch.tensor([[*source, end]]), decoder_input_ids=torch.tensor([[start, *target]]))
        found.append(answer.logits[0])
    return torch.cat(found)


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=str)
def test_an_imported_model_has_the_same_logits(configuration: dict[str, Any], tmp_path: Path) -> None:
    model = opus_folder(tmp_path / "opus", **configuration)
    loaded = opened(tmp_path / "opus")
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    sources = [tokenisers.source.encode(text) for text in SENTENCES]
    targets = [tokenisers.target.encode(text) for text in reversed(SENTENCES)]
    assert min(map(len, sources + targets)) > 3
    ours, theirs = logits(loaded, sources, targets), their_logits(model, sources, targets, tokenisers.source.end)
    assert theirs.std() > 0.5
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize("separate", [False, True])
def test_an_imported_tokeniser_gives_the_ids_and_texts_of_theirs(separate: bool, tmp_path: Path) -> None:
    opus_folder(tmp_path / "opus", separate=separate)
    tokenisers = Tokenisers.from_files(opened(tmp_path / "opus").tokeniser)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "opus")
    for text in (*SENTENCES, ">>de<< A house", ">>xx<<lake", "ﬁne Ⅳ"):
        assert [*tokenisers.source.encode(text), tokenisers.source.end] == theirs(text)["input_ids"]
        ids = [*tokenisers.target.encode(text), tokenisers.target.end]
        assert ids == theirs(text_target=text)["input_ids"]
    text = "A small house: alt!"
    ids = tokenisers.target.encode(text)
    assert tokenisers.target.decode(ids) == theirs.decode(ids, skip_special_tokens=True) == text


def test_positions_that_are_no_sinusoids_are_learned_ones(tmp_path: Path) -> None:
    model = opus_folder(tmp_path / "opus")
    with torch.no_grad():
        for stack in (model.get_encoder(), model.get_decoder()):
            stack.embed_positions.weight.normal_()
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    (tmp_path / "opus" / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "opus" / "pytorch_model.bin")
    loaded = opened(tmp_path / "opus")
    assert loaded.description.settings["positions"] == "learned"
    assert loaded.description.settings["learned_positions"] == 64
    sources, targets = [[5, 6, 7], [8]], [[9, 10], [11, 12, 13, 14]]
    torch.testing.assert_close(
        logits(loaded, sources, targets), their_logits(model, sources, targets, 0), rtol=0, atol=1e-5
    )


def test_stored_sinusoids_are_sinusoids(tmp_path: Path) -> None:
    model = opus_folder(tmp_path / "opus")
    (tmp_path / "opus" / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "opus" / "pytorch_model.bin")
    loaded = opened(tmp_path / "opus")
    assert loaded.description.settings["positions"] == "halves"
    assert loaded.description.settings["tied_embeddings"] == "all"


def test_a_banned_token_is_never_generated_and_others_keep_their_logits(tmp_path: Path) -> None:
    model = opus_folder(tmp_path / "opus", bans=True)
    loaded = opened(tmp_path / "opus")
    padding = model.config.pad_token_id
    ours, theirs = logits(loaded, [[5, 6]], [[7]]), their_logits(model, [[5, 6]], [[7]], 0)
    others = [token for token in range(ours.size(1)) if token != padding]
    torch.testing.assert_close(ours[:, others], theirs[:, others], rtol=0, atol=1e-5)
    assert (ours[:, padding] < -9000).all()


def test_the_command_writes_the_same_model_as_a_model_folder(tmp_path: Path) -> None:
    opus_folder(tmp_path / "opus")
    import_model(tmp_path / "opus", tmp_path / "model", target="nl")
    described = json.loads((tmp_path / "model" / "regard.json").read_text())
    assert described["languages"] == {"source": "en", "target": "nl"}
    assert described["training"]["imported"]["format"] == "Hugging Face Marian"
    ours, theirs = opened(tmp_path / "model").model.state_dict(), opened(tmp_path / "opus").model.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
