"""How large everything is: the shapes of the paper on a GPU, or shapes that any processor takes in a second."""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

import torch

from regard import models, presets
from regard.models.transformer import TransformerSettings

ROW = 128
DROPOUT, SMOOTHING = 0.1, 0.1
BANDWIDTH = 4.0e12  # bytes a second that an H200's memory gives to a plain kernel


class Scale(NamedTuple):
    """Sizes of the models, the corpora and the measurements."""

    device: torch.device
    presets: dict[str, str]  # the models by their names in the table
    vocabulary: int
    pairs: int
    longest: int  # tokens of a sentence
    batch_tokens: int
    seconds: float  # a round lasts about so long
    peer_batches: int  # that peers go round in; all are seen before the clock starts: memory for a new shape takes time
    product: int  # the size of the product that the card's peak is measured by
    curve_steps: int
    curve_tokens: int
    gradient_rows: int
    trained_pairs: int
    trained_steps: int

    @property
    def compile(self) -> str:
        """Steps are compiled on GPUs."""
        return "yes" if self.device.type == "cuda" else "no"

    def settings(self, model: str, *, dropout: float = DROPOUT) -> TransformerSettings:
        """The settings of the model that stands in the table under this name."""
        sizes = {"source_vocabulary": self.vocabulary, "target_vocabulary": self.vocabulary, "dropout": dropout}
        settings = models.read_settings(presets.load(self.presets[model]).model | sizes, where=model)
        assert isinstance(settings, TransformerSettings)
        return settings


FULL = Scale(
    device=torch.device("cuda"), presets={"base": "base", "big": "big"}, vocabulary=37_000, pairs=200_000, longest=100,
    batch_tokens=198 * ROW, seconds=1.0, peer_batches=60, product=8192, curve_steps=200, curve_tokens=64 * ROW,
    gradient_rows=8, trained_pairs=300_000, trained_steps=2_400,
)  # fmt: skip
TINY = Scale(
    device=torch.device("cpu"), presets={"base": "tiny", "big": "tiny"}, vocabulary=1_000, pairs=600, longest=100,
    batch_tokens=4 * ROW, seconds=0.1, peer_batches=2, product=256, curve_steps=4, curve_tokens=2 * ROW,
    gradient_rows=2, trained_pairs=2_000, trained_steps=4,
)  # fmt: skip


def wait(device: torch.device) -> None:
    """Until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize()


def peak(scale: Scale) -> float:
    """Operations a second in a large product, in bf16 on a GPU: the median of five times twenty."""
    size, dtype = scale.product, torch.bfloat16 if scale.device.type == "cuda" else torch.float32
    one, other = torch.randn(2, size, size, device=scale.device, dtype=dtype)
    speeds = []
    for number in range(6):
        wait(scale.device)
        began = time.perf_counter()
        for _ in range(20):
            one @ other
        wait(scale.device)
        if number:
            speeds.append(20 * 2 * size**3 / (time.perf_counter() - began))
    return statistics.median(speeds)


def machine(device: torch.device) -> str:
    """The card and the versions."""
    from importlib.metadata import PackageNotFoundError, version

    def of(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return f"no {package}"

    card = torch.cuda.get_device_name() if device.type == "cuda" else "a processor, tiny sizes: no figures to keep"
    return ", ".join([time.strftime("%Y-%m-%d"), card, *map(of, ("torch", "triton", "transformers"))])


def free_memory(device: torch.device) -> None:
    """Frees memory that is no longer used."""
    import gc

    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()


def used_memory(device: torch.device) -> int:
    """Bytes in tensors on the GPU; 0 elsewhere."""
    return torch.cuda.memory_allocated() if device.type == "cuda" else 0


def most_memory(device: torch.device) -> int:
    """The most since it was last reset."""
    return torch.cuda.max_memory_allocated() if device.type == "cuda" else 0


def reset_memory(device: torch.device) -> None:
    """Starts watching again."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()


Figures = dict[str, Any]
"""What was measured, part by part: names to numbers, to be kept as JSON."""
