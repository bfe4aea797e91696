"""Wrong settings are explained all at once, by their path, with the nearest right name."""

from pathlib import Path

import pytest
import torch

from regard import LengthError, SettingsError, models, presets
from regard.models.parts.observation import Head, without
from regard.models.transformer import ARCHITECTURE, TransformerSettings
from regard.settings import read_toml
from regard.tasks.translation import TASK
from regard.training.corpora import Corpora, check_positions
from regard.training.held_out import HeldOut
from small import padded, store, transformer

VOCABULARIES = {"source_vocabulary": 10, "target_vocabulary": 10}


def message(**table: object) -> str:
    with pytest.raises(SettingsError) as error:
        TransformerSettings.read(VOCABULARIES | table, where="my.toml")
    return str(error.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as error:
        TransformerSettings.read(
            {"source_vocabulary": 10, "droput": 0.1, "norm": "middle", "heads": -1}, where="my.toml"
        )
    assert str(error.value).splitlines() == [
        "my.toml: these settings are invalid:",
        "  heads = -1: input should be greater than 0.",
        "  d_k: this setting is required.",
        "  d_v: this setting is required.",
        "  norm = 'middle': input should be 'post' or 'pre'.",
        "  target_vocabulary: this setting is required.",
        "  droput: there is no such setting; did you mean 'dropout'?",
    ]


def test_heads_that_do_not_divide_the_width_need_the_widths_said() -> None:
    assert "heads = 3 does not divide d_model = 512; choose others, or set d_k and d_v." in message(heads=3)
    assert TransformerSettings.read(VOCABULARIES | {"heads": 3, "d_k": 5, "d_v": 7}, where="").d_v == 7


def test_sinusoids_need_an_even_width() -> None:
    assert "d_model = 15 is odd" in message(d_model=15, heads=5)


def test_a_shared_matrix_needs_one_vocabulary() -> None:
    assert "use one vocabulary for both, or tied_embeddings = 'target-output'" in message(target_vocabulary=11)


def test_a_wrong_type_is_told_and_not_converted() -> None:
    assert "d_model = '512': input should be a valid integer." in message(d_model="512")


def test_an_unknown_name_far_from_all_lists_them() -> None:
    assert "valid names: " in message(zzzzzz=1)


def test_an_unknown_preset_and_architecture_are_told_with_the_nearest_name() -> None:
    with pytest.raises(SettingsError, match=r"preset 'bse': there is no such preset; did you mean 'base'\?"):
        presets.load("bse")
    with pytest.raises(SettingsError, match=r"'recurent': there is no such architecture; did you mean 'recurrent'\?"):
        models.read_settings({"architecture": "recurent"}, where="x")


def test_a_toml_file_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no\.toml: there is no such file"):
        read_toml(tmp_path / "no.toml")
    (tmp_path / "broken.toml").write_text("[model\n")
    with pytest.raises(SettingsError, match=r"broken\.toml: this is not valid TOML: .*line 1"):
        read_toml(tmp_path / "broken.toml")


def test_a_sentence_longer_than_the_learned_positions_is_told() -> None:
    model = transformer(positions="learned", learned_positions=4)
    with pytest.raises(
        LengthError, match=r"a sentence of 6 tokens is too long: this model learned 4 positions\.\n  Split"
    ):
        model(padded([([5, 6, 7, 8, 9], [5])]))


def test_a_row_may_be_longer_than_the_learned_positions() -> None:
    model = transformer(positions="learned", learned_positions=100, dropout=0.0)
    pair = ([5, 6], [7, 8])
    wide, narrow = model(padded([pair], length=128)), model(padded([pair]))
    torch.testing.assert_close(wide[:, :3], narrow)
    torch.testing.assert_close(model.train().states(padded([pair], length=128))[:, :3], model.states(padded([pair])))


def test_a_corpus_longer_than_the_learned_positions_is_refused_before_the_first_step(tmp_path: Path) -> None:
    stored = store(tmp_path / "corpus", [([5] * 3, [6] * 9)], begin=0, end=1, vocabulary=23)
    held_out = HeldOut(stored, None, None, count=0, folder=tmp_path, say=print)  # type: ignore[arg-type]
    corpora = Corpora(stored, held_out, "", TASK)
    settings = transformer(positions="learned", learned_positions=10).settings
    check_positions(corpora, ARCHITECTURE, settings)
    check_positions(corpora, ARCHITECTURE, transformer(learned_positions=4).settings)  # sinusoids have no limit
    few = transformer(positions="learned", learned_positions=9).settings
    with pytest.raises(LengthError, match="a sentence of 10 tokens is too long: this model learned 9 positions"):
        check_positions(corpora, ARCHITECTURE, few)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("encoder.9.0", "encoder.9.0: this model has no such head.\n  It has: encoder.0.0-3, encoder.1.0-3"),
        ("decoder-source.0.4", "decoder-source.0.4: this model has no such head"),
        ("encoder.1", "'encoder.1' is not a head.\n  A head is kind.layer.head"),
        ("encoder.a.b", "'encoder.a.b' is not a head"),
    ],
)
def test_a_head_that_is_not_there_is_told(head: str, told: str) -> None:
    with pytest.raises(SettingsError) as error, without(transformer(), [Head.parse(head)]):
        pass
    assert str(error.value).startswith(told)
