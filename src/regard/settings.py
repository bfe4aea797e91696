"""Settings: frozen, checked as a whole, and wrong ones explained all at once, each by its path."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from regard.errors import SettingsError


class Settings(BaseModel):
    """The base of every settings class: no value changes later, and no unknown key slips through."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @classmethod
    def read(cls, table: Mapping[str, Any], *, where: str) -> Self:
        """The settings in `table`; `where` names the table in messages (a file, a preset)."""
        try:
            return cls.model_validate(dict(table))
        except ValidationError as error:
            problems = "\n".join(f"  {line}" for line in _explain(error, cls))
            raise SettingsError(f"{where}: these settings are invalid:\n{problems}") from None

    def table(self) -> dict[str, Any]:
        """The settings as plain values, ready for JSON or TOML; unset ones are left out."""
        return self.model_dump(mode="json", exclude_none=True)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such file.\n  Check the path and the name.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path}: this is not valid TOML: {error}.\n  See https://toml.io for its syntax."
        ) from None


def nearest(name: str, valid: Sequence[str]) -> str:
    """A sentence that helps with a misspelt name."""
    close = get_close_matches(name, valid, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"valid names: {', '.join(sorted(valid))}."


def _explain(error: ValidationError, settings: type[Settings]) -> list[str]:
    """One line for each mistake: its path, what is wrong, what would be right."""
    lines = []
    for problem in error.errors():
        path = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            lines.append(f"{path}: there is no such setting; {nearest(path.split('.')[-1], _fields(settings, path))}")
        elif problem["type"] == "missing":
            lines.append(f"{path}: this setting is required.")
        elif problem["type"] == "value_error":
            lines.append(f"{path}: {problem['ctx']['error']}" if path else str(problem["ctx"]["error"]))
        else:
            lines.append(f"{path} = {problem['input']!r}: {_lower_first(problem['msg'])}.")
    return lines


def _fields(settings: type[Settings], path: str) -> list[str]:
    """The names of the settings beside the one at `path`, however deep it lies."""
    for part in path.split(".")[:-1]:
        annotation = settings.model_fields[part].annotation
        if not (isinstance(annotation, type) and issubclass(annotation, Settings)):
            break
        settings = annotation
    return list(settings.model_fields)


def _lower_first(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
