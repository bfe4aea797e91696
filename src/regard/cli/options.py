"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[Path, typer.Argument(help="A model folder, or the name of a shipped model.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or cuda:1 (default: the best available).")]
Engine = Annotated[
    str, typer.Option(help="Inference engine: auto, torch, torch-float32, ctranslate2, ctranslate2-float32.")
]
BeamSize = Annotated[int, typer.Option(help="Beam size.")]
LengthPenalty = Annotated[
    float, typer.Option(help="Length penalty (the paper's alpha); higher favours longer translations.")
]
Columns = Annotated[str | None, typer.Option(help="TSV columns of source and target, such as 3,4.")]
Format = Annotated[str | None, typer.Option("--format", help="Format of the files (default: from their names).")]
Documents = Annotated[
    str | None, typer.Option(help="Plain text: one document in lines, paragraphs or files (default: auto).")
]
Task = Annotated[str | None, typer.Option(help="translation (default), language, masked, denoising, classes or tags.")]
Data = Annotated[
    list[str] | None,
    typer.Argument(help="Sentence pairs: files, folders, patterns or stems. For other tasks: text files."),
]
References = Annotated[list[Path] | None, typer.Option(help="File of references, one per line; may be repeated.")]
SaveTranslations = Annotated[
    Path | None, typer.Option(help="Write the translations, or the labels, to this file, one per line.")
]
