"""How the tokenisers of a model are stored, and what is said about damaged files."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from regard import ModelFolderError
from regard.tokens import Tokenisers, TokeniserSettings, kind_names, train
from regard.tokens.tokeniser import find_kind

ENGLISH = ["A small house stands by the lake.", "The lake is small, and the house is old."] * 10
GERMAN = ["Ein kleines Haus steht am See.", "Der See ist klein, und das Haus ist alt."] * 10
Table = dict[str, Any]


@pytest.mark.parametrize("kind", [kind for kind in kind_names() if kind not in ("hub", "marian")])  # not trained
@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("backwards", [False, True])
def test_stored_tokenisers_load_as_they_were(kind: str, joint: bool, backwards: bool) -> None:
    table = {"kind": kind, "vocabulary": 320, "joint": joint, "protected": (">>de<<",), "reversed": backwards}
    made = train(ENGLISH, GERMAN, TokeniserSettings.read(table, where="test"))
    files = made.files()
    loaded = Tokenisers.from_files(files)
    assert loaded.files() == files
    assert loaded.hash == made.hash
    assert loaded.settings == made.settings
    assert loaded.joint == joint
    assert loaded.reversed == backwards
    for text in GERMAN:
        assert loaded.target.encode(text) == made.target.encode(text)


def test_one_tokeniser_serves_both_sides_in_one_file() -> None:
    made = train(ENGLISH, GERMAN, TokeniserSettings(vocabulary=320))
    assert made.source is made.target
    assert sorted(made.files()) == ["tokeniser.json", "tokeniser.spm"]


def test_a_tokeniser_from_the_end_has_another_hash_and_the_same_files() -> None:
    forwards, backwards = (
        train(ENGLISH, GERMAN, TokeniserSettings(vocabulary=320, reversed=reverse)) for reverse in (False, True)
    )
    assert forwards.hash != backwards.hash
    assert forwards.files()["tokeniser.spm"] == backwards.files()["tokeniser.spm"]
    assert b"reversed" not in forwards.files()["tokeniser.json"].split(b'"settings"')[0]


def stored() -> dict[str, bytes]:
    return train(ENGLISH, GERMAN, TokeniserSettings(kind="words", joint=False)).files()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "tokeniser.json",
            None,
            r"tokeniser\.json: this tokeniser file is missing.\n  Copy the whole model folder again",
        ),
        ("tokeniser.json", b"\xff{", r"tokeniser\.json: it is not JSON"),
        ("tokeniser.json", b"[1]", r"tokeniser\.json: it has no format number"),
        ("source.words.txt", None, r"source\.words\.txt: this tokeniser file is missing"),
        ("source.words.txt", b"a\n", r"source\.words\.txt: its SHA-256 is not the one in tokeniser\.json"),
    ],
)
def test_a_missing_or_damaged_file_is_named(name: str, content: bytes | None, message: str) -> None:
    files = {file: kept for file, kept in stored().items() if file != name}
    with pytest.raises(ModelFolderError, match=message):
        Tokenisers.from_files(files if content is None else files | {name: content})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda table: table.update(format=99),
            r"its format is 99, but this version of Regard reads only 1.\n  A newer version of Regard wrote it",
        ),
        (lambda table: table.pop("format"), "it has no format number"),
        (lambda table: table["tokenisers"].pop("target"), "the tokenisers are called source"),
        (lambda table: table["tokenisers"]["source"].update(size=9), "the size or the special ids of 'source'"),
        (lambda table: table["tokenisers"]["source"].update(kind="wrods"), r".*did you mean 'words'\?"),
        (lambda table: table["tokenisers"]["source"].update(files={}), r"it lists no source\.words\.txt"),
        (lambda table: table["tokenisers"]["source"].update(hue=1), "[^!]*hue: there is no such setting"),
        (lambda table: table["tokenisers"]["source"].update(options={"joni": ""}), "[^!]*did you mean 'join'"),
    ],
)
def test_a_wrong_description_is_explained(change: Callable[[Table], object], message: str) -> None:
    files = stored()
    table = json.loads(files["tokeniser.json"])
    change(table)
    with pytest.raises(ModelFolderError, match=rf"tokeniser\.json: {message}"):
        Tokenisers.from_files(files | {"tokeniser.json": json.dumps(table).encode()})


@pytest.mark.parametrize(
    ("kind", "ending", "content", "message"),
    [
        ("subwords", "spm", b"nonsense", "not a SentencePiece model"),
        ("subwords", "spm", b"", "not a SentencePiece model"),
        ("words", "words.txt", b"one\n\xff\n", "not UTF-8"),
        ("words", "words.txt", b"one\ntwo", "the last line has no line break"),
        ("characters", "characters.txt", b"a\na\n", "occurs twice"),
    ],
)
def test_content_that_is_no_tokeniser_is_refused(kind: str, ending: str, content: bytes, message: str) -> None:
    with pytest.raises(ModelFolderError, match=message):
        find_kind(kind).load({ending: content}, options=find_kind(kind).Options())
