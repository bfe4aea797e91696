"""Translating in shards: leases, cutting, going on, and the same bytes."""

from pathlib import Path

import pytest

from fake_translators import Fake
from regard import SettingsError
from regard.shards.assembling import assemble
from regard.shards.cutting import cut
from regard.shards.folder import ShardFolder, Source
from regard.shards.leases import Leases
from regard.shards.plan import Kind
from regard.shards.working import How, work


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
