"""Looking at a sentence: what is captured, what is written, and what is told when there is nothing to see."""

import base64
import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import regard
from looking import SOURCE, TARGET, base_model_and_sixty_words, command, translator
from pages import Reader
from regard import SettingsError, TextError
from regard.insight import encoding
from regard.insight.attention import Attention
from regard.insight.attention_page import LARGEST, page
from regard.insight.figure import figure
from regard.insight.png import write_png
from regard.insight.word_pieces import END, START, Tokens, by_words
from regard.models.parts.observation import Head, heads_named, merged, observing, without
from regard.models.protocols import AttentionName, Lookup
from regard.translation.translator import Translator


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    return translator(tmp_path_factory.mktemp("looking") / "small-model")


@pytest.fixture(scope="module")
def seen(model: Translator) -> Attention:
    return model.look(SOURCE, TARGET)


def test_every_query_spends_one_on_what_it_may_see_and_the_decoder_never_looks_ahead(seen: Attention) -> None:
    assert seen.kinds() == ["encoder", "decoder", "decoder-source"]
    for name in seen.lookups:
        weights = seen.weights(name)
        assert weights.shape == (4, len(seen.queries(name.kind).pieces), len(seen.keys(name.kind).pieces))
        assert (weights >= 0).all()
        assert torch.allclose(weights.sum(dim=-1), torch.ones(1), atol=1e-6)
        assert torch.allclose(seen.weights(name, words=True).sum(dim=-1), torch.ones(1), atol=1e-6)
        if name.kind == "decoder":
            assert not weights.triu(1).any()


def test_the_weights_give_the_models_own_output_again(model: Translator, seen: Attention) -> None:
    own: dict[AttentionName, Tensor] = {}
    hooks = [
        attention.register_forward_hook(lambda _, __, out, name=name: own.setdefault(name, out[0]))  # type: ignore[attr-defined]
        for name, attention in model.model.attentions().items()
    ]
    model.score([SOURCE], [TARGET])  # nobody looks: one fused kernel
    for hook in hooks:
        hook.remove()
    assert own.keys() == seen.lookups.keys()
    for name, lookup in seen.lookups.items():
        heads = (lookup.weights @ lookup.value).transpose(0, 1).flatten(1)
        again = model.model.attentions()[name].output(heads)  # type: ignore[attr-defined]
        assert torch.allclose(again, own[name], atol=1e-6, rtol=0)


def test_looking_changes_no_translation_and_leaves_nothing_behind(model: Translator) -> None:
    before = model.translate(SOURCE, logprobs=True)
    found = model.look(SOURCE)
    assert found.translation == before.text
    assert found.logprobs == pytest.approx(before.logprobs, abs=1e-4)
    assert all(attention.observer is None for attention in model.model.attentions().values())
    assert model.translate(SOURCE, logprobs=True) == before
    (scored,) = model.score([SOURCE], [TARGET])
    assert sum(model.look(SOURCE, TARGET).logprobs) == pytest.approx(scored.total, abs=1e-4)


def test_what_is_shown_is_what_search_used_when_it_made_the_translation(model: Translator) -> None:
    steps: dict[AttentionName, list[Tensor]] = {}

    def see(name: AttentionName, lookup: Lookup) -> Tensor:
        steps.setdefault(name, []).append(lookup.weights[0])
        return lookup.weights

    with observing(model.model, see):
        found = model.look(SOURCE, beam_size=1)  # searches step by step, then passes once over what was found
    for name in found.lookups:
        if name.kind == "decoder-source":
            used = torch.cat(steps[name][:-1], dim=1)
            assert used.size(1) in (len(found.said.pieces), len(found.said.pieces) - 1)
            assert torch.allclose(used, found.weights(name)[:, : used.size(1)], atol=1e-6)


def test_words_that_are_said_name_the_queries_and_words_that_were_read_the_keys(seen: Attention) -> None:
    assert "".join(seen.said.pieces).replace("▁", " ").strip() == TARGET + END
    assert seen.said.words == (
        "Die",
        "Katze",
        "sitzt",
        "auf",
        "dem",
        "Bett",
        "und",
        "leckt",
        "sich",
        "sauber",
        ".",
        END,
    )
    assert seen.read.words == (START, *seen.said.words[:-1])
    assert seen.source.words[-3:] == ("clean", ".", END)
    assert [len(side.word_of) for side in (seen.said, seen.read)] == [len(seen.said.pieces)] * 2


@given(data=st.data())
def test_words_made_of_pieces_keep_the_sums_of_every_row(data: st.DataObject) -> None:
    def side() -> Tokens:
        sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=6))
        word_of = tuple(word for word, size in enumerate(sizes) for _ in range(size))
        return Tokens(pieces=("x",) * len(word_of), words=("x",) * len(sizes), word_of=word_of)

    queries, keys = side(), side()
    torch.manual_seed(data.draw(st.integers(0, 1000)))
    weights = torch.rand(2, len(queries.pieces), len(keys.pieces), dtype=torch.float64).softmax(dim=-1)
    words = by_words(weights, queries, keys)
    assert words.shape == (2, len(queries.words), len(keys.words))
    assert torch.allclose(words.sum(dim=-1), torch.ones(1, dtype=torch.float64))
    first = [piece for piece, word in enumerate(queries.word_of) if word == 0]
    column = [piece for piece, word in enumerate(keys.word_of) if word == 0]
    assert words[0, 0, 0].item() == pytest.approx(weights[0][first][:, column].sum().item() / len(first))


def test_scores_are_what_the_softmax_gives_the_weights_from(seen: Attention) -> None:
    for name in seen.lookups:
        scores, formula = seen.scores(name)
        assert formula == "q·k / √d"
        assert torch.allclose(scores.softmax(dim=-1), seen.weights(name), atol=1e-6)


def test_attention_of_any_other_make_is_shown_too_one_head_and_no_products(seen: Attention) -> None:
    name = AttentionName("decoder-source", 0)
    lookup = seen.lookups[name]
    torch.manual_seed(0)
    other = Lookup(*(part[:1] for part in lookup))._replace(
        weights=torch.rand(1, *lookup.weights.shape[1:]).softmax(-1)
    )
    strange = Attention(**(vars(seen) | {"lookups": {name: other}}))
    scores, formula = strange.scores(name)
    assert formula == "log weight"
    assert torch.allclose(scores.softmax(dim=-1), other.weights, atol=1e-6)
    assert strange.kinds() == ["decoder-source"]
    assert len(strange.alignment()) == len(seen.said.words)
    assert "Encoder-decoder attention: translation to source" in page(strange)


def test_a_model_that_asks_word_by_word_gives_one_lookup(seen: Attention) -> None:
    lookup = Lookup(*(part[None] for part in seen.lookups[AttentionName("decoder-source", 0)]))
    parts = [
        lookup._replace(query=lookup.query[:, :, place : place + 1], weights=lookup.weights[:, :, place : place + 1])
        for place in range(lookup.query.size(2))
    ]
    assert all(torch.equal(one, other) for one, other in zip(merged(parts), lookup, strict=True))


def test_heads_that_are_switched_off_show_nothing_and_change_the_rest(model: Translator, seen: Attention) -> None:
    off = model.look(SOURCE, TARGET, without="encoder.0.1, decoder-source.1")
    assert [str(head) for head in off.off] == ["encoder.0.1", *(f"decoder-source.1.{head}" for head in range(4))]
    assert not off.weights(AttentionName("encoder", 0))[1].any()
    assert not off.weights(AttentionName("decoder-source", 1)).any()
    assert torch.equal(off.weights(AttentionName("encoder", 0))[0], seen.weights(AttentionName("encoder", 0))[0])
    assert sum(off.logprobs) != pytest.approx(sum(seen.logprobs), abs=1e-4)
    with torch.no_grad(), without(model.model, heads_named(model.model, "encoder.0.1,decoder-source.1")):
        (scored,) = model.score([SOURCE], [TARGET])
    assert sum(off.logprobs) == pytest.approx(scored.total, abs=1e-4)


def test_what_a_page_carries_is_right_within_three_hundredths_of_a_percent(seen: Attention) -> None:
    for name in seen.lookups:
        table = encoding.encoded(seen, name, strips=True)
        steps = np.frombuffer(base64.b64decode(table["logarithms"]), dtype="<u2")
        again = np.where(steps == encoding.NOTHING, 0.0, np.exp(-steps.astype(float) / encoding.STEPS))
        weights = seen.weights(name).double().numpy()
        rows, columns = np.tril_indices(weights.shape[1]) if name.kind == "decoder" else np.indices(weights.shape[1:])
        assert table["causal"] == (name.kind == "decoder")
        assert again == pytest.approx(weights[:, rows, columns].ravel(), rel=3e-4)
        shift = np.frombuffer(base64.b64decode(table["shift"]), dtype="<f4").reshape(weights.shape[:2])
        scores = seen.scores(name)[0].double().numpy()
        known = weights > 0
        assert (np.log(weights, where=known, out=np.zeros_like(weights)) + shift[:, :, None])[known] == pytest.approx(
            scores[known], abs=1e-4
        )
        value = np.frombuffer(base64.b64decode(table["strips"][2]), dtype=np.uint8)
        levels = np.stack([value & 15, value >> 4], axis=1).ravel().astype(float) - 8
        expected = seen.lookups[name].value.numpy()
        largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
        assert np.abs(levels.reshape(expected.shape) / 7 - expected / largest).max() <= 0.5 / 7 + 1e-6


def test_the_page_of_sixty_words_in_a_base_model_stays_under_six_megabytes() -> None:
    found = base_model_and_sixty_words()
    assert len(found.source.words) > 60
    assert len(found.said.pieces) > 90
    made = page(found)
    assert len(made.encode()) < 6_000_000
    assert '"strips":[' in made
    twice = base_model_and_sixty_words(times=2)
    assert '"strips":[' not in page(twice), "what is only for the eye is left out of large pages"
    assert LARGEST == 6_000_000


def test_the_page_needs_nothing_beside_it_and_says_what_was_translated(model: Translator) -> None:
    found = model.look("<b>Cats</b> & dogs </script>", "Katzen & <i>Hunde</i>", without="encoder.0.1")
    made = page(found)
    reader = Reader.of(made)
    assert "<b>Cats</b> & dogs </script>" in reader.text
    assert made.count("</script>") == 2
    assert [address for address in reader.addresses if not address.startswith("#")] == []
    assert reader.headings == sorted(reader.headings[:1]) + reader.headings[1:]
    assert "Switched off: encoder.0.1" in reader.text
    assert not {"http:", "https:"} & set(made.replace("http://www.w3.org/2000/svg", "").split('"'))


def test_a_notebook_gets_the_page_in_a_frame(seen: Attention) -> None:
    shown = seen._repr_html_()
    assert shown.startswith('<iframe title="Attention" srcdoc="&lt;!doctype html&gt;')
    assert "<script" not in shown


def test_figures_are_one_head_the_mean_of_a_layer_or_all_heads_of_a_kind(seen: Attention) -> None:
    assert figure(seen).svg().count("<rect") > 8
    assert len(figure(seen).panels) == 8
    name = AttentionName("encoder", 1)
    one, mean = figure(seen, "encoder.1.2", pieces=True), figure(seen, "encoder.1")
    assert torch.equal(one.panels[0].weights, seen.weights(name)[2])
    assert torch.allclose(mean.panels[0].weights, seen.weights(name, words=True).mean(dim=0))
    assert mean.svg().count("</text>") == 1 + 2 * len(seen.source.words)
    assert "var(" not in mean.svg(), "programs that print know no variables"
    with pytest.raises(
        SettingsError, match=r"encoder\.7: there is no such part to draw\.\n  Give one of: encoder, decoder"
    ):
        figure(seen, "encoder.7")


def test_a_png_is_drawn_or_the_missing_extra_is_named(seen: Attention, tmp_path: Path) -> None:
    if find_spec("matplotlib") is None:
        with pytest.raises(
            SettingsError, match=r"PNG needs matplotlib.*\n  Install it with pip install 'regard\[plots\]'"
        ):
            write_png(tmp_path / "a.png", figure(seen))
        assert not (tmp_path / "a.png").exists()
        return
    for part in ("", "encoder.1.2"):
        write_png(tmp_path / "a.png", figure(seen, part))
        assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_what_cannot_be_looked_at_is_told(model: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TextError, match=r"the sentence has no words\.\n  Give a sentence"):
        model.look("   ")
    with pytest.raises(SettingsError, match=r"encoder\.9\.0: this model has no such head\.\n  It has: encoder\.0\.0-3"):
        model.look(SOURCE, without="encoder.9.0")
    with pytest.raises(SettingsError, match=r"'encoder\.9' is not a head\.\n  A head is kind\.layer\.head"):
        model.look(SOURCE, without="encoder.9")
    monkeypatch.setattr(type(model.model), "attentions", lambda _: {})
    with pytest.raises(SettingsError, match=r"this model has no attention to show\.\n  Use a Trans"):
        model.look(SOURCE)


def test_the_command_writes_a_page_a_figure_and_numbers(
    model: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = str(model.folder)
    told = command(folder, SOURCE, "--target", TARGET)
    assert told.exit_code == 0, told.output
    assert told.stdout.splitlines()[0] == TARGET
    assert Reader.of((tmp_path / "attention.html").read_text()).tags.count("section") == 4
    told = command(
        folder, SOURCE, "--svg", "a.svg", "--part", "decoder-source.0.1", "--json", "-", "--without", "encoder.0"
    )
    found: dict[str, Any] = json.loads(told.stdout)
    assert "without 4 heads" in told.stderr
    assert found["off"] == [f"encoder.0.{head}" for head in range(4)]
    assert len(found["attention"]) == 3 * 2 * 4
    assert all(math.isclose(sum(row), 1, abs_tol=1e-4) for row in found["attention"][-1]["weights"])
    assert "decoder-source.0.1" in (tmp_path / "a.svg").read_text()
    told = command(folder)
    assert told.exit_code == 1
    assert "give exactly one of: a sentence, --heads FILE, --knock-out FILE." in str(told.exception)


def test_a_layer_names_all_of_its_heads(model: Translator) -> None:
    assert heads_named(model.model, "decoder.1, decoder.1.2,encoder.0.0,") == [
        *(Head("decoder", 1, head) for head in range(4)),
        Head("encoder", 0, 0),
    ]
    assert heads_named(model.model, "") == []


def test_an_ensemble_cannot_be_looked_into(model: Translator) -> None:
    both = regard.load([model.folder, model.folder], device="cpu")
    with pytest.raises(
        SettingsError, match=r"cannot show the attention of an ensemble\.\n  Load one of its models alone"
    ):
        both.look(SOURCE)
