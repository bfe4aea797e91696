"""The options of `regard translate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[Path] | None, typer.Argument(help="Text files, documents or folders; - is standard input (default).")
]
Out = Annotated[Path | None, typer.Option(help="Output file; for several files or a folder, a folder.")]
DocumentFormat = Annotated[
    str | None, typer.Option("--format", help="Document format, such as po, docx or txt (default: from the name).")
]
Memory = Annotated[
    list[Path] | None, typer.Option(help="Translation memory: TMX or other sentence pairs; may be repeated.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List documents, segments and words, and translate nothing.")]
All = Annotated[bool, typer.Option("--all", help="In documents: also replace existing translations.")]
Unfinished = Annotated[
    bool, typer.Option(help="In documents: also replace unfinished translations (fuzzy, needs-...).")
]
Mark = Annotated[bool, typer.Option(help="In documents: mark translations for review (fuzzy, ...).")]
Force = Annotated[bool, typer.Option(help="Overwrite existing files.")]
NBest = Annotated[int, typer.Option(help="Print the N best translations of each line: line number, score, text.")]
Sample = Annotated[bool, typer.Option(help="Sample tokens instead of searching for the best translation.")]
Temperature = Annotated[float | None, typer.Option(help="With --sample: temperature; below 1 favours likely tokens.")]
TopK = Annotated[int | None, typer.Option(help="With --sample: only the k likeliest tokens.")]
TopP = Annotated[
    float | None, typer.Option(help="With --sample: only the likeliest tokens, up to this total probability.")
]
Seed = Annotated[int | None, typer.Option(help="With --sample: random seed.")]
Glossary = Annotated[Path | None, typer.Option(help="Glossary: on each line a source phrase, a tab, its translation.")]
Ensemble = Annotated[list[Path] | None, typer.Option(help="Another model for an ensemble; may be repeated.")]
Alignment = Annotated[bool, typer.Option(help="Append the word alignment after a tab: 0-0 1-2.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line or document.")]
Checks = Annotated[bool, typer.Option(help="Check every translation, and mend or refuse what fails.")]
ReportPage = Annotated[Path | None, typer.Option("--report", help="Write what the checks found into an HTML page.")]
Strict = Annotated[bool, typer.Option(help="Exit with status 3 if the checks found something.")]
Shards = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Cut the files into shards in this folder; several processes may work there, and resume."
    ),
]
ShardLines = Annotated[int, typer.Option(min=1, help="With --shards: lines per shard of a text file.")]
LeaseSeconds = Annotated[
    float,
    typer.Option(min=0.1, help="With --shards: seconds after which others take over the shard of a silent process."),
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="With --shards: translate on a Ray cluster; local starts one here."),
]
