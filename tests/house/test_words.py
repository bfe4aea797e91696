"""Messages, help and pages are plain technical English: none of them has a phrase from this list."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src" / "regard"
ODD = re.compile(
    r"\b(?:whoever|somebody|nobody|everybody|anew|it is none|is not said|is said|is told|was said|is not there"
    r"|is there already|that (?:is|are) there|asked for|expected (?:is|are)|if left out|learn\w* by heart"
    r"|is no (?:file|pair|link|entry))\b",
    re.IGNORECASE,
)
FILES = sorted([*ROOT.rglob("*.py"), *ROOT.rglob("*.js")])


def read_by_users(path: Path) -> Iterator[tuple[int, str]]:
    """The string literals of a file, without docstrings, except those of commands, which are their help."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and isinstance(node.body[0], ast.Expr)
        and not (isinstance(node, ast.FunctionDef) and node.name == "command")
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.lineno, node.value


def strings(path: Path) -> list[tuple[int, str]]:
    if path.suffix == ".js":
        return [(0, string) for string in re.findall(r"[\"`]([^\"`\n]*)[\"`]", path.read_text(encoding="utf-8"))]
    return list(read_by_users(path))


def test_no_message_help_or_page_has_an_odd_phrase() -> None:
    found = [
        (str(path.relative_to(ROOT)), line, phrase[0])
        for path in FILES
        for line, string in strings(path)
        for phrase in ODD.finditer(string)
    ]
    assert len(FILES) > 200
    assert found == []


def test_the_phrases_that_started_this_would_be_found() -> None:
    for old in (
        "the source language is not said",
        "nobody asked for it, so nothing is an error",
        "cpu or cuda; the best that is there, if left out",
        "Expected are two column numbers",
    ):
        assert ODD.search(old), old
