"""Where things are kept that can be made again: stored corpora, converted models."""

from __future__ import annotations

import os
from pathlib import Path

from regard.errors import SettingsError


def cache_folder() -> Path:
    """$REGARD_CACHE, or the user's folder for caches."""
    given = os.environ.get("REGARD_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(given) if given else base / "regard"


def make_writable(folder: Path) -> None:
    """Makes a folder of the cache, unless it exists; `SettingsError` where nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(0, "Permission denied")
    except OSError as error:
        raise SettingsError(
            f"{folder}: Regard cannot write to this cache folder: {error.strerror}.\n"
            "  Set the environment variable REGARD_CACHE to a folder that you can write to."
        ) from None
