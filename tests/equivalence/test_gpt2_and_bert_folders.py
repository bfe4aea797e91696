"""GPT-2 and BERT folders of Hugging Face, in and out: the same logits and the same tokens as `transformers`."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from test_gpt_and_bert import _shaken
from typer.testing import CliRunner

import regard
from regard import ModelFolderError, SettingsError, modelfolder, models
from regard.batches.rows import rows_of
from regard.cli import _application
from regard.exchange import export
from regard.exchange.importing import import_model
from regard.family.language_model import LanguageModel
from regard.family.masked_model import MaskedModel
from regard.tasks.masked import batch_of
from regard.tokens import TokeniserSettings, train

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

TEXTS = ["The cat sat on the mat.", "A dog, 3 birds and häuser!", "the cat\nsat"]
TOLERANCE = 1e-5


def bpe() -> Any:
    """A byte-level BPE as GPT-2 has it."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=alphabet, special_tokens=["<|endoftext|>"], show_progress=False
    )
    made.train_from_iterator(TEXTS * 4, trainer)
    return made


def word_pieces() -> Any:
    """A WordPiece as an uncased BERT has it."""
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))  # noqa: S106
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.WordPieceTrainer(vocab_size=80, special_tokens=special, show_progress=False)
    made.train_from_iterator(TEXTS * 4, trainer)
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return made


def gpt2(folder: Path, **more: Any) -> Any:
    """A folder of GPT-2 with random weights; its model."""
    torch.manual_seed(3)
    config = transformers.GPT2Config(
        vocab_size=300, n_positions=48, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0, **more
    )
    model = _shaken(transformers.GPT2LMHeadModel(config).eval())
    model.save_pretrained(folder)
    bpe().save(str(folder / "tokenizer.json"))
    return model


def bert(folder: Path) -> Any:
    """A folder of BERT with random weights; its model."""
    torch.manual_seed(4)
    config = transformers.BertConfig(
        vocab_size=80, max_position_embeddings=48, hidden_size=16, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=40,
    )  # fmt: skip
    model = _shaken(transformers.BertForMaskedLM(config).eval())
    model.save_pretrained(folder)
    word_pieces().save(str(folder / "tokenizer.json"))
    return model


def stored(folder: Path) -> Any:
    """The tokeniser in a folder; training one again may number its pieces otherwise."""
    return tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))


def run(*given: str | Path) -> str:
    result = CliRunner().invoke(_application(), [str(word) for word in given], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def logits(model: Any, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(batch_of(rows_of([[ids]])))[0]
    return found


@pytest.mark.parametrize("more", [{}, {"tie_word_embeddings": False}, {"activation_function": "relu", "n_inner": 24}])
def test_an_imported_gpt2_gives_its_logits_tokens_and_continuations(more: dict[str, Any], tmp_path: Path) -> None:
    theirs = gpt2(tmp_path / "theirs", **more)
    assert "regard generate" in run("import", tmp_path / "theirs", tmp_path / "ours")
    model, tokenizer = regard.load(tmp_path / "ours", device="cpu"), stored(tmp_path / "theirs")
    assert isinstance(model, LanguageModel)
    for text in TEXTS[:2]:
        ids = tokenizer.encode(text).ids
        assert model.tokeniser.encode(text) == ids
        assert model.tokeniser.decode(ids) == text
        expected = theirs(torch.tensor([[0, *ids]])).logits[0]
        torch.testing.assert_close(logits(model.model, [0, *ids]), expected, rtol=TOLERANCE, atol=TOLERANCE)
    begun = [0, *tokenizer.encode("The cat").ids]
    said = theirs.generate(torch.tensor([begun]), max_new_tokens=8, do_sample=False, pad_token_id=0)[0, len(begun) :]
    own = model.generate("The cat", max_tokens=8)
    assert list(own.ids) == [token for token in said.tolist() if token != 0][: len(own.ids)]
    assert model.lines.decode(model.lines.encode(TEXTS[2])) == TEXTS[2]


def test_an_imported_bert_gives_its_logits_and_reads_as_bert_does(tmp_path: Path) -> None:
    theirs = bert(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    model, tokenizer = regard.load(tmp_path / "ours", device="cpu"), stored(tmp_path / "theirs")
    assert isinstance(model, MaskedModel)
    for text in TEXTS[:2]:
        ids = tokenizer.encode(text).ids
        assert [*model.tokeniser.encode(text), model.tokeniser.end] == ids
        expected = theirs(torch.tensor([ids])).logits[0]
        torch.testing.assert_close(logits(model.model, ids), expected, rtol=TOLERANCE, atol=TOLERANCE)
    (options,) = model.fill("The [MASK] sat on the mat.")
    ids = tokenizer.encode("The [MASK] sat on the mat.").ids
    best = theirs(torch.tensor([ids])).logits[0, ids.index(4)].softmax(-1)
    assert options[0].probability > 0
    assert tokenizer.token_to_id(options[0].token) in best.topk(8).indices.tolist()
    assert model.embed(TEXTS).shape == (3, 16)


@pytest.mark.parametrize("kind", [gpt2, bert])
def test_a_folder_goes_out_as_it_came_in_and_transformers_opens_it(kind: Any, tmp_path: Path) -> None:
    theirs = kind(tmp_path / "theirs")
    import_model(tmp_path / "theirs", tmp_path / "ours")
    told = run("export", tmp_path / "ours", tmp_path / "again", "--to", "huggingface")
    assert "12 of 12 probe sentences have the same logits" in told
    opened = type(theirs).from_pretrained(tmp_path / "again")
    ids = torch.tensor([[7, 9, 11, 5]])
    torch.testing.assert_close(opened(ids).logits, theirs(ids).logits, rtol=TOLERANCE, atol=TOLERANCE)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "again")
    assert (
        tokenizer("The cat sat")["input_ids"]
        == transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs/tokenizer.json"))("The cat sat")[
            "input_ids"
        ]
    )
    import_model(tmp_path / "again", tmp_path / "third")
    one, other = (modelfolder.load(tmp_path / name).model for name in ("ours", "third"))
    assert all(torch.equal(tensor, models.tensors(other)[name]) for name, tensor in models.tensors(one).items())


def own_model(folder: Path, **more: Any) -> Path:
    """A language model as Regard makes it, with a tokeniser of its own."""
    tokenisers = train(TEXTS * 9, (), TokeniserSettings(kind="characters"))
    table = {
        "architecture": "decoder_only", "vocabulary": tokenisers.source.size, "layers": 2, "d_model": 16, "d_ff": 24,
        "heads": 4, "norm": "pre", "activation": "gelu-tanh", "positions": "learned", "learned_positions": 24,
        "scaled_embeddings": False, "attention_bias": True, **more,
    }  # fmt: skip
    settings = models.read_settings(table, where="a test")
    model = models.build("decoder_only", settings)
    modelfolder.save(
        folder, model, architecture="decoder_only", settings=settings, tokeniser=tokenisers.files(), task="language"
    )
    return folder


def test_a_model_with_a_tokeniser_of_regard_goes_out_without_it_and_says_so(tmp_path: Path) -> None:
    verdict = export(own_model(tmp_path / "own"), tmp_path / "theirs", to="huggingface")
    assert verdict.equal == 12
    assert not (tmp_path / "theirs/tokenizer.json").exists()
    assert "transformers cannot read" in (tmp_path / "theirs/README.md").read_text()
    with pytest.raises(ModelFolderError, match=r"there is no tokenizer.json"):
        import_model(tmp_path / "theirs", tmp_path / "again")


def test_what_gpt2_and_bert_cannot_express_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderError, match="positions is 'rotary' and not 'learned'"):
        export(own_model(tmp_path / "own", positions="rotary"), tmp_path / "out", to="huggingface")
    assert not (tmp_path / "out").exists()


def test_folders_that_are_not_as_they_should_be_are_refused(tmp_path: Path) -> None:
    gpt2(tmp_path / "gpt2")
    with pytest.raises(ModelFolderError, match="import it: regard import"):
        regard.load(tmp_path / "gpt2")
    config = json.loads((tmp_path / "gpt2/config.json").read_text())
    (tmp_path / "gpt2/config.json").write_text(json.dumps(config | {"activation_function": "mish"}))
    with pytest.raises(ModelFolderError, match="activation_function = 'mish'"):
        import_model(tmp_path / "gpt2", tmp_path / "out")
    (tmp_path / "gpt2/config.json").write_text(json.dumps(config | {"n_layer": 3}))
    with pytest.raises(ModelFolderError, match=r"transformer\.h\.2\..* is missing"):
        import_model(tmp_path / "gpt2", tmp_path / "out")
    bert(tmp_path / "bert")
    (tmp_path / "bert/tokenizer.json").write_text("{}")
    with pytest.raises(ModelFolderError, match=r"tokenizer.json: '\[PAD\]' has no id"):
        import_model(tmp_path / "bert", tmp_path / "out")
    with pytest.raises(SettingsError, match="cannot be trained"):
        train(TEXTS, (), TokeniserSettings(kind="hub"))
