"""To Regard itself: the model folder alone, and smaller, to be sent or shipped.

A folder that was trained also holds checkpoints and the report; here are the four parts of a model folder and nothing
else. Half precision is the default.
"""

from __future__ import annotations

from pathlib import Path

from regard import modelfolder, models
from regard.exchange import Exporter
from regard.modelfolder import ModelFolder


def write(loaded: ModelFolder, out: Path, stored_as: str) -> None:
    """Writes the model as a model folder with weights of this kind."""
    description = loaded.description
    settings = models.architecture(description.architecture).settings.read(description.settings, where=str(out))
    modelfolder.save(
        out,
        loaded.model,
        architecture=description.architecture,
        settings=settings,
        languages=description.languages,
        training=description.training,
        scores=description.scores,
        tokeniser=loaded.tokeniser,
        card=loaded.card,
        stored_as=stored_as,
    )


EXPORT = Exporter(write=write, quantizations=("float16", "bfloat16", "int8", "float32"))
