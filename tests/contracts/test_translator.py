"""The Translator on a small model that knows its task: the same translation always, whatever else is asked for."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard import ModelFolderError, SettingsError
from regard.search import Request, Result, SearchSettings
from regard.tokens import TokeniserSettings
from regard.tokens import train as train_tokenisers
from regard.translation.engines import engines, open_engine
from regard.translation.forced import Forced
from regard.translation.translation import Alternative
from regard.translation.translator import Translator
from trained import model_folder, sentence, translation


@pytest.fixture(scope="module")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("untrained") / "model", steps=0, seed=7)


@pytest.fixture(scope="module", params=["torch", "ctranslate2-float32"])
def translator(trained_folder: Path, request: pytest.FixtureRequest) -> Translator:
    if request.param != "torch":
        pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed: pip install 'regard[fast]'")
    return regard.load(trained_folder, device="cpu", engine=request.param)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    draw = random.Random(3)  # noqa: S311
    return [sentence(draw) for _ in range(60)]


def of(found: Sequence[Alternative]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.text, one.tokens) for one in found]


def test_the_small_model_knows_its_task(translator: Translator, texts: list[str]) -> None:
    right = sum(found.text == translation(text) for text, found in zip(texts, translator.translate(texts), strict=True))
    assert right > 0.8 * len(texts)


def test_a_sentence_gets_the_same_translation_in_any_company_order_and_window(
    translator: Translator, texts: list[str]
) -> None:
    odd = ["", "xyz 🙂 alto", "alto {0} gan", "gan " * 50, "esta\nikar"]
    expected = {text: translator.translate(text, beam_size=3, n_best=2) for text in [*texts, *odd]}
    for seed in range(4):
        draw = random.Random(seed)  # noqa: S311
        some = draw.choices([*texts, *odd], k=draw.choice([2, 9, 50]))
        search = SearchSettings(beam_size=3, n_best=2)
        found = list(translator.stream(some, search=search, window=draw.choice([1, 3, 17, 512])))
        assert [one.source for one in found] == some
        assert of(found) == of([expected[text] for text in some])
        assert [of(one.alternatives) for one in found] == [of(expected[text].alternatives) for text in some]
        for one in found:
            assert one.score == pytest.approx(expected[one.source].score, abs=1e-4)


def test_samples_do_not_depend_on_company_and_differ_by_seed(translator: Translator, texts: list[str]) -> None:
    def samples(some: list[str], seed: int) -> dict[str, list[tuple[str, tuple[str, ...]]]]:
        search = SearchSettings(method="sampling", n_best=3, seed=seed, temperature=2.0)
        return {found.source: of(found.alternatives) for found in translator.translate(some, search=search)}

    together = samples(texts[:12], 5)
    assert samples(texts[4:8][::-1], 5) == {text: together[text] for text in texts[4:8]}
    assert samples(texts[:12], 6) != together


def test_settings_beside_a_search_win_over_its_own(translator: Translator) -> None:
    search = SearchSettings(beam_size=2, max_length=1)
    assert len(translator.translate("alto gan", search=search).tokens) == 1
    assert len(translator.translate("alto gan", search=search, beam_size=3, n_best=3).alternatives) == 3
    with pytest.raises(SettingsError, match="n_best = 3 needs a beam_size of at least that, not 2"):
        translator.translate("alto", search=search, n_best=3)
    with pytest.raises(SettingsError, match="window = 0"):
        translator.stream([], window=0)


def test_a_stream_reads_no_further_than_its_window(translator: Translator) -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "alto"

    stream = translator.stream(lines(), window=5)
    for _ in range(6):
        next(stream)
    assert read == 10


def test_a_long_text_is_translated_sentence_by_sentence(trained_folder: Path, texts: list[str]) -> None:
    translator = regard.load(trained_folder, device="cpu", split_over=1)
    sentences = [f"{text.capitalize()}." for text in texts[:8]]
    gaps = [" ", "\n", "  ", "\n\n", "\t", " ", " "]
    text = "  " + "".join(a + b for a, b in zip(sentences, [*gaps, " \n"], strict=True))
    found = translator.translate(text, n_best=3, alignment=True, logprobs=True)
    alone = translator.translate(sentences, n_best=3, alignment=True)
    assert found.text == "  " + "".join(a.text + b for a, b in zip(alone, [*gaps, " \n"], strict=True))
    assert found.score == pytest.approx(sum(one.score for one in alone), abs=1e-3)
    assert found.tokens == tuple(token for one in alone for token in one.tokens)
    assert len(found.logprobs) == len(found.tokens) + 8
    scores = [other.score for other in found.alternatives]
    assert scores == sorted(scores, reverse=True)
    assert len({other.text for other in found.alternatives}) == 3
    second = max(one.alternatives[1].score - one.score for one in alone)
    assert scores[1] == pytest.approx(scores[0] + second, abs=1e-3)
    shifted, source, target = [], 0, 0
    for text, one in zip(sentences, alone, strict=True):
        shifted += [(source + s, target + t) for s, t in one.alignment]
        source, target = source + len(text.split()), target + len(one.text.split())
    assert list(found.alignment) == shifted


def test_every_engine_gives_log_probabilities_on_request_only(translator: Translator, texts: list[str]) -> None:
    bare = translator.translate("alto gan", n_best=2)
    assert (bare.logprobs, bare.alternatives[1].logprobs) == ((), ())
    for text in (*texts[:5], "alto gan {name}"):
        found = translator.translate(text, n_best=2, logprobs=True)
        for one in (found, *found.alternatives):
            assert len(one.logprobs) == len(one.tokens) + 1
            penalty = ((5 + len(one.logprobs)) / 6) ** SearchSettings().length_penalty
            assert one.score == pytest.approx(sum(one.logprobs) / penalty, abs=1e-4)
    assert translator.translate("", logprobs=True).logprobs == ()


def test_a_short_text_of_several_sentences_stays_whole_and_lines_never_do(translator: Translator) -> None:
    one_end = translator.translate("Alto. Gan.", logprobs=True)
    assert len(one_end.logprobs) == len(one_end.tokens) + 1
    one, other = translator.translate(["alto gan", "esta"])
    assert translator.translate("alto gan\n\n  Esta").text.split("\n\n  ")[0] == one.text
    assert translator.translate("alto\ngan").text == one.text  # a sentence that goes on
    assert translator.translate("Esta\r\nAlto").text.count("\r\n") == 1
    assert other.text == translation("esta")
    dotted = [f"{text}." for text in ("Alto gan", "Esta ikar")]
    alone = [found.text for found in translator.translate(dotted)]
    assert translator.translate(".\n".join(["Alto gan", "Esta ikar."])).text == "\n".join(alone)


class Spy:
    """An engine that remembers what it was asked for."""

    name = "spy"

    def __init__(self, translator: Translator) -> None:
        self._engine, self.asked = translator.engine, list[list[int]]()

    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        self.asked += map(list, sentences)
        return self._engine.search(sentences, settings, requests=requests)


def spied(folder: Path) -> tuple[Translator, Spy]:
    translator = regard.load(folder, device="cpu")
    spy = Spy(translator)
    translator._texts.searching._finder._engine = spy  # type: ignore[attr-defined]
    return translator, spy


@pytest.mark.parametrize("text", ["alto gan, " * 5000, "alto" * 2500, "好" * 3000, "🙂" * 1500, "alto.gan" * 1500])
def test_ten_thousand_words_are_translated_in_parts_that_a_model_can_take(untrained: Path, text: str) -> None:
    translator, spy = spied(untrained)
    search = SearchSettings(beam_size=1, max_length=8)
    assert translator.translate(text, search=search).text  # characters that no model knows stay as they are ...
    assert all(len(asked) < 1024 for asked in spy.asked)
    spy.asked.clear()
    assert translator.translate(text, search=search, checks=False).text  # ... unless a model is to say them
    assert max(map(len, spy.asked)) < 1024
    assert len(spy.asked) >= len(text) / 1000


def test_learned_positions_are_never_exceeded(tmp_path: Path) -> None:
    few = model_folder(tmp_path / "few", steps=0, positions="learned", learned_positions=20)
    translator = regard.load(few, device="cpu")
    found = translator.translate(["alto " * 100, "x" * 100, "Gan."], beam_size=2, alignment=True)
    assert all(one.text for one in found)


def test_engines_are_found_by_name(trained_folder: Path, translator: Translator) -> None:
    assert "torch" in engines()
    assert regard.load(trained_folder, device="cpu", engine="torch").engine.name == "torch"
    with pytest.raises(SettingsError, match=r"engine = 'troch': there is no such engine; did you mean 'torch'\?"):
        regard.load(trained_folder, engine="troch")


@pytest.mark.parametrize(("device", "engine", "expected"), [
    ("cpu", "torch", torch.float32), ("cpu", "torch-float32", torch.float32),
    ("cuda", "torch", torch.bfloat16), ("cuda", "torch-float32", torch.float32),
])  # fmt: skip
def test_the_engine_torch_computes_in_bf16_on_a_gpu_and_the_models_stay_float32(
    trained_folder: Path, monkeypatch: pytest.MonkeyPatch, device: str, engine: str, expected: torch.dtype
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: True)
    loaded = regard.load(trained_folder, device="cpu", engine="torch").loaded
    opened = open_engine(engine, replace(loaded, device=torch.device(device)))
    assert opened.name == engine
    assert {weight.dtype for weight in opened.model.parameters()} == {expected}  # type: ignore[attr-defined]
    assert {weight.dtype for weight in loaded.models[0].parameters()} == {torch.float32}


def test_texts_that_are_all_given_at_once_are_searched_at_once(
    trained_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = regard.load(trained_folder, device="cpu", engine="torch")
    search_each, sizes = translator.engine.search_each, list[int]()  # type: ignore[attr-defined]

    def noted(sentences: Sequence[Sequence[int]], *arguments: Any, **named: Any) -> list[Any]:
        sizes.append(len(sentences))  # one is searched: the others would take their time
        return search_each(sentences[:1], *arguments, **named) * len(sentences)

    monkeypatch.setattr(translator.engine, "search_each", noted)
    assert len(translator.translate(["alto"] * 5000)) == 5000
    assert sizes == [5000]
    assert len(list(translator.stream(["alto"] * 5000))) == 5000
    assert sizes == [5000, 2048, 2048, 904]


def test_a_gpu_scores_more_tokens_at_a_time(translator: Translator) -> None:
    sizes = [
        Forced(replace(translator.loaded, device=torch.device(name)))._batch_size()
        for name in ("cpu", "cuda", "cuda:1")
    ]
    assert sizes == [2048, 16384, 16384]


def test_wrong_devices_and_no_folders_are_told(trained_folder: Path) -> None:
    with pytest.raises(SettingsError, match=r"device = 'gpu': there is no such device\.\n  Use cpu, cuda"):
        regard.load(trained_folder, device="gpu")
    if not torch.cuda.is_available():
        with pytest.raises(SettingsError, match="device = 'cuda': PyTorch finds no GPU on this machine"):
            regard.load(trained_folder, device="cuda")
    with pytest.raises(SettingsError, match="No model was given"):
        regard.load([])
    with pytest.raises(SettingsError, match="split_over = 0: this must be at least 1 word"):
        regard.load(trained_folder, split_over=0)


def test_an_ensemble_says_what_the_mean_of_its_members_says(
    trained_folder: Path, untrained: Path, texts: list[str]
) -> None:
    alone = regard.load(trained_folder, device="cpu", engine="torch")
    twice = regard.load([trained_folder, trained_folder], device="cpu")
    assert of(twice.translate(texts[:20])) == of(alone.translate(texts[:20]))
    both = regard.load([trained_folder, untrained], device="cpu")
    found = both.translate(texts[0], alignment=True, logprobs=True)
    members = [
        regard.load(one, device="cpu").score(texts[0], found.text).logprobs for one in (trained_folder, untrained)
    ]
    mean = torch.tensor(members, dtype=torch.float64).logsumexp(0) - torch.tensor(2.0, dtype=torch.float64).log()
    assert found.logprobs == pytest.approx(mean.tolist(), abs=1e-4)
    assert both.score(texts[0], found.text).logprobs == pytest.approx(mean.tolist(), abs=1e-4)
    assert found.alignment


def test_models_that_make_no_ensemble_are_told(trained_folder: Path, tmp_path: Path) -> None:
    from regard import modelfolder, models

    loaded = modelfolder.load(trained_folder)
    others = train_tokenisers(["a"], ["b"], TokeniserSettings(kind="utf8"))
    for name, languages, tokeniser in (
        ("other-language", {"source": "xa", "target": "fr"}, loaded.tokeniser),
        ("other-tokeniser", loaded.description.languages, others.files()),
    ):
        chosen = models.read_settings(loaded.description.settings, where="a test")
        parts = {"architecture": "transformer", "settings": chosen, "languages": languages, "tokeniser": tokeniser}
        modelfolder.save(tmp_path / name, loaded.model, **parts)
    with pytest.raises(
        ModelFolderError, match=r"translates from xa to fr, and .* from xa to xb, so they cannot form an ensemble"
    ):
        regard.load([trained_folder, tmp_path / "other-language"])
    with pytest.raises(
        ModelFolderError, match=r"different tokenisers, so they cannot form an ensemble\.\n  Train all members"
    ):
        regard.load([trained_folder, tmp_path / "other-tokeniser"])
