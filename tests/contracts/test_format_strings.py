"""Format strings in catalogues: what is translated, `msgfmt -c` accepts."""

import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest

import regard
from regard.text.directives import arguments, numbered
from regard.translation.documents import translate_document
from regard.translation.translator import Translator

MESSAGES = [
    "%d%% of %s done", "%s: %d files, %lu bytes", "cannot open '%s': %m", "The %dth line is too long",
    "usage: %s [options] <file>\\n", "%1$s was replaced by %2$s", "%-20s %5.1f%%", "%*d columns",
    "100%% of the disk is used",
    "invalid option -- '%c'", "%s%s", "(%d)", "read %zu of %zu bytes", "warning: %.200s", "0x%08x is not aligned",
    "line %d, column %d: expected '%s' but found '%s'", "%s is not a directory\\n",
    "Copied %d file to %s.", "%'d users",
    "size is %<PRIu64> bytes", "Try '%s --help' for more information.\\n", "cannot allocate %ld bytes for %s",
]  # fmt: skip
NEEDED = 320
LOCALE = Path("/usr/share/locale/de/LC_MESSAGES")
CATALOGUES = ("git", "gnupg2", "wget", "coreutils", "bash", "dpkg", "tar", "sed", "grep", "findutils", "gettext-tools")


@pytest.fixture(scope="module")
def translator() -> Translator:
    return regard.load("en-de", device="cpu")


def written(folder: Path, messages: list[str], flag: str) -> Path:
    header = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: de\\n"\n'
    entries = [f'\n#, {flag}\nmsgid "{message}"\nmsgstr ""\n' for message in messages]
    (folder / "a.po").write_text(header + "".join(entries), encoding="utf-8")
    return folder / "a.po"


def accepted(path: Path) -> list[str]:
    """What msgfmt finds wrong."""
    command = ["msgfmt", "-c", "-o", "/dev/null", "--use-fuzzy", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in told.stderr.splitlines() if "warning" not in line]


def test_format_strings_keep_their_arguments_and_msgfmt_accepts_them(translator: Translator, tmp_path: Path) -> None:
    out = tmp_path / "b.po"
    report = translate_document(translator, written(tmp_path, MESSAGES, "c-format"), out)
    for entry in polib.pofile(str(out)):
        if entry.msgstr:
            assert arguments(entry.msgid, "c-format") == arguments(entry.msgstr, "c-format"), entry
    assert report.translated >= len(MESSAGES) - 3
    if shutil.which("msgfmt"):
        assert accepted(out) == []


def test_the_flags_of_an_entry_say_what_a_percent_sign_means(translator: Translator, tmp_path: Path) -> None:
    out = tmp_path / "b.po"
    translate_document(translator, written(tmp_path, ["It is 100% sure."], "no-c-format"), out)
    assert "100" in polib.pofile(str(out))[0].msgstr
    translate_document(translator, written(tmp_path, ["%(count)d of %(name)s"], "python-format"), out)
    assert sorted(re.findall(r"%\(\w+\)\w", polib.pofile(str(out))[0].msgstr)) == ["%(count)d", "%(name)s"]


def test_directives_are_read_as_c_reads_them() -> None:
    assert arguments("%s of %5ld%% and %*d", "c-format") == [("1", "s"), ("2", "ld"), ("3", "d"), ("4", "d")]
    assert arguments("%2$s of %1$d", "c-format") == arguments("%d of %s", "c-format")
    assert arguments("%s %d", "c-format") != arguments("%d %s", "c-format")
    assert arguments("%x", "c-format") == arguments("%o", "c-format") != arguments("%d", "c-format")
    assert arguments("%", "c-format") is None
    assert arguments("50% !", "c-format") is None
    assert arguments("%s %2$s", "c-format") is None
    assert arguments("%m %%", "c-format") == []


def test_directives_in_another_order_are_numbered() -> None:
    assert numbered("%d of %s", "%s: %d", "c-format") == "%2$s: %1$d"
    assert numbered("%s, %s and %d%%", "%d%% von %s, %s", "c-format") == "%3$d%% von %1$s, %2$s"
    assert numbered("%d of %s", "%s", "c-format") is None
    assert numbered("%d of %s", "%s: %d", "python-format") is None


def installed() -> list[str]:
    """Format strings of programs on this machine."""
    found: dict[str, None] = {}
    for name in CATALOGUES:
        path = LOCALE / f"{name}.mo"
        if path.exists():
            ids = [entry.msgid for entry in polib.mofile(str(path)) if "%" in entry.msgid and not entry.msgid_plural]
            usable = [text for text in ids if len(text) < 160 and arguments(text, "c-format")]
            found |= dict.fromkeys(usable[: NEEDED // 3])
    return list(found)[:NEEDED]


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs msgfmt of GNU gettext")
def test_the_format_strings_of_real_programs_pass_msgfmt(translator: Translator, tmp_path: Path) -> None:
    messages = installed()
    if len(messages) < NEEDED:
        pytest.skip(f"there are no German catalogues of GNU programs in {LOCALE}")
    out = tmp_path / "b.po"
    source = written(tmp_path, [polib.escape(message) for message in messages], "c-format")
    report = translate_document(translator, source, out)
    assert accepted(out) == []
    assert report.translated >= 0.9 * NEEDED
