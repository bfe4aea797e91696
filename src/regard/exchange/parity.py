"""Whether an export is equal: the other program translates probe sentences with the written files, and so does Regard.

Probes are texts, so the other program's tokeniser takes part: a few sentences with what tokenisers stumble over, and
texts of random tokens, which meet the whole vocabulary. Both sides search greedily. Where they differ, the two choices
at the first different token are compared by the logits that Regard's model gives them. If these are closer than
rounding explains, the difference is a tie; if not, the export is wrong. Exports whose weights are rounded, such as
int8, may differ more, and in some of the probes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple, Protocol

import torch

from regard import tasks
from regard.errors import ModelFolderError
from regard.modelfolder import ModelFolder
from regard.models.fast import fast_form
from regard.search import SearchSettings
from regard.tasks.translation import batch_of
from regard.text.normalisation import normalise
from regard.tokens import Tokenisers

MOST_TOKENS = 32  # of a probe's translation: what follows is not compared

_RANDOM, _LONGEST = 24, 24
_SENTENCES = (
    "A small house stands at the end of the street.",
    "He said: \"It's 3.5 km (2.2 miles), isn't it?\"",
    "Ein Mädchen fährt über die Straße – schön!",
    "Ω ≈ 12 €, 日本語, русский, עברית, 🙂 ½",
    "<b>Save &amp; close</b> </s> <unk> <pad> {name} %s https://example.org/a?b=c",
    "a",
    "UPPER lower MiXeD 1234567890",
    "e\u0301 two  spaces\tand a tab ",
)
_BYTE = re.compile("<0x[0-9A-F]{2}>")  # random bytes are not text
_EXACT = "float32"
_TOLERANCE = 1e-3  # of logits, where weights are stored exactly
_ROUNDED_TOLERANCE = 2.0  # where they are rounded ...
_ROUNDED_SHARE = 0.25  # ... and so many probes may differ more: random tokens leave a model undecided


class Said(NamedTuple):
    """A translation by another program."""

    ids: Sequence[int]  # in Regard's numbers, without the end; those behind the first MOST_TOKENS may be missing
    text: str | None = None  # None: the program gives tokens, but no text


class Check(Protocol):
    """Compares the written folder of a model that does not translate with its origin."""

    def __call__(self, folder: Path, loaded: ModelFolder, *, program: str, exact: bool) -> Verdict:
        """An error where they differ."""


class Peer(NamedTuple):
    """The program that an export is written for."""

    name: str
    version: Callable[[], str | None]  # None: it is not installed
    extra: str  # of Regard, that installs it
    translate: Callable[[Path, ModelFolder, Sequence[str]], list[Said]]  # the written folder, its origin, texts
    others: Mapping[str, Check] = {}


class Verdict(NamedTuple):
    """The outcome of a check, or why there was none."""

    program: str
    probes: int = 0
    equal: int = 0
    ties: int = 0  # different, where the model finds two tokens about equally probable
    rounded: bool = False  # whether weights are stored in fewer bits than they have
    unchecked: str = ""  # why
    what: str = "greedy translation"  # what was compared

    def sentence(self) -> str:
        """For people: the card has it, and the command prints it."""
        if self.unchecked:
            return f"Not checked with {self.program}: {self.unchecked}."
        told = (
            f"Checked with {self.program}: {self.equal} of {self.probes} probe sentences have the same {self.what} "
            "as in Regard."
        )
        if self.equal == self.probes:
            return told
        why = "weights are rounded, and most probes are random words" if self.rounded else "two tokens are equally good"
        return f"{told} {self.probes - self.equal} differ: {why}."


def check(peer: Peer, folder: Path, loaded: ModelFolder, *, stored_as: str, unchecked: bool) -> Verdict:
    """Compares the written folder with the model that it was made of; a difference is an error."""
    version = peer.version()
    name = f"{peer.name} {version}" if version else peer.name
    if unchecked:
        return Verdict(name, unchecked="the export was written with --unchecked")
    if version is None:
        missing = f"it is not installed (pip install 'regard[{peer.extra}]')" if peer.extra else "it is not installed"
        return Verdict(name, unchecked=missing)
    if loaded.description.task in peer.others:
        return peer.others[loaded.description.task](folder, loaded, program=name, exact=stored_as == _EXACT)
    if not (loaded.tokeniser and tasks.task(loaded.description.task).translates):
        return Verdict(name, unchecked="the model does not translate text")
    tokenisers = Tokenisers.from_files(loaded.tokeniser)
    texts = probes(tokenisers)
    found = peer.translate(folder, loaded, texts)
    return compared(loaded, tokenisers, texts, found, program=name, exact=stored_as == _EXACT)


def sentences() -> tuple[str, ...]:
    """Those with what tokenisers stumble over."""
    return _SENTENCES


def probes(tokenisers: Tokenisers) -> list[str]:
    """The sentences that are translated: the same for the same tokeniser."""
    draw, source = Random(0), tokenisers.source  # noqa: S311
    special = {source.begin, source.end, source.unknown}
    pieces = enumerate(source.pieces(list(range(source.size))))
    words = [token for token, piece in pieces if token not in special and not _BYTE.fullmatch(piece)]
    words = words or [token for token in range(source.size) if token not in special]
    drawn = ([draw.choice(words) for _ in range(draw.randint(1, _LONGEST))] for _ in range(_RANDOM))
    texts = (source.normalise(source.decode(ids)) for ids in drawn)
    return [*_SENTENCES, *(text for text in texts if text and "\ufffd" not in text)]


def compared(
    loaded: ModelFolder,
    tokenisers: Tokenisers,
    texts: Sequence[str],
    found: Sequence[Said],
    *,
    program: str,
    exact: bool,
) -> Verdict:
    """How many translations are equal; an error names the first that differs more than rounding explains."""
    sources = [tokenisers.source.encode(text) for text in texts]
    expected = translated(loaded, tokenisers, sources)
    tolerance = _TOLERANCE if exact else _ROUNDED_TOLERANCE
    equal, ties, different = 0, 0, []
    for text, source, ours, theirs in zip(texts, sources, expected, found, strict=True):
        ids = list(theirs.ids[:MOST_TOKENS])
        if ids == ours:
            _compare_texts(text, tokenisers, ours, theirs, program)
            equal += 1
        elif _gap(loaded, tokenisers, source, ours, ids) <= tolerance:
            ties += 1
        else:
            different.append((text, tokenisers.target.decode(ours), tokenisers.target.decode(ids)))
    if len(different) > (0 if exact else _ROUNDED_SHARE * len(texts)):
        raise _different(program, *different[0])
    return Verdict(program, len(texts), equal, ties, rounded=not exact)


def translated(loaded: ModelFolder, tokenisers: Tokenisers, sources: Sequence[Sequence[int]]) -> list[list[int]]:
    """Regard's own greedy translations, without the guard against repetition, which other programs lack."""
    from regard.translation.engines.torch import TorchEngine  # which imports exporters of this room

    settings = SearchSettings(
        method="greedy", max_length=MOST_TOKENS, max_length_offset=MOST_TOKENS, repetition_cycle=0
    )
    device = next(loaded.model.parameters()).device
    engine = TorchEngine(fast_form(loaded.model, "decoding"), tokenisers, device=device)
    return [list(result.hypotheses[0].ids) for result in engine.search(sources, settings)]


def _gap(
    loaded: ModelFolder, tokenisers: Tokenisers, source: list[int], ours: Sequence[int], theirs: Sequence[int]
) -> float:
    """The difference of the logits, in our model, of the two choices at the first token that differs."""
    begin, end = tokenisers.target.begin, tokenisers.target.end
    one, other = [*ours, end], [*theirs, end]
    place = next(n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    pair = (source, list(ours[:place]))
    batch = batch_of([[pair]], begin=begin, end=end, source_end=tokenisers.source.end)
    with torch.no_grad():
        logits = loaded.model(batch)[0, place]
    return abs(float(logits[one[place]] - logits[other[place]]))


def _compare_texts(text: str, tokenisers: Tokenisers, ours: Sequence[int], theirs: Said, program: str) -> None:
    """Equal tokens must read as equal text, unless they are no text: bytes may end in the midst of a character."""
    expected = tokenisers.target.decode(ours)
    if theirs.text is None or len(theirs.ids) >= MOST_TOKENS or "\ufffd" in expected:
        return
    if normalise(theirs.text) != normalise(expected):
        raise _different(program, text, expected, theirs.text)


def _different(program: str, text: str, ours: str, theirs: str) -> ModelFolderError:
    return ModelFolderError(
        f"{program} translates differently with this export, so Regard has removed it.\n"
        f"  probe: {text!r}\n  Regard: {ours!r}\n  {program}: {theirs!r}\n"
        "  Report this as a bug, with the versions that `regard doctor` prints. "
        "To export without the check, use --unchecked."
    )
