"""Every command and option that a message names exists."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

import regard.cli

SOURCES = Path(regard.cli.__file__).parents[1]
GROUP: Any = typer.main.get_command(regard.cli._application())
NAMED = re.compile(r"(?<![\w./-])(?<!from )regard ([a-z]+)((?:(?!regard )[^\n`<;|])*)")
OTHERS = {
    "--check",
    "--upgrade",
    "--logdir",
    "--version",
    "--strength",
    "--across",
}  # of other programs and of style sheets


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The string literals of a file, and f-strings with an X for each value in them."""
    inside: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "X" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


def messages() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for line, text in literals(ast.parse(path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(SOURCES)}:{line}", text


def trouble(name: str, rest: str) -> str:
    """What the parser of the command says against these arguments; missing ones do not matter here."""
    if name not in GROUP.commands:
        return f"there is no command {name}"
    command = GROUP.commands[name]
    words = [word.rstrip(".,:)'\"") for word in rest.split()]
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in options]
    return f"{name} has no {unknown[0]}" if unknown else ""


def test_every_command_in_a_message_exists_with_its_options() -> None:
    found = [(place, *match.groups()) for place, text in messages() for match in NAMED.finditer(text)]
    assert len(found) > 20, "the pattern finds them no more"
    assert [(place, trouble(name, rest)) for place, name, rest in found if trouble(name, rest)] == []


def test_every_option_in_a_message_is_one_of_a_command() -> None:
    known = {
        option
        for command in GROUP.commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = {
        (place, option)
        for place, text in messages()
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+\b", text)
        if option not in OTHERS
    }
    assert ("text/bad_input.py", "--skip-bad") in {(place.split(":")[0], option) for place, option in named}
    assert sorted((place, option) for place, option in named if option not in known) == []


def test_wrong_commands_and_options_would_be_found() -> None:
    assert trouble("improt", " X") == "there is no command improt"
    assert trouble("translate", " X --skip-bad") == "translate has no --skip-bad"
    assert trouble("check", " X --source en --target de") == ""


def test_a_command_with_everything_that_it_needs_is_parsed() -> None:
    """The examples of commands that are printed to be typed."""
    examples = [
        (place, command)
        for place, text in messages()
        for command in re.findall(r"regard (?:train|evaluate|look) [\w./-]+ (?:--|\")[^\n]*", text)
    ]
    assert examples
    for place, command in examples:
        name, *arguments = shlex.split(command)[1:]
        assert GROUP.commands[name].make_context(name, arguments), place
