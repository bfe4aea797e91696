"""The parts of search, each alone; what people are told; and a real model."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from made_up import BEGIN, END, MadeUp
from regard import RegardError, SettingsError
from regard.search import Request, SearchSettings, build, decode, methods
from regard.search.hypotheses import NOTHING, Hypotheses
from regard.search.length import length_penalty, limit
from regard.search.phrases import BannedPhrases, RequiredPhrases, fitting
from regard.search.repetition import RepetitionGuard
from small import VOCABULARY, padded, transformer

ROOT = Path(__file__).parents[2]


def message(**table: object) -> str:
    with pytest.raises(SettingsError) as error:
        SearchSettings.read(table, where="my.toml")
    return str(error.value)


def hypotheses(*rows: list[int]) -> Hypotheses:
    """One sentence, one hypothesis a row."""
    found = Hypotheses.none(1, len(rows), room=12, device="cpu")
    found = found._replace(total=torch.zeros_like(found.total))
    for row, tokens in enumerate(rows):
        found.tokens[0, row, : len(tokens)] = torch.tensor(tokens, dtype=torch.long)
        found.length[0, row] = len(tokens)
    return found


class Always:
    """A model that says the same whatever it was told."""

    def __init__(self, logits: list[float]) -> None:
        self.logits = torch.tensor(logits, dtype=torch.float64)

    def step(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        return self.logits.expand(len(tokens), -1).clone(), state


class AfterTheLast:
    """A model of twenty words whose logits depend on the last one alone; those that are not said are 0."""

    def __init__(self, logits: dict[int, dict[int, float]]) -> None:
        self.logits = logits

    def step(self, tokens: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        rows = [[self.logits.get(token, {}).get(n, 0.0) for n in range(20)] for token in tokens.tolist()]
        return torch.tensor(rows), state


def only(model: Always | AfterTheLast, request: Request, **settings: Any) -> Any:
    """The best answer to a request; a state that remembers nothing will do."""
    state = MadeUp(seed=0, vocabulary=2)
    search = build(SearchSettings(**settings), begin=BEGIN, end=END)
    (result,) = decode(model.step, state.start([0], width=search.width), [request], search)
    return result.hypotheses[0]


def test_the_defaults_are_the_papers() -> None:
    settings = SearchSettings()
    assert (settings.method, settings.beam_size, settings.length_penalty) == ("beam", 4, 0.6)
    assert limit(Request(source_length=28), settings) == 78


def test_settings_that_do_not_fit_together_are_explained() -> None:
    assert "n_best = 5 needs a beam_size of at least that, not 4." in message(n_best=5)
    assert "n_best = 2: greedy search finds one" in message(method="greedy", n_best=2)
    assert "min_length = 9 is more than max_length = 8." in message(min_length=9, max_length=8)
    assert "temperature applies only to method = 'sampling', but method is 'beam'." in message(temperature=0.5)
    assert "top_k applies only to method = 'sampling'" in message(method="greedy", top_k=3)
    assert "length_penalty = -1.0: input should be greater than or equal to 0." in message(length_penalty=-1.0)
    assert SearchSettings(method="sampling", n_best=9, top_p=0.5).n_best == 9


def test_a_search_is_a_file_and_an_unknown_one_is_told_with_the_nearest_name() -> None:
    assert methods() == ["beam", "greedy", "penalties", "sampling"]
    with pytest.raises(SettingsError, match=r"method = 'bean': there is no such search; did you mean 'beam'\?"):
        build(SearchSettings(method="bean"), begin=BEGIN, end=END)


def test_requests_that_contradict_themselves_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"The required phrase \(2, 3\) contains the banned phrase \(3,\)"):
        Request(source_length=1, banned=((3,),), required=((2, 3),))
    with pytest.raises(SettingsError, match=r"The prefix \(4, 5\) contains the banned phrase \(4, 5\)"):
        Request(source_length=1, banned=((4, 5),), prefix=(4, 5))
    with pytest.raises(SettingsError, match="phrase is empty"):
        Request(source_length=1, required=((),))
    with pytest.raises(SettingsError, match=f"A phrase contains {END}, which ends a sentence"):
        build(SearchSettings(), begin=BEGIN, end=END).admit([Request(source_length=1, banned=((2, END),))])


def test_a_refused_request_lets_none_of_its_company_in() -> None:
    search = build(SearchSettings(), begin=BEGIN, end=END)
    with pytest.raises(SettingsError):
        search.admit([Request(source_length=1), Request(source_length=1, prefix=(END,))])
    assert search.sentences == []
    assert len(search.live.total) == 0


def test_the_length_penalty_is_the_papers() -> None:
    lengths = torch.tensor([1, 7, 25])
    torch.testing.assert_close(length_penalty(lengths, 0.6), torch.tensor([1.0, 2.0**0.6, 5.0**0.6]))
    assert length_penalty(lengths, 0.0).tolist() == [1.0, 1.0, 1.0]


def test_a_hypothesis_remembers_what_was_said() -> None:
    said = hypotheses([5, 6], []).say(torch.tensor([[7, 8]]), torch.tensor([[-0.5, -1.5]]))
    assert said.recent(2).tolist() == [[[6, 7], [NOTHING, 8]]]
    assert said.recent(4).tolist() == [[[NOTHING, 5, 6, 7], [NOTHING, NOTHING, NOTHING, 8]]]
    assert said.total.tolist() == [[-0.5, -1.5]]
    assert said.pick(torch.tensor([[1, 1]])).tokens[0, :, 0].tolist() == [8, 8]


def test_the_guard_sees_cycles_of_every_length_that_it_watches() -> None:
    guard = RepetitionGuard(cycle=3, copies=3, device="cpu")
    for said, cycles in {
        (4, 4, 4): [True, False, False],
        (9, 4, 4): [False, False, False],
        (4, 5, 4, 5, 4, 5): [False, True, False],
        (5, 5, 4, 5, 4, 5): [False, False, False],
        (7, 4, 5, 6, 4, 5, 6, 4, 5, 6): [False, False, True],
        (4, 4, 4, 4, 4, 4, 4, 4, 4): [True, True, True],
        (4, 5, 6, 4, 5, 6): [False, False, False],
        (): [False, False, False],
    }.items():
        assert guard.cycles(hypotheses(list(said)).recent(guard.looks_back)).tolist() == [[cycles]]


def test_the_guard_forbids_the_word_that_goes_on_and_tells_what_it_took() -> None:
    guard, logits = RepetitionGuard(cycle=2, copies=2, device="cpu"), torch.arange(7.0).repeat(1, 2, 1)
    taken = guard.forbid(logits, hypotheses([4, 5, 4, 5], [4, 5, 4, 6]).recent(guard.looks_back))
    assert taken.tolist() == [[4.0, -math.inf]]
    assert logits[0, 0].tolist() == [0.0, 1.0, 2.0, 3.0, -math.inf, 5.0, 6.0]
    assert logits[0, 1].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


@pytest.mark.parametrize("kind", [{}, {"beam_size": 1}, {"method": "sampling"}], ids=str)
def test_a_model_in_a_loop_is_stopped_and_the_result_says_so(kind: dict[str, Any]) -> None:
    loop = Always([0.0, 1.0, 30.0])
    stopped = only(loop, Request(source_length=1), **kind)
    assert stopped.repetition_stopped
    assert stopped.ids == (2,) * 8
    endless = only(loop, Request(source_length=1), **kind, repetition_cycle=0)
    assert (endless.ids, endless.repetition_stopped, endless.length_limited) == ((2,) * 51, False, True)


@pytest.mark.parametrize("width", [1, 4])
def test_a_model_that_leaves_a_cycle_by_itself_or_at_its_limit_was_not_stopped(width: int) -> None:
    said = only(Always([0.0, 30.0, 1.0]), Request(source_length=1, prefix=(2,) * 8), beam_size=width)
    assert (said.ids, said.repetition_stopped) == ((2,) * 8, False)
    said = only(Always([0.0, 1.0, 30.0]), Request(source_length=1), beam_size=width, max_length=8)
    assert (said.ids, said.repetition_stopped, said.length_limited) == ((2,) * 8, False, True)


def test_a_required_phrase_may_repeat_what_the_guard_forbids() -> None:
    said = only(Always([0.0, 5.0, 1.0]), Request(source_length=1, required=((2,) * 12,)), beam_size=1)
    assert said.ids == (2,) * 12
    assert said.constraints_met


def test_the_last_word_of_a_banned_phrase_is_taken_after_the_others_only() -> None:
    logits = torch.zeros(1, 3, 6)
    BannedPhrases([((2, 3, 4), (5,), (4, 4))], device="cpu").forbid(logits, hypotheses([2, 3], [3], [9, 4]))
    assert (logits == -math.inf).nonzero().tolist() == [[0, 0, 4], [0, 0, 5], [0, 1, 5], [0, 2, 4], [0, 2, 5]]


def test_required_phrases_are_owed_until_they_were_said_whole() -> None:
    required = RequiredPhrases([((2, 3), (4,))], device="cpu")
    live = hypotheses([], [2], [2, 3], [3, 2, 4, 2], [4, 2, 3, 5])
    assert required.met(live).tolist() == [[[False, False], [False, False], [True, False], [False, True], [True, True]]]
    progress = required.progress(torch.zeros(1, 5, 6), live)
    assert progress.owed.tolist() == [[3, 3, 1, 2, 0]]
    assert progress.words.tolist() == [[2, 3, 4]]
    assert (progress.logits > -math.inf).tolist() == [
        [[True, False, True], [True, True, True], [False, False, True], [True, True, False], [False, False, False]]
    ]


def test_words_are_forbidden_once_there_is_room_for_the_required_ones_alone() -> None:
    required, live = RequiredPhrases([((2, 3), (4,))], device="cpu"), hypotheses([], [], [2], [2, 3, 4])
    logits = torch.zeros(1, 4, 6)
    room = torch.tensor([[4, 3, 2, 1]])
    required.forbid(logits, required.progress(logits, live), room=room, end=END, at_end=False)
    allowed = [[token for token in range(6) if row[token] > -math.inf] for row in logits[0].tolist()]
    assert allowed == [[0, 2, 3, 4, 5], [2, 4], [3], [0, 1, 2, 3, 4, 5]]


def test_phrases_are_asked_for_once_each_and_while_there_is_room() -> None:
    assert fitting([(2, 3), (2, 3), (4, 5, 6), (7,)], 4) == [(2, 3), (7,)]


def test_greedy_search_says_a_required_phrase_where_it_would_have_ended() -> None:
    said = only(Always([0.0, 5.0, 1.0, 1.0, 1.0]), Request(source_length=30, required=((2, 3), (4,))), beam_size=1)
    assert said.ids == (2, 3, 4)


def test_a_beam_says_a_required_phrase_where_it_is_likeliest() -> None:
    """Greedy search says 2 when it would end; the beam says it after 3, where the model almost wants it."""
    model = AfterTheLast({BEGIN: {3: 5.0}, 3: {2: 4.0, 4: 5.0}, 2: {2: 4.0, 4: 5.0}, 4: {END: 5.0}})
    request = Request(source_length=9, required=((2,),))
    assert only(model, request).ids == (3, 2, 4)
    assert only(model, request, beam_size=1).ids == (3, 4, 2, 4)


def test_a_beam_keeps_a_place_for_hypotheses_that_have_begun_with_the_required_phrases() -> None:
    """Saying 2 first is unlikely beside three other words, and pays off only later."""
    model = AfterTheLast({BEGIN: {3: 5.0, 4: 5.0, 5: 5.0}, 2: {3: 15.0}, **{n: {END: 15.0} for n in (3, 4, 5)}})
    assert only(model, Request(source_length=9, required=((2,),)), beam_size=2).ids == (2, 3)


def test_required_phrases_that_begin_alike_give_no_hypothesis_twice() -> None:
    """2 begins both, and is none of the eight likeliest words that a beam of four looks at."""
    others = range(5, 20)
    model = AfterTheLast({BEGIN: dict.fromkeys(others, 5.0), 2: {3: 9.0, 4: 9.0}, **{n: {END: 9.0} for n in others}})
    search = build(SearchSettings(n_best=4, max_length_offset=0), begin=BEGIN, end=END)
    search.admit([Request(source_length=9, required=((2, 3), (2, 4)))])
    search.advance(model.step(search.tokens, None)[0])
    assert sorted(search.tokens.tolist()) == [2, 5, 6, 7]
    search = build(SearchSettings(n_best=4, max_length_offset=0), begin=BEGIN, end=END)
    request = Request(source_length=4, required=((2, 3), (2, 4)))
    (result,) = decode(model.step, MadeUp(seed=0, vocabulary=2).start([0], width=4), [request], search)
    assert [hypothesis.ids for hypothesis in result.hypotheses] == [(2, 3, 2, 4), (2, 4, 2, 3)]


def test_a_longer_sentence_that_scores_better_is_waited_for() -> None:
    """Ending at once has the higher probability; going on is nearly certain afterwards, and favoured by the penalty."""
    model = AfterTheLast({BEGIN: {END: 9.1, 2: 9.0}, **{n: {n + 1: 25.0} for n in range(2, 9)}, 9: {END: 25.0}})
    assert only(model, Request(source_length=9)).ids == (2, 3, 4, 5, 6, 7, 8, 9)
    assert only(model, Request(source_length=9), length_penalty=0.0).ids == ()


@pytest.mark.parametrize("kind", [{}, {"beam_size": 1}, {"method": "sampling", "top_p": 0.9}], ids=str)
def test_a_model_whose_logits_are_not_numbers_is_reported(kind: dict[str, Any]) -> None:
    with pytest.raises(RegardError, match="its logits are -inf or NaN"):
        only(Always([math.nan] * 5), Request(source_length=1), **kind)


def test_nothing_asked_is_nothing_answered() -> None:
    model, search = MadeUp(seed=0, vocabulary=4), build(SearchSettings(), begin=BEGIN, end=END)
    assert decode(model.step, model.start([], width=4), [], search) == []
    assert model.steps == 0


@pytest.mark.parametrize(
    "kind", [{}, {"n_best": 4}, {"beam_size": 1}, {"method": "sampling", "n_best": 2, "top_k": 5}], ids=str
)
def test_a_transformers_sentences_have_the_scores_that_forward_gives_them(kind: dict[str, Any]) -> None:
    model, sources = transformer(), [[5, 6, 7], [8], [9, 10, 11, 12, 13]]
    search = build(SearchSettings(**kind, max_length_offset=6, min_length=2), begin=BEGIN, end=END)
    requests = [Request(source_length=len(source), number=n) for n, source in enumerate(sources)]
    with torch.no_grad():
        memory = model.encode(padded([(source, []) for source in sources]).streams["source"])
    results = decode(model.step, model.start(memory, width=search.width), requests, search)
    for source, result in zip(sources, results, strict=True):
        assert len(result.hypotheses) == kind.get("n_best", 1)
        for hypothesis in result.hypotheses:
            batch = padded([(source, list(hypothesis.ids))])
            with torch.no_grad():
                expected = model(batch).log_softmax(-1)[0].gather(1, batch.labels[0][:, None])[:, 0]
            assert hypothesis.logprobs == pytest.approx(expected.tolist())
            assert max(hypothesis.ids) < VOCABULARY


def test_the_code_in_the_document_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "search.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert names["result"].hypotheses[0].constraints_met


@pytest.mark.parametrize("kind", [{"n_best": 2}, {"beam_size": 1}, {"method": "sampling", "top_p": 0.9}], ids=str)
def test_every_tensor_is_made_on_the_device_of_the_search(kind: dict[str, Any]) -> None:
    """What is made without saying where lands on the default device, here one that cannot meet another."""
    model = MadeUp(seed=0, vocabulary=200)
    search = build(SearchSettings(**kind, min_length=9), begin=BEGIN, end=END, device="cpu")
    request = Request(source_length=1, prefix=(4,), banned=((5, 6), (7,)), required=((8, 9),))
    search.admit([request])
    told = model.start([0], width=search.width)
    while search.busy:
        logits, told = model.step(search.tokens, told)
        with torch.device("meta"):
            decision = search.advance(logits)
        told = told if decision.rows is None else told.reorder(decision.rows)
    assert decision.finished[0].hypotheses[0].constraints_met
