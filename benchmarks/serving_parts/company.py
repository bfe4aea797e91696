"""Whether CTranslate2 translates a sentence as it does alone: in random company, and with those of its company."""

from __future__ import annotations

import random

import regard
from regard import SearchSettings
from regard.exchange.ctranslate2_runtime import library, tokens
from regard.translation.engines.converted import opened

_WINDOW = 8


def compare_company(model: str, texts: list[str]) -> None:
    """Prints, for each type of numbers, how many translations, and how many scores, differ from those alone."""
    translator = regard.load(model, device="cpu")
    names = tokens(translator.tokenisers.source)
    sources = [[names[token] for token in translator.tokenisers.source.encode(text)] for text in texts]
    for compute_type in ("int8", "float32"):
        engine, _ = opened(translator.loaded, compute_type=compute_type)
        searching = library().Translator(str(engine.folder), compute_type=compute_type, intra_threads=1)
        alone = _found(searching, sources, [(n,) for n in range(len(sources))])
        companies = [engine.company(len(source) + 1) for source in sources]
        for name, groups in (("any lengths", [0] * len(sources)), ("their company", companies)):
            windows = _windows(groups)
            found = _found(searching, sources, windows)
            words = sum(found[n][0] != alone[n][0] for n in alone)
            scores = sum(found[n][1] != alone[n][1] for n in alone)
            print(
                f"{compute_type}, with {name}, windows of up to {_WINDOW}: of {len(alone)} sentences, {words} have "
                f"another translation and {scores} another score than alone",
                flush=True,
            )


Found = dict[int, tuple[list[str], float]]


def _found(searching: object, sources: list[list[str]], windows: list[tuple[int, ...]]) -> Found:
    width = SearchSettings().beam_size
    found: Found = {}
    for window in windows:
        answers = searching.translate_batch(  # type: ignore[attr-defined]
            [sources[n] for n in window], beam_size=width, length_penalty=0.42, return_scores=True
        )
        found |= {n: (answer.hypotheses[0], answer.scores[0]) for n, answer in zip(window, answers, strict=True)}
    return found


def _windows(groups: list[int]) -> list[tuple[int, ...]]:
    """Random windows of sentences of the same group."""
    numbers = list(range(len(groups)))
    random.Random(2).shuffle(numbers)  # noqa: S311
    apart = ([n for n in numbers if groups[n] == group] for group in sorted(set(groups)))
    return [window for group in apart for window in _cut(group)]


def _cut(numbers: list[int]) -> list[tuple[int, ...]]:
    return [tuple(numbers[start : start + _WINDOW]) for start in range(0, len(numbers), _WINDOW)]
