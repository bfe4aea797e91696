"""The description of both APIs: OpenAPI for programs, and a page for people, which needs no script and no network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse, Response

from regard.serve.specification import FORMS
from regard.version import __version__

_OURS = "/v1"
_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
code,pre{font-family:ui-monospace,monospace;font-size:.9em}
section{border-top:1px solid #ccc;padding:1rem 0}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0}
.method{display:inline-block;min-width:3.5rem;font-weight:600}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}a{color:#8cb4ff}section{border-color:#444}}
"""


def reference_router(theirs: Sequence[APIRouter], ours: Sequence[APIRouter]) -> APIRouter:
    """/spec and /docs for LibreTranslate's API, /v1/openapi.json and /v1/docs for our own."""
    router = APIRouter(include_in_schema=False)
    their_table = _described("Regard, as LibreTranslate", theirs)
    our_table = _described("Regard", ours)

    @router.get("/spec")
    async def spec() -> Response:
        return JSONResponse(their_table)

    @router.get("/docs")
    async def docs() -> Response:
        return HTMLResponse(_page(their_table, "/spec"))

    @router.get(f"{_OURS}/openapi.json")
    async def own_spec() -> Response:
        return JSONResponse(our_table)

    @router.get(f"{_OURS}/docs")
    async def own_docs() -> Response:
        return HTMLResponse(_page(our_table, f"{_OURS}/openapi.json"))

    return router


def _described(title: str, routers: Sequence[APIRouter]) -> dict[str, Any]:
    routes = [route for router in routers for route in router.routes]
    table = get_openapi(title=title, version=__version__, routes=routes)
    for path, fields in FORMS.items():
        if path in table["paths"]:
            table["paths"][path]["post"]["requestBody"] = _form(fields)
    return table


def _form(fields: dict[str, tuple[str, bool]]) -> dict[str, Any]:
    """A body that can be JSON or a form, or a form with a file."""
    properties = {name: {"type": "string", "description": about} for name, (about, _) in fields.items()}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": properties,
        "required": [name for name, (_, required) in fields.items() if required],
    }
    if "file" in fields:
        properties["file"]["format"] = "binary"
        return {"content": {"multipart/form-data": {"schema": schema}}}
    return {"content": {kind: {"schema": schema} for kind in ("application/json", "application/x-www-form-urlencoded")}}


def _page(table: dict[str, Any], source: str) -> str:
    sections = [
        _section(table, method, path, operation)
        for path, methods in table["paths"].items()
        for method, operation in methods.items()
    ]
    title = escape(f"{table['info']['title']} {table['info']['version']}")
    other = '<a href="/docs">LibreTranslate&#39;s API</a> · <a href="/v1/docs">Regard&#39;s own API</a>'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f'<body><h1>{title}</h1><p>{other} · <a href="{source}">OpenAPI</a></p>{"".join(sections)}</body></html>'
    )


def _section(table: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    rows = []
    for name, field, required in _fields(table, operation):
        about = escape(field.get("description", ""))
        default = f" Default: <code>{escape(json.dumps(field['default']))}</code>." if "default" in field else ""
        needed = " <strong>required</strong>" if required else ""
        rows.append(f"<tr><td><code>{escape(name)}</code>{needed}</td><td>{_kind(field)}</td><td>{about}{default}</td>")
    heading = f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code>'
    fields = f"<table>{''.join(rows)}</table>" if rows else ""
    return f"<section><h2>{heading}</h2><p>{escape(operation.get('description', ''))}</p>{fields}</section>"


def _fields(table: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    for parameter in operation.get("parameters", ()):
        yield parameter["name"], parameter.get("schema", {}), parameter.get("required", False)
    for content in list(operation.get("requestBody", {}).get("content", {}).values())[:1]:
        schema = content["schema"]
        if "$ref" in schema:
            schema = table["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
        for name, field in schema.get("properties", {}).items():
            yield name, field, name in schema.get("required", ())


def _kind(field: dict[str, Any]) -> str:
    kinds = [field.get("type"), *(one.get("type") for one in field.get("anyOf", ()))]
    return escape(" or ".join(str(kind) for kind in kinds if kind))
