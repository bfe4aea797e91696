"""TensorBoard, for those who ask for it: the numbers of every event as scalars, messages and samples as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from regard.errors import TrainingError
from regard.training.events import Event, Planned, Preparing, Restarted, Said, Saved, Stepped, Validated

_STEPPED = ("loss", "perplexity", "rate", "gradient", "tokens_per_second", "memory", "epoch", "skipped")


def board(folder: Path) -> Callable[[Event], None]:
    """A listener that writes events into `folder`; read them with `tensorboard --logdir`."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise TrainingError(
            "TensorBoard is not installed.\n  Install it with: pip install 'regard[tensorboard]'"
        ) from None
    return _Writing(SummaryWriter(str(folder)))


class _Writing:
    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.step = 0

    def __call__(self, event: Event) -> None:
        if isinstance(event, Preparing | Planned):
            return
        if isinstance(event, Said | Restarted):
            self.writer.add_text("messages", event.message, self.step)
            return
        self.step = event.step
        if isinstance(event, Stepped):
            for name in _STEPPED:
                self.writer.add_scalar(f"training/{name}", getattr(event, name), event.step)
        elif isinstance(event, Validated):
            self._validated(event)
        elif isinstance(event, Saved):
            self.writer.flush()

    def _validated(self, event: Validated) -> None:
        worth = {} if event.source_worth is None else {"source_worth": event.source_worth}
        scalars = {"loss": event.loss, "perplexity": event.perplexity, **worth, **event.scores}
        for name, value in scalars.items():
            self.writer.add_scalar(f"validation/{name}", value, event.step)
        for number, (source, reference, translation) in enumerate(event.samples, start=1):
            text = f"    {source}\n    {reference}\n    {translation}"
            self.writer.add_text(f"samples/{number}", text, event.step)
        self.writer.flush()
