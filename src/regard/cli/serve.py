"""`regard serve`: models over HTTP, for programs that speak LibreTranslate's API, for others, and for people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.options import Device, Engine
from regard.errors import SettingsError

_Models = Annotated[
    list[str] | None, typer.Argument(help="Model folders, or names of shipped models; the first is the default.")
]
_Host = Annotated[str, typer.Option(help="Address to listen at; 0.0.0.0 is open to other machines.")]
_Port = Annotated[int, typer.Option(help="Port; 0 takes any free one.")]
_Keys = Annotated[Path | None, typer.Option(help="TOML file of API keys; requests need a key then.")]
_NewKey = Annotated[
    str | None, typer.Option(metavar="NAME", help="Print a new API key and its entry for --keys, and exit.")
]
_MaxCharacters = Annotated[int, typer.Option(help="Most characters of a request.")]
_MaxTexts = Annotated[int, typer.Option(help="Most texts of a request.")]
_MaxRequests = Annotated[int, typer.Option(help="Most requests at a time; more get 429 and try again later.")]
_MaxFile = Annotated[int, typer.Option(help="Most bytes of a document.")]
_Requests = Annotated[int, typer.Option(help="Most requests of an address in a minute (0: any number).")]
_Characters = Annotated[int, typer.Option(help="Most characters of an address in a minute (0: any number).")]
_Files = Annotated[bool, typer.Option(help="Translate documents that are uploaded.")]
_Suggestions = Annotated[
    Path | None, typer.Option(help="File that users' suggestions are appended to (default: none are taken).")
]
_Proxies = Annotated[str, typer.Option(help="Proxies whose X-Forwarded-For is believed.")]
_Workers = Annotated[int | None, typer.Option(help="Searches at once on a CPU (default: one for each core).")]


def command(
    models: _Models = None,
    host: _Host = "127.0.0.1",
    port: _Port = 5000,
    keys: _Keys = None,
    new_key: _NewKey = None,
    max_characters: _MaxCharacters = 100_000,
    max_texts: _MaxTexts = 1000,
    max_requests: _MaxRequests = 512,
    max_file: _MaxFile = 20 << 20,
    requests_per_minute: _Requests = 0,
    characters_per_minute: _Characters = 0,
    files: _Files = True,
    suggestions: _Suggestions = None,
    forwarded_allow_ips: _Proxies = "127.0.0.1",
    workers: _Workers = None,
    engine: Engine = "auto",
    device: Device = None,
) -> None:
    """Serve models over HTTP: LibreTranslate's API, an API of its own, and a web page."""
    from regard.serve.extra import refuse_without_libraries

    refuse_without_libraries()
    if new_key is not None:
        _print_new_key(new_key)
        return
    if not models:
        raise SettingsError("no model was given.\n  Name at least one, for example: regard serve en-de de-en")
    table = {
        "host": host,
        "port": port,
        "keys": keys,
        "max_characters": max_characters,
        "max_texts": max_texts,
        "max_requests": max_requests,
        "max_file": max_file,
        "requests_per_minute": requests_per_minute,
        "characters_per_minute": characters_per_minute,
        "files": files,
        "suggestions": suggestions,
        "forwarded_allow_ips": forwarded_allow_ips,
        "workers": workers,
        "engine": engine,
        "device": device,
    }
    _serve(models, table)


def _serve(models: list[str], table: dict[str, Any]) -> None:
    from regard.serve.app import open_state
    from regard.serve.lifecycle import bound, prefer_throughput, serve
    from regard.serve.serve_settings import ServeSettings

    settings = ServeSettings.read(table, where="options")
    listener = bound(settings)
    prefer_throughput()
    serve(open_state(models, settings), listener)


def _print_new_key(name: str) -> None:
    from regard.serve.keys import new_key

    key, entry = new_key(name)
    typer.echo(f"The key, which is not stored anywhere: {key}\n\nAdd this to the file of keys:\n\n{entry}")
