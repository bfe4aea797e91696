"""Tests can fail: what they assert is reached, and compares two different things."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests").rglob("*.py"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPARING = ("equal", "allclose", "isclose", "assert_close", "array_equal")


def unused_functions_with_asserts(tree: ast.AST) -> Iterator[ast.stmt]:
    """Functions within functions that assert something, and whose names are never read."""
    for outer in (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)):
        names = {node.id for node in ast.walk(outer) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        for inner in (node for statement in outer.body for node in ast.walk(statement) if isinstance(node, FUNCTIONS)):
            asserts = any(isinstance(node, ast.Assert) for node in ast.walk(inner))
            if asserts and inner.name not in names and not inner.decorator_list and not _is_method(inner, outer):
                yield inner


def comparisons_with_itself(tree: ast.AST) -> Iterator[ast.expr]:
    """`x == x`, `f() is f()`, `torch.equal(x, x)` and the like."""
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and _name(node.func) in COMPARING:
            sides = node.args[:2]
        written = [ast.dump(side) for side in sides]
        if isinstance(node, ast.expr) and any(one == other for one, other in pairwise(written)):
            yield node


def _is_method(inner: ast.stmt, outer: ast.AST) -> bool:
    return any(isinstance(node, ast.ClassDef) and inner in node.body for node in ast.walk(outer))


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_the_two_faults_are_found_and_what_is_sound_is_not() -> None:
    faulty = ast.parse("""
def test_never() -> None:
    def check(x):
        assert x
    assert f() == f()
    assert torch.equal(a[0], a[0])
    assert 0 < b <= b
""")
    assert [found.lineno for found in unused_functions_with_asserts(faulty)] == [3]
    assert [found.lineno for found in comparisons_with_itself(faulty)] == [5, 6, 7]
    sound = ast.parse("""
def test_always() -> None:
    def check(x):
        assert x
    class Fake:
        def step(self):
            assert self
    patch(Fake)
    each(check)
    assert f(1) == f(2)
    assert torch.equal(a[0], a[1])
    assert a == b == c
""")
    assert not [*unused_functions_with_asserts(sound), *comparisons_with_itself(sound)]


def test_no_assertion_stands_where_it_is_never_reached_or_cannot_fail() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for tree in [ast.parse(path.read_text(encoding="utf-8"))]
        for node in (*unused_functions_with_asserts(tree), *comparisons_with_itself(tree))
    ]
    assert faults == []
