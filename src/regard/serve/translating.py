"""What a request for translations comes down to: texts, the model for each, and what the Translator says."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from regard.search import SearchSettings
from regard.serve.answers import ApiError
from regard.serve.catalogue import Catalogue, Served, language_name
from regard.serve.detection import Detected, detect
from regard.serve.markup import text_of_page, translated_pages
from regard.translation.checks import Finding
from regard.translation.filling import Options as Filling
from regard.translation.translation import Translation

AUTO = "auto"


@dataclass(frozen=True, kw_only=True)
class Options:
    """How all texts of a request are translated."""

    search: SearchSettings = field(default_factory=SearchSettings)
    length_penalty: float | None = None  # none: the model's
    alignment: bool = False
    logprobs: bool = False
    glossary: Mapping[str, str] | None = None
    prefix: str = ""
    html: bool = False
    without: str = ""  # heads that are switched off: encoder.2.5,decoder-source.0.1


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A text, its language, and the model for it; none where it is in the target language already."""

    text: str
    detected: Detected
    model: Served | None


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The translation of one text."""

    chosen: Chosen
    text: str
    alternatives: tuple[str, ...] = ()  # without the best
    translation: Translation | None = None  # unless it is HTML, or was left as it is
    confidence: float | None = None  # None where nothing was translated
    findings: tuple[Finding, ...] = ()


def choose(
    catalogue: Catalogue,
    texts: Sequence[str],
    source: str,
    target: str,
    model: str | None = None,
    *,
    html: bool = False,
) -> list[Chosen]:
    """The model for each text; the language of each text is its own if the source is `auto`."""
    _refuse_half_characters(texts)
    if model:
        named = catalogue.named(model)
        if source not in (AUTO, named.source) or target not in ("", named.target):
            raise ApiError(
                400, f"The model {model} translates from {named.source} into {named.target}; give these languages"
            )
        return [Chosen(text=text, detected=Detected(named.source, 100.0), model=named) for text in texts]
    for code in (source, target):
        if code not in (*catalogue.languages, AUTO) or (code == AUTO and code == target):
            raise ApiError(400, f"{code} is not supported")
    candidates = [code for code in catalogue.sources if catalogue.find(code, target)]
    if source == AUTO and not candidates:
        raise ApiError(400, f"{target} is not supported")
    chosen = []
    for text in texts:
        found = _detected(text, [*candidates, target], html=html) if source == AUTO else Detected(source, 100.0)
        served = catalogue.find(found.language, target)
        if served is None and found.language != target:
            raise ApiError(
                400,
                f"{language_name(target)} ({target}) is not available as a target language "
                f"from {language_name(source)} ({source})",
            )
        chosen.append(Chosen(text=text, detected=found, model=served if found.language != target else None))
    return chosen


async def choose_aside(
    catalogue: Catalogue,
    texts: Sequence[str],
    source: str,
    target: str,
    model: str | None = None,
    *,
    html: bool = False,
) -> list[Chosen]:
    """As `choose`; languages are detected in another thread, since a thousand texts would keep all clients waiting."""
    work = partial(choose, catalogue, texts, source, target, model, html=html)
    return await asyncio.to_thread(work) if source == AUTO else work()


def _refuse_half_characters(texts: Sequence[str]) -> None:
    for number, text in enumerate(texts):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            code = f"U+{ord(text[error.start]):04X}"
            raise ApiError(
                400, f"Invalid request: text {number} has {code} at character {error.start}, half of a surrogate pair"
            ) from None


def _detected(text: str, languages: Sequence[str], *, html: bool) -> Detected:
    return detect(text_of_page(text) if html else text, languages)[0]


def translated(chosen: Sequence[Chosen], options: Options) -> list[Outcome]:
    """The translation of each text, in order; those of one model together."""
    outcomes: dict[int, Outcome] = {}
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(chosen):
        if one.model is None or not _has_letters(one.text):
            outcomes[number] = Outcome(chosen=one, text=one.text)
        else:
            groups.setdefault(one.model.name, []).append(number)
    way = _of_html if options.html else _without_heads if options.without else _of_text
    for numbers in groups.values():
        found = way([chosen[number] for number in numbers], options)
        outcomes |= zip(numbers, found, strict=True)
    return [outcomes[number] for number in range(len(chosen))]


def _has_letters(text: str) -> bool:
    """Whether there is something to translate: neither white space nor emoji alone."""
    return any(map(str.isalnum, text))


def _of_text(chosen: Sequence[Chosen], options: Options) -> list[Outcome]:
    model = _model(chosen)
    found = model.translator.translate(
        [one.text for one in chosen],
        search=_search(model, options),
        alignment=options.alignment,
        logprobs=options.logprobs,
        glossary=options.glossary,
        prefix=options.prefix,
    )
    return [
        Outcome(
            chosen=one,
            text=each.text,
            alternatives=_others(each),
            translation=each,
            confidence=each.confidence,
            findings=each.findings,
        )
        for one, each in zip(chosen, found, strict=True)
    ]


def _search(model: Served, options: Options) -> SearchSettings:
    own, given = model.translator.default_search.length_penalty, options.length_penalty
    return options.search.model_copy(update={"length_penalty": own if given is None else given})


def _others(translation: Translation) -> tuple[str, ...]:
    texts = dict.fromkeys(other.text for other in translation.alternatives)
    return tuple(text for text in texts if text != translation.text)


def _of_html(chosen: Sequence[Chosen], options: Options) -> list[Outcome]:
    model = _model(chosen)
    asked = Filling(_search(model, options), options.glossary, checks=None)
    outcomes = []
    for one, pages in zip(chosen, translated_pages([o.text for o in chosen], model.translator, asked), strict=True):
        texts = dict.fromkeys(page.text for page in pages)
        others = tuple(text for text in texts if text != pages[0].text)
        best = pages[0]
        outcomes.append(
            Outcome(chosen=one, text=best.text, alternatives=others, confidence=best.confidence, findings=best.findings)
        )
    return outcomes


def _without_heads(chosen: Sequence[Chosen], options: Options) -> list[Outcome]:
    """Each text as one sentence, by the model without some heads."""
    translator = _model(chosen).translator
    outcomes = []
    for one in chosen:
        seen = translator.look(one.text, without=options.without, beam_size=options.search.beam_size)
        outcomes.append(Outcome(chosen=one, text=seen.translation))
    return outcomes


def _model(chosen: Sequence[Chosen]) -> Served:
    model = chosen[0].model
    assert model is not None
    return model
