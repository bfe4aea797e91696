"""The passes of a checked translation, in their order: from the outermost, which checks, to the search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from regard.tokens import Tokenisers
from regard.tokens.known_characters import known_characters
from regard.translation.alignment import Aligner
from regard.translation.belonging import Belonging
from regard.translation.carrying import Carrying
from regard.translation.checks import Checks
from regard.translation.contracting import Contracting
from regard.translation.emphasis import Emphasis
from regard.translation.ending import Ending
from regard.translation.finding import Finder
from regard.translation.marking import Marking
from regard.translation.numbering import Numbering
from regard.translation.passes import Pass, Reader
from regard.translation.recasing import Recasing
from regard.translation.terms import Terms
from regard.translation.verifying import Verifying


class Parts(NamedTuple):
    """What several passes use."""

    finder: Finder
    reader: Reader
    aligner: Aligner
    belonging: Belonging


def checking(searching: Pass, parts: Parts, tokenisers: Tokenisers, languages: Mapping[str, str]) -> Pass:
    """All passes around the search."""
    source, target = (languages.get(side, "").replace("_", "-").split("-")[0] for side in ("source", "target"))
    read, written = known_characters(tokenisers.source), known_characters(tokenisers.target)
    numbers = Numbering(searching, parts.reader, parts.aligner, languages=(source, target))
    terms = Terms(numbers, parts.reader, parts.belonging)
    characters = Carrying(terms, parts.reader, parts.aligner, known=read)
    markup = Marking(characters, parts.finder, parts.reader, parts.belonging)
    case = Recasing(markup, parts.reader, source=source, target=target)
    spelt = Contracting(case, parts.reader, source=source, known=read)
    edges = Ending(Emphasis(spelt, parts.reader))
    return Verifying(edges, parts.reader, Checks(source=source, target=target, known=written))
