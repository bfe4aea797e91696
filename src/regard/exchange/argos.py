"""To Argos Translate and LibreTranslate: one file, NAME.argosmodel.

It is a zip archive of one folder: a CTranslate2 model, one SentencePiece model for both sides, and metadata. Argos
splits a text into sentences itself, with models of its own that it downloads.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from babel import Locale, UnknownLocaleError

from regard.errors import ModelFolderError
from regard.exchange import Exporter, ctranslate2, ctranslate2_runtime
from regard.exchange.parity import MOST_TOKENS, Said
from regard.modelfolder import CARD, ModelFolder
from regard.tokens import Tokenisers
from regard.version import __version__

QUANTIZATIONS = ("int8", "float32", "int16", "float16")

_METADATA, _MODEL, _SUBWORDS = "metadata.json", "model", "sentencepiece.model"
_VERSION, _ARGOS = "1.0", "1.9"  # of the package, and the first version of Argos that reads such packages
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_SAME_TIME = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file
_INSTEAD = "Export it with --to ctranslate2 instead."


def write(loaded: ModelFolder, out: Path, quantization: str) -> None:
    """Into an empty folder, what becomes the folder in the archive."""
    tokenisers = _refused_or_read(loaded)
    languages = loaded.description.languages
    (out / _MODEL).mkdir()
    ctranslate2.convert(loaded, tokenisers, out / _MODEL, quantization=quantization)
    (out / _SUBWORDS).write_bytes(tokenisers.source.files()["spm"])
    metadata = {
        "package_version": _VERSION,
        "argos_version": _ARGOS,
        "from_code": languages["source"],
        "from_name": _name(languages["source"]),
        "to_code": languages["target"],
        "to_name": _name(languages["target"]),
    }
    (out / _METADATA).write_text(json.dumps(metadata, indent=2) + "\n", encoding="utf-8")
    (out / CARD).write_text(_readme(metadata, loaded, quantization), encoding="utf-8")


def pack(folder: Path, file: BinaryIO) -> None:
    """The folder as a zip archive."""
    metadata = json.loads((folder / _METADATA).read_bytes())
    name = f"translate-{metadata['from_code']}_{metadata['to_code']}-{_VERSION.replace('.', '_')}"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", _SAME_TIME)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, path.read_bytes())


def _refused_or_read(loaded: ModelFolder) -> Tokenisers:
    if not loaded.tokeniser:
        raise ModelFolderError("This model has no tokeniser, but Argos Translate needs one.")
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    if tokenisers.reversed:
        raise ModelFolderError(
            "This model reads and generates text from its end, which Argos Translate does not support.\n"
            "  Use it with Regard itself."
        )
    kinds = {tokenisers.source.kind, tokenisers.target.kind}
    if not kinds <= {"subwords", "marian"}:
        raise ModelFolderError(
            f"Argos Translate reads SentencePiece models, but this model's tokeniser is of the kind "
            f"{tokenisers.source.kind!r}.\n  {_INSTEAD}"
        )
    if tokenisers.source.files()["spm"] != tokenisers.target.files()["spm"]:
        raise ModelFolderError(
            f"Argos Translate uses one SentencePiece model for both languages, but this model has two.\n  {_INSTEAD}"
        )
    codes = loaded.description.languages
    if not all(_CODE.fullmatch(codes.get(side, "")) for side in ("source", "target")):
        raise ModelFolderError(
            "Argos Translate needs the codes of both languages, such as en and de, but this model does not name them.\n"
            "  Train or import it with --source and --target."
        )
    return tokenisers


def _name(code: str) -> str:
    """The English name of a language; its code, if it has no name."""
    try:
        return Locale.parse(code, sep="-").get_display_name("en") or code
    except (UnknownLocaleError, ValueError):
        return code


def _readme(metadata: dict[str, Any], loaded: ModelFolder, quantization: str) -> str:
    return (
        f"# {metadata['from_name']} to {metadata['to_name']}\n\nA package for Argos Translate and LibreTranslate, "
        f"written by Regard {__version__}; weights in {quantization}.\n\n"
        "```sh\nargospm install FILE.argosmodel\n"
        f'argos-translate --from {metadata["from_code"]} --to {metadata["to_code"]} "A sentence."\n```\n\n'
        "Argos Translate splits texts into sentences with models of its own, which it downloads. It turns every "
        "underscore in a translation into a space.\n\n"
        f"{loaded.card}"
    )


def said(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
    """What CTranslate2 and SentencePiece say with the package, each text as one sentence."""
    from sentencepiece import SentencePieceProcessor

    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    numbers = {name: token for token, name in enumerate(ctranslate2_runtime.tokens(tokenisers.target))}
    processor = SentencePieceProcessor(model_file=str(folder / _SUBWORDS))
    translator = ctranslate2_runtime.library().Translator(str(folder / _MODEL), device="cpu", intra_threads=1)
    sources = [processor.encode(tokenisers.source.normalise(text), out_type=str) for text in texts]
    found = translator.translate_batch(sources, beam_size=1, max_decoding_length=MOST_TOKENS)
    answers = (one.hypotheses[0] for one in found)
    return [Said([numbers[token] for token in answer], processor.decode_pieces(answer)) for answer in answers]


EXPORT = Exporter(write, QUANTIZATIONS, ctranslate2.EXPORT.peer._replace(translate=said), pack)
