"""What every export promises: it is checked, nothing wrong is left behind, and what cannot be exported is refused."""

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from regard import ModelFolderError, SettingsError, modelfolder
from regard.exchange import argos, ctranslate2, export, exporters, huggingface
from regard.exchange.parity import Said, probes
from regard.modelfolder import ModelFolder
from regard.tokens import Tokenisers, TokeniserSettings, train
from runs import environment
from small import VOCABULARY, transformer

WORDS = [f"w{number}" for number in range(20)]


def folder_of(path: Path, tokenisers: Tokenisers, **settings: Any) -> Path:
    sizes = {"source_vocabulary": tokenisers.source.size, "target_vocabulary": tokenisers.target.size}
    model = transformer(**(sizes | settings)).float()
    modelfolder.save(
        path,
        model,
        architecture="transformer",
        settings=model.settings,
        languages=settings.pop("languages", {"source": "en", "target": "de"}),
        tokeniser=tokenisers.files(),
    )
    return path


@pytest.fixture(scope="module")
def subwords() -> Tokenisers:
    return train(WORDS * 4, WORDS * 4, TokeniserSettings(vocabulary=300, options={"minimum": 1}))


def answers(*ids: int) -> Any:
    """A program that gives this translation of everything."""

    def translate(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
        return [Said(ids) for _ in texts]

    return translate


def with_peer(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    peer = huggingface.EXPORT.peer._replace(**changes)
    monkeypatch.setattr(huggingface, "EXPORT", huggingface.EXPORT._replace(peer=peer))


def test_an_export_that_translates_differently_is_an_error_and_leaves_nothing(
    subwords: Tokenisers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "model", subwords)
    with_peer(monkeypatch, version=lambda: "0", translate=answers(5, 6, 5))
    with pytest.raises(
        ModelFolderError, match=r"transformers 0 translates differently with this export, so Regard has"
    ):
        export(folder, tmp_path / "out", to="huggingface")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_was_not_checked_is_written_in_the_card(
    subwords: Tokenisers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "model", subwords)
    with_peer(monkeypatch, version=lambda: None)
    verdict = export(folder, tmp_path / "missing", to="huggingface")
    told = "Not checked with transformers: it is not installed (pip install 'regard[exchange]')."
    assert verdict.sentence() == told
    assert (tmp_path / "missing" / "README.md").read_text().endswith(f"## Checked at export\n\n{told}\n")
    with_peer(monkeypatch, version=lambda: "9", translate=answers(5))
    export(folder, tmp_path / "unchecked", to="huggingface", unchecked=True)
    told = "Not checked with transformers 9: the export was written with --unchecked."
    assert told in (tmp_path / "unchecked" / "README.md").read_text()


def test_equal_tokens_that_read_differently_are_a_difference(
    subwords: Tokenisers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from regard.exchange.parity import translated

    folder = folder_of(tmp_path / "model", subwords, seed=1)

    def translate(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
        found = translated(loaded, subwords, [subwords.source.encode(text) for text in texts])
        return [Said(ids[:5], "something else") for ids in found]

    with_peer(monkeypatch, version=lambda: "9", translate=translate)
    with pytest.raises(ModelFolderError, match="translates differently"):
        export(folder, tmp_path / "out", to="huggingface")


def test_probes_are_the_same_every_time_and_meet_much_of_the_vocabulary() -> None:
    tokenisers = Tokenisers.from_files(modelfolder.read_tokeniser("en-de"))
    texts = probes(tokenisers)
    assert texts == probes(tokenisers)
    assert len({token for text in texts for token in tokenisers.source.encode(text)}) > 250


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"norm": "pre"}, r"normalises before each sub-layer .*\n  Export it with --to ctranslate2 or --to onnx"),
        ({"positions": "rotary"}, r"its positions are rotary.*\n  Export it with --to onnx, which can"),
        ({"positions": "learned"}, r"its positions are learned.*\n  Export it with --to ctranslate2"),
        ({"d_k": 2}, r"its heads are 2 and 4 wide.*\n  Export it with --to ctranslate2"),
    ],
    ids=str,
)
def test_what_marian_cannot_express_is_refused_with_the_reason(
    settings: dict[str, Any], reason: str, subwords: Tokenisers, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path / "model", subwords, **settings)
    with pytest.raises(ModelFolderError, match=rf"Hugging Face's Marian cannot express this model: .*{reason}"):
        export(folder, tmp_path / "out", to="huggingface")
    assert not (tmp_path / "out").exists()


def test_other_tokenisers_are_refused_with_the_reason(subwords: Tokenisers, tmp_path: Path) -> None:
    words = train(WORDS, WORDS, TokeniserSettings(kind="words", vocabulary=VOCABULARY, options={"minimum": 1}))
    folder = folder_of(tmp_path / "words", words)
    with pytest.raises(ModelFolderError, match=r"the kind 'words'\.\n  Export it with --to ctranslate2"):
        export(folder, tmp_path / "out", to="huggingface")
    with pytest.raises(ModelFolderError, match=r"the kind 'words'\.\n  Export it with --to ctranslate2"):
        export(folder, tmp_path / "out.argosmodel", to="argos")
    backwards = train(WORDS * 4, WORDS * 4, TokeniserSettings(vocabulary=300, reversed=True, options={"minimum": 1}))
    for name, out in (("huggingface", "out"), ("argos", "out.argosmodel")):
        with pytest.raises(ModelFolderError, match=r"reads and generates text from its end"):
            export(folder_of(tmp_path / f"back-{name}", backwards), tmp_path / out, to=name)
    loaded = modelfolder.load(folder_of(tmp_path / "model", subwords))
    with pytest.raises(ModelFolderError, match="has no tokeniser"):
        huggingface.write(loaded._replace(tokeniser={}), tmp_path, "float32")
    other = loaded._replace(description=loaded.description.model_copy(update={"architecture": "recurrent"}))
    with pytest.raises(ModelFolderError, match="is a Transformer, but this model is a 'recurrent'"):
        huggingface.write(other, tmp_path, "float32")
    assert not list(tmp_path.glob("out*"))


def test_missing_libraries_are_named_with_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.exchange import marian_file

    for name, library, extra in (
        ("transformers", huggingface.library, "exchange"),
        ("ctranslate2", ctranslate2.library, "fast"),
        ("yaml", marian_file.library, "exchange"),
    ):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(
            SettingsError, match=rf"not installed\.\n  Install it with: pip install 'regard\[{extra}\]'"
        ):
            library()


def test_the_exchange_room_works_without_any_of_these_libraries(subwords: Tokenisers, tmp_path: Path) -> None:
    folder_of(tmp_path / "model", subwords)
    code = """if True:
        import sys
        for name in ("transformers", "tokenizers", "ctranslate2", "yaml", "onnx", "onnxruntime"):
            sys.modules[name] = None
        import regard
        from pathlib import Path
        from regard.exchange import export
        verdict = export("model", Path("out"), to="huggingface")
        assert "not installed" in verdict.sentence(), verdict
        print(regard.load("out", engine="torch").translate("w1 w2").source)
    """
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
    )
    assert (told.returncode, told.stdout) == (0, "w1 w2\n"), told.stderr


def test_every_exporter_names_its_program() -> None:
    assert {"argos", "ctranslate2", "huggingface", "regard"} <= set(exporters())
    assert argos.EXPORT.peer.name == "CTranslate2"


@pytest.fixture(scope="module")
def package(trained_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ctranslate2", reason="pip install 'regard[fast]'")
    out = tmp_path_factory.mktemp("argos") / "xa-xb.argosmodel"
    verdict = export(trained_folder, out, to="argos", quantization="float32")
    assert (verdict.equal, verdict.unchecked) == (verdict.probes, "")
    return out


def test_an_argos_package_is_one_folder_that_ctranslate2_and_sentencepiece_open(package: Path, tmp_path: Path) -> None:
    import ctranslate2 as library
    from sentencepiece import SentencePieceProcessor

    with zipfile.ZipFile(package) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"translate-xa_xb-1_0"}
        archive.extractall(tmp_path)
    folder = tmp_path / "translate-xa_xb-1_0"
    metadata = json.loads((folder / "metadata.json").read_text())
    assert (metadata["from_code"], metadata["to_code"]) == ("xa", "xb")
    assert "Checked with CTranslate2" in (folder / "README.md").read_text()
    processor = SentencePieceProcessor(model_file=str(folder / "sentencepiece.model"))
    translator = library.Translator(str(folder / "model"), intra_threads=1)
    found = translator.translate_batch([processor.encode("alto berin", out_type=str)], beam_size=4)
    assert processor.decode(found[0].hypotheses[0]) == "yuk zorva"


def test_an_argos_package_needs_one_tokeniser_and_two_languages(subwords: Tokenisers, tmp_path: Path) -> None:
    two = train(WORDS * 4, WORDS * 3, TokeniserSettings(vocabulary=300, joint=False, options={"minimum": 1}))
    folder = folder_of(tmp_path / "two", two, tied_embeddings="none")
    with pytest.raises(ModelFolderError, match="uses one SentencePiece model for both languages"):
        export(folder, tmp_path / "out.argosmodel", to="argos")
    loaded = modelfolder.load(folder_of(tmp_path / "model", subwords))
    nameless = loaded._replace(description=loaded.description.model_copy(update={"languages": {}}))
    with pytest.raises(ModelFolderError, match="needs the codes of both languages"):
        argos.write(nameless, tmp_path, "int8")
    (tmp_path / "there.argosmodel").write_text("mine")
    with pytest.raises(SettingsError, match="already exists"):
        export(tmp_path / "model", tmp_path / "there.argosmodel", to="argos")
    assert (tmp_path / "there.argosmodel").read_text() == "mine"


IN_ARGOS = """
import json, sys
from argostranslate import package, sbd, translate
for splitter in (sbd.MiniSBDSentencizer, sbd.StanzaSentencizer):  # they download their models
    splitter.split_sentences = lambda self, text: [text]
package.install_from_path(sys.argv[1])
languages = {language.code: language for language in translate.get_installed_languages()}
translation = languages[sys.argv[2]].get_translation(languages[sys.argv[3]])
print(json.dumps([translation.translate(text) for text in sys.argv[4:]]))
"""


def test_argos_translate_itself_opens_the_package(package: Path, tmp_path: Path) -> None:
    interpreter = os.environ.get("REGARD_ARGOS_PYTHON")
    if interpreter is None:
        pytest.importorskip("argostranslate", reason="set REGARD_ARGOS_PYTHON to a Python that has argostranslate")
        interpreter = sys.executable
    places = {name: str(tmp_path / name) for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "HOME")}
    command = [interpreter, "-c", IN_ARGOS, str(package), "xa", "xb", "alto berin", "cado"]
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run(command, capture_output=True, text=True, check=False, env=bare | places)
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout.splitlines()[-1]) == ["yuk zorva", "xemil"]
