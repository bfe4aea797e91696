"""Pages as tests read them."""

import re
from html.parser import HTMLParser


class Reader(HTMLParser):
    """Which elements are open, what they refer to, and the text of the page."""

    VOID = frozenset({"meta", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: list[str] = []
        self.addresses: list[str] = []
        self.headings: list[int] = []
        self.text = ""

    @classmethod
    def of(cls, page: str) -> "Reader":
        """The whole page is read, and every element of it is closed."""
        reader = cls()
        reader.feed(page)
        reader.close()
        assert reader.open == []
        return reader

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of a drawing that has no content."""
        self.look(tag, attrs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.look(tag, attrs)

    def look(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
