"""Part "speed": training steps of ours and of the peers, in alternating rounds on the same sentences."""

from __future__ import annotations

import statistics
import time
import traceback
from collections.abc import Callable

from regard.batches.rows import Batch
from training_parts import corpora, ours, peers, work
from training_parts.ours import Step, Warm, Workshop, warmed
from training_parts.scale import Figures, free_memory, wait

OURS = {"Regard base": "base", "Regard big": "big"}
MOST_STEPS = 40
GOALS = {"Regard base": 930_000, "Regard big": 390_000}
AHEAD = 2.5  # times torch.nn.Transformer, compiled


class Contest:
    """Programs that take turns."""

    def __init__(self, shop: Workshop, *, rounds: int, only: list[str], compiles: bool) -> None:
        self.shop, self.scale, self.rounds = shop, shop.scale, rounds
        self.only, self.compiles = only, compiles
        self.programs: dict[str, Warm] = {}
        self.steps: dict[str, int] = {}  # in a round
        self.seconds: dict[str, list[float]] = {}  # a step, in each round
        self.speeds: dict[str, list[float]] = {}  # target tokens a second
        self.filled: dict[str, list[float]] = {}
        self.batches: list[Batch] = []

    def run(self) -> None:
        corpus = self.shop.corpus()
        means = [float(side.lengths.mean()) for side in corpus.streams.values()]
        print(f"{len(corpus):,} pairs, {means[0]:.1f} and {means[1]:.1f} tokens a sentence, up to {corpus.longest}")
        for name in [*OURS, *peers.PEERS]:
            if not self.only or any(part.lower() in name.lower() for part in self.only):
                self._warm_up(name)
        for number in range(self.rounds):
            if number >= 3 and self.shop.late():
                print(f"The time is over after {number} rounds.")
                break
            for name in list(self.programs):
                self._turn(name, number)
        for name in self.programs:
            self.shop.figures.setdefault("speed", {})[name] = self._row(name)
        self._check()

    def _warm_up(self, name: str) -> None:
        if self.shop.late():
            print(f"{name}: left out, the time is over.")
            return
        try:
            self.programs[name] = self._warm(name)
        except Exception:  # noqa: BLE001  the others go on
            print(f"{name}: this did not work.\n{traceback.format_exc()}", flush=True)
            free_memory(self.scale.device)
            return
        warm = self.programs[name]
        wait(self.scale.device)
        began = time.perf_counter()
        for _ in range(3):
            warm.step()
        wait(self.scale.device)
        each = (time.perf_counter() - began) / 3
        self.steps[name] = max(3, min(MOST_STEPS, round(self.scale.seconds / each)))
        self.seconds[name], self.speeds[name], self.filled[name] = [], [], []
        print(f"{name}: first step after {warm.first:.1f} s, {warm.memory / 2**30:.1f} GiB, about {1e3 * each:.1f} ms",
              flush=True)  # fmt: skip

    def _warm(self, name: str) -> Warm:
        if name == "Regard base":
            return self.shop.base()
        if name in OURS:
            make: Callable[[], Step] = lambda: ours.program(  # noqa: E731
                self.scale.settings(OURS[name]), self.shop.corpus(), self.scale
            )
            return warmed(make, self.scale, model=OURS[name], more=5)
        if not self.batches:
            self.batches = corpora.padded(self.shop.corpus(), self.scale.batch_tokens, most=self.scale.peer_batches)
        settings = self.scale.settings("base")
        return warmed(
            lambda: peers.program(name, settings, self.batches, self.scale, compiles=self.compiles),
            self.scale, model="base", more=self.scale.peer_batches,
        )  # fmt: skip

    def _turn(self, name: str, number: int) -> None:
        """One round of one program."""
        step, count = self.programs[name].step, self.steps[name]
        try:
            wait(self.scale.device)
            began = time.perf_counter()
            done = [step() for _ in range(count)]
            wait(self.scale.device)
            seconds = time.perf_counter() - began
        except Exception:  # noqa: BLE001  the others go on
            print(f"{name}: this failed in round {number}.\n{traceback.format_exc()}", flush=True)
            del self.programs[name]
            free_memory(self.scale.device)
            return
        tokens, filled, slots = (sum(numbers) for numbers in zip(*done, strict=True))
        self.seconds[name].append(seconds / count)
        self.speeds[name].append(tokens / seconds)
        self.filled[name].append(filled / slots)
        print(f"  round {number + 1}: {name}: {tokens / seconds:,.0f} target tokens/s", flush=True)

    def _row(self, name: str) -> Figures:
        warm, speed = self.programs[name], statistics.median(self.speeds[name])
        each = sum(work.operations_of(self.scale.settings(warm.model), self.shop.corpus()))
        return {
            "tokens_per_second": speed,
            "milliseconds": 1e3 * statistics.median(self.seconds[name]),
            "tflops": speed * each / 1e12,
            "memory": warm.memory / 2**30,
            "filled": statistics.mean(self.filled[name]),
            "first_step": warm.first,
            "rounds": self.speeds[name],
        }

    def _check(self) -> None:
        speeds = {name: row["tokens_per_second"] for name, row in self.shop.figures.get("speed", {}).items()}
        checks = self.shop.figures.setdefault("checks", {})
        for name, goal in GOALS.items():
            if name in speeds:
                checks[name] = f"{speeds[name]:,.0f} target tokens/s; asked: {goal:,}", speeds[name] >= goal
        beside = {name: speeds[name] for name in speeds if name.startswith("torch.nn")}
        for peer in beside if "Regard base" in speeds else ():
            times = speeds["Regard base"] / beside[peer]
            checks[f"ahead of {peer}"] = f"{times:.2f} times; asked: {AHEAD}", times >= AHEAD


def measure(shop: Workshop, *, rounds: int, only: list[str], compiles: bool) -> None:
    """Puts a row for each program into the figures."""
    Contest(shop, rounds=rounds, only=only, compiles=compiles).run()
