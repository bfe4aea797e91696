"""A real browser: Debian's chromium through Playwright. Without one, these tests skip and say so."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'regard[dev]'")
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no browser: apt-get install chromium")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield launched
        launched.close()


class Visit:
    """A page that is open, and whether anything went wrong on it or left it."""

    def __init__(self, page: Any, path: Path) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("console", lambda message: message.type == "error" and self.troubles.append(message.text))
        page.on("request", lambda request: self.requests.append(request.url))
        self.address = path.as_uri()
        page.goto(self.address)

    def text(self, selector: str) -> str:
        """What is written there."""
        return str(self.page.inner_text(selector))


class Session:
    """A page of a server that is open: no error happens on it, it asks no other server, and it sets no cookie."""

    def __init__(self, context: Any, address: str) -> None:
        self.address = address
        self.page = context.new_page()
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.aborted: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("console", self._heard)
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: self.aborted.append(request.post_data or request.url))
        self.page.goto(address)

    def _heard(self, message: Any) -> None:
        """Failed requests are written to the console by the browser itself; what the page says then is tested."""
        if message.type in ("error", "warning") and not message.text.startswith("Failed to load resource"):
            self.troubles.append(message.text)

    def text(self, selector: str) -> str:
        """What is written there."""
        return str(self.page.inner_text(selector))

    def check(self) -> None:
        """Fails if anything went wrong."""
        assert self.troubles == []
        assert [url for url in self.requests if not url.startswith(self.address.split("?")[0])] == []
        assert self.page.context.cookies() == []


@pytest.fixture
def surf(browser: Any) -> Iterator[Callable[..., Session]]:
    """Opens pages of a server; in the end, each is checked."""
    sessions: list[Session] = []

    def open_page(address: str, *, width: int = 1280, dark: bool = False, touch: bool = False) -> Session:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            has_touch=touch,
            accept_downloads=True,
        )
        context.set_default_timeout(15_000)
        sessions.append(Session(context, address))
        return sessions[-1]

    yield open_page
    for each in sessions:
        each.check()
    for each in sessions:
        each.page.context.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Visit]]:
    """Opens pages; in the end, nothing has gone wrong on any, and no request but the first has been made."""
    contexts: list[Any] = []
    visits: list[Visit] = []

    def open_page(path: Path, *, width: int = 1280, dark: bool = False) -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        contexts.append(context)
        visits.append(Visit(context.new_page(), path))
        return visits[-1]

    yield open_page
    for each in visits:
        assert each.troubles == []
        assert each.requests == [each.address]
    for context in contexts:
        context.close()
