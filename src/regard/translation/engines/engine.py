"""What every engine is: sentences in, what the search found for each out, in the same order.

An engine is one file in this folder, with an `ENGINE`: how it is opened. `AUTO` in `__init__.py` lists those that
`auto` tries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar
from zlib import crc32

from regard.devices import Device
from regard.modelfolder import Readable
from regard.search import Request, Result, SearchSettings
from regard.search.request import Phrase
from regard.tokens import Tokenisers

if TYPE_CHECKING:
    from torch import Tensor

    from regard.models.protocols import Model, Rows


Made = TypeVar("Made")
Work = Callable[[int, Result], Made]
"""What is done with the number and the result of a sentence."""


class Engine(Protocol):
    """A model that is ready to translate ids."""

    name: str  # what people call it: torch, ctranslate2

    def search(
        self, sentences: Sequence[Sequence[int]], settings: SearchSettings, *, requests: Sequence[Request] | None = None
    ) -> list[Result]:
        """What is found for each sentence, the source's ids without their end. Any number of threads may call it.

        `requests` say what is asked of each translation; left out, nothing is (`plain_requests`). An engine that cannot
        do all that settings and requests ask for leaves such sentences to the engine `torch`, which can.
        """


def search_each(
    engine: Engine, sentences: Sequence[Sequence[int]], settings: SearchSettings, work: Work[Made]
) -> list[Made]:
    """What `work` makes of each sentence's number and result, in order.

    An engine with a method of this name calls it as soon as a sentence is found, while it searches the others.
    """
    own: Callable[..., list[Made]] | None = getattr(engine, "search_each", None)
    if own is not None:
        return own(sentences, settings, work)
    return list(starmap(work, enumerate(engine.search(sentences, settings))))


def searches_at_once(engine: Engine) -> int:
    """How many searches of different threads an engine runs at the same time; most run one after the other."""
    return int(getattr(engine, "searches_at_once", 1))


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """What an engine is opened for: a model, or several that make an ensemble, in the order of their folders.

    Models are observed, packed and captured while they compute, so one thread at a time uses them: the one that holds
    `lock`.
    """

    folders: tuple[Path, ...]
    members: tuple[Readable, ...]
    tokenisers: Tokenisers
    device: Device
    lock: RLock = field(default_factory=RLock, repr=False, compare=False)

    @property
    def models(self) -> tuple[Model[Any, Any], ...]:
        """The model of each member; the first time, they are read, which loads PyTorch."""
        return tuple(member.model for member in self.members)


class EngineFile(NamedTuple):
    """How an engine is opened, by its name and by `auto`."""

    open: Callable[[Loaded], Engine]
    open_if_it_suits: Callable[[Loaded], Engine | None] = lambda _: None  # for `auto`; None: try the next engine


class Decoding(Protocol):
    """The verbs that a search needs: those of a model, or of several together."""

    def encode(self, source: Rows) -> Any:
        """The source, read once."""

    def start(self, memory: Any, *, width: int = 1) -> Any:
        """A decoder that has said nothing yet, with `width` hypotheses for each sentence."""

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """[N * width] the words said last -> [N * width, V] logits for the next."""


def plain_requests(sentences: Sequence[Sequence[int]]) -> list[Request]:
    """A request for each sentence, without constraints."""
    return [request_for(sentence) for sentence in sentences]


def request_for(
    sentence: Sequence[int],
    *,
    prefix: Phrase = (),
    banned: tuple[Phrase, ...] = (),
    required: tuple[Phrase, ...] = (),
) -> Request:
    """The request for a sentence. Its number is made of its ids, so that samples do not depend on its neighbours."""
    number = crc32((" %d" * len(sentence) % tuple(sentence))[1:].encode())  # a join takes twice as long
    return Request(source_length=len(sentence), number=number, prefix=prefix, banned=banned, required=required)
