"""What Prometheus sees: requests, latencies, the queue, batch sizes, tokens. Labels are routes and models, no texts."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from regard.serve.catalogue import Catalogue
from regard.serve.lanes import Seen
from regard.serve.service import Admission

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_SENTENCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter("regard_requests", "Requests", ["route", "status"], registry=self._registry)
        self.seconds = Histogram(
            "regard_request_seconds", "Time to answer", ["route"], buckets=_SECONDS, registry=self._registry
        )
        self.translation = Histogram(
            "regard_translation_seconds",
            "Time to translate the texts of a request",
            ["model"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.characters = Counter("regard_characters", "Characters translated", ["model"], registry=self._registry)
        self._batches = Histogram(
            "regard_batch_sentences", "Sentences searched together", ["model"], buckets=_SENTENCES,
            registry=self._registry,
        )  # fmt: skip
        self._tokens = Counter("regard_tokens", "Tokens generated", ["model"], registry=self._registry)
        self.reloads = Counter("regard_reloads", "Reloads of the models", ["result"], registry=self._registry)
        self._waiting = Gauge(
            "regard_waiting_sentences", "Sentences without a place", ["model"], registry=self._registry
        )
        self._running = Gauge("regard_requests_in_progress", "Requests being answered", registry=self._registry)
        self._load = Gauge("regard_characters_in_progress", "Characters of these", registry=self._registry)

    def watch(self, admission: Admission, catalogue: Callable[[], Catalogue]) -> None:
        """Reads these whenever metrics are read."""
        self._running.set_function(lambda: admission.requests)
        self._load.set_function(lambda: admission.characters)
        self._catalogue = catalogue

    def seen(self, model: str) -> Seen:
        """What the engine of a model reports to."""
        batches, tokens = self._batches.labels(model), self._tokens.labels(model)

        def report(sentences: int, generated: int) -> None:
            batches.observe(sentences)
            tokens.inc(generated)

        return report

    def text(self) -> bytes:
        """All metrics in Prometheus' format."""
        for model in self._catalogue().models:
            self._waiting.labels(model.name).set(model.engine.waiting)
        return generate_latest(self._registry)
