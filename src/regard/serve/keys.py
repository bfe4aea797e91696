"""API keys: a TOML file with the hash of each key, and what it allows.

    [[key]]
    name = "weblate"
    hash = "sha256:5e88..."
    requests_per_minute = 600

A key is 256 random bits, so its plain SHA-256 cannot be guessed back. A key that is given is compared with all of them,
each time in the same time, and never written anywhere.
"""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from pathlib import Path

from pydantic import Field, NonNegativeInt

from regard.errors import SettingsError
from regard.settings import Settings, read_toml

_PREFIX = "sha256:"


class Key(Settings):
    """Who has a key, and what it allows; 0 is no limit, and what is left out is as without a key."""

    name: str = Field(min_length=1, max_length=64)
    hash: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    requests_per_minute: NonNegativeInt | None = None
    characters_per_minute: NonNegativeInt | None = None
    max_characters: NonNegativeInt | None = None  # of a request
    admin: bool = False  # may reload models and read metrics


class _File(Settings):
    key: list[Key]


class Keys:
    """The keys of a file; without a file, none is needed."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._keys = path, list[Key]()
        self.reload()

    @property
    def required(self) -> bool:
        """Whether a request needs a key."""
        return self._path is not None

    def reload(self) -> None:
        """Reads the file again; an error leaves the keys as they were."""
        if self._path is None:
            return
        keys = _File.read(read_toml(self._path), where=str(self._path)).key
        names = [key.name for key in keys]
        double = next((name for name in names if names.count(name) > 1), None)
        if double:
            raise SettingsError(f"{self._path}: there are two keys with the name {double!r}.\n  Rename one of them.")
        self._keys = keys

    def find(self, given: str) -> Key | None:
        """The key whose hash is that of the given one."""
        hashed = hash_of(given).encode()
        found = None
        for key in self._keys:
            if hmac.compare_digest(key.hash.encode(), hashed):
                found = key
        return found


def hash_of(key: str) -> str:
    """What a file holds of a key."""
    return _PREFIX + sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def new_key(name: str) -> tuple[str, str]:
    """A new random key, and the table for the file."""
    key = secrets.token_urlsafe(32)
    return key, f'[[key]]\nname = "{Key(name=name, hash=hash_of(key)).name}"\nhash = "{hash_of(key)}"\n'
