"""What an operator chooses. The defaults suit one machine and some hundred users."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from regard.settings import Settings

LOCAL = ("127.0.0.1", "::1", "localhost")


class ServeSettings(Settings):
    """How the server listens, what it allows, and what it computes with; docs/serving.md explains each."""

    host: str = "127.0.0.1"
    port: int = Field(default=5000, ge=0, le=65535)
    engine: str = "auto"
    device: str | None = None
    workers: PositiveInt | None = None  # searches at once on a CPU; one for each core if left out
    keys: Path | None = None  # the file with API keys; without one, no key is needed
    forwarded_allow_ips: str = "127.0.0.1"  # proxies whose X-Forwarded-For is believed
    origins: str = "*"  # pages of these origins may call the API

    max_characters: PositiveInt = 100_000  # of a request
    max_texts: PositiveInt = 1000  # of a request
    max_body: PositiveInt = 4 << 20  # bytes of a request that is not a file
    max_file: PositiveInt = 20 << 20  # bytes of a file, compressed parts unpacked ten times as many
    max_requests: PositiveInt = 512  # at a time
    max_waiting: PositiveInt = 4_000_000  # characters of all requests at a time
    requests_per_minute: NonNegativeInt = 0  # of an address without a key; 0: any number
    characters_per_minute: NonNegativeInt = 0

    body_seconds: PositiveFloat = 30.0  # in which the body of a request must arrive
    header_seconds: PositiveFloat = 20.0
    answer_seconds: PositiveFloat = 300.0
    drain_seconds: float = Field(default=1.0, ge=0)  # between a signal to stop and the end of listening
    keep_files_seconds: PositiveFloat = 1800.0

    files: bool = True  # documents may be uploaded
    suggestions: Path | None = None  # the file that suggestions of users are appended to; without one, none are taken

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return self.host in LOCAL
