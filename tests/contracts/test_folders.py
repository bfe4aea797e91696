"""A folder that takes the place of another: at every moment one of the two is there, whole."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import files, modelfolder
from regard.training.checkpoints import Checkpoints, Progress
from small import transformer

OLD, NEW = {"w": torch.zeros(3)}, {"w": torch.ones(3)}


class Crash(BaseException):
    """The process ends here."""


class Counting:
    """Lets so many operations on folders happen, and crashes before the next."""

    def __init__(self, allowed: int) -> None:
        self.allowed, self.crashed = allowed, False

    def around(self, operation: Any) -> Any:
        def counted(*arguments: Any, **options: Any) -> Any:
            if not self.crashed and self.allowed == 0:
                self.crashed = True
            if self.crashed:
                raise Crash
            self.allowed -= 1
            return operation(*arguments, **options)

        return counted


@pytest.mark.parametrize("exchanging", [True, False], ids=["in one operation", "one after the other"])
def test_a_crash_at_any_moment_leaves_the_old_best_weights_or_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchanging: bool
) -> None:
    moments, finished = 0, False
    while not finished:
        checkpoints, counting = Checkpoints(tmp_path / str(moments)), Counting(moments)
        checkpoints.save_best(Progress(step=1), OLD)
        with monkeypatch.context() as patched:
            if not exchanging:
                patched.setattr(files, "_exchanged", lambda *_: False)
            for place, name in ((Path, "replace"), (shutil, "rmtree"), (files, "_exchanged")):
                patched.setattr(place, name, counting.around(getattr(place, name)))
            try:
                checkpoints.save_best(Progress(step=2), NEW)
                finished = True
            except Crash:
                moments += 1
        found = checkpoints.best(print)
        assert found is not None, f"nothing is there after {moments - 1} operations"
        assert found[0].step in (1, 2)
    assert found[0].step == 2
    assert moments >= 2


def test_a_folder_is_exchanged_in_one_operation_where_the_disk_can(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    if not files._exchanged(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system or this disk cannot exchange two folders")
    assert (tmp_path / "one" / "file").read_text() == "other"
    assert (tmp_path / "other" / "file").read_text() == "one"
    with files.new_folder(tmp_path / "other") as new:
        (new / "file").write_text("newest")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]
    assert (tmp_path / "other" / "file").read_text() == "newest"


@pytest.mark.parametrize("beside_others", [True, False])
def test_a_disk_that_is_full_leaves_the_old_model_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside_others: bool
) -> None:
    def save(seed: int) -> None:
        model = transformer(seed=seed, dtype=torch.float32)
        settings, tokeniser = model.settings, {"spm": b"x"}
        modelfolder.save(
            tmp_path / "model", model, architecture="transformer", settings=settings, tokeniser=tokeniser,
            beside_others=beside_others,
        )  # fmt: skip

    save(1)
    before = (tmp_path / "model" / "weights.safetensors").read_bytes()
    honest, calls = Path.mkdir, iter(range(10))

    def mkdir(path: Path, *arguments: Any, **options: Any) -> None:
        if next(calls) == 3:
            raise OSError(28, "No space left on device")
        honest(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    with pytest.raises(OSError, match="No space left"):
        save(2)
    assert (tmp_path / "model" / "weights.safetensors").read_bytes() == before
    assert modelfolder.load(tmp_path / "model").description.architecture == "transformer"
    assert not list(tmp_path.rglob("*.partial"))
