"""The web page: the files of the folder `page`, served as they are. `index.html` stands at `/`."""

from __future__ import annotations

import os
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(__file__).parent / "page"


class _PageFiles(StaticFiles):
    """Files that a browser checks before it uses its copy, so that all of them have the same version."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "no-cache"
        return response


def mount_page(app: FastAPI) -> None:
    """Serves the page at addresses without a route, so that a wrong method at a known address is still an error 405."""
    app.router.default = _PageFiles(directory=FOLDER, html=True)
