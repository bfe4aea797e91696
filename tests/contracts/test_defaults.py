"""Training that never fails quietly: the source's worth, restarts, schedules that end well, and what auto chooses."""

import json
import math
import random
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard import modelfolder, presets
from regard.batches.exchanging import exchanged, partners, spread
from regard.evaluation.comparison import ReferenceSet
from regard.evaluation.evaluate import source_worth
from regard.training import choices, loop, source_use, window
from regard.training.advice import Advice, Budget, advise
from regard.training.checkpoints import Progress
from regard.training.events import Validated, read_journal
from regard.training.length_choice import Candidate, chosen, length_ratio
from regard.training.merit import merit
from regard.training.pace import Pace
from regard.training.plan import Course, Plan, after_overfitting, for_minutes
from regard.training.recipe import put_together
from regard.training.schedule import rate
from regard.training.training_settings import TrainingSettings
from runs import SMALL, corpus, events
from small import store
from summaries import texts
from trained import model_folder

Train = Callable[..., bool]
SENTENCES = [
    ("The cat is sleeping.", "Die Katze schläft."),
    ("I have no money.", "Ich habe kein Geld."),
    ("Where is the station?", "Wo ist der Bahnhof?"),
    ("Tom bought a new car yesterday.", "Tom hat gestern ein neues Auto gekauft."),
    ("We want to learn French.", "Wir wollen Französisch lernen."),
    ("She is reading a book.", "Sie liest ein Buch."),
]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Train:
    """A small training in this process."""
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))

    def start(*data: Path, settings: tuple[str, ...] = SMALL, **more: Any) -> bool:
        common = {"source": "en", "target": "de", "out": tmp_path / "out", "preset": "tiny", "device": "cpu"}
        return regard.train(*data, settings=settings, **common | more)

    return start


def words(path: Path, *, pairs: int = 400, related: bool = True) -> Path:
    """Single words and their translations, or any other words."""
    draw = random.Random(1)  # noqa: S311
    numbers = [draw.randrange(20) for _ in range(pairs)]
    others = numbers if related else [draw.randrange(20) for _ in range(pairs)]
    lines = [f"a{one} b{n % 7}\tc{other} x\n" for n, (one, other) in enumerate(zip(numbers, others, strict=True))]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def said(out: Path) -> str:
    return "\n".join(event["message"] for event in events(out, "said"))


def test_every_source_is_exchanged_for_another_of_nearly_the_same_length_whatever_the_order() -> None:
    draw = random.Random(0)  # noqa: S311
    sources = [[draw.randrange(5) for _ in range(draw.randint(1, 9))] for _ in range(200)]
    found = partners(sources)
    assert found
    pairs = {tuple(source): sources[other] for source, other in zip(sources, found, strict=True)}
    assert all(list(source) != other for source, other in pairs.items())
    assert sum(abs(len(source) - len(other)) <= 1 for source, other in pairs.items()) >= len(pairs) - 1
    order = draw.sample(range(200), 200)
    again = partners([sources[n] for n in order])
    assert again
    assert {tuple(sources[n]): sources[order[other]] for n, other in zip(order, again, strict=True)} == pairs
    assert partners([[1, 2]] * 5) is None


def test_exchanging_sources_keeps_the_targets_and_a_sample_is_spread(tmp_path: Path) -> None:
    pairs = [([n, n % 3], [n + 1]) for n in range(2, 12)]
    stored = store(tmp_path / "corpus", pairs, begin=0, end=1, vocabulary=20)
    other = exchanged(stored)
    assert other
    assert [other.streams["target"].sentence(n) for n in range(10)] == [target for _, target in pairs]
    assert all(other.streams["source"].sentence(n) != pairs[n][0] for n in range(10))
    assert [spread(stored, 5).streams["source"].sentence(n)[0] for n in range(5)] == [2, 4, 6, 8, 10]
    assert exchanged(stored.take(np.arange(1))) is None


def test_the_source_of_a_translator_is_worth_much_and_that_of_a_blind_one_nothing() -> None:
    held_out = ReferenceSet("held out", [[target] for _, target in SENTENCES], [source for source, _ in SENTENCES])
    seeing = regard.load("en-de", device="cpu", engine="torch")
    worth = source_worth(seeing, held_out)
    assert worth
    assert worth > 1
    mixed = ReferenceSet("mixed", held_out.references[::-1], held_out.sources[::-1])
    assert source_worth(seeing, mixed) == pytest.approx(worth, abs=1e-4)
    for name, attention in seeing.model.attentions().items():
        if name.kind == "decoder-source":
            attention.observer = lambda lookup: torch.zeros_like(lookup.weights)
    assert source_worth(seeing, held_out) == pytest.approx(0, abs=1e-5)


def test_a_run_whose_source_is_worth_nothing_says_so_once_and_on_its_card(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_use, "TOO_FEW", 60)
    assert train(words(tmp_path / "pairs.tsv", related=False), steps=60, checkpoint_every=20)
    out = tmp_path / "out"
    assert said(out).count("The model ignores its source") == 1
    assert "Warning: this model does not translate: its source is worth only" in said(out)
    worth = [event["source_worth"] for event in events(out, "validated")]
    assert all(each < 0.3 for each in worth)  # ten pairs are few
    description = modelfolder.read_description(out)
    assert abs(description.scores["averaged"]["source_worth"]) < 0.2
    assert "source's worth ↑" in (out / "README.md").read_text()
    assert "Source's worth" in (out / "report.html").read_text()


def test_an_automatic_run_that_ignores_its_source_starts_again_once_and_recovers(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt has a rate with which nothing is learned, the second a usual one."""
    monkeypatch.setitem(choices.MANNERS, "tiny", choices.Manner(peak_rate=5.0, batch_tokens=2_048))
    monkeypatch.setattr(source_use, "_SLOWER", 0.002)
    monkeypatch.setattr(source_use, "TOO_FEW", 160)
    data, out = words(tmp_path / "pairs.tsv"), tmp_path / "out"
    assert train(data, preset="auto", steps=160, checkpoint_every=20)
    assert said(out).count("The model ignores its source") == 1
    (restarted,) = events(out, "restarted")
    assert "training.peak_rate=0.01" in restarted["message"]
    began = json.loads((out / "training" / "began.json").read_text())
    assert (began["automatic"], began["restarted"]) == (True, True)
    recipe = json.loads((out / "training" / "recipe.json").read_text())
    assert recipe["training"]["peak_rate"] == pytest.approx(0.01)
    assert recipe["training"]["warmup"] == 20  # it was given, and stays
    scores = modelfolder.read_description(out).scores["averaged"]
    assert scores["source_worth"] > 0.5
    assert "Starting again with safer settings" in (out / "README.md").read_text()
    steps = [event["step"] for event in read_journal(out / "metrics.jsonl") if event["event"] == "validated"]
    assert steps == sorted(set(steps))
    assert train(data, preset="auto", steps=180, checkpoint_every=20, resume=True)
    assert events(out, "stepped")[-1]["step"] == 180


def test_a_run_that_was_killed_while_it_started_again_goes_on_with_the_safer_settings(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_use, "is_ignored", lambda *_, **__: True)
    data, out = words(tmp_path / "pairs.tsv"), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("regard.training.run.Restarted", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            train(data, preset="auto", steps=40)
    assert not list((out / "training").glob("checkpoints/*"))
    safer = json.loads((out / "training" / "recipe.json").read_text())["training"]
    assert train(data, preset="auto", steps=40, resume=True)
    after = json.loads((out / "training" / "recipe.json").read_text())["training"]
    assert after["peak_rate"] == safer["peak_rate"] == pytest.approx(0.4 * choices.peak_rate("tiny", 2_048))
    assert not events(out, "restarted")
    assert json.loads((out / "training" / "began.json").read_text())["restarted"] is True


@pytest.mark.parametrize(
    ("losses", "worth", "step", "ignored"),
    [
        ((5.2, 5.15, 5.15, 5.16), 0.02, 3_000, True),  # flat
        ((6.0, 5.6, 5.3, 5.1), 0.02, 3_000, False),  # still falling
        ((6.0, 5.6, 5.3, 5.1), 0.02, 5_000, True),  # half of the run is over
        ((5.2, 5.15, 5.15, 5.16), 0.3, 5_000, False),
        ((5.2, 5.15, 5.15, 5.16), 0.02, 900, False),  # the warm-up is not over
        ((5.2, 5.15, 5.15, 5.16), None, 5_000, False),
    ],
)
def test_a_source_is_ignored_if_it_is_worth_nothing_and_the_loss_is_flat(
    losses: tuple[float, ...], worth: float | None, step: int, ignored: bool
) -> None:
    assert source_use.is_ignored(losses, worth, step=step, steps=10_000, warmup=1_000) is ignored


def test_a_run_that_is_too_short_is_told_to_be_longer_and_does_not_start_again(train: Train, tmp_path: Path) -> None:
    assert train(words(tmp_path / "pairs.tsv", related=False), preset="auto", steps=60, checkpoint_every=20)
    told = said(tmp_path / "out")
    assert "The model ignores its source" not in told
    assert not events(tmp_path / "out", "restarted")
    assert "60 steps are too few to learn to translate. Train longer: more --minutes or --steps." in told


def test_patience_goes_back_to_the_best_and_lets_the_rate_fall_to_zero(train: Train, tmp_path: Path) -> None:
    """A small corpus and a high rate: the validation loss soon rises."""
    settings = (*SMALL, "training.cooldown=0.3", "validation.patience=2", "model.dropout=0.0")
    data, out = corpus(tmp_path / "pairs.tsv", pairs=60), tmp_path / "out"
    assert train(data, steps=3_000, checkpoint_every=10, settings=settings)
    told = events(out, "validated")
    best = min((event for event in told), key=lambda event: event["loss"])
    (back,) = [event for event in events(out, "said") if "Going back to step" in event["message"]]
    planned = events(out, "planned")[-1]["steps"]
    assert planned < 1_500
    last = events(out, "stepped")[-1]
    assert (last["step"], last["rate"]) == (planned, 0.0)
    waited = "2 validations brought neither a lower loss nor a source that is worth more"
    assert back["message"].startswith(f"{waited}. Going back to step ")
    assert best["loss"] <= told[-1]["loss"] + 1e-9
    names = [place.name for place in (out / "training" / "checkpoints").glob("step-*")]
    assert max(names) == f"step-{planned:08d}"
    before = (out / "weights.safetensors").read_bytes()
    assert train(data, steps=3_000, checkpoint_every=10, settings=settings, resume=True)
    assert (out / "weights.safetensors").read_bytes() == before


def test_minutes_plan_a_schedule_that_ends_in_time_at_a_rate_of_zero(
    train: Train, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = count(0.0, 0.002).__next__  # time passes by being looked at, so that a busy machine changes nothing
    for module in (loop, window):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    monkeypatch.setattr(loop, "_LOG_SECONDS", 0.1)
    monkeypatch.setattr(loop, "Pace", lambda: Pace(clock))
    data, out = corpus(tmp_path / "pairs.tsv"), tmp_path / "out"
    assert train(data, steps=1_000_000, minutes=0.03, settings=(*SMALL, "validation.every=50"))
    last = events(out, "stepped")[-1]
    assert 100 < last["step"] < 2_000
    assert last["seconds"] <= 60 * 0.03
    peak = max(event["rate"] for event in events(out, "stepped"))
    assert last["rate"] < 0.2 * peak
    assert "minutes are enough for about" in said(out)


def test_a_plan_shortens_warm_up_and_cooldown_and_a_step_limit_that_is_reached_needs_none() -> None:
    settings = TrainingSettings(steps=10_000, warmup=4_000, peak_rate=1e-3, minutes=10)
    plan = for_minutes(settings, step=20, seconds=30, per_step=0.5)
    assert plan
    assert plan.steps == 20 + int((600 * 0.97 - 30) / 0.5)
    assert plan.cooling == round(0.3 * plan.steps)
    assert plan.warmup == int(0.2 * plan.steps)
    assert for_minutes(settings, step=20, seconds=30, per_step=0.01) is None
    rates = [rate(step, settings, d_model=256, plan=plan) for step in range(1, plan.steps + 1)]
    assert max(rates) == pytest.approx(1e-3)
    assert rates[-1] == 0
    assert rates.index(max(rates)) == plan.warmup - 1
    course = Course(settings, plan)
    assert (course.steps, course.warmup, course.cools(plan.steps - plan.cooling)) == (plan.steps, plan.warmup, True)
    assert Course(settings.model_copy(update={"steps": 20_000}), plan).steps == 20_000


def test_an_overfitted_run_cools_down_from_its_best_step() -> None:
    settings = TrainingSettings(steps=10_000, warmup=1_000, peak_rate=1e-3, cooldown=0.3)
    plan = after_overfitting(settings, None, best=2_000, at_least=100)
    assert plan == Plan(instead_of=10_000, steps=2_600, cooling=600, warmup=1_000, why="overfitting")
    at_best = rate(2_000, settings, d_model=256)
    assert rate(2_000, settings, d_model=256, plan=plan) == at_best
    assert rate(2_300, settings, d_model=256, plan=plan) == pytest.approx(at_best / 2 * math.sqrt(2_000 / 2_300))


def test_the_best_weights_are_those_whose_source_is_worth_most_not_those_of_the_lowest_loss() -> None:
    """A small corpus: the decoder overfits as a language model while it still learns to translate."""
    progress, found = Progress(), []
    for step, (loss, worth) in enumerate([(7.0, 0.05), (6.0, 0.01), (6.3, 0.3), (6.8, 0.5), (6.9, 0.503), (6.9, 0.4)]):
        told = Validated(step, loss, math.exp(loss), False, 1.0, {}, [], worth)
        found.append(merit(told, progress, by_worth=True))
        assert merit(told, progress, by_worth=False)[:1] == (loss in (7.0, 6.0),)
        lowest, most = min(loss, progress.best_loss or loss), max(worth, progress.best_worth or 0.0)
        progress = progress.model_copy(update={"best_loss": lowest, "best_worth": most})
    assert [each.best for each in found] == [True, True, True, True, True, False]
    assert [each.learning for each in found] == [True, True, True, True, False, False]


def test_the_rate_does_not_jump_where_a_run_was_best_in_its_warm_up() -> None:
    settings = TrainingSettings(steps=10_000, warmup=1_000, peak_rate=1e-3, cooldown=0.3)
    plan = after_overfitting(settings, None, best=100, at_least=100)
    rates = [rate(step, settings, d_model=256, plan=plan) for step in range(100, 201)]
    assert rates[0] == rate(100, settings, d_model=256) == pytest.approx(1e-4)
    assert max(rates) < 1.2 * rates[0]
    assert rates[-1] == 0


def test_the_pace_leaves_out_the_first_steps_and_follows_a_machine_that_becomes_slower() -> None:
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    due = []
    for step in range(1, 40):
        now[0] += 100.0 if step <= 3 else 0.5
        if pace.is_due(step):
            due.append(step)
            assert pace.per_step() == pytest.approx(0.5)
    assert due == [11, 19, 27, 35]
    for step in range(40, 84):
        now[0] += 2.0
        if pace.is_due(step):
            slower = pace.per_step()
    assert slower == pytest.approx(2.0)  # by the second half of the steps


def test_the_length_penalty_is_the_best_of_those_with_the_right_length_or_the_nearest() -> None:
    short = [Candidate(0.6, 0.90, 50.0), Candidate(1.0, 0.98, 49.0), Candidate(1.2, 1.01, 49.5)]
    assert chosen(short).penalty == 1.2
    assert chosen([short[0], Candidate(1.4, 0.95, 40.0)]).penalty == 1.4
    assert chosen([Candidate(0.3, 1.0, 60.0), Candidate(0.6, 1.0, 60.0), Candidate(0.8, 1.0, 60.0)]).penalty == 0.6
    assert length_ratio(["a b c d"], ["a b c d e"]) == pytest.approx(0.8)
    assert length_ratio(["abcd"], ["abcde"]) == pytest.approx(0.8)


def test_a_model_searches_with_its_own_length_penalty_unless_another_is_given(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model", steps=5)
    loaded = modelfolder.load(folder)
    assert regard.load(folder, device="cpu", engine="torch").default_search.length_penalty == 0.6
    modelfolder.save(
        folder,
        loaded.model,
        architecture=loaded.description.architecture,
        settings=loaded.model.settings,
        languages=loaded.description.languages,
        training={"search": {"length_penalty": 1.4}},
        tokeniser=loaded.tokeniser,
    )
    translator = regard.load(folder, device="cpu", engine="torch")
    assert translator.default_search.length_penalty == 1.4
    own = translator.translate("alto berin", n_best=1)
    assert own == translator.translate("alto berin", length_penalty=1.4)
    logprobs = translator.translate("alto berin", logprobs=True)
    assert own.score == pytest.approx(sum(logprobs.logprobs) / ((5 + len(logprobs.logprobs)) / 6) ** 1.4, rel=1e-4)


@pytest.mark.parametrize(("pairs", "words"), [(1_000, 7), (3_000, 22), (29_000, 12), (30_000, 25), (1_700_000, 25)])
def test_advice_trains_small_corpora_for_many_epochs_and_large_ones_for_few(pairs: int, words: int) -> None:

    side = texts(pairs, words)
    advice = advise(pairs, source=side, target=side)
    training, validation = advice.tables["training"], advice.tables["validation"]
    epochs = advice.steps * advice.batch_tokens / advice.tokens
    assert {1_000: 300, 3_000: 120, 29_000: 80, 30_000: 40, 1_700_000: 10}[pairs] < epochs
    assert epochs < {1_000: 500, 3_000: 200, 29_000: 160, 30_000: 80, 1_700_000: 20}[pairs]
    assert training["cooldown"] > 0
    assert validation["patience"] * validation["every"] < 0.25 * training["steps"]
    assert training["warmup"] <= 0.2 * training["steps"]
    data = {"files": ["x"], "source": "en", "target": "de"}
    put_together([presets.load(advice.preset).tables, advice.tables, {"data": data}], where="a test")


def test_advice_for_few_minutes_is_a_smaller_model_in_smaller_batches() -> None:

    speeds, side = {"tiny": 8_000.0, "small": 2_000.0, "base": 200.0}, texts(100_000, 25)

    def within(minutes: float) -> Advice:
        budget = Budget(minutes, lambda preset, _: speeds[preset])
        return advise(100_000, source=side, target=side, budget=budget)

    chosen = [within(minutes) for minutes in (10, 600, 100_000)]
    assert [advice.preset for advice in chosen] == ["tiny", "small", "base"]
    assert [advice.batch_tokens for advice in chosen] == [2_048, 8_192, 16_384]
    assert chosen[0].expected_steps == 60 * 10 * 8_000 // 2_048
    assert chosen[0].tables["validation"]["every"] == chosen[0].expected_steps // 10
    assert "10 minutes are too short for base" in chosen[0].reasons[0]
    assert any("the time is enough for about 2,344 steps" in reason for reason in chosen[0].reasons)
    assert chosen[2].expected_steps == chosen[2].steps
