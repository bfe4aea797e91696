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
    float | None,
    typer.Option(
        help="Length penalty (the paper's alpha); higher favours longer translations (default: the model's, or 0.6)."
    ),
]
Columns = Annotated[str | None, typer.Option(help="TSV columns of source and target, such as 3,4.")]
Format = Annotated[str | None, typer.Option("--format", help="Format of the files (default: from their names).")]
