"""Where things are kept that can be made again: stored corpora, converted models."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """$REGARD_CACHE, or the user's folder for caches."""
    given = os.environ.get("REGARD_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(given) if given else base / "regard"
