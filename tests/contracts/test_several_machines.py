"""Training on two "machines": network namespaces of this one, with a cable between them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs import corpus, environment, events, options, run

STEPS, EVERY, DIES = 30, 10, 16
SETTINGS = ("model.dropout=0.0", "validation.every=5")
_TRAINING = """
import os, signal
from regard.cli import main
from regard.training.optimisation import Optimisation

step = Optimisation.step

def dying(self, batch, *, number, rate, flags=()):
    if str(number) == os.environ.get("DIES_AT"):
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, batch, number=number, rate=rate, flags=flags)

Optimisation.step = dying
main()
"""


class Machine:
    """A namespace, in which torchrun runs."""

    def __init__(self, name: str, number: int, first: "Machine | None" = None) -> None:
        self.name, self.address, self.first = name, f"10.203.7.{number}", first or self

    def start(self, script: Path, arguments: list[str], told: Path, **more: str) -> subprocess.Popen[bytes]:
        """One process of the training, among two."""
        host = str(self.first is self).lower()
        torchrun = [
            "--nnodes=2", "--nproc-per-node=1", "--max-restarts=3", "--monitor-interval=0.1",
            "--rdzv-backend=c10d", f"--rdzv-endpoint={self.first.address}:29500", f"--local-addr={self.address}",
            f"--rdzv-conf=is_host={host},keep_alive_interval=1,keep_alive_max_attempt=3",
        ]  # fmt: skip
        own = {"GLOO_SOCKET_IFNAME": "cable", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **more}
        with told.open("ab") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.name, *_torchrun(torchrun, script, arguments)],  # noqa: S607
                stdout=file, stderr=file, env=environment(told.parent / "cache") | own,
            )  # fmt: skip

    def sent(self) -> int:
        """The bytes that have left this machine."""
        told = _ip("-n", self.name, "-j", "-s", "link", "show", "dev", "cable")
        return int(json.loads(told)[0]["stats64"]["tx"]["bytes"])


def _torchrun(how: list[str], script: Path, arguments: list[str]) -> list[str]:
    return [sys.executable, "-m", "torch.distributed.run", *how, str(script), *arguments]


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True).stdout  # noqa: S607


@pytest.fixture
def machines() -> Iterator[list[Machine]]:
    names = [f"regard-{os.getpid()}-{number}" for number in (1, 2)]
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", "cable", "netns", names[0], "type", "veth", "peer", "name", "cable", "netns", names[1])
        first = Machine(names[0], 1)
        both = [first, Machine(names[1], 2, first)]
        for machine in both:
            _ip("-n", machine.name, "address", "add", f"{machine.address}/24", "dev", "cable")
            for link in ("lo", "cable"):
                _ip("-n", machine.name, "link", "set", link, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        _remove(names)
        why = getattr(error, "stderr", None) or error
        pytest.skip(f"network namespaces cannot be made here: {why}")
    try:
        yield both
    finally:
        _remove(names)


def _remove(names: list[str]) -> None:
    for name in names:
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)  # noqa: S607


def test_a_machine_that_is_killed_and_started_again_costs_the_steps_since_the_last_checkpoint(
    machines: list[Machine], tmp_path: Path
) -> None:
    data, script, out = corpus(tmp_path / "data.tsv"), tmp_path / "training.py", tmp_path / "out"
    script.write_text(_TRAINING)
    more = ("--steps", str(STEPS), "--checkpoint-every", str(EVERY))
    arguments = options(data, out, *more, settings=SETTINGS)
    told = [tmp_path / f"machine-{number}.txt" for number in (1, 2)]
    first = machines[0].start(script, arguments, told[0])
    second = machines[1].start(script, arguments, told[1], DIES_AT=str(DIES))
    try:
        assert second.wait(120) != 0
        shutil.copytree(out, tmp_path / "stopped")
        second = machines[1].start(script, arguments, told[1])
        resumed = subprocess.Popen(
            _torchrun(
                ["--standalone", "--nproc-per-node=2"],
                script,
                options(data, tmp_path / "stopped", *more, "--resume", settings=SETTINGS),
            ),
            env=environment(tmp_path / "cache"),
        )
        for started, path in ((first, told[0]), (second, told[1]), (resumed, told[0])):
            assert started.wait(120) == 0, path.read_text()
    finally:
        for started in (first, second):
            started.kill()
    assert any(f"Resuming after step {EVERY}" in said["message"] for said in events(out, "said"))
    assert (out / "weights.safetensors").read_bytes() == (tmp_path / "stopped" / "weights.safetensors").read_bytes()
    alone = run(data, tmp_path / "alone", *more, settings=SETTINGS)
    assert alone.returncode == 0, alone.stderr
    losses = [
        {event["step"]: event["loss"] for event in events(place, "validated")} for place in (out, tmp_path / "alone")
    ]
    assert list(losses[1]) == list(range(5, STEPS + 1, 5))
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    stepped = events(out, "stepped")[-1]
    assert stepped["waited"] > 0
    sent = machines[0].sent()
    done = STEPS - EVERY + DIES - 1
    assert done * stepped["exchanged"] < sent < 3 * done * stepped["exchanged"], (sent, stepped)
