"""To Regard itself: the model folder alone, and smaller, for sending or shipping.

A folder that was trained also holds checkpoints and the report; here are the four parts of a model folder and nothing
else. Half precision is the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard import modelfolder, models
from regard.exchange import Exporter
from regard.exchange.parity import Peer, Said, translated
from regard.modelfolder import ModelFolder
from regard.tokens import Tokenisers
from regard.version import __version__


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
        task=description.task,
        beside_others=True,
    )


def said(folder: Path, loaded: ModelFolder, texts: Sequence[str]) -> list[Said]:
    """What the written folder says in Regard itself, with the weights as they were stored."""
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    sources = [tokenisers.source.encode(text) for text in texts]
    return [
        Said(ids, tokenisers.target.decode(ids)) for ids in translated(modelfolder.load(folder), tokenisers, sources)
    ]


EXPORT = Exporter(
    write=write,
    quantizations=("float16", "bfloat16", "int8", "float32"),
    peer=Peer("Regard", lambda: __version__, "", said),
)
