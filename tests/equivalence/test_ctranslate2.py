"""The CTranslate2 engine and export against our own model and search."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import ModelFolderError, SettingsError, modelfolder
from regard.exchange import ctranslate2 as exchange
from regard.exchange import export, exporters
from regard.exchange.ctranslate2_runtime import POSITIONS, library, tokens
from regard.modelfolder import ModelFolder
from regard.search import Request, Result, SearchSettings
from regard.tokens import Tokenisers, TokeniserSettings, train
from regard.translation.engines import Loaded, converted, ctranslate2_float32, open_engine
from regard.translation.engines.ctranslate2 import CTranslate2Engine, available
from regard.translation.engines.engine import plain_requests
from regard.translation.engines.torch import TorchEngine
from runs import corpus, here, run
from small import VOCABULARY, padded, transformer

pytestmark = pytest.mark.skipif(not available(), reason="ctranslate2 is not installed: pip install 'regard[fast]'")

ROOT = Path(__file__).parents[2]
WORDS = [f"w{number}" for number in range(20)]
OPEN_ENDED = SearchSettings(method="greedy", max_length=12, max_length_offset=50, repetition_cycle=0)


def has_vnni() -> bool:
    """Whether the CPU adds up products of int8 in 32 bits; unknown where the system does not say."""
    described = Path("/proc/cpuinfo")
    return not described.exists() or "vnni" in described.read_text()


@pytest.fixture(autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path_factory.getbasetemp() / "ctranslate2-cache"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was trained to turn sentences around, well enough to end them and too little to be sure."""
    data = corpus(tmp_path_factory.mktemp("ctranslate2") / "pairs.tsv", pairs=1000)
    settings = (
        "validation.every=1000",
        "model.d_model=32",
        "model.d_k=16",
        "model.d_v=16",
        "training.batch_tokens=640",
    )
    told = run(data, data.parent / "model", "--steps", "400", "--checkpoint-every", "200", settings=settings)
    assert told.returncode == 0, told.stderr
    return data.parent / "model"


@pytest.fixture(scope="module")
def loaded(folder: Path) -> ModelFolder:
    return modelfolder.load(folder)


@pytest.fixture(scope="module")
def tokenisers(loaded: ModelFolder) -> Tokenisers:
    return Tokenisers.from_files(loaded.tokeniser)


@pytest.fixture(scope="module")
def ours(loaded: ModelFolder, tokenisers: Tokenisers) -> TorchEngine:
    return TorchEngine(loaded.model, tokenisers, device=torch.device("cpu"))


def theirs(loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine, compute_type: str) -> CTranslate2Engine:
    return converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type=compute_type, threads=1)[0]


def sentences(tokenisers: Tokenisers, count: int = 120) -> list[list[int]]:
    draw = random.Random(7)  # noqa: S311
    texts = [" ".join(draw.choice(WORDS) for _ in range(draw.randint(1, 10))) for _ in range(count)]
    return [tokenisers.source.encode(text) for text in texts]


def small_folder(path: Path, **settings: Any) -> ModelFolder:
    """A small random model with a vocabulary of words, in a model folder."""
    model = transformer(dtype=torch.float32, **settings)
    tokenisers = train(WORDS, WORDS, TokeniserSettings(kind="words", vocabulary=VOCABULARY, options={"minimum": 1}))
    assert tokenisers.source.size == VOCABULARY
    modelfolder.save(path, model, architecture="transformer", settings=model.settings, tokeniser=tokenisers.files())
    return modelfolder.load(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "pre"},
        {"activation": "gelu", "output_bias": True},
        {"activation": "swish", "attention_bias": True},
        {"positions": "halves", "start": "token"},
        {"positions": "learned", "learned_positions": 40},
        {"tied_embeddings": "none", "start": "token"},
        {"tied_embeddings": "target-output", "norm": "pre", "attention_bias": True, "output_bias": True},
        {"tied_embeddings": "source-target"},
        {"encoder_layers": 1, "decoder_layers": 3},
        {"d_k": 2, "d_v": 2},
        {"d_k": 6, "d_v": 3, "attention_bias": True},
        {"d_k": 2, "d_v": 8, "attention_bias": True},
    ],
    ids=str,
)
def test_every_setting_gives_the_same_log_probabilities_and_greedy_tokens(
    settings: dict[str, Any], tmp_path: Path
) -> None:
    import ctranslate2

    loaded = small_folder(tmp_path / "model", **settings)
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    (tmp_path / "out").mkdir()
    exchange.convert(loaded, tokenisers, tmp_path / "out", quantization="float32")
    translator = ctranslate2.Translator(str(tmp_path / "out"), compute_type="float32", intra_threads=1)
    names = tokens(tokenisers.source)
    draw = random.Random(3)  # noqa: S311
    pairs = [
        ([draw.randrange(2, 23) for _ in range(n % 9 + 1)], [draw.randrange(2, 23) for _ in range(n % 7)])
        for n in range(24)
    ]
    sources = [[names[token] for token in source] for source, _ in pairs]
    batch = padded(pairs)
    with torch.no_grad():
        expected = loaded.model(batch).log_softmax(-1).gather(2, batch.labels[..., None])[..., 0]
    scored = translator.score_batch(sources, [[names[token] for token in target] for _, target in pairs])
    for (_, target), row, found in zip(pairs, expected.tolist(), scored, strict=True):
        assert found.log_probs == pytest.approx(row[: len(target) + 1], abs=1e-4)
    said = translator.translate_batch(sources, beam_size=1, max_decoding_length=12, min_decoding_length=0)
    engine = TorchEngine(loaded.model, tokenisers, device=torch.device("cpu"))
    answers = engine.search([source for source, _ in pairs], OPEN_ENDED)
    assert [[names[token] for token in answer.hypotheses[0].ids] for answer in answers] == [
        one.hypotheses[0] for one in said
    ]


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "greedy"},
        {},
        {"length_penalty": 0.0},
        {"beam_size": 8, "length_penalty": 1.0},
        {"max_length_offset": 2},
    ],
    ids=str,
)
def test_a_trained_model_says_the_same_in_float32(
    settings: dict[str, Any], loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine
) -> None:
    search, texts = SearchSettings(**settings), sentences(tokenisers)
    engine = theirs(loaded, tokenisers, ours, "float32")
    attempted = engine.attempt(texts, search, requests=[Request(source_length=len(text)) for text in texts])
    expected, found = ours.search(texts, search), engine.search(texts, search)
    assert len(attempted) > 0.8 * len(texts)
    assert [one.hypotheses[0].ids for one in found] == [one.hypotheses[0].ids for one in expected]
    assert [one.hypotheses[0].score for one in found] == pytest.approx(
        [one.hypotheses[0].score for one in expected], abs=1e-3
    )


def test_several_answers_are_ranked_by_our_own_score(
    loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine
) -> None:
    search, texts = SearchSettings(n_best=3), sentences(tokenisers)
    found = theirs(loaded, tokenisers, ours, "float32").search(texts, search)
    assert all(len(one.hypotheses) == 3 for one in found)
    for one in found:
        scores = [hypothesis.score for hypothesis in one.hypotheses]
        assert scores == sorted(scores, reverse=True)
        penalties = [((6 + len(hypothesis.ids)) / 6) ** 0.6 for hypothesis in one.hypotheses]
        totals = [hypothesis.total for hypothesis in one.hypotheses]
        assert scores == pytest.approx([total / penalty for total, penalty in zip(totals, penalties, strict=True)])
    expected = ours.search(texts, search)
    equal = sum(
        [h.ids for h in one.hypotheses] == [h.ids for h in other.hypotheses]
        for one, other in zip(found, expected, strict=True)
    )
    assert equal >= 0.95 * len(texts)


@pytest.mark.skipif(not has_vnni(), reason="this CPU has no VNNI instructions, and int8 differs more without them")
def test_in_int8_few_sentences_differ(loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine) -> None:
    texts, search = sentences(tokenisers), SearchSettings()
    found, expected = theirs(loaded, tokenisers, ours, "int8").search(texts, search), ours.search(texts, search)
    differ = sum(one.hypotheses[0].ids != other.hypotheses[0].ids for one, other in zip(found, expected, strict=True))
    assert differ <= 0.25 * len(texts)


def test_no_sentence_depends_on_its_neighbours(loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine) -> None:
    engine, texts = theirs(loaded, tokenisers, ours, "float32"), sentences(tokenisers, 40)
    together = [one.hypotheses[0].ids for one in engine.search(texts, SearchSettings())]
    assert [engine.search([text], SearchSettings())[0].hypotheses[0].ids for text in texts] == together
    backwards = engine.search(texts[::-1], SearchSettings())
    assert [one.hypotheses[0].ids for one in backwards][::-1] == together


@pytest.mark.parametrize(
    ("settings", "request_"),
    [
        ({"method": "sampling", "seed": 3}, {}),
        ({"min_length": 5}, {}),
        ({"method": "greedy", "min_length": 5}, {}),
        ({}, {"prefix": (5, 6)}),
        ({}, {"banned": ((5,),)}),
        ({}, {"required": ((7, 8),)}),
    ],
    ids=str,
)
def test_what_ctranslate2_cannot_do_exactly_is_done_by_the_other_engine(
    settings: dict[str, Any], request_: dict[str, Any], loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine
) -> None:
    engine, search, texts = (
        theirs(loaded, tokenisers, ours, "int8"),
        SearchSettings(**settings),
        sentences(tokenisers, 5),
    )
    asked = [Request(source_length=len(text), number=n, **request_) for n, text in enumerate(texts)]
    assert not engine.supports(search, asked)
    assert engine.attempt(texts, search, requests=asked) == {}
    assert engine.search(texts, search, requests=asked) == ours.search(texts, search, requests=asked)


def test_empty_long_and_endless_sentences_are_left_to_the_other_engine(
    loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine
) -> None:
    engine = theirs(loaded, tokenisers, ours, "float32")
    short, search = SearchSettings(max_length=2), SearchSettings(method="greedy", max_length_factor=0.0)
    texts = [[], [5] * POSITIONS, [5, 6, 7]]
    asked = [Request(source_length=len(text)) for text in texts]
    assert list(engine.attempt(texts, search, requests=asked)) in ([2], [])
    assert engine.attempt([[5, 6, 7, 8, 9]], short, requests=[Request(source_length=5)]) == {}
    (found,) = engine.search([[5, 6, 7, 8, 9]], short)
    assert found.hypotheses[0].length_limited
    assert engine.search([[]], search) == ours.search([[]], search)


def test_converting_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    loaded = small_folder(tmp_path / "model")
    before = {name: parameter.clone() for name, parameter in loaded.model.named_parameters()}
    (tmp_path / "out").mkdir()
    exchange.convert(loaded, Tokenisers.from_files(loaded.tokeniser), tmp_path / "out", quantization="int8")
    assert all(torch.equal(before[name], parameter) for name, parameter in loaded.model.named_parameters())


def test_a_conversion_is_kept_checked_and_made_again_when_damaged(
    loaded: ModelFolder,
    tokenisers: Tokenisers,
    ours: TorchEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    made: list[str] = []

    convert = exchange.convert

    def counted(*arguments: Any, **options: Any) -> None:
        made.append(options["quantization"])
        convert(*arguments, **options)

    monkeypatch.setattr(exchange, "convert", counted)
    _, verdict = converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="float32", threads=1)
    assert verdict.agrees
    assert converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="float32", threads=1)[1] == verdict
    assert made == ["float32"]
    (model,) = (tmp_path / "ctranslate2").glob("*/model.bin")
    model.write_bytes(model.read_bytes()[:-1])
    converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="float32", threads=1)
    converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="int8", threads=1)
    assert made == ["float32", "float32", "int8"]
    assert sorted(path.name[0] == "." for path in (tmp_path / "ctranslate2").iterdir()) == [False, False]


def test_an_instruction_that_ends_the_process_ends_only_the_probe(
    loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    monkeypatch.setattr(converted, "_CHILD", "import os, signal; os.kill(os.getpid(), signal.SIGILL)")
    with pytest.raises(
        SettingsError, match=r"cannot compute with int8 on this machine: .*\n  Use compute_type = 'float"
    ):
        converted.build(loaded, tokenisers, fallback=lambda: ours)
    assert list((tmp_path / "ctranslate2").iterdir()) == []
    with pytest.raises(SettingsError, match="compute_type = 'int4': there is no such type"):
        converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="int4")


ALONE = """
import json, sys
import ctranslate2
folder, line = sys.argv[1:]
translator = ctranslate2.Translator(folder, device="cpu", intra_threads=1)
print(" ".join(translator.translate_batch([line.split()], beam_size=1)[0].hypotheses[0]))
"""


@pytest.mark.parametrize("quantization", ["float32", "int8", "int16", "float16"])
def test_an_exported_folder_works_with_ctranslate2_alone(
    quantization: str, folder: Path, tokenisers: Tokenisers, ours: TorchEngine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(folder, out, to="ctranslate2", quantization=quantization)
    assert {"model.bin", "config.json", "README.md", "usage.json", "tokeniser.json"} <= {p.name for p in out.iterdir()}
    assert json.loads((out / "usage.json").read_text())["quantization"] == quantization
    assert f"weights in {quantization}" in (out / "README.md").read_text()
    arguments = [sys.executable, "-c", ALONE, str(out), "w1 w2"]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(arguments, capture_output=True, text=True, check=True, env=bare)
    (expected,) = ours.search([tokenisers.source.encode("w1 w2")], SearchSettings(method="greedy"))
    if quantization == "float32":
        assert told.stdout.split() == tokenisers.target.pieces(expected.hypotheses[0].ids)
    assert told.stdout.strip()


def test_the_command_exports_and_overwrites_nothing(folder: Path, tmp_path: Path) -> None:
    def command(*more: str) -> subprocess.CompletedProcess[str]:
        return here(["export", str(folder), str(tmp_path / "out"), *more], tmp_path)

    told = command("--to", "ctranslate2", "--quantization", "int8")
    assert (told.returncode, told.stderr) == (0, "")
    assert "MB, for ctranslate2. Its README.md explains how to use it." in told.stdout
    told = command("--to", "ctranslate2")
    assert told.returncode == 1
    assert "this path already exists.\n  Regard overwrites nothing: choose a new folder." in told.stderr


def test_the_python_in_the_page_on_engines_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "engines.md").read_text(), flags=re.DOTALL)
    monkeypatch.chdir(folder.parent)
    names: dict[str, Any] = {}
    exec(code.replace("my-model", folder.name), names)  # noqa: S102
    assert names["verdict"].equal <= names["verdict"].probes <= 32
    assert "translate 32 sentences of random tokens" in (ROOT / "docs" / "engines.md").read_text()


def test_mistakes_are_told(folder: Path, loaded: ModelFolder, tokenisers: Tokenisers, tmp_path: Path) -> None:
    assert "ctranslate2" in exporters()
    with pytest.raises(SettingsError, match="to = 'ctranslate': there is no such exporter; did you mean 'ctranslate2'"):
        export(folder, tmp_path / "out", to="ctranslate")
    with pytest.raises(
        SettingsError, match="quantization = 'int9': ctranslate2 does not support it; did you mean 'int8'"
    ):
        export(folder, tmp_path / "out", to="ctranslate2", quantization="int9")
    other = loaded._replace(description=loaded.description.model_copy(update={"architecture": "recurrent"}))
    with pytest.raises(ModelFolderError, match=r"runs only Transformers, but this model is a 'recurrent'"):
        exchange.convert(other, tokenisers, tmp_path, quantization="int8")
    rotary = small_folder(tmp_path / "rotary", positions="rotary")
    with pytest.raises(ModelFolderError, match=r"does not support rotary positions in attention over the source"):
        exchange.convert(rotary, tokenisers, tmp_path, quantization="int8")
    shutil.rmtree(tmp_path / "rotary")
    backwards = train(WORDS, WORDS, TokeniserSettings(kind="words", reversed=True))
    with pytest.raises(ModelFolderError, match=r"reads and generates text from its end, which CTranslate2"):
        exchange.write(loaded._replace(tokeniser=backwards.files()), tmp_path / "out", "int8")
    with pytest.raises(ModelFolderError, match="has no tokeniser"):
        exchange.write(loaded._replace(tokeniser={}), tmp_path / "out", "int8")
    assert list(tmp_path.iterdir()) == []


def test_without_ctranslate2_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(SettingsError, match=r"not installed\.\n  Install it with: pip install 'regard\[fast\]'"):
        library()


class Twins:
    """A tokeniser that shows two ids alike."""

    begin, end, unknown, size = 0, 1, 2, 6

    def pieces(self, ids: list[int]) -> list[str]:
        return [["<pad>", "</s>", "<unk>", "a", "a", "</s>"][token] for token in ids]


def test_every_id_has_a_token_of_its_own() -> None:
    assert tokens(Twins()) == ["<pad>", "</s>", "<unk>", "a", "a<4>", "</s><5>"]  # type: ignore[arg-type]


def test_auto_opens_ctranslate2_once_whether_or_not_the_model_was_converted(
    loaded: ModelFolder, tokenisers: Tokenisers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path))
    opened: list[str] = []

    class Counted(CTranslate2Engine):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            opened.append(options["compute_type"])
            super().__init__(*arguments, **options)

    monkeypatch.setattr(converted, "CTranslate2Engine", Counted)
    given = Loaded(folders=(Path("a"),), members=(loaded,), tokenisers=tokenisers, device=torch.device("cpu"))
    some = sentences(tokenisers, 3)
    for times in (1, 2):
        engine = open_engine("auto", given)
        assert engine.name == "ctranslate2"
        assert opened == ["float32"] * times
        assert len(engine.search(some, SearchSettings())) == 3


def test_auto_computes_in_int8_where_weights_are_stored_in_int8_and_most_probes_begin_alike(
    loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = loaded._replace(description=loaded.description.model_copy(update={"stored_as": "int8"}))
    given = Loaded(folders=(Path("a"),), members=(stored,), tokenisers=tokenisers, device=torch.device("cpu"))
    assert open_engine("auto", given).compute_type == "int8"  # type: ignore[attr-defined]
    built = converted.build

    def judged(**found: float) -> Any:
        def build(*arguments: Any, compute_type: str, **options: Any) -> Any:
            engine, verdict = built(*arguments, compute_type=compute_type, **options)
            counts = {name: int(share * verdict.probes) for name, share in found.items()}
            return engine, verdict.model_copy(update=counts if compute_type == "int8" else {})

        return build

    monkeypatch.setattr(converted, "build", judged(equal=0.2, begun=0.8))
    assert open_engine("auto", given).compute_type == "int8"  # type: ignore[attr-defined]
    monkeypatch.setattr(converted, "build", judged(equal=0.5, begun=0.5))
    assert open_engine("auto", given).compute_type == "float32"  # type: ignore[attr-defined]


@pytest.mark.parametrize("compute_type", ["int8", "float32"])
def test_a_sentence_is_translated_alike_alone_and_in_any_company_in_int8_bit_by_bit(
    compute_type: str, loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine
) -> None:
    engine, settings = theirs(loaded, tokenisers, ours, compute_type), SearchSettings(n_best=4)
    some = sentences(tokenisers)

    def seen(result: Result) -> Any:
        return result if compute_type == "int8" else [one.ids for one in result.hypotheses]

    def found(numbers: Sequence[int]) -> dict[int, Any]:
        asked = [some[number] for number in numbers]
        results = engine.attempt(asked, settings, requests=plain_requests(asked))
        return {numbers[place]: seen(result) for place, result in results.items()}

    together = found(range(len(some)))
    assert len(together) > len(some) // 2
    assert found(range(len(some))[::-1]) == together
    for number in range(40):
        assert found([number]).get(number) == together.get(number)


def test_an_engine_is_chosen_by_name_and_by_default_only_where_it_agrees(
    loaded: ModelFolder, tokenisers: Tokenisers, ours: TorchEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(name: str, device: str = "cpu", members: int = 1) -> Any:
        given = Loaded(
            folders=(Path("a"),) * members,
            members=(loaded,) * members,
            tokenisers=tokenisers,
            device=torch.device(device),
        )
        return open_engine(name, given)

    assert chosen("torch").name == "torch"
    assert chosen("ctranslate2").compute_type == "int8"
    assert chosen("ctranslate2-float32").compute_type == chosen("auto").compute_type == "float32"
    assert chosen("auto", "cuda").name == "torch"
    assert chosen("auto", members=2).name == "torch"
    with pytest.raises(SettingsError, match=r"runs on CPUs only, but the device is cuda\.\n  Use device = 'cpu'"):
        chosen("ctranslate2", "cuda")
    with pytest.raises(SettingsError, match=r"does not support ensembles\.\n  Use engine = 'torch'"):
        chosen("ctranslate2", members=2)
    with pytest.raises(
        SettingsError, match="engine = 'ctranslate': there is no such engine; did you mean 'ctranslate2'"
    ):
        chosen("ctranslate")
    engine, verdict = converted.build(loaded, tokenisers, fallback=lambda: ours, compute_type="float32")
    differing = verdict.model_copy(update={"equal": verdict.probes - 1})
    monkeypatch.setattr(converted, "build", lambda *_, **__: (engine, differing))
    assert chosen("auto").name == "torch"
    monkeypatch.setattr(ctranslate2_float32, "available", lambda: False)
    assert chosen("auto").name == "torch"
