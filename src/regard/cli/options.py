"""Options that several commands share."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Annotated

import typer


def _known_encoding(name: str | None) -> str | None:
    """The name of an encoding, if Python knows it."""
    try:
        return codecs.lookup(name).name if name else None
    except LookupError:
        raise typer.BadParameter(f"{name!r} is not a known encoding, such as utf-8 or windows-1252.") from None


Model = Annotated[Path, typer.Argument(help="A model folder, or the name of a shipped model.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1 (default: the best available).")]
Engine = Annotated[
    str, typer.Option(help="Inference engine: auto, torch, torch-float32, ctranslate2, ctranslate2-float32.")
]
BeamSize = Annotated[int, typer.Option(help="Beam size.")]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        help="Length penalty (the paper's alpha); higher favours longer translations (default: the model's, or 0.6)."
    ),
]
Columns = Annotated[
    str | None, typer.Option(help="Columns of source and target in TSV, CSV or XLSX: 3,4 or names from its first row.")
]
Format = Annotated[str | None, typer.Option("--format", help="Format of the files (default: from their names).")]
Encoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of text files, such as windows-1252 (default: UTF-8, or what a file declares).",
        callback=_known_encoding,
    ),
]
Documents = Annotated[
    str | None, typer.Option(help="Plain text: one document in lines, paragraphs or files (default: auto).")
]
Task = Annotated[
    str | None,
    typer.Option(
        help="translation (default), language, masked, denoising, classes, tags, recognition or transcription."
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Argument(help="Sentence pairs: files, folders, patterns or stems. For other tasks: text, .npz, images."),
]
References = Annotated[list[Path] | None, typer.Option(help="File of references, one per line; may be repeated.")]
SaveTranslations = Annotated[
    Path | None, typer.Option(help="Write the translations, or the labels, to this file, one per line.")
]
