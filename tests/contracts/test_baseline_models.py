"""The models that the Transformer replaced, through everything that Regard does with a model."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from baselines import MODELS, model
from regard import modelfolder, models, presets
from regard.errors import LengthError, SettingsError
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
from regard.training.recipe import Recipe, parsed, put_together, read_file
from runs import TRAINING, corpus, run
from small import padded

VOCABULARY = 8_000
PRESETS = ["lstm", "lstm-attention", "convs2s", "bytenet", "neural-gpu"]
DATA = {"data": {"files": ["a.tsv"], "source": "en", "target": "de"}}

TINY = {
    "lstm": ("d_model=16",),
    "lstm-attention": ("d_model=16",),
    "convs2s": ("d_model=16", "width=16", "encoder_layers=1", "decoder_layers=1", "learned_positions=80"),
    "bytenet": ("d_model=16", "inner=8", "encoder_sets=1", "decoder_sets=1", "dilations=[1,2]"),
    "neural-gpu": ("d_model=16", "memory_offset=3"),
}


def parameters(name: str) -> int:
    return _parameters(presets.load(name).model | {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY})


def _parameters(table: dict[str, Any]) -> int:
    with torch.device("meta"):
        built = models.build(table["architecture"], models.read_settings(table, where="model"))
    return sum(parameter.numel() for parameter in built.parameters())


_BATCH = batch_of([[(list(range(2, 2 + length)), list(range(40, 40 + length)))] for length in (7, 12)], begin=0, end=1)


def _built(name: str, device: str) -> Any:
    table = presets.load(name).model | {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    with torch.device(device):
        return models.build(table.get("architecture", "transformer"), models.read_settings(table, where="model"))


@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_names_its_output_weight_multiplies_by_it_and_does_nothing_else(name: str) -> None:
    built = model(name)
    weight = models.architecture(MODELS[name][0]).output_weight(built)
    assert weight is not None
    states = torch.randn(3, weight.size(1), dtype=weight.dtype)
    assert any(weight is parameter for parameter in built.parameters())
    torch.testing.assert_close(built.logits(states), states @ weight.t())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_as_many_parameters_as_small(name: str) -> None:
    assert presets.load(name).tables["tokeniser"]["vocabulary"] == VOCABULARY
    assert parameters(name) == pytest.approx(parameters("small"), rel=0.1)


@pytest.mark.parametrize("name", ["small", *PRESETS])
def test_a_model_begins_without_an_opinion(name: str) -> None:
    """Else the first steps are spent on forgetting it, or lead nowhere."""
    torch.manual_seed(0)
    built = _built(name, "cpu").eval()
    with torch.no_grad():
        logits, batch = built(_BATCH), _BATCH
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch.labels.flatten())
    assert float(loss) == pytest.approx(math.log(VOCABULARY), abs=0.75)


@pytest.mark.parametrize("name", ["small", *PRESETS])
def test_a_model_is_captured_only_if_it_never_asks_for_numbers(name: str) -> None:
    """A captured step is repeated with other numbers; on the device `meta`, none can be looked at."""
    built, meta = _built(name, "meta"), torch.device("meta")
    if models.architecture(presets.load(name).model.get("architecture", "transformer")).captured:
        assert built(_BATCH.to(meta)).shape == (2, 13, VOCABULARY)
    else:
        with pytest.raises(NotImplementedError, match="meta"):
            built(_BATCH.to(meta))


@pytest.mark.parametrize("name", PRESETS)
def test_every_key_of_a_preset_is_explained(name: str) -> None:
    lines = (Path(presets.__file__).parent / f"{name}.toml").read_text().splitlines()
    keys = [line for line in lines if re.match(r"\w+ = ", line) and not line.startswith(("extends", "architecture"))]
    assert keys
    assert [line for line in keys if "  # " not in line] == []


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_trains_and_its_model_translates_and_scores(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("regard.batches.loader.pack", None)  # several sentences a row: these models never ask for it
    sizes = tuple(f"model.{setting}" for setting in TINY[name])
    data, out = corpus(tmp_path / "pairs.tsv", pairs=120), tmp_path / "out"
    finished = regard.train(
        data, source="en", target="de", out=out, preset=name, settings=(*TRAINING, *sizes), steps=10, device="cpu"
    )
    assert finished
    translator = regard.load(out, device="cpu")
    assert translator.description.architecture == presets.load(name).model["architecture"]
    together = translator.translate(["w1 w2 w3", "w4", "", "w5 w6 w7 w8 w9"], n_best=2)
    assert [len(one.alternatives) for one in together] == [2, 2, 0, 2]
    assert together[1].score == pytest.approx(translator.translate("w4").score, abs=1e-4)
    source, ends = translator.tokenisers.source.encode("w1 w2 w3"), translator.tokenisers.target
    (found,) = translator.engine.search([source], SearchSettings())
    batch = batch_of([[(source, found.hypotheses[0].ids)]], begin=ends.begin, end=ends.end)
    with torch.no_grad():
        said = translator.model(batch).log_softmax(-1)[0].gather(1, batch.labels.T)[:, 0]
    assert found.hypotheses[0].logprobs == pytest.approx(said.tolist(), abs=1e-4)
    assert translator.score(["w1"], ["w1 x"])[0].total < 0
    assert translator.translate("w1 w2 w3 w4 w5 w6 w7 w8 w9 " * 10).text  # longer than all that it takes at once


def test_the_command_takes_a_preset(tmp_path: Path) -> None:
    data, out = corpus(tmp_path / "pairs.tsv", pairs=120), tmp_path / "out"
    sizes = (*TRAINING, "model.d_model=16", "model.encoder_layers=1", "model.cell=gru")
    told = run(data, out, "--preset", "lstm-attention", "--device", "cpu", "--steps", "3", small=sizes)
    assert told.returncode == 0, told.stderr
    settings = json.loads((out / "regard.json").read_text())["settings"]
    assert (settings["cell"], settings["attention"], settings["encoder_layers"]) == ("gru", "general", 1)


def test_a_run_that_goes_on_ends_with_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    data, sizes = corpus(tmp_path / "pairs.tsv", pairs=120), (*TRAINING, "model.d_model=16", "model.encoder_layers=1")
    weights = []
    for name, stops in (("whole", [6]), ("stopped", [3, 6])):
        for steps in stops:
            regard.train(
                data, source="en", target="de", out=tmp_path / name, preset="lstm-attention", settings=sizes,
                steps=steps, checkpoint_every=3, device="cpu", resume=steps > stops[0],
            )  # fmt: skip
        weights.append((tmp_path / name / "weights.safetensors").read_bytes())
    assert weights[0] == weights[1]


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_is_the_same_when_it_is_loaded(name: str, tmp_path: Path) -> None:
    small, batch = model(name, dtype=torch.float32), padded([([5, 6, 7], [8, 9]), ([4], [3, 2, 6])])
    modelfolder.save(tmp_path / "model", small, architecture=MODELS[name][0], settings=small.settings)
    loaded: Any = modelfolder.load(tmp_path / "model").model
    with torch.no_grad():
        assert torch.equal(loaded(batch), small(batch))


def test_a_sentence_that_is_too_long_for_learned_positions_is_refused_on_both_sides() -> None:
    small = model("convs2s", dtype=torch.float32, learned_positions=6)
    with pytest.raises(
        LengthError, match=r"a sentence of 8 tokens is too long: this model learned 6 positions\.\n  Split"
    ):
        small.encode(padded([([5] * 7, [])]).streams["source"])
    with pytest.raises(LengthError, match="a sentence of 7 tokens"):
        small(padded([([5], [5] * 6)]))
    with torch.no_grad():
        short = small(padded([([5, 6], [7])]))
        longer = small(padded([([5, 6], [7])], length=9))  # padding makes no sentence longer
        torch.testing.assert_close(longer[:, :2], short, rtol=0, atol=1e-5)
    state = small.start(small.encode(padded([([5, 6], [])]).streams["source"]))
    for _ in range(8):  # where a search lets it go on, it stays at the last position
        logits, state = small.step(torch.tensor([3]), state)
    assert torch.isfinite(logits).all()


def test_the_neural_gpu_says_how_long_a_source_may_be() -> None:
    small = model("neural-gpu", longest=5)
    with pytest.raises(LengthError, match=r"a source of 6 tokens is too long: this Neural GPU takes 5\.\n  Its time"):
        small.encode(padded([([5] * 5, [])]).streams["source"])
    assert small.encode(padded([([5] * 4, [])], length=9).streams["source"]).columns.tolist() == [5]


def test_a_translation_may_be_longer_than_what_was_unfolded_for_it() -> None:
    for name in ("bytenet-unfolded", "neural-gpu"):
        with torch.no_grad():
            logits = model(name)(padded([([5], [2 + n % 5 for n in range(30)])]))
        assert torch.isfinite(logits).all()


@pytest.mark.parametrize(
    ("architecture", "wrong", "message"),
    [
        ("recurrent", {"d_model": 15}, "d_model = 15 is odd"),
        (
            "recurrent",
            {"attention": "none"},
            "feeding = true feeds back the result of attention, but attention = 'none'",
        ),
        ("recurrent", {"cell": "gur"}, "cell = 'gur'"),
        ("recurrent", {"heads": 4}, "heads: there is no such setting"),
        ("convs2s", {"kernel": 2}, "kernel = 2 is even"),
        ("bytenet", {"kernel": 4}, "kernel = 4 is even"),
        ("bytenet", {"dilations": []}, "dilations"),
        ("neural_gpu", {"longest": 0}, "longest = 0"),
        ("convs2s", {"target_vocabulary": 7}, "tied_embeddings = 'all' is one matrix for source and target"),
    ],
)
def test_wrong_settings_are_explained(architecture: str, wrong: dict[str, Any], message: str) -> None:
    table = {"architecture": architecture, "source_vocabulary": 9, "target_vocabulary": 9}
    with pytest.raises(SettingsError, match=re.escape(message)):
        models.read_settings(table | wrong, where="model")


def recipe(preset: str, *settings: str) -> Recipe:
    return put_together([presets.load(preset).tables, parsed(settings)[0], DATA], where=preset)


def test_another_architecture_takes_over_nothing_of_the_model_before_it() -> None:
    other = recipe("tiny", "model.architecture=recurrent", "model.d_model=32")
    assert other.model == {"architecture": "recurrent", "d_model": 32}
    assert other.training == recipe("tiny").training
    assert recipe("lstm", "model.cell=gru").model["attention"] == "none"


def test_every_architecture_says_how_long_a_sentence_may_be() -> None:
    def longest(name: str) -> int | None:
        table = presets.load(name).model | {"source_vocabulary": 9, "target_vocabulary": 9}
        return models.architecture(table["architecture"]).longest(models.read_settings(table, where=name))

    names = [*PRESETS, "base", "table3-e-learned-positions"]
    assert [longest(name) for name in names] == [None, None, 512, None, 64, None, 1024]


def test_every_architecture_says_whether_sentences_can_share_a_row() -> None:
    assert {name: models.architecture(name).shares_rows for name in models.architectures()} == {
        "bytenet": False, "convs2s": False, "decoder_only": True, "encoder_only": True, "neural_gpu": False,
        "recurrent": False, "transformer": True,
    }  # fmt: skip


def test_the_recipes_of_the_comparison_differ_in_the_model_and_in_how_its_batches_are_made() -> None:
    found = {}
    for path in sorted((Path(__file__).parents[2] / "recipes" / "comparison").glob("*.toml")):
        preset, tables = read_file(path)
        assert preset
        found[path.stem] = put_together([presets.load(preset).tables, tables], where=str(path))
    assert sorted(found) == ["bytenet", "convs2s", "lstm", "lstm-attention", "neural-gpu", "transformer"]
    own = {"batch_tokens", "row_lengths", "peak_rate", "gradient_clip", "compile"}
    alike = [
        one.model_dump(exclude={"model": True, "training": own}) | {"dropout": one.model["dropout"]}
        for one in found.values()
    ]
    assert all(one == alike[0] for one in alike)
    vocabularies = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY}
    counts = {name: _parameters(one.model | vocabularies) for name, one in found.items()}
    assert counts == {name: pytest.approx(counts["transformer"], rel=0.1) for name in counts}
