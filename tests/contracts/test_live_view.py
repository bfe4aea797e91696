"""What people see while a model is trained."""

import io
import math
import subprocess
import sys

import pytest
from rich.console import Console

from regard.cli.live import PlainView, TerminalView, view
from regard.training.events import Event, Preparing, Said, Saved
from summaries import events, stepped, validated


class Clock:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def plain(*told: Event, steps: int = 1_000) -> list[str]:
    """The lines; a second goes by after each event."""
    file, clock = io.StringIO(), Clock()
    with PlainView(Console(file=file, width=40), steps=steps, clock=clock) as shown:
        for event in told:
            shown.show(event)
            clock.now += 1
    return file.getvalue().splitlines()


def terminal(*told: Event, steps: int = 10_000, width: int = 110) -> tuple[str, TerminalView]:
    """All that was written to a terminal, as text."""
    console = Console(file=io.StringIO(), force_terminal=True, width=width, record=True, color_system=None)
    with TerminalView(console, steps=steps) as shown:
        for event in told:
            shown.show(event)
    return console.export_text(), shown


def rendered(shown: TerminalView, width: int = 110) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(shown.render())
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_plain_lines_say_everything_once() -> None:
    one = stepped(10)._replace(
        loss=5.1234,
        perplexity=93.2,
        rate=3.5e-6,
        tokens_per_second=41_203.4,
        memory=3_210_000_000,
        epoch=0,
        seconds_left=7_200,
    )
    told = plain(
        Said("29,000 pairs."),
        one,
        validated(20, loss=4.5, perplexity=80.0, best=True),
        validated(30, loss=4.6, perplexity=81.0, scores={"bleu": 12.34, "chrf": 40.0}),
        Saved(30, "checkpoints/step-00000030", 0.42),
    )
    assert told == [
        "29,000 pairs.",
        "step 10 of 1,000 (1.0 %), loss 5.123, perplexity 93.20, rate 3.5e-06, 41,203 tokens/s, memory 3.2 GB, epoch 1, 2 h left",  # noqa: E501
        "step 20: validation loss 4.500, perplexity 80.00, the best so far",
        "step 30: validation loss 4.600, perplexity 81.00, BLEU 12.3, chrF 40.0",
        "step 30: checkpoint written in 0.4 s",
    ]


def test_plain_lines_come_at_most_every_ten_seconds_and_at_the_end() -> None:
    told = plain(*(stepped(step) for step in range(1, 36)), steps=35)
    assert [line.split(" of ")[0] for line in told] == ["step 1", "step 11", "step 21", "step 31", "step 35"]


def test_plain_lines_have_no_control_characters_whatever_is_said() -> None:
    (first, second) = plain(Said("\x1b[31mred\x07 [bold]as it is[/] :smile:\rback\n  and on"))
    assert first == "\ufffd[31mred\ufffd [bold]as it is[/] :smile:\ufffdback"
    assert second == "  and on"
    file = io.StringIO()
    with PlainView(Console(file=file, force_terminal=True), steps=10_000) as shown:
        for event in events(1_000):
            shown.show(event)
    assert all(letter.isprintable() or letter == "\n" for letter in file.getvalue())


def test_plain_lines_fit_what_can_be_written() -> None:
    raw = io.BytesIO()
    with PlainView(Console(file=io.TextIOWrapper(raw, encoding="ascii")), steps=10) as shown:
        shown.show(Said("naïve → done"))
    assert raw.getvalue() == b"na?ve ? done\n"


def test_a_value_that_is_not_a_number_is_shown_as_such() -> None:
    (line,) = plain(stepped(5)._replace(loss=math.nan, perplexity=math.inf, seconds_left=math.inf, skipped=3))
    assert "loss NaN, perplexity infinite" in line
    assert line.endswith("3 skipped, unknown left")
    text, _ = terminal(stepped(5)._replace(loss=math.nan, perplexity=math.inf, seconds_left=math.nan))
    assert "loss NaN  perplexity infinite" in text


def test_the_terminal_shows_where_the_run_stands() -> None:
    _, shown = terminal(
        stepped(2_500)._replace(seconds_left=7_800, epoch=3, loss=3.5),
        validated(2_000, loss=3.25, best=True),
        validated(2_500, loss=3.75, scores={"bleu": 20.0}),
        Saved(2_000, "here", 0.1),
    )
    text = rendered(shown)
    for part in ("2,500 of 10,000", "25.0 %", "2 h 10 min left", "loss 3.500", "tokens/s", "memory 3.2 GB", "epoch 4"):
        assert part in text
    lines = {line.split()[0]: line for line in text.splitlines()[1:]}
    assert "loss 3.750" in lines["validation"]
    assert "BLEU 20.0" in lines["validation"]
    assert "loss 3.250" in lines["best"]
    assert "(step 2,000)" in lines["best"]
    assert "step 2,000" in lines["checkpoint"]


def test_the_bar_grows_with_the_steps() -> None:
    shown = [rendered(terminal(stepped(step))[1]).splitlines()[0] for step in (1, 2_500, 5_000, 10_000)]
    bars = [line.count("━") for line in shown]
    assert bars == sorted(set(bars))
    assert bars[-1] > 40


def test_messages_scroll_by_above_and_the_last_state_stays() -> None:
    text, _ = terminal(Said("the first [bold]message[/]"), stepped(10), Said("the second\x1b[2J"), stepped(10_000))
    assert (
        text.index("the first [bold]message[/]") < text.index("the second\ufffd[2J") < text.rindex("10,000 of 10,000")
    )
    assert "100.0 %" in text


def test_before_the_first_step_the_terminal_says_so() -> None:
    text, shown = terminal()
    assert "starting" in text
    assert "training" not in rendered(shown)


def test_a_narrow_terminal_is_enough() -> None:
    _, shown = terminal(*events(1_000), width=50)
    assert all(len(line) <= 50 for line in rendered(shown, width=50).splitlines())
    assert "1,000 of 10,000" in rendered(shown, width=50)


def test_a_limit_in_minutes_counts_where_it_comes_first() -> None:
    console = Console(file=io.StringIO(), width=110)
    shown = TerminalView(console, steps=10_000, minutes=10)
    shown.show(stepped(100)._replace(seconds=300))
    assert "50.0 %" in rendered(shown)


def test_the_view_is_chosen_by_what_is_at_the_other_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    person, pipe = Console(file=io.StringIO(), force_terminal=True), Console(file=io.StringIO(), force_terminal=False)
    assert isinstance(view(person, steps=1), TerminalView)
    assert isinstance(view(pipe, steps=1), PlainView)
    monkeypatch.setenv("CI", "true")
    assert isinstance(view(person, steps=1), PlainView)
    monkeypatch.delenv("CI")
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(view(Console(file=io.StringIO(), force_terminal=True), steps=1), PlainView)


def test_the_display_is_taken_down_when_training_fails() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with pytest.raises(ZeroDivisionError), TerminalView(console, steps=10):
        raise ZeroDivisionError
    assert console.file.getvalue().endswith("\x1b[?25h")  # type: ignore[attr-defined]


def test_the_view_is_no_command_and_imports_nothing_heavy() -> None:
    code = "import sys, regard.cli.live; print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "rich.live" in modules
    assert not {"torch", "numpy", "pydantic", "sacrebleu"} & set(modules)
    told = subprocess.run([sys.executable, "-m", "regard", "live"], capture_output=True, text=True, check=False)
    assert told.returncode == 2
    assert "No such command" in told.stderr


def test_a_terminal_shows_a_moving_bar_and_a_count_while_the_corpus_is_prepared() -> None:
    console = Console(file=io.StringIO(), width=100, force_terminal=True)
    shown_to = TerminalView(console, steps=10)
    shown_to.show(Preparing(81_920, 242_157))
    console.print(shown_to.render())
    shown = console.file.getvalue()
    assert "preparing the corpus: 81,920 of 242,157 pairs" in shown
    assert "━" in shown
