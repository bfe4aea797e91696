"""The parameters of a request, wherever a client puts them: in a JSON body, in a form, in the query string.

JSON wins over a form, and a form over the query string. Whatever cannot be read is answered with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from fastapi import Request
from starlette.datastructures import UploadFile

from regard.serve.answers import ApiError

_MOST_FIELDS = 100
_BOUNDARY = re.compile(r'boundary="?([^";]{1,200})"?', re.IGNORECASE)


async def read_parameters(request: Request) -> dict[str, Any]:
    """All parameters; the first one where a name is given twice."""
    found: dict[str, Any] = _pairs(request.scope["query_string"], "query string")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return found | await _multipart(request)
    body = await request.body()
    if not body:
        return found
    is_json = kind.endswith("json") or (kind != "application/x-www-form-urlencoded" and body.lstrip()[:1] in b"{[")
    return found | (read_json(body) if is_json else _pairs(body, "form"))


def read_json(body: bytes) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(_decoded(body, "body"))
    except json.JSONDecodeError as error:
        raise ApiError(
            400, f"Invalid request: the body is not valid JSON: {error.msg}, line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise ApiError(400, "Invalid request: the body is not valid JSON: it is nested too deeply") from None
    if not isinstance(value, dict):
        raise ApiError(400, "Invalid JSON format")
    return value


def _decoded(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ApiError(
            400, f"Invalid request: the {where} is not UTF-8: byte {error.start + 1} is {raw[error.start]:#04x}"
        ) from None


def _pairs(raw: bytes, where: str) -> dict[str, Any]:
    text = _decoded(raw, where)
    try:
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except UnicodeDecodeError:
        raise ApiError(400, f"Invalid request: a value in the {where} is not UTF-8") from None
    except ValueError:
        raise ApiError(400, f"Invalid request: the {where} has more than {_MOST_FIELDS} fields") from None
    return dict(reversed(pairs))


async def _multipart(request: Request) -> dict[str, Any]:
    boundary = _BOUNDARY.search(request.headers.get("content-type", ""))
    if not boundary:
        raise ApiError(400, "Invalid request: the multipart body has no boundary")
    form = await request.form(max_files=4, max_fields=_MOST_FIELDS)
    tail: bytes = request.scope.get("regard.tail", b"")
    if b"--" + boundary[1].encode("latin-1", "replace") + b"--" not in tail:
        await form.close()
        raise ApiError(400, "Invalid request: the multipart body is incomplete, its closing boundary is missing")
    values: dict[str, Any] = {}
    for name, value in form.multi_items():
        values.setdefault(name, value)
    for name, value in values.items():
        if isinstance(value, str) and "\ufffd" in value:
            raise ApiError(400, f"Invalid request: the field {name} is not UTF-8")
    return values


def text_in(values: Mapping[str, Any], *names: str) -> str:
    """The first of these that is a text and not empty."""
    for name in names:
        if isinstance(value := values.get(name), str) and value:
            return value
    return ""


def required_text(values: Mapping[str, Any], name: str) -> str:
    """A text that must be given."""
    value = values.get(name)
    if value is None or value == "":
        raise ApiError(400, f"Invalid request: missing {name} parameter")
    if not isinstance(value, str):
        raise ApiError(400, f"Invalid request: {name} must be a text")
    return value


def required_texts(values: Mapping[str, Any], name: str) -> str | list[str]:
    """A text or a list of texts that must be given."""
    value = values.get(name)
    if value is None or value in ("", []):
        raise ApiError(400, f"Invalid request: missing {name} parameter")
    if isinstance(value, str) or (isinstance(value, list) and all(isinstance(one, str) for one in value)):
        return value
    raise ApiError(400, f"Invalid request: {name} must be a text or a list of texts")


def number_in(values: Mapping[str, Any], name: str, most: int) -> int:
    """A whole number from 0 to `most`, which larger and negative ones become; 0 where it is not given."""
    value = values.get(name) or 0
    try:
        return max(0, min(int(value), most))
    except (TypeError, ValueError, OverflowError):
        raise ApiError(400, f"Invalid request: {name} parameter is not a number") from None


def flag_in(values: Mapping[str, Any], name: str) -> bool:
    """Whether something is wanted."""
    value = values.get(name, False)
    return value is True or (isinstance(value, str) and value.lower() in ("1", "true", "yes", "on"))


def file_in(values: Mapping[str, Any], name: str) -> UploadFile:
    """A file that must be given."""
    value = values.get(name)
    if not isinstance(value, UploadFile):
        raise ApiError(400, f"Invalid request: missing {name} parameter")
    if not value.filename:
        raise ApiError(400, "Invalid request: empty file")
    return value
