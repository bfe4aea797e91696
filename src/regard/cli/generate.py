"""`regard generate`: a language model goes on from a beginning."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from regard.cli.options import Device, Model
from regard.cli.output import print_json


def command(
    model: Model,
    beginning: Annotated[
        list[str] | None, typer.Argument(help="Where to go on from; several are continued together.")
    ] = None,
    max_tokens: Annotated[int, typer.Option(help="The most tokens to generate.")] = 200,
    temperature: Annotated[float | None, typer.Option(help="Sample; below 1 is safer, above 1 is wilder.")] = None,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k likeliest tokens only.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Sample from the likeliest tokens of this total share.")] = None,
    samples: Annotated[int, typer.Option(help="Continuations of each beginning.")] = 1,
    seed: Annotated[int | None, typer.Option(help="Random seed of the samples.")] = None,
    stop: Annotated[list[str] | None, typer.Option(help="End before this text; may be repeated.")] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read beginnings from standard input, one per line.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per continuation.")] = False,
    device: Device = None,
) -> None:
    r"""Continue a text with a language model: greedy, unless --temperature, --top-k, --top-p or --seed is given.

    One continuation is printed as it comes; several are printed when all are done. In --stop, \n is a line break.
    """
    from regard.cli.standard_input import windows
    from regard.family.language_model import LanguageModel

    found = LanguageModel(model, device=device)
    texts = list(beginning or ()) + ([line for window in windows() for line in window] if stdin else [])
    texts = texts or [""]
    ends = [each.replace("\\n", "\n") for each in stop or ()]
    chosen: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    if len(texts) == 1 and samples == 1 and not as_json:
        typer.echo(texts[0], nl=False)
        for piece in found.stream(texts[0], max_tokens=max_tokens, stop=ends, **chosen):
            typer.echo(piece, nl=False)
        typer.echo()
        return
    listed = found.generate(texts, max_tokens=max_tokens, stop=ends, samples=samples, **chosen)
    for number, each in enumerate(listed):
        text = texts[number // samples]
        if as_json:
            table = {"beginning": text, "text": each.text, "ended": each.ended, "logprob": sum(each.logprobs)}
            print_json(table, indent=None)
        else:
            typer.echo(f"{text}{each.text}")
