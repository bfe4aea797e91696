"""Whether the libraries of this room are installed."""

from __future__ import annotations

from importlib.util import find_spec

from regard.errors import SettingsError

_LIBRARIES = ("fastapi", "uvicorn", "prometheus_client", "python_multipart", "py3langid")


def refuse_without_libraries() -> None:
    """Says what to install where one of them is missing."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"regard serve needs {', '.join(missing)}, which is not installed.\n"
            "  Install it with: pip install 'regard[serve]'"
        )
