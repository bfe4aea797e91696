"""What the routes of a server share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING

from fastapi import Request

from regard.serve.answers import ApiError
from regard.serve.catalogue import Catalogue, read_catalogue
from regard.serve.keys import Key, Keys
from regard.serve.limits import Allowance, Limits
from regard.serve.logs import Log
from regard.serve.metrics import Metrics
from regard.serve.serve_settings import ServeSettings
from regard.serve.service import Service
from regard.serve.translating import Chosen, Options, Outcome, translated

if TYPE_CHECKING:
    from regard.serve.uploads import Uploads


@dataclass(kw_only=True)
class State:
    """One server: its models and everything around them."""

    settings: ServeSettings
    names: Sequence[str]  # of models, as they were given
    catalogue: Catalogue
    keys: Keys
    log: Log
    metrics: Metrics
    service: Service
    uploads: Uploads
    limits: Limits = field(default_factory=Limits)
    draining: bool = False
    _loading: Lock = field(default_factory=Lock)

    def reload(self) -> None:
        """Loads all models and keys again. Requests go on meanwhile; those that have begun keep their models."""
        with self._loading:
            try:
                self.keys.reload()
                catalogue = read_catalogue(self.names, self.settings, self.metrics.seen)
            except Exception:
                self.metrics.reloads.labels("failed").inc()
                raise
            earlier, self.catalogue = self.catalogue, catalogue
            earlier.close()
            self.metrics.reloads.labels("done").inc()
            self.log.info("reloaded", models=[model.name for model in catalogue.models])

    def admit(self, request: Request, given: str, characters: int) -> Key | None:
        """Checks the key and the limits of a request; raises what LibreTranslate answers."""
        key = self.keys.find(given) if given else None
        if given and key is None and self.keys.required:
            raise ApiError(403, "Invalid API key")
        if self.keys.required and key is None:
            raise ApiError(400, "Please contact the server operator to get an API key")
        longest = self.settings.max_characters if key is None else key.max_characters or self.settings.max_characters
        if characters > longest:
            raise ApiError(400, f"Invalid request: request ({characters}) exceeds text limit ({longest})")
        who, allowance = self._client(request, key)
        log_fields(request)["client"] = who
        self.limits.spend(who, allowance, characters)
        return key

    def _client(self, request: Request, key: Key | None) -> tuple[str, Allowance]:
        if key is not None:
            requests, characters = key.requests_per_minute, key.characters_per_minute
            default = self.settings
            return f"key {key.name}", Allowance(
                default.requests_per_minute if requests is None else requests,
                default.characters_per_minute if characters is None else characters,
            )
        address = request.client.host if request.client else "unknown"
        return address, Allowance(self.settings.requests_per_minute, self.settings.characters_per_minute)

    def admit_admin(self, request: Request) -> None:
        """Only for admins, where there are keys; without keys, only for programs on this machine."""
        given = bearer(request)
        key = self.keys.find(given) if given else None
        local = request.client is not None and request.client.host in ("127.0.0.1", "::1", "testclient")
        if not (key and key.admin) and (self.keys.required or not local):
            raise ApiError(403, "This needs an API key with admin = true, sent as Authorization: Bearer KEY")

    def translated(self, request: Request, chosen: Sequence[Chosen], options: Options) -> Callable[[], list[Outcome]]:
        """Work for the service: the translations of these texts, measured."""
        characters = sum(len(one.text) for one in chosen)
        names = list(dict.fromkeys(one.model.name for one in chosen if one.model))
        log_fields(request).update(characters=characters, texts=len(chosen), models=names)

        def work() -> list[Outcome]:
            began = time.monotonic()
            found = translated(chosen, options)
            for name in names:
                self.metrics.translation.labels(name).observe(time.monotonic() - began)
                own = sum(len(one.text) for one in chosen if one.model and one.model.name == name)
                self.metrics.characters.labels(name).inc(own)
            return found

        return work


def state_of(request: Request) -> State:
    """The server that a request came to."""
    state = request.app.state.regard
    assert isinstance(state, State)
    return state


def bearer(request: Request) -> str:
    """The key in the header Authorization."""
    scheme, _, given = request.headers.get("authorization", "").partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


def log_fields(request: Request) -> dict[str, object]:
    """What the log will say about this request besides."""
    fields: dict[str, object] = request.scope.setdefault("regard.log", {})
    return fields
