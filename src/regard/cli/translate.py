"""`regard translate`: lines in, lines out, in order."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from regard.translation.translator import Translation


def command(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    files: Annotated[list[Path] | None, typer.Argument(help="Files of text; standard input, if left out.")] = None,
    beam_size: Annotated[int, typer.Option(help="How many hypotheses are followed.")] = 4,
    length_penalty: Annotated[float, typer.Option(help="The paper's alpha; larger favours longer sentences.")] = 0.6,
    n_best: Annotated[int, typer.Option(help="So many translations of each line: number, score, text.")] = 1,
    json_: Annotated[bool, typer.Option("--json", help="One JSON object a line, with scores and tokens.")] = False,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; the best that is there, if left out.")] = None,
) -> None:
    """Translate text, one line in, one line out. Blank lines stay blank."""
    from regard.search import SearchSettings
    from regard.text.bad_input import BadInput
    from regard.text.files import lines
    from regard.translation.translator import load

    options = {"beam_size": beam_size, "length_penalty": length_penalty, "n_best": n_best}
    search = SearchSettings.read(options, where="options")
    translator = load(model, device=device)
    if files:
        texts: Iterator[str] = (line or "" for path in files for line in lines(path, BadInput()))
    else:
        sys.stdin.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        texts = (line.rstrip("\r\n") for line in sys.stdin)
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    window = 1 if not files and sys.stdin.isatty() else 512  # a person is not to wait for 512 lines
    for number, found in enumerate(translator.stream(texts, search=search, window=window), start=1):
        print(_shown(number, found, as_json=json_), flush=True)  # noqa: T201


def _shown(number: int, found: Translation, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(asdict(found), ensure_ascii=False)
    if found.alternatives:
        return "\n".join(f"{number}\t{other.score:.4f}\t{other.text}" for other in found.alternatives)
    return found.text
