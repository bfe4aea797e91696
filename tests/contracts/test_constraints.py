"""What is asked of translations: placeholders that survive, glossaries, prefixes, alignments, and given ones scored."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

import regard
from regard import SettingsError, TextError
from regard.search import Hypothesis, Request, Result, SearchSettings
from regard.text.placeholders import differences, placeholders
from regard.text.word_spans import word_spans
from regard.tokens import TokeniserSettings
from regard.tokens import train as train_tokenisers
from regard.translation.alignment import Said, linked, word_numbers
from regard.translation.engines.engine import plain_requests
from regard.translation.finding import Finder, Sentence
from regard.translation.forced import aligning
from regard.translation.glossary import Glossary
from regard.translation.protection import Protection
from regard.translation.putting_back import Bare, put_back
from regard.translation.segments import joined
from regard.translation.translator import Translator
from trained import MEANING, sentence, translation

MARKED = [
    "alto {name} gan",
    "<b>alto</b> gan",
    "alto <b>gan</b> esta",
    "{0} alto",
    "alto %s",
    "alto %(who)s gan {0} esta {0}",
    "<i>alto gan</i>",
    "alto &amp; gan",
    "alto <br/> gan https://example.org/a?b=c",
    "alto$HOMEgan ${x}",
]


@pytest.fixture(scope="module")
def translator(trained_folder: Path) -> Translator:
    return regard.load(trained_folder, device="cpu")


@pytest.mark.parametrize("text", MARKED)
def test_placeholders_survive_a_model_that_never_saw_any(translator: Translator, text: str) -> None:
    found = translator.translate(text, n_best=2, alignment=True)
    assert differences(text, found.text) == ([], [])
    assert found.lost == ()
    assert [differences(text, other.text) for other in found.alternatives] == [([], [])] * 2
    assert found.alignment
    assert all(s < len(word_spans(text)) and t < len(word_spans(found.text)) for s, t in found.alignment)


def test_placeholders_stand_by_the_words_they_stood_by(translator: Translator) -> None:
    assert translator.translate("alto <b>gan</b> esta").text == "vos <b>tirlo</b> zorva"
    assert translator.translate("alto {name} gan").text == "{name} tirlo zorva"


def test_texts_of_placeholders_alone_stay(translator: Translator) -> None:
    for text in ("{0}", "%s: %d", "<br/>", " {a} / {b}\n", "https://example.org"):
        assert translator.translate(text).text == text


class Forgetful:
    """An engine that says what it is told to say, and placeholders only on request."""

    name = "forgetful"

    def __init__(self, target: regard.tokens.Tokeniser, said: str, *, likelihood: float) -> None:
        self.target, self.said, self.likelihood = target, said, likelihood
        self.requests: list[Request] = []

    def search(
        self, sentences: Sequence[Sequence[int]], _: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        self.requests += requests or []
        return [self._result(request) for request in requests or plain_requests(sentences)]

    def _result(self, request: Request) -> Result:
        ids = (*self.target.encode(self.said), *(token for phrase in request.required for token in phrase))
        mean = self.likelihood if request.required else -0.1
        logprobs = (mean,) * (len(ids) + 1)
        flags = {"length_limited": False, "repetition_stopped": False, "constraints_met": True}
        found = Hypothesis(ids=ids, score=sum(logprobs), total=sum(logprobs), logprobs=logprobs, **flags)
        return Result(request=request, hypotheses=(found,))


class NoAttention:
    def align(self, _: Sequence[tuple[Said, Said]]) -> list[tuple[tuple[int, int], ...]]:
        raise SettingsError("no attention")


def protected(text: str, said: str, *, likelihood: float) -> tuple[str, Forgetful]:
    tokenisers = train_tokenisers(["a"], ["b"], TokeniserSettings(kind="utf8"))
    engine = Forgetful(tokenisers.target, said, likelihood=likelihood)
    finder = Finder(engine, tokenisers.target)
    one = Sentence(text, tokenisers.source.encode(text), tuple(placeholders(text)))
    settings = SearchSettings(beam_size=1)
    aligner: regard.translation.alignment.Aligner = NoAttention()  # type: ignore[assignment]
    checked = Protection(finder, aligner, tokenisers).checked([one], finder.find([one], settings), settings)
    return checked[0][0].text, engine


def test_lost_placeholders_are_asked_for_and_invented_ones_banned() -> None:
    text, engine = protected("Hi, {name}", "Hallo,", likelihood=-0.5)
    assert text == "Hallo, {name}"
    assert [engine.target.decode(request.required[0]) for request in engine.requests] == [" {name}"]
    text, engine = protected("Hi, {name}", "Hallo, {nome}", likelihood=-0.5)
    assert engine.requests[0].banned == (tuple(engine.target.encode("{nome}")),)
    assert text == "Hallo, {name}"  # what is banned was said all the same: so they are put back


def test_all_that_a_constrained_search_has_found_is_had_without_another_search() -> None:
    tokenisers = train_tokenisers(["a"], ["b"], TokeniserSettings(kind="utf8"))
    engine = Forgetful(tokenisers.target, "Hallo", likelihood=-0.5)
    finder = Finder(engine, tokenisers.target)
    asked, other = (Request(source_length=2, required=((word,),)) for word in (70, 71))
    some = [Sentence("ab", [65, 66], request=one) for one in (asked, other, asked)]
    best = finder.find(some, SearchSettings(beam_size=2))
    assert best == finder.find(some, SearchSettings(beam_size=2, n_best=2))
    assert engine.requests == [asked, other]
    finder.find(some, SearchSettings(beam_size=2))
    assert engine.requests[2:] == [asked, other]
    finder.find(some, SearchSettings(method="sampling", n_best=2))
    assert engine.requests[4:] == [asked, other, asked]


def test_an_unlikely_translation_is_not_taken_for_the_sake_of_a_placeholder() -> None:
    text, engine = protected("Hi {name} there", "Hallo dort", likelihood=-3.0)
    assert len(engine.requests) == 1
    assert text == "Hallo {name} dort"


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("Press <b>OK</b> now.", "Jetzt OK drücken.", [(2, 0), (1, 1), (0, 2)], "Jetzt <b>OK</b> drücken."),
        ("Hello {name}!", "Hallo!", [(0, 0)], "Hallo {name}!"),
        ("{n} files were found.", "Dateien gefunden.", [(0, 0), (2, 1)], "{n} Dateien gefunden."),
        ("Open %s and %s.", "Öffne und.", [(0, 0), (1, 1)], "Öffne %s und %s."),
        ("<p>One two</p>", "Eins zwei", [(0, 0), (1, 1)], "<p>Eins zwei</p>"),
        ("A <i>b</i>", "b A", [(1, 0), (0, 1)], "<i>b</i> A"),
        ("See {url}.", "", [], "{url}"),
        ("the {a} house", "Haus {b}", [(1, 0)], "{a} Haus"),
    ],
)
def test_placeholders_are_put_back_by_alignment(
    source: str, target: str, links: list[tuple[int, int]], expected: str
) -> None:
    bare = Bare.of(source, placeholders(source))
    text, alignment = put_back(bare, target, tuple(links))
    assert text == expected
    whole = {(source.split()[s], text.split()[t]) for s, t in alignment}
    assert all(any(character.isalpha() for character in word) for pair in whole for word in pair)
    assert len(alignment) <= len(links)


def test_a_glossary_finds_whole_words_longest_first_and_small_letters_in_any_case() -> None:
    glossary = Glossary({"file": "Datei", "file system": "Dateisystem", "Go": "Go", "東京": "Tokio", "c++": "C++"})
    assert glossary.required("File and profile, files, FILE", ()) == ("Datei",)
    assert glossary.required("The file system is a file.", ()) == ("Dateisystem", "Datei")
    assert glossary.required("go, going and Go; c++!", ()) == ("Go", "C++")
    assert glossary.required("私は東京に", ()) == ("Tokio",)
    text = "the <file> file"
    assert glossary.required("the <file>", placeholders("the <file>")) == ()
    assert glossary.required(text, placeholders(text)) == ("Datei",)
    assert Glossary({"New York": "Neu-York"}).required("WELCOME TO NEW YORK", ()) == ("Neu-York",)
    assert Glossary({"It": "Es"}).required("the IT team", ()) == ()
    with pytest.raises(SettingsError, match=r"glossary: 'a' -> ' ' has an empty side\.\n  Give both phrases"):
        Glossary({"a": " "})


def test_a_glossary_is_obeyed_where_its_phrase_occurs(translator: Translator) -> None:
    free = translator.translate(["esta Alto gan", "esta gan"])
    wanted = next(word for word in MEANING.values() if word not in free[0].text)  # what it would not say by itself
    bound = translator.translate("esta Alto gan", glossary={"alto": wanted}, beam_size=6)
    other = translator.translate("esta gan", glossary={"alto": wanted})
    assert bound.constraints_met == (wanted in bound.text.split())
    assert wanted in bound.text
    assert other.text == free[1].text


def test_translations_begin_with_the_prefix(translator: Translator) -> None:
    found = translator.translate("alto gan", prefix="quent", n_best=3)
    assert all(other.text.startswith("quent") for other in found.alternatives)
    assert found.constraints_met
    assert translator.translate(["", "{0}"], prefix="quent")[0].text == ""


def test_words_are_aligned_with_those_they_come_from(translator: Translator) -> None:
    draw = random.Random(11)  # noqa: S311
    texts = [sentence(draw) for _ in range(100)]
    found = translator.translate(texts, alignment=True)
    right = [one for one in found if one.text == translation(one.source)]
    links = [(one.source.split()[s], one.text.split()[t]) for one in right for s, t in one.alignment]
    assert len(links) == sum(len(one.text.split()) for one in right)
    assert sum(MEANING[source] == target for source, target in links) > 0.75 * len(links)
    assert [translator.translate(text, alignment=True).alignment for text in texts[:10]] == [
        one.alignment for one in found[:10]
    ]
    assert translator.translate(texts[0]).alignment == ()


def test_weights_of_pieces_are_summed_to_those_of_words() -> None:
    weights = torch.tensor([[0.4, 0.3, 0.3], [0.9, 0.1, 0.0], [0.1, 0.2, 0.7]])
    assert linked(weights, [0, 1, 1], [0, 1, 1]) == ((1, 0), (0, 1))
    assert linked(weights, [0, -1, 1], [0, -1, 1]) == ((0, 0), (1, 1))
    assert linked(weights, [], [0]) == ()


def test_pieces_belong_to_words_in_every_script(translator: Translator) -> None:
    for tokeniser in (
        translator.tokenisers.source,
        train_tokenisers(["a"], ["b"], TokeniserSettings(kind="utf8")).source,
    ):
        for text in ("alto gan", "我爱 Python", "naïve\u00a0café 🙂", "สวัสดี ok"):
            numbers = word_numbers(tokeniser, Said(text, tokeniser.encode(text)))
            assert sorted({number for number in numbers if number >= 0}) == list(range(len(word_spans(text))))
            assert [number for number in numbers if number >= 0] == sorted(number for number in numbers if number >= 0)


def test_a_model_without_attention_is_not_asked_for_an_alignment() -> None:
    class Deaf:
        def attentions(self) -> dict[str, str]:
            return {}

    with pytest.raises(SettingsError, match=r"has no attention over the source.*\n  Translate without alignment"):
        aligning(Deaf())  # type: ignore[arg-type]


def test_sentences_are_joined_as_their_scripts_are_written() -> None:
    assert joined(["Eins.", " ", "Zwei."]) == "Eins. Zwei."
    assert joined(["One.", "Two."]) == "One. Two."
    assert joined(["一。", " ", "二。"]) == "一。二。"
    assert joined(["  ", "a", "\n"]) == "  a\n"


def test_scores_do_not_depend_on_company_and_any_iterable_is_taken(translator: Translator) -> None:
    draw = random.Random(5)  # noqa: S311
    sources = [sentence(draw) for _ in range(30)] + ["", "gan " * 60]
    targets = [translation(source) if n % 3 else sentence(draw) for n, source in enumerate(sources[:-2])] + [
        "",
        "tirlo",
    ]
    together = translator.score(iter(sources), (target for target in targets))
    for one, source, target in zip(together, sources, targets, strict=True):
        alone = translator.score(source, target)
        assert one.tokens == alone.tokens
        assert one.logprobs == pytest.approx(alone.logprobs, abs=1e-5)
        assert one.total == pytest.approx(sum(one.logprobs))
        assert len(one.logprobs) == len(one.tokens) + 1
    assert translator.score([], []) == []
    with pytest.raises(TextError, match=r"There are only 1 targets, but more sources\.\n  Give one target per source"):
        translator.score(iter(["a", "b"]), iter(["c"]))


def test_dates_are_no_versions() -> None:
    from regard.text.placeholders import placeholders

    assert not placeholders("1954.11.02 and 2.11.1954")
    assert [found.start for found in placeholders("version 2.11.195 of 1954.11.02")] == [8]
