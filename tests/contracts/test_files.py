"""Files and folders are written whole or not at all."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from regard import files
from regard.files import new_file, new_folder, remove_folder, write

ROOT = Path(__file__).parents[2]


def listed(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def make(place: Path, content: str) -> None:
    with new_folder(place) as new:
        (new / "inner").mkdir()
        (new / "inner" / "file").write_text(content)


def test_a_file_is_there_whole_when_it_is_written_and_not_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write(path, "früher\n")
    with new_file(path) as file:
        file.write(b"now\n")
        assert path.read_text(encoding="utf-8") == "früher\n"
    assert path.read_bytes() == b"now\n"
    assert listed(tmp_path) == ["file"]


def test_a_folder_is_there_whole_when_it_is_written_and_not_before(tmp_path: Path) -> None:
    place = tmp_path / "above" / "folder"
    with new_folder(place) as new:
        (new / "file").touch()
        assert not place.exists()
    assert listed(place) == ["file"]
    make(place, "new")
    assert listed(place) == ["inner"]
    assert listed(place.parent) == ["folder"]


@pytest.mark.parametrize("exchanges", [True, False])
def test_a_failure_leaves_what_was_there_and_nothing_else(
    exchanges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    write(tmp_path / "file", "old")
    make(tmp_path / "folder", "older")
    make(tmp_path / "folder", "old")
    with pytest.raises(TypeError), new_file(tmp_path / "file") as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    with pytest.raises(FileNotFoundError), new_folder(tmp_path / "folder") as new:
        (new / "half" / "file").touch()
    assert (tmp_path / "file").read_text() == "old"
    assert (tmp_path / "folder" / "inner" / "file").read_text() == "old"
    assert listed(tmp_path) == ["file", "folder"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges folders in one step")
def test_there_is_no_moment_without_the_old_folder_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "folder", "old")
    renamed: list[str] = []
    honest = Path.replace

    def replace(self: Path, target: Path) -> Path:
        renamed.append(self.name)
        return honest(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    make(tmp_path / "folder", "new")
    assert "folder" not in renamed
    assert (tmp_path / "folder" / "inner" / "file").read_text() == "new"


def test_everything_is_on_the_disk_before_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda _: order.append("disk"))
    monkeypatch.setattr(files, "_put", lambda *_: order.append("move"))
    with new_folder(tmp_path / "folder") as new:
        (new / "one").touch()
        (new / "two").touch()
    assert order == ["disk", "disk", "move"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from regard.files import new_file, new_folder
with new_folder(Path(sys.argv[1], "folder")) as folder, new_file(Path(sys.argv[1], "file")) as file:
    (folder / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_writer_deletes_what_a_killed_one_left_and_nothing_of_one_that_writes(tmp_path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", _KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert all(name.endswith(".partial") for name in listed(tmp_path))
    assert len(listed(tmp_path)) == 2
    (tmp_path / ".other.01234567.partial").touch()  # of another place
    with new_folder(tmp_path / "folder") as first:
        (first / "mine").touch()
        make(tmp_path / "folder", "quicker")
        write(tmp_path / "file", "whole")
        assert (first / "mine").exists()
    assert listed(tmp_path) == [".other.01234567.partial", "file", "folder"]
    assert listed(tmp_path / "folder") == ["mine"]


def test_links_are_followed_and_pipes_are_written_to_as_they_are(tmp_path: Path) -> None:
    write(tmp_path / "real", "old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write(tmp_path / "link", "new")
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()
    reading, writing = os.pipe()
    write(Path(f"/dev/fd/{writing}"), "through")
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "through"


def test_files_and_folders_have_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    (tmp_path / "plain folder").mkdir()
    write(tmp_path / "file", "")
    make(tmp_path / "folder", "")
    for plain, ours in (("plain", "file"), ("plain folder", "folder")):
        assert (tmp_path / ours).stat().st_mode == (tmp_path / plain).stat().st_mode


def test_a_removed_folder_leaves_nothing_and_none_is_no_error(tmp_path: Path) -> None:
    make(tmp_path / "folder", "old")
    (tmp_path / ".folder.removed").mkdir()  # left by one that was killed
    for _ in range(2):
        remove_folder(tmp_path / "folder")
        assert list(tmp_path.iterdir()) == []


def test_nothing_else_moves_files_into_place_by_hand() -> None:
    by_hand = re.compile(r"os\.replace|os\.rename|\.rename\(|fsync|mkdtemp|mkstemp|\.partial\"|NamedTemporaryFile")
    allowed = {
        "src/regard/files.py",
        "src/regard/batches/corpus.py",  # a corpus grows as it is prepared, see `sweep`
        "src/regard/batches/gathering.py",  # text that is deleted again
        "src/regard/shards/leases.py",  # a lease is moved aside before it is removed
        "src/regard/serve/uploads.py",  # documents that are deleted again
        "benchmarks/soak_resume.py",  # counts what was left
    }
    found = {
        str(path.relative_to(ROOT))
        for room in ("src", "recipes", "benchmarks")
        for path in (ROOT / room).rglob("*.py")
        if by_hand.search(path.read_text(encoding="utf-8"))
    }
    assert found <= allowed
