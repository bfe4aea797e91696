"""Standard input and output of commands: slow and bad input, terminals of other encodings, full disks, Ctrl-C."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

import regard
from regard import files
from regard.cli import output, standard_input
from regard.errors import CorpusError, ModelFolderError, SettingsError, TextError
from trained import translation


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[BinaryIO]:
    """Standard input is a pipe; the other end of it, unbuffered."""
    reading, writing = os.pipe()
    with open(reading, encoding="utf-8") as ours, open(writing, "wb", buffering=0) as theirs:  # noqa: PTH123
        monkeypatch.setattr(sys, "stdin", ours)
        yield theirs


def test_a_line_is_passed_on_before_the_next_one_is_written(typed: BinaryIO) -> None:
    windows = standard_input.windows()
    for number in range(3):
        typed.write(b"line %d\r\n" % number)
        assert next(windows) == [f"line {number}"]
    typed.write(b"the last one has no end")
    typed.close()
    assert list(windows) == [["the last one has no end"]]


def test_fast_input_comes_in_large_windows(typed: BinaryIO) -> None:
    typed.write(b"x\n" * 1200)
    typed.close()
    sizes = list(map(len, standard_input.windows()))
    assert sum(sizes) == 1200
    assert sizes[0] == standard_input.WINDOW
    assert len(sizes) <= 6


def test_no_input_is_no_lines(typed: BinaryIO) -> None:
    typed.close()
    assert list(standard_input.windows()) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"caf\xe9\n", "standard input:2: byte 4 of this line, 0xe9, is not UTF-8.\n  Regard reads UTF-8."),
        (b"a\0b\n", "standard input:2: there is a NUL byte in this line, at byte 2."),
    ],
)
def test_a_bad_line_is_an_error_after_the_lines_before_it(typed: BinaryIO, line: bytes, message: str) -> None:
    typed.write(b"good\n" + line)
    windows = standard_input.windows()
    assert next(windows) == ["good"]
    with pytest.raises(CorpusError) as told:
        next(windows)
    assert str(told.value).startswith(message)
    assert "--skip-bad" not in str(told.value)
    assert "regard check" not in str(told.value)


def test_a_program_can_write_a_line_and_wait_for_its_translation(trained_folder: Path) -> None:
    arguments = [sys.executable, "-m", "regard", "translate", str(trained_folder), "-", "--engine", "torch"]
    pipe = subprocess.PIPE
    with subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as running:
        assert running.stdin
        assert running.stdout
        assert running.stderr
        for text in ("alto gan", "jelo"):
            running.stdin.write(f"{text}\n".encode())
            assert running.stdout.readline() == f"{translation(text)}\n".encode()
        running.stdin.write(b"alto\n\xff\n")
        assert running.stdout.readline() == f"{translation('alto')}\n".encode()
        told = running.stderr.read().decode()
    assert running.returncode == 1
    assert told.startswith("error: standard input:4: byte 1 of this line, 0xff, is not UTF-8.")
    assert "Traceback" not in told


def test_ctrl_c_ends_a_command_that_computes_without_python() -> None:
    program = (
        "import hashlib\nfrom regard.cli.interruption import prompt\n"
        "with prompt():\n  print('ready', flush=True)\n  hashlib.pbkdf2_hmac('sha256', b'', b'', 1_000_000_000)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as running:
        assert running.stdout
        running.stdout.readline()
        started = time.monotonic()
        running.send_signal(signal.SIGINT)
        try:
            assert running.wait(timeout=20) in (130, -signal.SIGINT)  # the second before the computation has begun
        finally:
            running.kill()
        assert time.monotonic() - started < 5  # half a second, on a machine that is not busy


@pytest.mark.parametrize(
    ("encoding", "expected"), [("cp1252", "BLEU ^ ± é"), ("latin-1", "BLEU ^ ± é"), ("ascii", "BLEU ^ +- ?")]
)
def test_a_terminal_that_lacks_characters_shows_others(
    monkeypatch: pytest.MonkeyPatch, encoding: str, expected: str
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    output.spell_what_the_terminal_lacks()
    print("BLEU ↑ ± é", end="", flush=True)  # noqa: T201
    assert raw.getvalue().decode(encoding) == expected
    output.print_json({"text": "日本"})
    sys.stdout.flush()
    assert json.loads(raw.getvalue().decode(encoding).removeprefix(expected)) == {"text": "日本"}


def test_a_full_disk_behind_standard_output_is_an_error_without_a_traceback() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        told = subprocess.run(
            [sys.executable, "-m", "regard", "presets"],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
            check=False,
        )
    assert told.returncode == 1
    assert told.stderr.decode() == (
        "error: output: No space left on device.\n  Free some disk space, or write to another disk.\n"
    )


@pytest.mark.parametrize("to", ["regard", "ctranslate2"])
def test_a_full_disk_under_an_export_is_an_error_and_leaves_nothing(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    from regard.exchange import export

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(
        ModelFolderError, match=r"out: Regard cannot write this folder: No space left on device\.\n  Free"
    ):
        export(trained_folder, tmp_path / "out", to=to)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written_is_an_error(
    trained_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.caches import make_writable

    (tmp_path / "file").touch()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        SettingsError, match=r"cannot write to this cache folder: .*\n  Set the environment variable REGARD_CACHE"
    ):
        regard.load(trained_folder, device="cpu", engine="ctranslate2-float32")
    make_writable(tmp_path / "new" / "folder")
    assert (tmp_path / "new" / "folder").is_dir()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "None, which is of the type NoneType, cannot be translated"),
        (b"x", "b'x', which is of the type bytes, cannot be translated"),
        ([5], "text 0: 5, which is of the type int, cannot be translated"),
        (["a", None], "text 1: None, which is of the type NoneType, cannot be translated"),
    ],
)
def test_what_is_not_text_is_refused_in_python(trained_folder: Path, given: object, message: str) -> None:
    translator = regard.load(trained_folder, device="cpu", engine="torch")
    with pytest.raises(TextError, match=message):
        translator.translate(given)  # type: ignore[call-overload]
