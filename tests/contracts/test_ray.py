"""Shards over real Ray: node processes on this machine, some of which are killed while they work."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import pytest

from regard import SettingsError
from regard.shards import over_ray
from runs import environment
from trained import sentence

pytestmark = [
    pytest.mark.skipif(
        find_spec("ray") is None or find_spec("ctranslate2") is None,
        reason='needs Ray and CTranslate2: pip install "regard[fast,ray]"',
    ),
    pytest.mark.filterwarnings("ignore"),  # those of Ray
]
LINES = 20_000
ROOM = {"object_store_memory": 100 * 2**20, "include_dashboard": False}


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    """A cluster of a node without processors, which the driver needs, and two with one each."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    for name, value in {"period_ms": 300, "failure_threshold": 3, "initial_delay_ms": 1000}.items():
        monkeypatch.setenv(f"RAY_health_check_{name}", str(value))  # a node that dies is noticed sooner
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    cluster.add_node(num_cpus=0, **ROOM)
    try:
        yield cluster, [cluster.add_node(num_cpus=1, **ROOM) for _ in range(2)]
    finally:
        cluster.shutdown()


def translating(model: Path, *more: object) -> list[str]:
    arguments = ["translate", model, *more, "--engine", "ctranslate2", "--no-checks"]
    return [sys.executable, "-m", "regard", *map(str, arguments)]


def test_nodes_are_killed_and_the_output_has_the_bytes_of_an_undisturbed_run(
    nodes: Any, trained_folder: Path, tmp_path: Path
) -> None:
    cluster, (first, second) = nodes
    draw, source = Random(7), tmp_path / "source"  # noqa: S311
    source.mkdir()
    (source / "lines.txt").write_text("".join(f"{sentence(draw)}\n" for _ in range(LINES)))
    (source / "page.html").write_text("<p>alto <b>gan</b></p>\n<p>esta</p>\n")
    (source / "broken.po").write_text('msgid "a\n')
    (source / "logo.bin").write_bytes(b"\0\1")
    shards, out, cut = tmp_path / "shards", tmp_path / "out", ("--shard-lines", 100)
    alone = subprocess.run(
        translating(trained_folder, source, "--out", tmp_path / "alone", "--shards", tmp_path / "one", *cut),
        capture_output=True, text=True, env=os.environ | environment(tmp_path / "cache"), check=False, timeout=100,
    )  # fmt: skip
    ray = ("--shards", shards, *cut, "--ray", cluster.address)
    with (tmp_path / "told").open("w") as told:
        started = subprocess.Popen(
            translating(trained_folder, source, "--out", out, *ray),
            stderr=told, env=os.environ | environment(tmp_path / "cache"),
        )  # fmt: skip

    def finished() -> int:
        return len(list((shards / "done").glob("0*")))

    _wait_for(lambda: len(list((shards / "leases").glob("0*"))) == 2 or started.poll() is not None)
    cluster.remove_node(first, allow_graceful=False)  # both were working
    before = finished()
    cluster.add_node(num_cpus=1, **ROOM)
    _wait_for(lambda: finished() > before + 10 or started.poll() is not None)
    assert started.poll() is None, (tmp_path / "told").read_text()
    cluster.remove_node(second, allow_graceful=False)
    assert started.wait(100) == alone.returncode == 1  # because of broken.po alone
    assert files(out) == files(tmp_path / "alone")
    assert set(files(out)) == {"lines.txt", "page.html", "logo.bin"}
    for one in (alone.stderr, (tmp_path / "told").read_text()):
        assert f"{source / 'lines.txt'}: {LINES:,} of {LINES:,} segments translated." in one
        assert "1 of 4 files could not be translated:" in one
        assert f"{source / 'broken.po'}:1: " in one


def test_a_cluster_that_is_not_reachable_is_reported_at_once(tmp_path: Path) -> None:
    told = r"--ray 127\.0\.0\.1:9: this Ray cluster cannot be reached: .*refused\n  Check the address"
    with pytest.raises(SettingsError, match=told), over_ray.cluster("127.0.0.1:9", [tmp_path], "auto", None, print):
        pass


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _wait_for(condition: Any) -> None:
    end = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < end, "nothing happened for a long time"
        time.sleep(0.05)
