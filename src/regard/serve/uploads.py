"""Documents that are uploaded, translated and downloaded: the formats of `regard.text.documents`.

An upload lies in a folder of its own under a random name until it is translated; a translation, until it expires. A
download is looked up by its whole name in a table, never by a path.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import time
import zipfile
from collections import OrderedDict
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, JSONResponse, Response

from regard.errors import RegardError
from regard.serve.answers import ApiError
from regard.serve.catalogue import Served
from regard.serve.libretranslate import key_in
from regard.serve.parameters import file_in, read_parameters, required_text
from regard.serve.serve_settings import ServeSettings
from regard.serve.state import State, log_fields, state_of
from regard.serve.translating import AUTO, choose
from regard.text import documents
from regard.translation.documents import translate_document

_UNPACKED = 10  # times the size that a file may have, in all
_MOST_MEMBERS = 10_000
_MOST_BYTES = 1 << 30  # of translations that wait to be downloaded
_SAMPLE = 4000  # characters by which the language of a document is detected
_ODD = re.compile(r"[^A-Za-z0-9_.-]+")


class _Kept(NamedTuple):
    path: Path
    size: int
    expires: float


class Uploads:
    """A folder for uploads and translations, removed at the end."""

    def __init__(self, settings: ServeSettings) -> None:
        self._settings, self._lock = settings, Lock()
        self._folder = Path(tempfile.mkdtemp(prefix="regard-serve-"))
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @property
    def suffixes(self) -> list[str]:
        """The endings of the names of files that can be translated."""
        return sorted({suffix for found in documents.formats().values() for suffix in found.suffixes})

    def new_folder(self) -> Path:
        """For one upload."""
        return Path(tempfile.mkdtemp(dir=self._folder))

    def keep(self, path: Path, name: str) -> str:
        """Keeps a translation; gives the name that it can be downloaded by."""
        unique = f"{uuid4()}.{name}"
        kept = self._folder / unique
        path.rename(kept)
        with self._lock:
            self._kept[unique] = _Kept(kept, kept.stat().st_size, time.monotonic() + self._settings.keep_files_seconds)
        self.tidy()
        return unique

    def find(self, name: str) -> Path | None:
        """The translation of this name, if it is still there."""
        self.tidy()
        with self._lock:
            found = self._kept.get(name)
        return found.path if found else None

    def tidy(self) -> None:
        """Removes translations that have expired, and the oldest where there are too many."""
        with self._lock:
            total = sum(kept.size for kept in self._kept.values())
            for name, kept in list(self._kept.items()):
                if kept.expires > time.monotonic() and total <= _MOST_BYTES:
                    break
                total -= kept.size
                kept.path.unlink(missing_ok=True)
                del self._kept[name]

    def remove(self) -> None:
        """Removes all files."""
        shutil.rmtree(self._folder, ignore_errors=True)


router = APIRouter(tags=["LibreTranslate"])


@router.post("/translate_file")
async def translate_file(request: Request) -> Response:
    """Translate a document."""
    try:
        return await _uploaded(request, state_of(request))
    finally:
        await request.close()  # and with it the file that was uploaded


async def _uploaded(request: Request, state: State) -> Response:
    if not state.settings.files:
        raise ApiError(403, "Files translation are disabled on this server.")
    values = await read_parameters(request)
    name = _safe_name(file_in(values, "file").filename or "")
    source, target = required_text(values, "source"), required_text(values, "target")
    if not name.lower().endswith(tuple(state.uploads.suffixes)):
        raise ApiError(400, "Invalid request: file format not supported")
    size = values["file"].size or 0
    if size > state.settings.max_file:
        raise ApiError(413, f"Invalid request: the file is larger than {state.settings.max_file:,} bytes")
    state.admit(request, key_in(request, values), 0)
    log_fields(request)["bytes"] = size
    kept = await state.service.answer(
        request, lambda: _translated(state, values["file"].file, name, source, target), characters=size
    )
    return JSONResponse({"translatedFileUrl": str(request.url_for("download_file", name=kept))})


@router.get("/download_file/{name}")
async def download_file(request: Request, name: str) -> Response:
    """Download a translated document."""
    state = state_of(request)
    path = state.uploads.find(name)
    if path is None:
        raise ApiError(404, "There is no such file, or it has expired. Translate the document again")
    return FileResponse(path, filename=name.partition(".")[2], media_type="application/octet-stream")


def _safe_name(given: str) -> str:
    """The last part of a name, in letters that need no escape anywhere."""
    last = given.replace("\\", "/").rpartition("/")[2]
    return _ODD.sub("_", last).strip("._")[-100:] or "file"


def _translated(state: State, upload: Any, name: str, source: str, target: str) -> str:
    """Translates an upload; gives the name of the translation."""
    folder = state.uploads.new_folder()
    try:
        path = folder / name
        with path.open("wb") as file:
            shutil.copyfileobj(upload, file)
        _refuse_bombs(path, state.settings.max_file * _UNPACKED)
        model = _model(state, path, source, target)
        ending = path.suffix
        out = folder / f"translation{ending}"
        translate_document(model.translator, path, out)
        return state.uploads.keep(out, f"{path.stem}_{target}{ending}")
    except RegardError as error:
        raise ApiError(400, f"Invalid request: {str(error).replace(f'{folder}/', '')}") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _model(state: State, path: Path, source: str, target: str) -> Served:
    sample = _sample(path) if source == AUTO else ""
    (chosen,) = choose(state.catalogue, [sample], source, target)
    model = chosen.model or next((model for model in state.catalogue.models if model.target == target), None)
    if model is None:
        raise ApiError(400, f"{target} is not supported")
    return model


def _sample(path: Path) -> str:
    """Some of the text of a document."""
    found = documents.by_path(path)
    assert found is not None
    document = found.read(found.load(path, None), documents.Asked(None))
    sample = ""
    for segment in document.segments:
        sample += segment.source + "\n"
        if len(sample) > _SAMPLE:
            break
    return sample


def _refuse_bombs(path: Path, most: int) -> None:
    """Refuses an archive that says it unpacks to more than this; what it holds beyond what it says is not read."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return  # the reader of the document reports the error
    if len(members) > _MOST_MEMBERS or sum(member.file_size for member in members) > most:
        raise ApiError(400, f"Invalid request: the file unpacks to more than {most:,} bytes or {_MOST_MEMBERS:,} parts")
