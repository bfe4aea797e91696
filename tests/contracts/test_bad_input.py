"""Every kind of bad input: its exact message, and that reading can go on where that makes sense."""

import gzip
import lzma
import re
import tracemalloc
from pathlib import Path

import pytest

from regard.errors import CorpusError
from regard.text.bad_input import BadInput, Problem
from regard.text.corpus import read, write
from regard.text.pairs import Languages, Pair

ENGLISH_GERMAN = Languages("en", "de")
GOOD = b"Hello.\tHallo.\n"
CHECK = "  To list all problems: regard check {path} --source en --target de"

UNIT = '<tu><tuv xml:lang="en"><seg>{0}</seg></tuv><tuv xml:lang="de"><seg>Hallo.</seg></tuv></tu>\n'
BOMB = """<?xml version="1.0"?>
<!DOCTYPE tmx [
<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<tmx><body><tu><tuv xml:lang="en"><seg>&c;</seg></tuv><tuv xml:lang="de"><seg>&c;</seg></tuv></tu></body></tmx>
"""
PO_HEADER = 'msgid ""\nmsgstr "Language: {0}\\n"\n\n'

BAD_LINES = [
    ("tsv", b"caf\xe9\tx\n", "byte 4 of this line, 0xe9, is not UTF-8.", Problem.NOT_UTF8),
    ("tsv", b"a\tb\0c\n", "there is a NUL byte in this line, at byte 4.", Problem.NUL),
    ("tsv", b"x" * 1_000_000 + b"\ty\n", "this line is longer than 100,000 characters.", Problem.TOO_LONG),
    ("tsv", "ä".encode() * 100_001 + b"\n", "this line is longer than 100,000 characters.", Problem.TOO_LONG),
    ("tsv", b"Hello.\n", "this line has only one column: it contains no tab.", Problem.COLUMNS),
    (
        "tsv",
        b"a\tMIT\tHello.\tHallo.\n",
        "this line has 4 columns. Choose the source and the target, for example: --columns 3,4",
        Problem.COLUMNS,
    ),
    (
        "jsonl",
        b'{"en": "a", "en": "b", "de": "c"}\n',
        "the key 'en' occurs more than once in this object.",
        Problem.DUPLICATE_KEY,
    ),
    ("jsonl", b'{"en": "a",\n', "this line is not valid JSON: ", Problem.JSON),
    ("jsonl", b'["a", "b"]\n', "this line is not an object.", Problem.JSON),
    ("jsonl", b'{"en": "a", "de": 1}\n', "the value of 'de' is not a string.", Problem.JSON),
    (
        "jsonl",
        b'{"en": "a", "de": "\\ud800"}\n',
        "the value of 'de' contains half a surrogate pair, which is not a character.",
        Problem.JSON,
    ),
    (
        "jsonl",
        b'{"en": "a", "fr": "b"}\n',
        "this object has no keys 'en' and 'de', nor 'source' and 'target'; its keys: 'en', 'fr'.",
        Problem.JSON,
    ),
    ("jsonl", b"[" * 50_000 + b"\n", "this line is nested too deeply.", Problem.JSON),
]

BAD_FILES = [
    ("tsv", b"", "", "this file is empty.", Problem.EMPTY_FILE),
    ("tmx", b"", "", "this file is empty.", Problem.EMPTY_FILE),
    ("tsv", "Hello.\tHallo.\n".encode("utf-16"), "", "this file is UTF-16.", Problem.UTF16),
    (
        "tmx",
        b"<tmx>\n<body>\n<tu></body></tmx>",
        ":3",
        "this is not valid XML: Opening and ending tag mismatch: tu line 3 and body, line 3, column 12.",
        Problem.XML,
    ),
    (
        "tmx",
        b"<tmx>\n<body>\n<tu>",
        ":3",
        "this is not valid XML: Premature end of data in tag tu line 3, line 3, column 5.",
        Problem.XML,
    ),
    ("tmx", BOMB.encode(), "", "the DOCTYPE of this file defines entities or elements.", Problem.ENTITIES),
    ("xlf", BOMB.encode("utf-16"), "", "the DOCTYPE of this file defines entities or elements.", Problem.ENTITIES),
    (
        "tmx",
        f"<tmx><body>{UNIT}</body></tmx>".replace('"de"', '"fr"').encode(),
        "",
        "there is no de in this file; its languages are: en, fr.",
        Problem.LANGUAGES,
    ),
    ("tmx", b"<tmx/>", "", "there is no en and no de in this file; it has no units.", Problem.LANGUAGES),
    (
        "xlf",
        b'<xliff version="2.0" srcLang="en" trgLang="fr"/>',
        "",
        "this file is neither en to de nor the reverse; its languages are: en-fr.",
        Problem.LANGUAGES,
    ),
    (
        "po",
        f'{PO_HEADER.format("fr")}msgid "a"\nmsgstr "b"\n'.encode(),
        "",
        "this catalogue is in fr, but Regard reads en to de.",
        Problem.LANGUAGES,
    ),
    (
        "po",
        b'msgid "a"\nmsgstr "b" c"\n',
        ":2",
        "this is not valid PO: expected a comment, or a keyword and quoted text.",
        Problem.PO,
    ),
    (
        "po",
        b'msgid "a"\nmsgid "b"\n',
        ":2",
        "this is not valid PO: this line cannot follow the line before it.",
        Problem.PO,
    ),
    ("pot", b'msgid "a"\nmsgstr ""\n', "", "there is no finished translation in this file.", Problem.NO_TRANSLATIONS),
]


def message_of(data, languages=ENGLISH_GERMAN, **options) -> str:
    with pytest.raises(CorpusError) as caught:
        list(read(data, languages, **options))
    return str(caught.value)


@pytest.mark.parametrize(("suffix", "line", "what", "problem"), BAD_LINES)
def test_a_bad_line_stops_reading_with_its_place_its_fault_and_the_way_out(tmp_path, suffix, line, what, problem):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes((GOOD if suffix == "tsv" else b"\n") + line)
    first, hint, way_out = message_of([path]).split("\n")
    assert first.startswith(f"{path}:2: {what}")
    assert hint == f"  {problem.hint}"
    assert way_out == CHECK.format(path=path)


@pytest.mark.parametrize(("suffix", "line", "what", "problem"), BAD_LINES)
def test_bad_lines_can_be_counted_while_reading_goes_on(tmp_path, suffix, line, what, problem):
    path = tmp_path / f"a.{suffix}"
    good = GOOD if suffix == "tsv" else b'{"en": "Hello.", "de": "Hallo."}\n'
    path.write_bytes(good + line + good + line)
    bad = BadInput(skip=True)
    pairs = list(read([path], ENGLISH_GERMAN, bad=bad))
    assert [pair.line for pair in pairs] == [1, 3]
    assert list(bad.problems) == [problem]
    assert bad.problems[problem].places == [(str(path), 2), (str(path), 4)]
    assert bad.summary() == [f"{problem.label}: 2 ({path}:2, {path}:4)"]


def test_skipping_is_recommended_only_where_there_is_an_option_for_it(tmp_path):
    path = tmp_path / "my pairs.tsv"
    path.write_bytes(b"a\tb\tc\n")
    check = f"regard check '{path}' --source en --target de --columns 4,5"
    plain = message_of([path], columns=(4, 5))
    assert plain.endswith(f"  To list all problems: {check}")
    assert "--skip-bad" not in plain
    training = message_of([path], columns=(4, 5), bad=BadInput(skip=False))
    assert training.endswith(f"  To skip such lines, give --skip-bad.\n  To list all problems: {check}")


@pytest.mark.parametrize(("suffix", "content", "place", "what", "problem"), BAD_FILES)
def test_a_bad_file_stops_reading_or_is_given_up(tmp_path, suffix, content, place, what, problem):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(content)
    expected = f"{path}{place}: {what}\n  {problem.hint}\n{CHECK.format(path=path)}"
    assert message_of([path]) == expected
    (tmp_path / "b.tsv").write_bytes(GOOD)
    bad = BadInput(skip=True)
    assert [pair.source for pair in read([path, tmp_path / "b.tsv"], ENGLISH_GERMAN, bad=bad)] == ["Hello."]
    assert bad.problems[problem].count == 1
    assert bad.given_up == [f"{path}{place}: {what}"]


def test_unequal_line_counts_are_told_before_any_pair_is_given(tmp_path):
    (tmp_path / "a.en").write_text("1\n2\n3\n")
    (tmp_path / "a.de").write_text("1\n2")
    pairs = read([tmp_path / "a"], ENGLISH_GERMAN)
    with pytest.raises(CorpusError) as caught:
        next(pairs)
    assert str(caught.value) == (
        f"{tmp_path}/a.en: this file has 3 lines, but {tmp_path}/a.de has 2.\n"
        f"  {Problem.UNEQUAL.hint}\n{CHECK.format(path=tmp_path / 'a.en')}"
    )
    bad = BadInput(skip=True)
    assert list(read([tmp_path / "a"], ENGLISH_GERMAN, bad=bad)) == []
    assert bad.problems[Problem.UNEQUAL].count == 1


def test_a_bad_line_on_one_side_takes_its_partner_with_it(tmp_path):
    (tmp_path / "a.en").write_bytes(b"1\n\xff\n3\n")
    (tmp_path / "a.de").write_bytes(b"eins\nzwei\ndrei\n")
    bad = BadInput(skip=True)
    pairs = [(pair.source, pair.target) for pair in read([tmp_path / "a"], ENGLISH_GERMAN, bad=bad)]
    assert pairs == [("1", "eins"), ("3", "drei")]
    assert bad.problems[Problem.NOT_UTF8].places == [(str(tmp_path / "a.en"), 2)]


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["a.tsv", "a.tmx", "a.en"])
def test_a_compressed_file_that_is_cut_off_names_the_file_and_about_where(tmp_path, name, suffix):
    path = tmp_path / (name + suffix)
    write(path, [Pair(f"Sentence {n * n}.", f"Satz {n * n * n}.") for n in range(20_000)], ENGLISH_GERMAN)
    path.write_bytes(path.read_bytes()[:-1000])
    message = message_of([path])
    found = re.match(
        rf"{re.escape(str(path))}:(\d+): the compressed file is truncated, after ([\d,]+) bytes of text\.\n", message
    )
    assert found
    assert int(found[1]) > 1_000
    assert message.endswith(f"\n  {Problem.DAMAGED.hint}\n{CHECK.format(path=path)}")
    bad = BadInput(skip=True)
    assert sum(1 for _ in read([path], ENGLISH_GERMAN, bad=bad)) > 1_000
    assert bad.problems[Problem.DAMAGED].count == len(bad.given_up) == 1


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_a_file_that_only_its_name_calls_compressed_is_told(tmp_path, suffix):
    path = tmp_path / f"a.tsv{suffix}"
    path.write_bytes(GOOD)
    what = f"the compressed file is not a valid {suffix[1:]} file, after 0 bytes of text."
    assert message_of([path]).startswith(f"{path}:1: {what}\n")


def test_pairs_before_the_break_in_an_xml_file_are_kept_when_bad_input_is_skipped(tmp_path):
    path = tmp_path / "a.tmx"
    path.write_text("<tmx><body>\n" + UNIT.format("Hello.") * 3 + "<tu></body></tmx>")
    bad = BadInput(skip=True)
    assert [pair.line for pair in read([path], ENGLISH_GERMAN, bad=bad)] == [2, 3, 4]
    assert bad.problems[Problem.XML].places == [(str(path), 5)]


@pytest.mark.parametrize(
    ("segment", "problem", "what"),
    [
        ("x" * 100_001, Problem.TOO_LONG, "this segment is longer than 100,000 characters."),
        ("&bullet;", Problem.ENTITIES, "the entity &bullet; is not predefined in XML."),
    ],
)
def test_a_bad_segment_is_a_bad_unit(tmp_path, segment, problem, what):
    path = tmp_path / "a.tmx"
    units = UNIT.format("Hello.") + UNIT.format(segment) + UNIT.format("Hello.")
    path.write_text(f'<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx><body>{units}</body></tmx>')
    assert message_of([path]) == f"{path}:3: {what}\n  {problem.hint}\n{CHECK.format(path=path)}"
    bad = BadInput(skip=True)
    assert [pair.line for pair in read([path], ENGLISH_GERMAN, bad=bad)] == [2, 4]


def test_definitions_hidden_behind_a_long_comment_are_refused_all_the_same(tmp_path):
    path = tmp_path / "a.tmx"
    path.write_text(BOMB.replace("<!DOCTYPE", f"<!-- {'x' * 200_000} --><!DOCTYPE"))
    assert "the DOCTYPE of this file defines entities or elements." in message_of([path])


def test_an_external_definition_is_never_fetched(tmp_path):
    (tmp_path / "secret.dtd").write_text('<!ENTITY secret "secret">')
    path = tmp_path / "a.tmx"
    path.write_text(f'<!DOCTYPE tmx SYSTEM "{tmp_path}/secret.dtd">\n<tmx><body>{UNIT.format("&secret;")}</body></tmx>')
    assert "the entity &secret; is not predefined in XML." in message_of([path])


def test_an_endless_line_needs_little_memory(tmp_path):
    path = tmp_path / "a.tsv.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))
    bad = BadInput(skip=True)
    tracemalloc.start()
    assert list(read([path], ENGLISH_GERMAN, bad=bad)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bad.problems[Problem.TOO_LONG].places == [(str(path), 1)]
    assert peak < 8 << 20


def test_what_is_not_there_is_told_with_what_was_looked_for(tmp_path):
    (tmp_path / "train.tsv").write_bytes(GOOD)
    missing = tmp_path / "trian.tsv"
    assert message_of([missing]) == (
        f"{missing}: there is no such file or folder, nor {missing}.en and {missing}.de.\n"
        f"  In {tmp_path}, did you mean 'train.tsv'?"
    )
    assert message_of([tmp_path / "none" / "a.tsv"]).endswith("\n  Check the path and the name.")
    assert message_of([f"{tmp_path}/*.tmx"]) == (
        f"{tmp_path}/*.tmx: no file matches this pattern.\n  Check the path and the pattern."
    )


def test_an_empty_folder_and_one_without_a_readable_file_are_told(tmp_path):
    endings = "  Names must end in .csv, .de, .en, .jsonl, .ndjson, .po, .pot, .tab, .tmx, .tsv, .xlf, .xliff"
    compressed = ", .xlsm, .xlsx, optionally followed by .gz, .xz or .zst."
    first = f"{tmp_path}: Regard finds no file here that it can read as en to de."
    assert message_of([tmp_path]) == f"{first}\n  It is empty.\n{endings}{compressed}"
    (tmp_path / "notes.txt").write_text("x")
    assert message_of([tmp_path]) == f"{first}\n  It contains: notes.txt.\n{endings}{compressed}"


def test_an_unknown_suffix_and_an_unknown_format_are_told(tmp_path):
    path = tmp_path / "a.docx"
    path.write_bytes(GOOD)
    first, _, last = message_of([path]).split("\n")
    assert first == f"{path}: the name of this file does not show its format."
    assert last == "  Or give the format: --format csv|jsonl|plain|po|tmx|tsv|xliff|xlsx"
    assert message_of([path], format="tvs") == "There is no format 'tvs': did you mean 'tsv'?"
    with pytest.raises(CorpusError, match=r"a\.docx: the name of this file does not show its format\."):
        write(path, [], ENGLISH_GERMAN)


def test_a_name_that_says_other_languages_is_told_unless_the_format_is_said(tmp_path):
    path = tmp_path / "en-fr.tsv"
    path.write_bytes(GOOD)
    assert message_of([path]) == (
        f"{path}: the file name says en-fr, but Regard reads en to de.\n"
        "  Check --source and --target. If the name means something else, give the format: --format tsv"
    )
    assert len(list(read([path], ENGLISH_GERMAN, format="tsv"))) == 1


def test_a_file_without_its_partner_is_told(tmp_path):
    (tmp_path / "a.en").write_text("Hello.\n")
    (tmp_path / "b.de").write_text("Hallo.\n")
    assert message_of([tmp_path / "a.en"]).startswith(f"{tmp_path}/a.en: there is no a.de next to this file.\n")
    assert message_of([tmp_path / "a.en"], format="plain") == (
        f"{tmp_path}/a.en: the format plain needs 2 files per document; given: 1.\n"
        "  Give the source file and the target file, in this order."
    )
    assert len(list(read([tmp_path / "a.en", tmp_path / "b.de"], ENGLISH_GERMAN, format="plain"))) == 1


def test_columns_that_are_not_there_are_told(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_bytes(GOOD)
    assert "a.tsv:1: this line has 2 columns, but columns 3 and 4 were requested." in message_of([path], columns=(3, 4))
    expected = "--columns 0,1: expected two different column numbers, counted from 1, or names from the first row."
    assert message_of([path], columns=(0, 1)) == expected


@pytest.mark.parametrize(
    ("name", "pair", "what"),
    [
        ("a.tsv", Pair("a\tb", "c"), "a tab"),
        ("a.tsv", Pair("a", "b\nc"), "a line break"),
        ("a.en", Pair("a\r", "b"), "a carriage return"),
        ("a.jsonl", Pair("a", "\udc00"), "the code point U+DC00, which is not a character"),
        ("a.tmx", Pair("a\x01", "b"), "a character that XML forbids"),
        ("a.xlf", Pair("a", "b\uffff"), "a character that XML forbids"),
        ("a.po", Pair("", "b"), "an empty text"),
        ("a.po", Pair("a\0", "b"), "a NUL character"),
    ],
)
def test_a_pair_that_a_format_cannot_hold_is_told_by_its_number(tmp_path, name, pair, what):
    with pytest.raises(CorpusError) as caught:
        write(tmp_path / name, [Pair("Hello.", "Hallo."), pair], ENGLISH_GERMAN)
    assert str(caught.value) == (
        f"{tmp_path / name}: pair 2 contains {what}, which this format cannot store.\n"
        "  Clean the text first, or write it as JSONL. Nothing has been written."
    )
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path):
    with pytest.raises(CorpusError, match="this file cannot be written: No such file or directory"):
        write(tmp_path / "none" / "a.tsv", [], ENGLISH_GERMAN)


def test_a_damaged_file_is_told_wherever_it_is_damaged(tmp_path):
    whole = lzma.compress(GOOD * 100_000)
    path = tmp_path / "a.tsv.xz"
    path.write_bytes(whole[:100] + bytes(byte ^ 255 for byte in whole[100:200]) + whole[200:])
    assert "the compressed file is not a valid xz file" in message_of([Path(path)])
