"""HTML in a request: read, translated and filled as an HTML document is, all texts of the request together.

Alternative n of a page has alternative n of each of its segments. What a model generates is escaped, so that it cannot
become markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from regard.search import SearchSettings
from regard.text import documents
from regard.text.content import Content
from regard.text.documents import Asked, Document
from regard.text.pairs import Languages
from regard.translation.checks import Finding
from regard.translation.filling import TAG, Filled, Found, Options, filled
from regard.translation.translation import Translation
from regard.translation.translator import Translator


class FilledPage(NamedTuple):
    """A page with translations."""

    text: str
    confidence: float  # the lowest of its segments
    findings: tuple[Finding, ...]


def translated_pages(pages: Sequence[str], translator: Translator, options: Options) -> list[list[FilledPage]]:
    """Each page with its translations, the best first; as many as the search gives for a segment."""
    languages = Languages(translator.languages["source"], translator.languages["target"])
    read = [_read(page, number, languages) for number, page in enumerate(pages)]
    places = dict(enumerate(place for document in read for place in document.places))
    known: dict[str, Translation] = {}
    ranks = options.search.n_best if options.search else 1
    ranked = [filled(_Ranked(translator, rank, known), places, options) for rank in range(ranks)]
    found, first = list[list[FilledPage]](), 0
    for document in read:
        found.append([_filled(document, first, result) for result in ranked])
        first += len(document.places)
    return found


def text_of_page(page: str) -> str:
    """The texts of a page without its tags, one on each line."""
    return "\n".join(TAG.sub("", segment.source) for segment in _read(page, 0, None).segments)


def _read(page: str, number: int, languages: Languages | None) -> Document:
    return documents.by_name("html").read(Content(path=Path(f"text {number}"), text=page), Asked(languages))


def _filled(document: Document, first: int, result: Filled) -> FilledPage:
    numbers = range(first, first + len(document.places))
    translations = {n - first: result.translations[n] for n in numbers if n in result.translations}
    told = [result.told(n, document.segments[n - first].source) for n in numbers]
    return FilledPage(
        document.translated(translations),
        min((confidence for _, confidence in told), default=1.0),
        tuple(finding for findings, _ in told for finding in findings),
    )


class _Ranked:
    """A translator that gives the hypothesis of one rank; all ranks share its searches."""

    def __init__(self, translator: Translator, rank: int, known: dict[str, Translation]) -> None:
        self._translator, self._rank, self._known = translator, rank, known

    @property
    def languages(self) -> Mapping[str, str]:
        """Those of the translator."""
        return self._translator.languages

    def stream(
        self,
        texts: Iterable[str],
        *,
        search: SearchSettings | None = None,
        glossary: Mapping[str, str] | None = None,
        checks: bool | None = None,
        syntax: str = "",
    ) -> Iterator[Found]:
        """The translations of this rank, in order."""
        wanted = list(texts)
        new = [text for text in dict.fromkeys(wanted) if text not in self._known]
        if new:
            said = self._translator.stream(new, search=search, glossary=glossary, checks=checks, syntax=syntax)
            self._known.update(zip(new, said, strict=True))
        return (self._chosen(self._known[text]) for text in wanted)

    def _chosen(self, translation: Translation) -> Found:
        others = translation.alternatives[: self._rank + 1]
        return others[-1] if others else translation
