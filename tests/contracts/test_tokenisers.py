"""What every tokeniser keeps to, what each kind adds, and how the pair of a model is trained and stored."""

from __future__ import annotations

import gzip
import logging
import os
import pickle
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from sentencepiece import SentencePieceProcessor

from regard import SettingsError, TextError
from regard.settings import Settings
from regard.tokens import Tokeniser, TokeniserSettings, kind_names, kinds, train
from regard.tokens.kinds import subwords
from regard.tokens.protected import PATTERNS
from regard.tokens.tokeniser import find_kind
from regard.tokens.training import sampled

DATA = Path(os.environ.get("REGARD_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
ENGLISH = [
    "A small house stands by the lake.",
    "The lake is small, and the house is old.",
    "Nobody has lived in {name}'s house for %d years.",
    "Old houses by the lake cost more than new ones in town.",
] * 10
GERMAN = [
    "Ein kleines Haus steht am See.",
    "Der See ist klein, und das Haus ist alt.",
    "Seit %d Jahren hat niemand im Haus von {name} gewohnt.",
    "Alte Häuser am See kosten mehr als neue in der Stadt.",
] * 10
KINDS = ["bpe", *(kind for kind in kind_names() if kind not in ("hub", "marian"))]  # which come with imports alone


def lines(path: str, column: int | None = None) -> list[str]:
    """The lines of a gzipped file of the data folder, or one column of them."""
    file = DATA / path
    if not file.exists():
        pytest.skip(f"{file} is not there: set REGARD_DATA to the folder with the test data")
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as stream:
        found = [line.rstrip("\n") for line in stream]
    return found if column is None else [line.split("\t")[column] for line in found]


def settings(kind: str, **more: object) -> TokeniserSettings:
    table = {"kind": kind, "vocabulary": 400, "joint": True}
    if kind == "bpe":
        table |= {"kind": "subwords", "options": {"algorithm": "bpe"}}
    return TokeniserSettings.read(table | more, where="test")


@pytest.fixture(params=KINDS)
def tokeniser(request: pytest.FixtureRequest) -> Tokeniser:
    return train(ENGLISH, GERMAN, settings(request.param)).source


def test_a_new_file_is_a_new_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "whispers.py").write_text("from regard.tokens.kinds.utf8 import Options, load, train\n")
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    assert kind_names() == ["characters", "hub", "marian", "subwords", "uncased", "utf8", "whispers", "words"]
    assert train(["a"], ["b"], TokeniserSettings(kind="whispers")).source.decode([100, 107]) == "ah"


@pytest.mark.parametrize("name", kind_names())
def test_every_kind_has_options_train_and_load(name: str) -> None:
    kind = find_kind(name)
    assert issubclass(kind.Options, Settings)
    assert callable(kind.train)
    assert callable(kind.load)
    assert kind.__doc__


def test_the_tokens_room_needs_no_torch() -> None:
    code = """if True:
        import sys
        from regard.tokens.tokeniser import find_kind, kind_names
        assert all(find_kind(name) for name in kind_names())
        sys.exit("torch" in sys.modules)
    """
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_training_text_comes_back_from_its_ids(tokeniser: Tokeniser) -> None:
    for text in ENGLISH + GERMAN:
        ids = tokeniser.encode(text)
        assert tokeniser.decode(ids) == tokeniser.normalise(text)
        assert all(0 <= token < tokeniser.size for token in ids)
        assert not {tokeniser.begin, tokeniser.end, tokeniser.unknown} & set(ids)


def test_begin_padding_and_end_leave_no_trace_in_the_text(tokeniser: Tokeniser) -> None:
    ids, normal = tokeniser.encode(ENGLISH[0]), tokeniser.normalise(ENGLISH[0])
    assert tokeniser.decode([tokeniser.begin, *ids, tokeniser.end, tokeniser.begin, tokeniser.begin]) == normal


def test_special_ids_are_padding_0_end_1_unknown_2(tokeniser: Tokeniser) -> None:
    assert (tokeniser.begin, tokeniser.end, tokeniser.unknown) == (0, 1, 2)
    assert tokeniser.pieces([0, 1, 2]) == ["<pad>", "</s>", "<unk>"]


def test_empty_text_has_no_ids(tokeniser: Tokeniser) -> None:
    assert tokeniser.encode(" \n ") == []
    assert tokeniser.encode_batch([""]) == [[]]
    assert tokeniser.encode_batch([]) == []
    assert tokeniser.decode([]) == ""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_gives_the_ids_of_each_text_whatever_the_threads(tokeniser: Tokeniser, threads: int) -> None:
    texts = [*ENGLISH, "", *GERMAN]
    assert tokeniser.encode_batch(texts, threads=threads) == [tokeniser.encode(text) for text in texts]


def test_there_is_a_piece_to_see_for_every_id(tokeniser: Tokeniser) -> None:
    pieces = tokeniser.pieces(range(tokeniser.size))
    assert len(pieces) == tokeniser.size
    assert all(pieces)
    assert not any(" " in piece for piece in pieces)


def test_pieces_group_into_the_words_of_the_text(tokeniser: Tokeniser) -> None:
    ids = [tokeniser.begin, *tokeniser.encode("The old house by the lake."), tokeniser.end]
    words: list[list[int]] = []
    for token, starts in zip(ids, tokeniser.word_starts(ids), strict=True):
        words = [*words, [token]] if starts else [*words[:-1], [*words[-1], token]]
    assert words[0] == [tokeniser.begin]
    assert words[-1] == [tokeniser.end]
    if tokeniser.kind == "words":
        assert len(words) == 8
    else:
        shown = ["".join(tokeniser.pieces(word)).removeprefix("▁") for word in words[1:-1]]
        assert shown == tokeniser.normalise("The old house by the lake.").split(" ")


def test_half_a_surrogate_pair_is_refused_with_its_place(tokeniser: Tokeniser) -> None:
    for attempt in (lambda: tokeniser.encode("ab\ud800"), lambda: tokeniser.encode_batch(["fine", "ab\ud800"])):
        with pytest.raises(TextError, match=r"Character 3 of 'ab.*' is half of a surrogate pair \(U\+D800\)"):
            attempt()


def test_half_a_surrogate_pair_is_refused_in_training() -> None:
    with pytest.raises(TextError, match="Decode it again as UTF-8"):
        train(["a\udfff"], ["b"], settings("characters"))


def test_a_tokeniser_survives_pickling(tokeniser: Tokeniser) -> None:
    copy = pickle.loads(pickle.dumps(tokeniser))  # noqa: S301  what a worker process gets
    assert copy.encode(GERMAN[3]) == tokeniser.encode(GERMAN[3])
    assert copy.hash == tokeniser.hash


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_bytes_in_another_process(kind: str) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_tokenisers as t;"
        "print(t.train(t.ENGLISH, t.GERMAN, t.settings(sys.argv[2])).hash)"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), kind]
    other = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert other == train(ENGLISH, GERMAN, settings(kind)).hash


def test_each_side_can_have_its_own_kind() -> None:
    made = train(["cat", "dog"], ["k æ t", "d ɔ ɡ"], TokeniserSettings(kind="characters", target_kind="words"))
    assert sorted(made.files()) == ["source.characters.txt", "target.words.txt", "tokeniser.json"]
    assert made.target.pieces(made.target.encode("d æ ɡ")) == ["d", "æ", "ɡ"]
    assert not made.joint


def test_another_option_is_another_hash() -> None:
    plain = train(ENGLISH, GERMAN, settings("words"))
    joining = train(ENGLISH, GERMAN, settings("words", options={"join": "@@"}))
    assert plain.hash != joining.hash


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "subword"}, "kind: there is no tokeniser called 'subword'; did you mean 'subwords'"),
        ({"options": {"algorithm": "wordpiece"}}, "options of subwords.*algorithm = 'wordpiece'"),
        ({"options": {"join": "@@"}}, "options of subwords.*join: there is no such setting"),
        ({"kind": "words", "options": {"join": "@@ "}}, "options of words.*join"),
        ({"joint": True, "target_kind": "words"}, "joint = true and target_kind exclude each other"),
        ({"protected": ["a b"]}, "protected: 'a b' cannot be a token"),
        ({"protected": ["</s>"]}, "protected: '</s>' cannot be protected; it is the name of a special token"),
        ({"patterns": ["brace"]}, "patterns: there is no pattern called 'brace'; did you mean 'braces'"),
        ({"vocabulary": 1}, "vocabulary = 1"),
    ],
)
def test_wrong_settings_are_explained(table: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=f"(?s)recipe: these settings are invalid:.*{message}"):
        TokeniserSettings.read(table, where="recipe")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("subwords", "vocabulary = 20: this vocabulary is too small for subwords .*\n  The special ids, 256 bytes"),
        ("bpe", "vocabulary = 20: this vocabulary is too small for subwords"),
        ("characters", "vocabulary = 20: this leaves no ids for characters.\n .* need 259"),
    ],
)
def test_a_vocabulary_too_small_for_the_kind_is_refused(kind: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        train(ENGLISH, GERMAN, settings(kind, vocabulary=20))


def test_a_corpus_without_text_is_refused() -> None:
    with pytest.raises(TextError, match=r"The tokeniser of the target side has no text"):
        train(ENGLISH, ["", " "], settings("words", joint=False))


@pytest.mark.parametrize("kind", ["subwords", "bpe"])
def test_a_small_corpus_gets_a_smaller_vocabulary_and_a_notice(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = train(ENGLISH, GERMAN, settings(kind, vocabulary=32_000)).source
    assert 259 < made.size < 1000
    wanted = f"The text yields only {made.size} subwords, so the vocabulary is smaller than the requested 32000."
    assert caplog.messages == [wanted]


def test_words_without_an_id_are_counted_in_a_notice(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made = train(["a a a b b c"], ["a"], settings("words", vocabulary=5)).source
    assert made.decode(made.encode("a b c")) == "a b <unk>"
    assert caplog.messages == ["1 rare words do not fit into a vocabulary of 5: the tokeniser maps them to <unk>."]


def test_training_subwords_is_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    train(ENGLISH, GERMAN, settings("subwords", vocabulary=300))
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""


def made_up_lines(count: int) -> list[str]:
    draw = Random(1)  # noqa: S311
    words = ["".join(draw.choice("abcdefghijklmnop") for _ in range(draw.randint(2, 9))) for _ in range(2_000)]
    return [" ".join(draw.choices(words, k=20)) for _ in range(count)]


def test_a_text_that_comes_twice_as_a_whole_is_soon_learned() -> None:
    """SentencePiece 0.2.2 reads a repeated passage from each of its places to its end, unless the text ends there."""
    lines = made_up_lines(2_000)
    began = time.monotonic()
    made = train([*lines, *lines, "The end."], (), TokeniserSettings(vocabulary=500, options={"algorithm": "unigram"}))
    assert time.monotonic() - began < 30
    assert made.source.decode(made.source.encode(lines[7])) == lines[7]


def test_only_texts_with_repeated_passages_change_their_order() -> None:
    lines = made_up_lines(50)
    assert subwords._without_repeated_passages(lines) is lines
    assert subwords._without_repeated_passages(lines[:5] * 2) == lines[:5] * 2  # shorter than a passage
    twice = subwords._without_repeated_passages(lines * 2)
    assert sorted(twice) == sorted(lines * 2)
    assert twice != lines * 2
    assert twice == subwords._without_repeated_passages(lines * 2)


def test_a_sample_is_even_and_within_its_limit() -> None:
    for limit in (1, 2, 7, 8, 100):
        for count in (1, 5, 8, 99, 1000):
            kept = [int(text) for text in sampled(map(str, range(count)), limit=limit)]
            assert min(count, (limit + 1) // 2) <= len(kept) <= limit
            assert len({later - earlier for earlier, later in pairwise(kept)}) <= 1
            assert kept[0] == 0


def test_subwords_is_a_model_that_bare_sentencepiece_reads() -> None:
    made = train(ENGLISH, GERMAN, settings("subwords")).source
    bare = SentencePieceProcessor(model_proto=made.files()["spm"])
    assert bare.encode(GERMAN) == made.encode_batch(GERMAN)


def test_joined_words_come_back_whole() -> None:
    made = train(["transl@@ ation is an ar@@ t"], ["@@"], settings("words", options={"join": "@@"})).source
    ids = made.encode("ar@@ t is transl@@ ation ar@@")
    assert made.decode(ids) == "art is translation ar"
    assert made.word_starts(ids) == [True, False, True, True, False, True]
    assert made.pieces(ids) == ["ar@@", "t", "is", "transl@@", "ation", "ar@@"]


def test_a_word_that_looks_like_a_special_piece_is_only_a_word() -> None:
    made = train(["</s> <pad> x"], ["y"], settings("words")).source
    ids = made.encode("x </s> <pad>")
    assert min(ids) > 2
    assert made.decode(ids) == "x </s> <pad>"


@pytest.mark.parametrize("kind", ["subwords", "bpe", "characters", "words"])
def test_protected_strings_are_single_pieces(kind: str) -> None:
    made = train(ENGLISH, GERMAN, settings(kind, protected=[">>de<<", "%1$s"], patterns=["braces", "percent"])).source
    text = ">>de<< {name} %1$s %d"
    ids = made.encode(text)
    assert [piece for piece in made.pieces(ids) if piece != "▁"] == text.split()
    assert made.decode(ids) == text


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        (
            "braces",
            "{} {0} {name} {user.name!r:>10} ${x} {{ count }} { no }",
            "{} {0} {name} {user.name!r:>10} ${x} {{ count }}",
        ),
        ("percent", "%s %1$s %(rev)s %.2f %ld, 100% sure, 5%d, %%s", "%s %1$s %(rev)s %.2f %ld"),
        ("tag", ">>de<< >>pt-BR<< >> no <<", ">>de<< >>pt-BR<<"),
        ("url", "See (https://example.org/a?b=c), http://x.y/.", "https://example.org/a?b=c http://x.y/"),
    ],
)
def test_patterns_find_what_their_names_say(name: str, text: str, found: str) -> None:
    assert " ".join(PATTERNS[name].findall(text)) == found


def test_multi30k_with_subword_marks_is_read_as_it_was_prepared() -> None:
    english = lines("multi30k-bpe/en-de/train.en.gz")
    german = lines("multi30k-bpe/en-de/train.de.gz")
    made = train(english, german, TokeniserSettings(kind="words", options={"join": "@@"})).source
    for text in english[:2000] + german[:2000]:
        assert made.decode(made.encode(text)) == text.replace("@@ ", "")
    unseen = made.encode_batch(lines("multi30k-bpe/en-de/valid.de.gz"))
    assert sum(made.unknown in ids for ids in unseen) < len(unseen) / 20


def test_letters_and_phonemes_come_back() -> None:
    path = "sigmorphon2021-g2p/low/ady_train.tsv.gz"
    words, phonemes = lines(path, 0), lines(path, 1)
    made = train(words, phonemes, TokeniserSettings(kind="characters", target_kind="words"))
    for word, sounds in zip(words, phonemes, strict=True):
        assert made.source.decode(made.source.encode(word)) == made.source.normalise(word)
        assert made.target.decode(made.target.encode(sounds)) == made.target.normalise(sounds)
    assert made.target.size < 100


def test_placeholders_of_real_programs_survive_whole() -> None:
    english, german = (lines("software-catalogs/en-de.tsv.gz", column) for column in (2, 3))
    choice = TokeniserSettings(vocabulary=8000, patterns=("braces", "percent", "url"))
    made = train(english, german, choice).source
    assert made.size == 8000
    whole = made.pieces(made.encode("Delete {name} from %(rev)s and %s?"))
    assert {"{name}", "%(rev)s", "%s"} <= set(whole)
    for text in english[::10] + german[::10]:
        ids = made.encode(text)
        assert made.decode(ids) == made.normalise(text)
        assert made.unknown not in ids


def test_decomposed_characters_are_the_letters_of_korean_syllables_and_come_back_whole() -> None:
    whole = train(["한국", "é"], ["x"], settings("characters", options={"minimum": 1, "decomposed": True}))
    assert len(whole.source.encode("한국")) == 6
    assert len(whole.source.encode("é")) == 2
    for text in ("한국", "국한", "é", "éx"):
        assert whole.source.decode(whole.source.encode(text)) == text
