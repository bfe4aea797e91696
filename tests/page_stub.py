"""A stand-in for the server behind the web page: the real files of the page, and answers that a test can bend.

Its translator writes every word in capitals, so a test knows what to expect.
"""

import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import regard

FOLDER = Path(regard.__file__).parent / "serve" / "page"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_GERMAN = re.compile(r"\b(?:der|die|das|und|ist|nicht)\b", re.IGNORECASE)

Answer = tuple[int, dict[str, str], Any]
Route = Callable[[Any], Answer]


def ok(content: Any) -> Answer:
    return 200, {}, content


def capitals(body: dict[str, Any]) -> Answer:
    """/v1/translate: capitals, or with heads off capitals backwards; one alternative; the words one to one."""
    texts = [body["text"]] if isinstance(body["text"], str) else body["text"]
    return ok({"translations": [_translation(text, body) for text in texts]})


def _translation(text: str, body: dict[str, Any]) -> dict[str, Any]:
    said = text.upper()
    for source, target in body.get("glossary", []):
        said = said.replace(source.upper(), target)
    if body.get("disabled_heads"):
        said = " ".join(reversed(said.split()))
    pairs = zip(re.finditer(r"\S+", text), re.finditer(r"\S+", said), strict=True)
    return {
        "text": said,
        "language": body["source"],
        "model": "en-de",
        "score": -0.5,
        "confidence": None,
        "alternatives": [{"text": said, "score": -0.5}, {"text": said.replace(".", "!"), "score": -0.9}],
        "alignment": [[*source.span(), *target.span()] for source, target in pairs],
        "findings": [],
    }


def attention(body: dict[str, Any]) -> Answer:
    """/v1/attention: one layer of two heads of each kind; head 0 attends evenly, head 1 to the same place."""
    source, said = [*body["text"].split(), "⟨end⟩"], [*body["translation"].split(), "⟨end⟩"]
    off = {tuple(head) for head in body["disabled_heads"]}

    def head(kind: str, number: int, rows: int, columns: int) -> list[list[float]]:
        if (kind, 0, number) in off:
            return [[0.0] * columns for _ in range(rows)]
        if number == 0:
            return [[1 / columns] * columns for _ in range(rows)]
        return [[float(column == min(row, columns - 1)) for column in range(columns)] for row in range(rows)]

    def layer(kind: str, rows: int, columns: int) -> list[list[list[list[float]]]]:
        return [[head(kind, number, rows, columns) for number in (0, 1)]]

    return ok(
        {
            "model": "en-de",
            "translation": body["translation"],
            "source_tokens": [f"▁{word}" for word in source],
            "target_tokens": [f"▁{word}" for word in said],
            "read_tokens": ["⟨start⟩", *(f"▁{word}" for word in said[:-1])],
            "source_words": list(range(len(source))),
            "target_words": list(range(len(said))),
            "logprobs": [-0.1] * len(said),
            "kinds": {
                "encoder": layer("encoder", len(source), len(source)),
                "decoder": layer("decoder", len(said), len(said)),
                "cross": layer("decoder-source", len(said), len(source)),
            },
            "alignment": [],
        }
    )


def usual_routes() -> dict[str, Route]:
    models = [
        {"name": f"{a}-{b}", "source": a, "target": b, "card": f"/v1/models/{a}-{b}/card", "engine": "pytorch",
         "attention": True}
        for a, b in (("en", "de"), ("de", "en"))
    ]  # fmt: skip
    return {
        "/languages": lambda _: ok(
            [
                {"code": "en", "name": "English", "targets": ["de", "en"]},
                {"code": "de", "name": "German", "targets": ["en", "de"]},
            ]
        ),
        "/v1/models": lambda _: ok({"models": models}),
        "/frontend/settings": lambda _: ok(
            {"charLimit": 500, "filesTranslation": True, "supportedFilesFormat": [".txt", ".po"], "keyRequired": False}
        ),
        "/detect": lambda body: ok(
            [{"language": "de" if _GERMAN.search(body["q"]) else "en", "confidence": 90.0}]
        ),
        "/v1/translate": capitals,
        "/v1/attention": attention,
        "/translate_file": lambda _: ok({"translatedFileUrl": "http://elsewhere.example/download_file/0123.txt"}),
    }


class Stub:
    """The server: `routes` can be bent, `asked` has the body of every request to a route."""

    def __init__(self) -> None:
        self.routes = usual_routes()
        self.asked: list[tuple[str, Any]] = []
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                path = self.path.split("?")[0]
                if path in outer.routes:
                    outer.answer(self, path, None)
                else:
                    outer.file(self, path)

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["Content-Length"]))
                is_json = self.headers["Content-Type"] == "application/json"
                outer.answer(self, self.path, json.loads(content) if is_json else content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def reset(self) -> None:
        self.routes = usual_routes()
        self.asked = []

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def texts(self) -> list[list[str]]:
        """The sentences of each request for translations."""
        with self.lock:
            return [body["text"] for path, body in self.asked if path == "/v1/translate"]

    def answer(self, handler: BaseHTTPRequestHandler, path: str, body: Any) -> None:
        with self.lock:
            self.asked.append((path, body))
        status, headers, content = self.routes[path](body)
        text = content if isinstance(content, str) else json.dumps(content)
        _send(handler, status, headers, text.encode(), "application/json")

    def file(self, handler: BaseHTTPRequestHandler, path: str) -> None:
        file = FOLDER / (path.lstrip("/") or "index.html")
        found = file.is_file() and file.parent == FOLDER
        _send(handler, 200 if found else 404, {}, file.read_bytes() if found else b"", _TYPES.get(file.suffix, "text/plain"))


def _send(handler: BaseHTTPRequestHandler, status: int, headers: dict[str, str], content: bytes, kind: str) -> None:
    try:
        handler.send_response(status)
        for name, value in {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(content)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)
    except ConnectionError:
        pass  # the page has left
