"""What is read from each format, what is passed over, and what is written."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from regard.errors import CorpusError
from regard.text.bad_input import BadInput, NotAPair
from regard.text.corpus import read, write
from regard.text.formats import formats
from regard.text.pairs import Languages, Pair, matches, sides

ENGLISH_GERMAN = Languages("en", "de")
GERMAN_ENGLISH = Languages("de", "en")
HELLO = ("Hello.", "Hallo.")
BYE = ("Bye.", "Tschüss.")

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header/><body>
<tu><tuv xml:lang="EN-US"><seg>Press <bpt>&lt;b></bpt>the <hi>red</hi><ept>&lt;/b></ept> key<ph>{1}</ph>.</seg></tuv>
<tuv lang="de_DE"><seg>Drücken Sie die <!-- not this -->rote Taste.</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Only English.</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Bonjour.</seg></tuv><tuv xml:lang="de"><seg>Hallo.</seg></tuv></tu>
</body></tmx>
"""

PO = r"""# A catalogue.
msgid ""
msgstr ""
"Language: de_DE\n"
"Content-Type: text/plain; charset=UTF-8\n"

msgctxt "greeting"
msgid "Hello."
msgstr "Hallo."

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

#, fuzzy
msgid "Open"
msgstr "Schließen"

msgid "Close"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"""

XLIFF_1 = """<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en-GB" target-language="de" original="a" datatype="plaintext"><body><group>
<trans-unit id="1"><source>The <g id="1">red</g> <x id="2"/>key<ph id="3">{0}</ph>.</source>
<target>Die <g id="1">rote</g> <x id="2"/><mrk mtype="term">Taste</mrk><bpt id="4">[b]</bpt>.</target>
<alt-trans><target>Nicht dies.</target></alt-trans></trans-unit>
<trans-unit id="2"><source>Untranslated</source></trans-unit>
<trans-unit id="3"><source>Untranslated, too</source><target/></trans-unit>
<trans-unit id="4"><source>Unsure</source><target state="needs-translation">Unsure</target></trans-unit>
</group></body></file>
<file source-language="en" target-language="fr" original="b" datatype="plaintext"><body>
<trans-unit id="5"><source>Hello.</source><target>Bonjour.</target></trans-unit></body></file></xliff>
"""

XLIFF_2 = """<xliff version="2.0" xmlns="urn:oasis:names:tc:xliff:document:2.0" srcLang="en" trgLang="de-DE">
<file id="f"><unit id="1"><segment><source>The <pc id="1">red</pc> key<ph id="2"/>.</source>
<target>Die <pc id="1">rote</pc> Taste.</target></segment>
<ignorable><source> </source></ignorable>
<segment><source>Bye.</source><target>Tschüss.</target></segment></unit>
<unit id="2"><segment><source>Untranslated</source></segment></unit></file></xliff>
"""


def texts(data, languages=ENGLISH_GERMAN, **options):
    return [(pair.source, pair.target) for pair in read(data, languages, **options)]


def place(folder: Path, **contents: str) -> None:
    for name, content in contents.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_bytes(content.encode())


def test_a_language_takes_its_regions_and_a_region_takes_no_other():
    accepted = [
        ("de", "de"),
        ("de", "de-DE"),
        ("de", "de_DE"),
        ("de", "DE"),
        ("zh", "zh-Hans-CN"),
        ("zh-CN", "zh-Hans-CN"),
    ]
    refused = [("pt-BR", "pt-PT"), ("pt-BR", "pt"), ("de", "den"), ("de", "nds-de"), ("en", "")]
    assert all(matches(wanted, found) for wanted, found in accepted)
    assert not any(matches(wanted, found) for wanted, found in refused)


def test_the_exact_language_beats_a_region_and_two_of_one_language_are_source_then_target():
    assert sides(Languages("en", "de"), ("de-AT", "en-GB", "de", "en")) == (3, 2)
    assert sides(Languages("pt", "pt-BR"), ("pt-BR", "pt-PT")) == (1, 0)
    assert sides(Languages("en", "en"), ("en", "en")) == (0, 1)
    assert sides(Languages("en", "de"), ("en", "fr")) is None


def test_every_format_is_a_file_with_the_documented_contents():
    folder = Path(sys.modules["regard.text.formats"].__file__).parent
    assert set(formats()) == {file.stem for file in folder.glob("*.py")} - {"__init__"}
    for format_ in formats().values():
        assert format_.suffixes
        assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in format_.suffixes)
        assert format_.write is not None


@pytest.mark.parametrize("given", [["train"], ["train.en", "train.de"], ["train.de"], ["."], ["train.*"]])
def test_line_aligned_text_is_named_by_its_stem_a_file_both_files_a_folder_or_a_pattern(tmp_path, given):
    place(tmp_path, train__en="Hello.\nBye.\n", train__de="Hallo.\nTschüss.", train__fr="Bonjour.\n", notes="x")
    assert texts([tmp_path / name for name in given]) == [HELLO, BYE]


def test_a_line_ends_at_a_line_feed_and_nowhere_else(tmp_path):
    place(tmp_path, a__en="one\u2028still one\x0b\x85\r\ntwo\r\n", a__de="eins\nzwei\n")
    assert texts([tmp_path / "a"]) == [("one\u2028still one\x0b\x85", "eins"), ("two", "zwei")]


def test_two_files_of_any_name_are_line_aligned_text_where_that_is_said(tmp_path):
    place(tmp_path, left="Hello.\n", right="Hallo.\n")
    assert texts([tmp_path / "left", tmp_path / "right"], format="plain") == [HELLO]


def test_a_pair_knows_its_file_and_its_line(tmp_path):
    place(tmp_path, a__tsv="Hello.\tHallo.\n\nBye.\tTschüss.\n")
    bad = BadInput()
    pairs = list(read([tmp_path / "a.tsv"], ENGLISH_GERMAN, bad=bad))
    assert pairs == [Pair(*HELLO, str(tmp_path / "a.tsv"), 1), Pair(*BYE, str(tmp_path / "a.tsv"), 3)]
    assert bad.not_pairs[NotAPair.BLANK].places == [(str(tmp_path / "a.tsv"), 2)]


def test_a_byte_order_mark_and_carriage_returns_are_dropped(tmp_path):
    place(tmp_path, a__tsv="\ufeffHello.\tHallo.\r\nBye.\tTschüss.\r\n")
    assert texts([tmp_path / "a.tsv"]) == [HELLO, BYE]


def test_tsv_has_the_source_first_unless_its_name_says_the_reverse(tmp_path):
    place(tmp_path, a__tsv="Hello.\tHallo.\n", en_de__train__tsv="Hello.\tHallo.\n")
    assert texts([tmp_path / "a.tsv"], GERMAN_ENGLISH) == [HELLO]
    assert texts([tmp_path / "en-de.train.tsv"]) == [HELLO]
    assert texts([tmp_path / "en-de.train.tsv"], GERMAN_ENGLISH) == [HELLO[::-1]]


def test_columns_are_those_of_the_source_and_of_the_target_as_asked_for(tmp_path):
    place(tmp_path, en_de__tsv='x\tMIT\t"Hello."\tHallo.\n')
    assert texts([tmp_path / "en-de.tsv"], columns=(3, 4)) == [('"Hello."', "Hallo.")]
    assert texts([tmp_path / "en-de.tsv"], GERMAN_ENGLISH, columns=(4, 3)) == [("Hallo.", '"Hello."')]


def test_a_folder_passes_over_files_whose_names_say_other_languages(tmp_path):
    place(tmp_path, en_de__tsv="Hello.\tHallo.\n", en_fr__tsv="Hello.\tBonjour.\n", README__md="x")
    assert texts([tmp_path]) == [HELLO]
    assert texts([tmp_path], columns=(1, 2)) == [HELLO]
    assert texts([tmp_path / "*.tsv"], format="tsv") == [HELLO]


def test_a_file_is_read_once_however_often_it_is_named(tmp_path):
    place(tmp_path, a__tsv="Hello.\tHallo.\n")
    assert texts([tmp_path, tmp_path / "a.tsv", tmp_path / "*.tsv"]) == [HELLO]


def test_jsonl_has_language_codes_or_source_and_target_as_keys(tmp_path):
    place(
        tmp_path,
        a__jsonl='{"en": "Hello.", "de-DE": "Hallo.", "score": 11111111111111111111}\n'
        '{"id": 7, "translation": {"de": "Tschüss.", "en": "Bye."}}\n'
        '{"source": "Yes.", "target": "Ja.\\u2028"}\n',
    )
    assert texts([tmp_path / "a.jsonl"]) == [HELLO, BYE, ("Yes.", "Ja.\u2028")]


def test_tmx_gives_the_text_of_segments_without_codes_and_counts_units_that_lack_a_language(tmp_path):
    place(tmp_path, a__tmx=TMX)
    bad = BadInput()
    pairs = list(read([tmp_path / "a.tmx"], ENGLISH_GERMAN, bad=bad))
    assert pairs == [Pair("Press the red key.", "Drücken Sie die rote Taste.", str(tmp_path / "a.tmx"), 4)]
    assert bad.not_pairs[NotAPair.NO_TARGET].places == [(str(tmp_path / "a.tmx"), 6)]
    assert bad.not_pairs[NotAPair.NO_SOURCE].places == [(str(tmp_path / "a.tmx"), 7)]


def test_tmx_may_be_utf_16(tmp_path):
    (tmp_path / "a.tmx").write_bytes(TMX.replace("UTF-8", "UTF-16").encode("utf-16"))
    assert texts([tmp_path / "a.tmx"]) == [("Press the red key.", "Drücken Sie die rote Taste.")]


def test_po_gives_plural_forms_and_counts_what_is_not_translated(tmp_path):
    place(tmp_path, a__po=PO)
    bad = BadInput()
    expected = [HELLO, ("%d file", "%d Datei"), ("%d files", "%d Dateien")]
    assert texts([tmp_path / "a.po"], bad=bad) == expected
    assert {reason: tally.count for reason, tally in bad.not_pairs.items()} == {
        NotAPair.FUZZY: 1,
        NotAPair.UNTRANSLATED: 1,
        NotAPair.OBSOLETE: 1,
    }
    assert texts([tmp_path / "a.po"], GERMAN_ENGLISH) == [pair[::-1] for pair in expected]


def test_po_is_written_with_a_context_where_a_source_comes_again(tmp_path):
    write(tmp_path / "a.po", [Pair("Open", "Öffnen"), Pair("Open", "Offen")], ENGLISH_GERMAN)
    assert 'msgctxt "2"\nmsgid "Open"\nmsgstr "Offen"' in (tmp_path / "a.po").read_text(encoding="utf-8")
    assert texts([tmp_path / "a.po"]) == [("Open", "Öffnen"), ("Open", "Offen")]


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("u", "the encoding 'u', which its header declares, is unknown"),
        ("hex", "the encoding 'hex', which its header declares, is unknown"),
        ("UTF-7", "this file is not in utf-7, which its header declares"),
        ("UTF-16", "this file is not in utf-16, which its header declares"),
    ],
)
def test_a_catalogue_that_is_not_in_the_encoding_it_declares_is_told(
    tmp_path: Path, encoding: str, message: str
) -> None:
    (tmp_path / "a.po").write_text(PO.replace("UTF-8", encoding), encoding="utf-8")
    with pytest.raises(CorpusError, match=f"a.po: {message}"):
        texts([tmp_path / "a.po"])
    assert texts([tmp_path / "a.po"], bad=BadInput(skip=True)) == []


def test_xliff_1_gives_the_text_of_units_without_codes_and_counts_the_others(tmp_path):
    place(tmp_path, a__xlf=XLIFF_1)
    bad = BadInput()
    assert texts([tmp_path / "a.xlf"], bad=bad) == [("The red key.", "Die rote Taste.")]
    assert {reason: tally.count for reason, tally in bad.not_pairs.items()} == {
        NotAPair.UNTRANSLATED: 2,
        NotAPair.FUZZY: 1,
        NotAPair.OTHER_LANGUAGES: 1,
    }
    assert texts([tmp_path / "a.xlf"], GERMAN_ENGLISH) == [("Die rote Taste.", "The red key.")]


def test_xliff_2_gives_a_pair_for_each_segment(tmp_path):
    place(tmp_path, a__xliff=XLIFF_2)
    bad = BadInput()
    assert texts([tmp_path / "a.xliff"], bad=bad) == [("The red key.", "Die rote Taste."), BYE]
    assert bad.not_pairs[NotAPair.UNTRANSLATED].count == 1


@pytest.mark.parametrize("compression", ["", ".gz", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["a.en", "a.tsv", "a.jsonl", "a.tmx", "a.po", "a.xlf"])
def test_every_format_is_written_and_read_compressed_or_not(tmp_path, name, compression):
    path = tmp_path / (name + compression)
    write(path, [Pair(*HELLO), Pair(*BYE)], ENGLISH_GERMAN)
    assert texts([path]) == [HELLO, BYE]
    assert texts([tmp_path]) == [HELLO, BYE]


def test_compressed_files_may_be_several_joined(tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"Hello.\tHallo.\n") + gzip.compress("Bye.\tTschüss.\n".encode()))
    write(tmp_path / "b.tsv.zst", [Pair(*HELLO)], ENGLISH_GERMAN)
    (tmp_path / "b.tsv.zst").write_bytes((tmp_path / "b.tsv.zst").read_bytes() * 2)
    assert texts([tmp_path / "a.tsv.gz"]) == [HELLO, BYE]
    assert texts([tmp_path / "b.tsv.zst"]) == [HELLO, HELLO]


def test_two_languages_that_are_the_same_are_written_and_read(tmp_path):
    languages = Languages("en", "en")
    for name in ("a.tsv", "a.jsonl", "a.tmx", "a.po", "a.xlf"):
        write(tmp_path / name, [Pair("colour", "color")], languages)
        assert texts([tmp_path / name], languages) == [("colour", "color")]


def test_a_failed_writing_leaves_what_was_there(tmp_path):
    place(tmp_path, a__tsv="Hello.\tHallo.\n")
    with pytest.raises(CorpusError):
        write(tmp_path / "a.tsv", [Pair(*BYE), Pair("a\tb", "c")], ENGLISH_GERMAN)
    assert [file.name for file in tmp_path.iterdir()] == ["a.tsv"]
    assert texts([tmp_path / "a.tsv"]) == [HELLO]


def test_a_large_tmx_is_read_in_little_memory(tmp_path):
    """200,000 units are 32 MB of XML and would be some 500 MB of elements."""
    variant = '<tuv xml:lang="{0}"><seg>{1} {{0}}.</seg></tuv>'
    unit = f"<tu>{variant.format('en', 'This is sentence')}{variant.format('de', 'Das ist Satz')}</tu>\n"
    with (tmp_path / "large.tmx").open("w", encoding="utf-8") as file:
        file.write('<tmx version="1.4"><header/><body>\n')
        file.writelines(unit.format(number) for number in range(200_000))
        file.write("</body></tmx>\n")
    program = """
import resource, sys
from regard.text.corpus import read
from regard.text.pairs import Languages
pairs = read([sys.argv[1]], Languages("en", "de"))
next(pairs)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = 1 + sum(1 for _ in pairs)
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "large.tmx")], capture_output=True, text=True, check=True
    )
    count, kilobytes = map(int, run.stdout.split())
    assert count == 200_000
    assert kilobytes < 20_000


@pytest.mark.parametrize(
    ("name", "languages", "columns", "count"),
    [
        ("multi30k/train", ("en", "de"), None, 29_000),
        ("multi30k-bpe/en-fr/train", ("en", "fr"), None, 29_000),
        ("tatoeba/en-de.train.tsv.gz", ("de", "en"), None, 165_643),
        ("libreoffice-help", ("en", "fr"), None, 33_999),
        ("software-catalogs", ("en", "de"), (3, 4), 30_105),
        ("python-docs", ("en", "fr"), (2, 3), 22_000),
        ("sigmorphon2021-g2p/high/eng_us_train.tsv.gz", ("word", "phonemes"), None, 33_344),
        ("treebank-sample/train", ("words", "tree"), None, 3_401),
        ("newstest2013/de-en", ("en", "de"), None, 3_000),
    ],
)
def test_real_corpora_come_through_whole(data, name, languages, columns, count):
    assert sum(1 for _ in read([data / name], Languages(*languages), columns=columns)) == count
