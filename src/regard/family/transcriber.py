"""The Transcriber: vectors or images in, their texts out.

model = regard.load("words")
model.translate("word.png").text
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard.batches.rows import rows_of_vectors
from regard.batches.similar_lengths import by_length
from regard.family.opened import Opened
from regard.family.vector_input import Given, inputs
from regard.search import Request, Result, SearchSettings, build, decode
from regard.tokens.tokeniser import Tokeniser
from regard.vectors.examples import Example
from regard.vectors.shape import VectorShape

if TYPE_CHECKING:
    from regard.insight.attention import Attention

_TOKENS = 8_192  # vectors of all hypotheses that are searched together, padding included


class Transcribed(NamedTuple):
    """The text of an example, and how probable the model finds it."""

    text: str
    logprob: float


class Transcriber(Opened):
    """A model that reads vectors as text: `translate`, `look`, `shape`."""

    task: ClassVar[str] = "transcription"

    @property
    def shape(self) -> VectorShape:
        """What the model reads."""
        found: VectorShape = self.model.settings.source_vectors
        return found

    @property
    def default_search(self) -> SearchSettings:
        """The paper's search, with the length penalty that training has chosen."""
        penalty = self.description.length_penalty
        return SearchSettings() if penalty is None else SearchSettings(length_penalty=penalty)

    def translate(
        self, given: Given | Iterable[Given], *, search: SearchSettings | None = None
    ) -> Transcribed | list[Transcribed]:
        """The text of one example, or of each of several: arrays, .npz files, images or folders of images."""
        examples, single = inputs(given, self.shape)
        found = self.of(examples, search=search)
        return found[0] if single else found

    def of(self, examples: Sequence[Example], *, search: SearchSettings | None = None) -> list[Transcribed]:
        """The text of each example."""
        vectors = [each.vectors for each in examples]
        with self.lock:
            results = transcribed(
                self.model, self.tokenisers.target, vectors, search or self.default_search, device=self.device
            )
        best = [result.hypotheses[0] for result in results]
        return [Transcribed(self.tokenisers.target.decode(each.ids), each.total) for each in best]

    def look(self, given: Given, *, without: str = "") -> Attention:
        """What the model looks at in one example while it generates the text."""
        from regard.insight.look_at_vectors import look_while_reading
        from regard.models.parts.observation import heads_named

        example = inputs(given, self.shape).examples[0]
        with self.lock:
            return look_while_reading(
                self.model,
                self.tokenisers.target,
                example,
                self.shape,
                said=self.tokenisers.target.encode(self.of([example])[0].text),
                device=self.device,
                off=heads_named(self.model, without) if without else (),
                name=self.name,
            )


@torch.no_grad()
def transcribed(
    model: Any,
    tokeniser: Tokeniser,
    sources: Sequence[NDArray[np.float32]],
    settings: SearchSettings,
    *,
    device: torch.device,
) -> list[Result]:
    """What a search finds for each example of vectors, in order."""
    search = build(settings, begin=tokeniser.begin, end=tokeniser.end, device=device)
    found: dict[int, Result] = {}
    for numbers in by_length([len(each) for each in sources], tokens=max(1, _TOKENS // search.width)):
        rows = rows_of_vectors([sources[number] for number in numbers]).to(device)
        state = model.start(model.encode(rows), width=search.width)
        requests = [Request(source_length=len(sources[number]), number=number) for number in numbers]
        found.update(zip(numbers, decode(model.step, state, requests, search), strict=True))
    return [found[number] for number in range(len(sources))]
