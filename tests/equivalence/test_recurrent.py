"""The parts of the models that the Transformer replaced, against torch.nn's with copied weights and formulas."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from baselines import model
from regard.models.parts.convolutions import Convolution
from regard.models.recurrent import Attention, RecurrentSettings, Source
from small import padded

CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
SOURCE, TARGET = [5, 6, 7, 8, 9], [3, 4, 5]


def copied(layers: Any, stack: nn.RNNBase) -> nn.RNNBase:
    """torch.nn's stack of layers with our weights."""
    with torch.no_grad():
        for number, layer in enumerate(layers):
            for name, weight in layer.cell.named_parameters():
                getattr(stack, name.replace("_l0", f"_l{number}")).copy_(weight)
    return stack


@pytest.mark.parametrize("cell", CELLS)
def test_the_encoder_is_torchs_stack_in_both_directions(cell: str) -> None:
    ours = model("lstm-general", cell=cell)
    stack = CELLS[cell](12, 6, num_layers=2, bidirectional=True, batch_first=True).double()
    rows = padded([(SOURCE, TARGET), ([4], [2])])
    with torch.no_grad():
        memory = ours.encode(rows.streams["source"])
        states, last = copied(ours.encoder.layers, stack)(ours.words.read(rows.streams["source"])[:1])
    torch.testing.assert_close(memory.states[:1], states, rtol=0, atol=1e-12)
    for part, theirs in enumerate(last if cell == "lstm" else (last,)):
        for layer in range(2):
            both = torch.cat([theirs[2 * layer], theirs[2 * layer + 1]], dim=-1)
            torch.testing.assert_close(memory.last[layer][part][:1], both, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cell", CELLS)
def test_the_decoder_without_attention_is_torchs_stack_from_where_the_encoder_ended(cell: str) -> None:
    ours, rows = model("lstm", cell=cell, decoder_layers=2), padded([(SOURCE, TARGET)])
    stack = copied(ours.decoder.layers, CELLS[cell](12, 12, num_layers=2, batch_first=True).double())
    with torch.no_grad():
        last = ours.encode(rows.streams["source"]).last
        hidden = tuple(torch.stack([layer[part] for layer in last]) for part in range(len(last[0])))
        words = ours.words.said(rows.streams["target"].tokens, rows.streams["target"].positions)
        states, _ = stack(words, hidden if cell == "lstm" else hidden[0])
        torch.testing.assert_close(ours.states(rows), states, rtol=0, atol=1e-12)
    assert not words[0, 0].any()


def test_a_decoder_of_another_depth_starts_from_the_encoders_top_layers() -> None:
    for layers, expected in ((1, [1]), (2, [0, 1]), (3, [0, 0, 1])):
        ours = model("lstm", decoder_layers=layers)
        last = ours.encode(padded([(SOURCE, TARGET)]).streams["source"]).last
        assert [id(hidden) for hidden in ours.decoder.first(last)] == [id(last[number]) for number in expected]


@pytest.mark.parametrize("kind", ["dot", "general", "additive", "cosine"])
def test_each_similarity_is_its_formula(kind: str) -> None:
    torch.manual_seed(0)
    table = {"source_vocabulary": 9, "target_vocabulary": 9, "d_model": 6, "attention": kind}
    attention = Attention(RecurrentSettings(**table)).double()  # type: ignore[arg-type]
    query, states = torch.randn(1, 1, 6, dtype=torch.float64), torch.randn(1, 3, 6, dtype=torch.float64)
    with torch.no_grad():
        keys = attention.keys(states)
        found = attention(query, Source(keys, states, torch.tensor([[[True, True, False]]])))
        scores = []
        for state in states[0]:
            if kind == "dot":
                scores.append(query[0, 0] @ state)
            elif kind == "general":
                scores.append(query[0, 0] @ attention.key.weight @ state)
            elif kind == "additive":
                mixed = attention.query.weight @ query[0, 0] + attention.query.bias + attention.key.weight @ state
                scores.append((attention.similarity.weight @ mixed.tanh())[0])
            else:
                scores.append(F.cosine_similarity(query[0, 0], state, dim=0) * attention.sharpness)
        weights = torch.stack(scores[:2]).softmax(0)
    torch.testing.assert_close(found[0, 0], weights[0] * states[0, 0] + weights[1] * states[0, 1], rtol=0, atol=1e-12)


def test_what_attention_found_stands_beside_the_state_and_is_fed_back() -> None:
    ours, rows = model("lstm-general", decoder_layers=1, encoder_layers=1), padded([(SOURCE, TARGET)])
    layer, attention = ours.decoder.layers[0].cell, ours.decoder.attention
    with torch.no_grad():
        memory = ours.encode(rows.streams["source"])
        h, c = memory.last[0]
        words = ours.words.said(rows.streams["target"].tokens, rows.streams["target"].positions)
        fed, states = torch.zeros(1, 12, dtype=torch.float64), []
        for t in range(words.size(1)):
            _, (h, c) = layer(torch.cat([words[:, t], fed], -1)[:, None], (h[None], c[None]))
            h, c = h[0], c[0]
            weights = (h @ attention.key.weight @ memory.states[0].T).softmax(-1)
            fed = (ours.decoder.both.weight @ torch.cat([weights @ memory.states[0], h], -1)[0]).tanh()[None]
            states.append(fed)
        torch.testing.assert_close(ours.states(rows)[0], torch.cat(states), rtol=0, atol=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("dilation", [1, 2])
def test_a_convolution_is_torchs_and_its_norm_is_weight_normalisation(dilation: int, backwards: bool) -> None:
    torch.manual_seed(0)
    ours = Convolution(4, 6, kernel=3, dilation=dilation, backwards=backwards, normed=True).double()
    with torch.no_grad():
        assert ours.length is not None
        torch.testing.assert_close(ours.weight(), ours.direction)  # before training
        ours.length.mul_(1.7)
    theirs = weight_norm(nn.Conv1d(4, 6, 3, dilation=dilation).double(), dim=0)
    x = torch.randn(2, 7, 4, dtype=torch.float64)
    with torch.no_grad():
        theirs.parametrizations.weight.original1.copy_(ours.direction)
        theirs.parametrizations.weight.original0.copy_(ours.length[:, None, None])
        theirs.bias.zero_()
        padding = (2 * dilation, 0) if backwards else (dilation, dilation)
        expected = theirs(F.pad(x.transpose(1, 2), padding)).transpose(1, 2)
        torch.testing.assert_close(ours(x), expected, rtol=0, atol=1e-12)


def test_a_gated_convolution_is_the_papers_formula() -> None:
    unit = model("neural-gpu", kernel=1).decoder.layers[0]
    s, p = torch.randn(8, dtype=torch.float64), torch.randn(8, dtype=torch.float64)
    with torch.no_grad():
        gates = unit.gates.weight[:, :, 0, 0] @ s + unit.gates.bias
        tape = unit.tape.weight[:, :, 0] @ p
        update, reset = (gates + tape[:16]).sigmoid().chunk(2)
        new = (unit.candidate.weight[:, :, 0, 0] @ (reset * s) + unit.candidate.bias + tape[16:]).tanh()
        found = unit(s[None, :, None, None], p[None, :, None])[0, :, 0, 0]
    torch.testing.assert_close(found, update * s + (1 - update) * new, rtol=0, atol=1e-12)
