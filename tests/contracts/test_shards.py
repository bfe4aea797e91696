"""Translating in shards: leases, cutting, going on, and the same bytes."""

import gzip
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_translators import Fake
from regard import SettingsError, TextError
from regard.shards.assembling import assemble, reports
from regard.shards.cutting import cut
from regard.shards.folder import ShardFolder, Source
from regard.shards.leases import Leases
from regard.shards.plan import Kind, Plan
from regard.shards.working import How, work
from runs import environment


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\n\r\nb\n\n", "ä\n€\nc"])
def test_shards_hold_the_whole_text_and_at_most_so_many_lines(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_bytes(text.encode())
    kept: dict[int, str] = {}
    made = cut(tmp_path / "a.txt", None, 2, kept.__setitem__)
    assert "".join(kept[number] for number in range(made.shards)) == text
    assert all(part.count("\n") <= 2 for part in kept.values())


def test_a_lease_is_taken_over_only_when_its_owner_has_been_silent_for_as_long_as_it_lasts(tmp_path: Path) -> None:
    now = [0.0]
    first, second = Leases(tmp_path, lasts=10), Leases(tmp_path, lasts=10, clock=lambda: now[0])
    assert first.take("a")
    assert not second.take("a")
    now[0] = 9
    first.touch()
    assert not second.take("a")
    now[0] = 18
    assert not second.take("a")
    now[0] = 19
    assert second.take("a")
    first.release("a")  # too late: it is another's
    assert (tmp_path / "a").exists()


def test_a_run_goes_on_with_what_is_missing_and_gives_the_same_bytes_and_refuses_other_options(tmp_path: Path) -> None:
    path, out, fake = tmp_path / "a.txt", tmp_path / "b.txt", Fake()
    path.write_text("".join(f"line {number}\n" for number in range(25)))
    folder = ShardFolder(tmp_path / "shards")
    sources = [Source(path, ".", Kind.TEXT)]
    with Leases(folder.leases, lasts=5) as leases:
        plan = folder.planned(sources, {"--beam-size": "4"}, leases, lines=10, encoding=None, say=print)
        work(folder, plan, leases, fake, How())
        assemble(folder, plan, leases, out, force=False)
        assert out.read_text() == path.read_text().upper()
        (folder.path / "done" / "000001.zst").unlink()
        out.unlink()
        fake.asked.clear()
        work(folder, plan, leases, fake, How())
        assemble(folder, plan, leases, out, force=False)
        assert fake.asked == [f"line {number}" for number in range(10, 20)]
        assert out.read_text() == path.read_text().upper()
        with pytest.raises(SettingsError, match=r"--beam-size: 4 then, 5 now"):
            folder.planned(sources, {"--beam-size": "5"}, leases, lines=10, encoding=None, say=print)


_KILLS_ITSELF = """
import os, signal, sys
moments, moment, place = iter(range(1, 10**9)), int(sys.argv[1]), sys.argv[2]

def watch(event, given):
    writes = event in ("open", "os.rename", "os.remove", "os.link")
    if writes and any(str(part).startswith(place) for part in given) and next(moments) == moment:
        os.kill(os.getpid(), signal.SIGKILL)

from pathlib import Path
from fake_translators import Fake
from regard.shards.assembling import assemble
from regard.shards.folder import ShardFolder, Source
from regard.shards.leases import Leases
from regard.shards.plan import Kind
from regard.shards.working import How, work

sys.addaudithook(watch)
base = Path(place)
folder = ShardFolder(base / "shards")
with Leases(folder.leases, lasts=60) as leases:
    sources = [Source(base / "a.txt.gz", ".", Kind.TEXT)]
    plan = folder.planned(sources, {}, leases, lines=20, encoding=None, say=print)
    work(folder, plan, leases, Fake(), How())
    assemble(folder, plan, leases, base / "b.txt", force=False)
"""


def test_processes_that_are_killed_at_any_moment_leave_nothing_wrong_for_those_that_go_on(tmp_path: Path) -> None:
    """Each is killed a few files later than the last, so that every kind of file is once the last that is touched."""
    text = "".join(f"line {number}\n" for number in range(130))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    codes = []
    moment = 3
    while not codes or codes[-1]:
        paths = os.pathsep.join([*sys.path, str(Path(__file__).parents[1])])
        ended = subprocess.run(
            [sys.executable, "-c", _KILLS_ITSELF, str(moment), str(tmp_path)],
            env=os.environ | {"PYTHONPATH": paths}, check=False, timeout=60,
        )  # fmt: skip
        codes.append(ended.returncode)
        moment += 3
    assert set(codes) == {-signal.SIGKILL, 0}
    assert len(codes) > 5
    assert (tmp_path / "b.txt").read_text() == text.upper()


def test_a_failing_document_does_not_stop_the_others_and_files_may_be_seen_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    (place / "b.html").write_text("<p>three</p>\n")
    (place / "c.po").write_text('msgid "a\n')
    folder, out = ShardFolder(tmp_path / "shards"), tmp_path / "out"
    kinds = {"a.txt": Kind.TEXT, "b.html": Kind.DOCUMENT, "c.po": Kind.DOCUMENT}
    with Leases(folder.leases, lasts=5) as leases:
        sources = [Source(place / name, name, kind) for name, kind in kinds.items()]
        folder.planned(sources, {}, leases, lines=10, encoding=None, say=print)
        place.rename(tmp_path / "elsewhere")
        monkeypatch.chdir(tmp_path / "elsewhere")
        here = [Source(Path(name), name, kind) for name, kind in kinds.items()]
        plan = folder.planned(here, {}, leases, lines=10, encoding=None, say=print)
        failed = work(folder, plan, leases, Fake(), How())
        assert [str(error).split(":")[:2] for error in failed.values()] == [["c.po", "1"]]
        assemble(folder, plan, leases, out, force=False, besides=failed)
        assert sorted(path.name for path in out.iterdir()) == ["a.txt", "b.html"]
        assert [(out / name).read_text() for name in ("a.txt", "b.html")] == ["ONE\nTWO\n", "<p>THREE</p>\n"]
        assert [report.path for report, _ in reports(folder, plan, besides=failed)] == ["a.txt", "b.html"]
        alone = folder_of_one(tmp_path, Source(Path("c.po"), ".", Kind.DOCUMENT), leases)
        with pytest.raises(TextError, match=r"c\.po:1: "):
            work(*alone, leases, Fake(), How())


def folder_of_one(place: Path, source: Source, leases: Leases) -> tuple[ShardFolder, Plan]:
    folder = ShardFolder(place / "one")
    return folder, folder.planned([source], {}, leases, lines=10, encoding=None, say=print)


def test_standard_input_is_stored_and_must_be_the_same_when_the_command_is_repeated(tmp_path: Path) -> None:
    folder = ShardFolder(tmp_path / "shards")
    place = folder.keep_input([b"one\n", b"two\n"])
    assert place.read_bytes() == b"one\ntwo\n"
    assert folder.keep_input([b"one\ntwo\n"]) == place
    with pytest.raises(TextError, match=r"standard input is not what it was when .*\n  Give the same text to go on"):
        folder.keep_input([b"one\n"])
    assert place.read_bytes() == b"one\ntwo\n"


def test_the_command_translates_standard_input_in_shards_like_without(trained_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("alto gan\nesta\n\nalto esta gan\n" * 8)
    common = [sys.executable, "-m", "regard", "translate", str(trained_folder), "--format", "txt", "--engine", "torch"]
    for more in (["--out", "alone.txt"], ["--out", "shards.txt", "--shards", "folder", "--shard-lines", "7"]):
        with (tmp_path / "in.txt").open() as given:
            told = subprocess.run(
                [*common, "-", *more], stdin=given, cwd=tmp_path, env=environment(tmp_path / "cache"),
                capture_output=True, text=True, check=False, timeout=100,
            )  # fmt: skip
        assert told.returncode == 0, told.stderr
    assert (tmp_path / "shards.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()
    assert len(list((tmp_path / "folder" / "done").iterdir())) == 5
