"""The web page: the files of the folder `page`, served as they are. `index.html` stands at `/`."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent / "page"


def mount_page(app: FastAPI) -> None:
    """Serves the page at every address that no route before it has taken; call this last."""
    if FOLDER.is_dir():
        app.mount("/", StaticFiles(directory=FOLDER, html=True), name="page")
