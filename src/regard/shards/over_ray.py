"""Shards over a Ray cluster (extra `ray`): actors that hold a model each, and a driver that gives them shards.

The driver alone reads and writes files, and holds the leases of what its actors work on. So nodes need no shared disk,
and plain processes may work on the same folder. The model travels to the nodes that lack it. An actor that dies, alone
or with its node, loses only its shard, which another one gets.
"""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from regard import caches, shipped
from regard.errors import RegardError, SettingsError, TranslatorError
from regard.files import new_folder
from regard.shards.asked import About, about, fingerprint
from regard.shards.folder import PAUSE, Done, ShardFolder
from regard.shards.leases import Leases
from regard.shards.plan import Plan, Shard
from regard.shards.working import Failed, How, Missing, Progress, Task, task, translated

LOCAL = "local"

_ANSWERS = 5.0  # seconds in which a cluster must
_PATIENCE = 30.0  # seconds for the first actor to open its model, before a message
_ATTEMPTS = 5  # deaths of actors that one shard may cost, and that starting actors may cost in a row


class Packed(NamedTuple):
    """A model folder on its way to another machine."""

    path: str
    fingerprint: str
    files: dict[str, bytes]


class Ready(NamedTuple):
    """An actor that has opened its model, and the node of the cluster that it is on."""

    about: About
    node: str


class Worker:
    """What an actor does: opens the model, and translates shards."""

    def open(self, models: Sequence[Packed], engine: str, device: str | None) -> Ready:
        """Opens the model; the answer tells which engine it has."""
        from regard.translation.translator import load

        folders = [unpacked(model) for model in models]
        self._translator = load(folders if len(folders) > 1 else folders[0], device=device, engine=engine)
        ray: Any = import_module("ray")
        return Ready(about(self._translator), ray.get_runtime_context().get_node_id())

    def translate(self, task: Task, how: How) -> Done:
        """A shard in translation."""
        return translated(self._translator, task, how)


def packed(folder: Path) -> Packed:
    """A model folder with all its files."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return Packed(str(folder.absolute()), fingerprint(folder), files)


def unpacked(model: Packed) -> Path:
    """The folder of a model on this machine: where it was, if it is there as well, or else in the cache."""
    place = Path(model.path)
    if place.is_dir() and fingerprint(place) == model.fingerprint:
        return place
    place = caches.cache_folder() / "models" / model.fingerprint / place.name
    if not place.is_dir():
        caches.make_writable(place.parent)
        with new_folder(place) as made:
            for name, content in model.files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    return place


@contextmanager
def cluster(
    address: str, models: Sequence[Path], engine: str, device: str | None, say: Callable[[str], None]
) -> Iterator[Team]:
    """The actors on a Ray cluster; `local` starts one on this machine and ends it afterwards."""
    if find_spec("ray") is None:
        raise SettingsError('--ray: Ray is not installed.\n  Install it with: pip install "regard[ray]"')
    ray: Any = import_module("ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    more: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **more)
    except (ImportError, OSError, ValueError, RuntimeError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SettingsError(
            f"--ray {address}: this Ray cluster cannot be reached: {told}\n"
            "  Check the address, or start a cluster on this machine with --ray local."
        ) from None
    try:
        yield Team([shipped.find(model) for model in models], engine, device, say)
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """Fails at once where nothing listens; Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if port.isdigit() and "://" not in address:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWERS).close()


class _Actor(NamedTuple):
    """An actor, its node, and the shard that it works on; None while it opens its model."""

    handle: Any
    node: str = ""
    shard: Shard | None = None


class Team:
    """As many actors as the cluster has GPUs, or else CPUs. Nodes may come and go."""

    def __init__(self, folders: Sequence[Path], engine: str, device: str | None, say: Callable[[str], None]) -> None:
        ray: Any = import_module("ray")
        self._ray = ray
        self._models = ray.put([packed(folder) for folder in folders])
        self._engine, self._device, self._say = engine, device, say
        self._busy: dict[Any, _Actor] = {}  # by the answer that is awaited
        self._idle: list[_Actor] = []
        self._about: About | None = None
        self._failed_starts, self._deaths = 0, Counter[str]()

    @property
    def size(self) -> int:
        """How many actors are ready."""
        return len(self._idle) + sum(actor.shard is not None for actor in self._busy.values())

    def about(self) -> About:
        """What all actors have in common, as soon as the first is ready."""
        patience = time.monotonic() + _PATIENCE
        while self._about is None:
            self._grow(1)
            self._answers()
            if time.monotonic() > patience:
                self._say("Waiting for a free GPU or CPU of the Ray cluster.")
                patience = math.inf
        return self._about

    def work(
        self, folder: ShardFolder, plan: Plan, leases: Leases, how: How, progress: Progress | None = None
    ) -> Failed:
        """Translates until every shard is done, by these actors or by others, save those of files that fail."""
        missing, told = Missing(folder, plan, leases), progress or (lambda *_: None)
        options = self._ray.put(how)

        def give(actor: _Actor, shard: Shard) -> None:
            try:
                answer = actor.handle.translate.remote(task(folder, plan, shard, how), options)
            except RegardError as error:  # a document that cannot be read
                self._idle.append(actor)
                leases.release(shard.name)
                missing.fail(shard, error)
            else:
                self._busy[answer] = actor._replace(shard=shard)

        while missing.look():
            told(missing.done, missing.lines)
            self._grow(len(plan.shards))
            while self._idle and (shard := missing.take(self._given())):
                give(self._idle.pop(), shard)
            for shard, found in self._answers():
                if isinstance(found, Done):
                    folder.keep(shard, found)
                leases.release(shard.name)
                if isinstance(found, RegardError):
                    missing.fail(shard, found)
        told(missing.lines, missing.lines)
        return missing.failed

    def _given(self) -> set[str]:
        return {actor.shard.name for actor in self._busy.values() if actor.shard}

    def _grow(self, most: int) -> None:
        """Starts actors up to the number of GPUs or CPUs that the cluster has now."""
        there = self._ray.cluster_resources()
        kind = "GPU" if there.get("GPU") and self._device != "cpu" else "CPU"
        wanted = min(most, max(1, int(there.get(kind, 0))))
        options = {"num_gpus": 1, "num_cpus": 0} if kind == "GPU" else {"num_cpus": 1}
        while len(self._idle) + len(self._busy) < wanted:
            made = self._ray.remote(Worker).options(scheduling_strategy="SPREAD", max_restarts=0, **options).remote()
            self._busy[made.open.remote(self._models, self._engine, self._device)] = _Actor(made)

    def _answers(self) -> list[tuple[Shard, Done | RegardError | None]]:
        """The shards that actors have finished, have failed to translate, or have lost by dying."""
        ready, _ = self._ray.wait(list(self._busy), num_returns=len(self._busy), timeout=PAUSE)
        answered: list[tuple[Shard, Done | RegardError | None]] = []
        for answer in ready:
            actor = self._busy.pop(answer)
            found = self._answer(answer, actor)
            if isinstance(found, Ready):
                self._welcome(found.about)
                actor = actor._replace(node=found.node)
            elif actor.shard:
                answered.append((actor.shard, found))
            elif isinstance(found, RegardError):
                raise found  # the model cannot be opened
            if found is not None:
                self._idle.append(actor._replace(shard=None))
        return answered

    def _answer(self, answer: Any, actor: _Actor) -> Done | Ready | RegardError | None:
        """What an actor answers; None where it died."""
        from ray import exceptions

        try:
            found: Done | Ready = self._ray.get(answer)
        except exceptions.RayTaskError as error:
            if isinstance(error.cause, RegardError):
                return error.cause
            raise
        except exceptions.RayError as error:
            self._count(actor, error)
            return None
        return found

    def _welcome(self, found: About) -> None:
        self._failed_starts = 0
        self._about = self._about or found
        if found != self._about:
            raise SettingsError(
                "The nodes of the Ray cluster do not translate alike: one has the engine "
                f"{self._about.engine} on {self._about.device}, another {found.engine} on {found.device}.\n"
                "  Choose what all of them have with --engine and --device."
            )

    def _count(self, actor: _Actor, error: Exception) -> None:
        """A shard that kills its actors again and again, or actors that never start, end the command.

        An actor that died with its node says nothing against its shard.
        """
        if any(node["NodeID"] == actor.node and not node["Alive"] for node in self._ray.nodes()):
            return
        if actor.shard:
            self._deaths[actor.shard.name] += 1
            what, count = f"shard {actor.shard.name}", self._deaths[actor.shard.name]
        else:
            self._failed_starts += 1
            what, count = "the model", self._failed_starts
        if count >= _ATTEMPTS:
            lines = [line for line in str(error).splitlines() if line.strip()]
            raise TranslatorError(
                f"--ray: {count} actors have died with {what}; the last one said: {lines[-1] if lines else error}\n"
                "  Check the memory of the nodes, and that the same version of Regard is installed on all of them."
            )
