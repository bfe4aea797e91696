"""What is left of a training run for people: its report and its card, whatever happened in it."""

import math
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from pages import Reader
from regard.errors import TrainingError
from regard.training.events import Event, Said, Saved, Stepped, Validated
from regard.training.report import figures
from regard.training.report.board import board
from regard.training.report.card import LICENCE, card
from regard.training.report.curves import Curve, chart, thinned
from regard.training.report.history import growth, messages, series, trend
from regard.training.report.report_page import report, write_report
from regard.training.report.summary import Summary
from summaries import SAMPLES, SIGNATURES, events, journal, stepped, summary, validated

EVIL = "<script>alert('x')</script> & \"quoted\" <img src=x onerror=alert(1)> `x` |"


def bare(told: list[Event]) -> Summary:
    """A run of which little is known."""
    return summary(told)._replace(
        languages={}, recipe={}, reasons=[], corpus={}, vocabulary={}, validation="", steps=0, tokens=0, seconds=0.0,
        machine={}, scores={}, signatures={}, samples=[],
    )  # fmt: skip


def test_the_report_is_whole_and_needs_nothing_beside_it() -> None:
    text = report(summary())
    found = Reader.of(text)
    assert found.addresses
    assert all(address.startswith("#") and address[1:] in found.names for address in found.addresses)
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert "url(" not in text
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_the_report_is_ordered_by_headings_that_links_can_lead_to() -> None:
    found = Reader.of(report(summary()))
    assert found.headings[0] == 1
    assert all(later - earlier <= 1 for earlier, later in zip(found.headings, found.headings[1:], strict=False))
    assert len(found.names) == len(set(found.names))


def test_the_report_shows_the_scores_of_both_models_with_their_signatures() -> None:
    text = Reader.of(report(summary())).text
    for shown in ("38.7", "63.2", "38.1", "62.9", "2.201", "2.231", "averaged", "best", *SIGNATURES.values()):
        assert shown in text
    for shown in ("10,000", "1 h 40 min", "246 million", "40,932 per second", "NVIDIA H200", "11,034,624"):
        assert shown in text


def test_the_report_of_several_processes_shows_what_a_step_exchanged_and_how_long_it_waited() -> None:
    told: list[Event] = [stepped(step, exchanged=252_000_000, waited=0.03) for step in range(20, 1001, 20)]
    page = report(summary(told)._replace(steps=1000, seconds=600.0))
    assert "<strong>252 MB</strong> summed over processes a step<small>30 ms waited, 5.0 % of the time</small>" in page
    assert "summed over processes" not in report(summary())


def test_the_report_tells_what_became_of_the_data_in_words() -> None:
    text = Reader.of(report(summary())).text
    assert "28,400 of 28,920 sentence pairs were kept (98.2 %)." in text
    for shown in ("the same pair came before", "412", "the target is empty", "spaces were collapsed", "blank line"):
        assert shown in text
    assert "Held out were 1,014 pairs" in text


def test_the_report_shows_every_setting_the_reasons_and_the_command() -> None:
    text = Reader.of(report(summary())).text
    for table, settings in summary().recipe.items():
        assert f"[{table}]" in text
        assert all(key in text for key in settings)
    assert "128, 256" in text
    assert "algorithm bpe" in text
    assert summary().reasons[0] in text
    assert summary().command in text


def test_words_of_a_sample_that_differ_from_the_reference_are_marked() -> None:
    text = report(summary())
    assert "Ein Hund <del>rennt</del> <ins>läuft</ins> über den Schnee." in text
    assert "in einem <del>roten</del> Auto." in text
    assert '<dd dir="auto" lang="de">' in text


def test_an_empty_translation_is_called_nothing() -> None:
    empty = report(summary()._replace(samples=[("a", "one word", "")]))
    assert '<em class="nothing">nothing</em> <del>one word</del></dd>' in empty


def test_what_was_said_stands_with_its_step_and_its_time() -> None:
    said = messages(journal(events()))
    assert [(message.step, message.seconds) for message in said] == [(0, 0.0), (0, 0.0), (5_000, 3_000.0)]
    text = report(summary())
    assert "<td>at the start</td><td></td>" in text
    assert "<td>step 5,000</td><td>50 min</td>" in text
    assert "gradient is inf, so this update was skipped" in text


def test_very_many_messages_are_cut_and_counted() -> None:
    text = Reader.of(report(summary([Said(f"message {number}") for number in range(250)]))).text
    assert "The first 200 messages; 50 more are in metrics.jsonl." in text
    assert "message 199" in text
    assert "message 200" not in text


def test_curves_are_drawn_for_all_that_was_measured_and_told_to_those_who_cannot_see_them() -> None:
    text = report(summary())
    labels = re.findall(r'role="img" aria-label="([^"]+)"', text)
    assert [label.split(".")[0] for label in labels] == [
        "Loss", "Perplexity", "Validation scores", "Learning rate", "Speed", "Gradient",
    ]  # fmt: skip
    assert "training: 8.988 at step 20, " in labels[0]
    assert "validation: 5.679 at step 500, " in labels[0]
    assert text.count(">step</text>") == 6
    assert "<title>validation, step 500: 5.679</title>" in text


def test_hostile_text_stays_text() -> None:
    one = summary([Said(EVIL), validated(10, scores={EVIL: 1.0}, samples=[(EVIL, EVIL, EVIL)])])
    evil = one._replace(
        name=EVIL, languages={"source": EVIL, "target": EVIL}, architecture=EVIL, recipe={EVIL: {EVIL: EVIL}},
        reasons=[EVIL], corpus={"kept": 1, "dropped": {EVIL: 1}}, vocabulary={EVIL: 1}, validation=EVIL, command=EVIL,
        machine={EVIL: EVIL, "device": EVIL}, scores={EVIL: {EVIL: 1.0}}, signatures={EVIL: EVIL},
        samples=[(EVIL, EVIL, EVIL)],
    )  # fmt: skip
    found = Reader.of(report(evil))
    assert EVIL in found.text
    assert not {"script", "img"} & set(found.tags)


@pytest.mark.parametrize(
    "told",
    [
        [],
        [Said("only this")],
        [stepped(1)],
        [validated(1)],
        [Saved(1, "here", 0.1)],
        [stepped(1, loss=math.nan, perplexity=math.inf, rate=math.nan, gradient=-math.inf, tokens_per_second=0.0)],
        [stepped(step, loss=math.nan) for step in range(1, 9)] + [validated(9, loss=math.nan, perplexity=math.inf)],
        [stepped(1, loss=1e300, perplexity=1e-300), stepped(2, loss=-1e300, perplexity=0.0)],
        [validated(1, scores={"bleu": math.nan}), validated(2, scores={"bleu": 0.0})],
    ],
    ids=["nothing", "words", "step", "look", "checkpoint", "nan", "all nan", "huge", "nan score"],
)
@pytest.mark.parametrize("known", [summary, bare])
def test_no_run_is_too_odd_for_a_report_and_a_card(told: list[Event], known: Any) -> None:
    found = Reader.of(report(known(told)))
    assert "Learning curves" in found.text
    assert not re.search(r'(x|y|cx|cy|points|x1|y1)="[^"]*(nan|inf)', report(known(told)))
    assert card(known(told)).startswith("# captions\n")


def test_values_that_are_not_numbers_are_left_out_and_counted() -> None:
    told: list[Event] = [stepped(1), stepped(2, loss=math.nan), stepped(3, loss=math.inf), stepped(4)]
    found = series(journal(told), "stepped", "loss")
    assert [step for step, _ in found.points] == [1, 4]
    assert found.left_out == 2
    assert "2 values are NaN or infinite and not shown." in report(summary(told))


def test_scores_that_are_not_numbers_are_called_so() -> None:
    odd = summary()._replace(scores={"averaged": {"loss": math.nan, "perplexity": math.inf}}, signatures={})
    assert "NaN" in Reader.of(report(odd)).text
    assert "| averaged (this folder) | NaN | infinite |" in card(odd)


def test_a_run_without_scores_says_so() -> None:
    without = summary([stepped(1)])._replace(scores={}, samples=[])
    assert "No scores were measured on held-out pairs." in Reader.of(report(without)).text
    assert "Validation scores" not in Reader.of(report(without)).text
    assert "## Scores\n\nNot measured." in card(without)


def test_a_hundred_thousand_points_are_thinned_and_no_peak_is_lost() -> None:
    points = [(float(step), math.sin(step)) for step in range(100_000)]
    points[54_321] = (54_321.0, 99.0)
    points[12_345] = (12_345.0, -99.0)
    kept = thinned(points)
    assert len(kept) <= 1_200
    assert {points[0], points[-1], points[54_321], points[12_345]} <= set(kept)
    assert kept == sorted(kept)
    told = summary(events(200_000, every=2, look=1_000))
    assert len(told.events) > 100_000
    assert len(report(told)) < 500_000


def test_few_points_are_all_kept() -> None:
    points = [(float(step), 1.0) for step in range(1_200)]
    assert thinned(points) == points


def test_steps_that_a_run_did_again_count_once() -> None:
    told: list[Event] = [stepped(10), stepped(20, loss=9.0), Said("Back to step 10."), stepped(15), stepped(20)]
    found = series(journal(told), "stepped", "loss").points
    assert [step for step, _ in found] == [10, 15, 20]
    assert found[-1][1] != 9.0


@pytest.mark.parametrize(
    ("points", "labels"),
    [
        ([(1.0, 0.0), (1000.0, 1.0)], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([(1.0, 3.0)], ["2.6", "2.8", "3", "3.2", "3.4"]),
        ([(1.0, 0.0), (2.0, 0.0005)], ["0", "0.0001", "0.0002", "0.0003", "0.0004", "0.0005"]),
        ([(1.0, 0.0), (2.0, 5e-6)], ["0", "1·10⁻⁶", "2·10⁻⁶", "3·10⁻⁶", "4·10⁻⁶", "5·10⁻⁶"]),
        ([(1.0, 0.0), (2.0, 50_000.0)], ["0", "10k", "20k", "30k", "40k", "50k"]),
    ],
)
def test_an_axis_has_round_labels(points: list[tuple[float, float]], labels: list[str]) -> None:
    drawn = chart([Curve("one", points, 1)], title="One")
    assert re.findall(r'class="up"[^>]*>([^<]+)<', drawn) == labels


def test_the_axis_of_steps_has_whole_steps_and_ends_with_the_last_one() -> None:
    for last, labels in (
        (1, ["0", "1"]),
        (3, ["0", "1", "2", "3"]),
        (4_100, ["0", "1,000", "2,000", "3,000", "4,000"]),
    ):
        drawn = chart([Curve("one", [(1.0, 1.0), (float(last), 2.0)], 1)], title="One")
        assert re.findall(r'class="across"[^>]*>([^<]+)<', drawn) == labels


def test_a_wide_range_is_drawn_on_a_logarithmic_scale() -> None:
    drawn = chart([Curve("one", [(1.0, 30_000.0), (2.0, 4.0)], 1)], title="One", logarithmic=True)
    assert re.findall(r'class="up"[^>]*>([^<]+)<', drawn) == ["1", "10", "100", "1,000", "10k", "100k"]


@pytest.mark.parametrize(
    ("losses", "says"),
    [
        ([3.0, 2.0], ""),
        ([3.0, 2.0, 1.0], "was still falling"),
        ([3.0, 1.0, 2.0, 2.0], "lowest at step 2 and has not fallen since"),
        ([3.0, 2.5, 2.0, 1.5, 1.6], "lowest at step 4, near the end"),
        ([math.nan] * 4, ""),
    ],
)
def test_validations_say_whether_a_run_was_long_enough(losses: list[float], says: str) -> None:
    told: list[Event] = [validated(step, loss=loss) for step, loss in enumerate(losses, start=1)]
    found = trend(journal(told))
    assert says in found
    assert bool(says) == bool(found)


def test_how_a_translation_grew_is_told_by_its_changes() -> None:
    found = growth(journal(events()), most=8)
    assert list(found) == [SAMPLES[0][:2]]
    assert [step for step, _ in found[SAMPLES[0][:2]]] == [1_000, 3_000, 6_000]
    text = Reader.of(report(summary())).text
    assert "How translations improved" in text
    assert "Ein Mann ist über den Hund ." in text
    many = [validated(step, samples=[("a", "b", str(step))]) for step in range(1, 101)]
    (stages,) = growth(journal(list(many)), most=8).values()
    assert [stages[0][0], stages[-1][0], len(stages)] == [1, 100, 8]


def test_the_report_is_written(tmp_path: Path) -> None:
    lone = summary()._replace(command="regard train \udcff")
    write_report(tmp_path / "report.html", lone)
    assert "regard train ?" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_the_card_tells_how_to_use_the_model_and_how_good_it_is() -> None:
    text = card(summary())
    assert "Translates en to de." in text
    assert "regard translate captions\n" in text
    assert 'translator = regard.load("captions")' in text
    assert "| averaged (this folder) | 2.201 | 3.01 | 38.7 | 63.2 |" in text
    assert "| best checkpoint (best/) | 2.231 | 3.10 | 38.1 | 62.9 |" in text
    assert all(f"`{signature}`" in text for signature in SIGNATURES.values())


def test_the_card_tells_the_data_what_was_dropped_and_where_the_licence_belongs() -> None:
    text = card(summary())
    assert "Trained on: `multi30k/train`." in text
    assert "| the same pair came before | 412 |" in text
    assert summary().validation in text
    assert f"## Licence\n\n{LICENCE}\n" in text
    assert "Other domains were not measured" in text


def test_the_card_tells_how_the_model_was_trained() -> None:
    text = card(summary())
    assert f"```sh\n{summary().command}\n```" in text
    for row in ("| time | 1 h 40 min |", "| device | NVIDIA H200 |", "| warm-up steps | 4000 |", "| steps | 10,000 |"):
        assert row in text


def test_the_card_of_an_adapted_model_does_not_claim_that_it_knows_all_its_data() -> None:
    assert "trained on the data named above and on nothing else" in card(summary())
    adapted = summary()
    adapted.recipe["data"]["adapt"] = "models/base"
    assert "It started from `models/base`, which has its own card" in card(adapted)


@pytest.mark.parametrize(
    ("architecture", "told"), [("transformer", "A transformer"), ("encoder_only", "An encoder-only")]
)
def test_an_architecture_is_named_as_one_says_it(architecture: str, told: str) -> None:
    run = summary()._replace(architecture=architecture)
    assert f"{told} model with" in card(run)
    assert f"{told} model with" in report(run)


def test_hostile_text_is_no_markup_in_the_card() -> None:
    evil = summary()._replace(name=EVIL, languages={"source": EVIL, "target": EVIL}, command=f"```\n{EVIL}", scores={})
    text = card(evil)
    assert "# \\<script\\>" in text
    assert f"````sh\n```\n{EVIL}\n````" in text
    prose = re.sub(r"(`{3,}).*?\n\1", "", text, flags=re.DOTALL)
    assert "<" not in re.sub(r"\\.", "", prose)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0.42, "0.4 s"), (9.97, "10 s"), (75, "75 s"), (600, "10 min"), (3_600, "1 h"), (7_500, "2 h 5 min"),
        (273_600, "3 d 4 h"), (math.nan, "unknown"), (math.inf, "unknown"), (None, "unknown"), (-3, "0.0 s"),
    ],
)  # fmt: skip
def test_times_are_told_as_people_say_them(seconds: Any, told: str) -> None:
    assert figures.duration(seconds) == told


def test_sizes_and_small_numbers_are_told_as_people_write_them() -> None:
    assert [figures.size(number) for number in (12, 5_400, 7e6, 3.21e9)] == ["12 B", "5 kB", "7 MB", "3.2 GB"]
    assert [figures.small(number) for number in (0, 0.0007, 0.000005)] == ["0", "0.0007", "5 × 10⁻⁶"]
    assert [figures.perplexity(number) for number in (3.014, 2666.2, math.inf)] == ["3.01", "2,666", "infinite"]
    assert [figures.percent(1, 3), figures.percent(1, 9_999), figures.percent(1, 0)] == ["33.3 %", "under 0.1 %", ""]


def test_a_missing_tensorboard_names_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(TrainingError, match=re.escape("pip install 'regard[tensorboard]'")):
        board(tmp_path)


class Writer:
    """Remembers what is written."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.written: dict[tuple[str, int], Any] = {}
        self.flushes = 0
        Writer.last = self

    last: "Writer"

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self.written[name, step] = value

    add_text = add_scalar

    def flush(self) -> None:
        self.flushes += 1


def test_tensorboard_gets_every_number_at_its_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake = types.ModuleType("torch.utils.tensorboard")
    fake.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", fake)
    tell = board(tmp_path)
    one: Stepped = stepped(5)
    two: Validated = validated(6, scores={"bleu": 12.5}, samples=[("a", "b", "c")])
    for event in (Said("begun"), one, two, Saved(6, "here", 0.1), Said("ended")):
        tell(event)
    written = Writer.last.written
    assert Writer.last.folder == str(tmp_path)
    assert written["training/loss", 5] == one.loss
    assert written["training/tokens_per_second", 5] == one.tokens_per_second
    assert written["validation/loss", 6] == two.loss
    assert written["validation/bleu", 6] == 12.5
    assert [written["messages", 0], written["messages", 6]] == ["begun", "ended"]
    assert "    c" in written["samples/1", 6]
    assert Writer.last.flushes == 2
