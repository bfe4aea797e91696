"""The test set of a recipe, scored at the end of training as `regard evaluate` does, by the model that is on disk."""

from __future__ import annotations

import json
from pathlib import Path

from regard.evaluation.evaluate import Evaluation, evaluate
from regard.evaluation.other_tasks import measure
from regard.evaluation.reading import read_test
from regard.files import write
from regard.metrics import Options
from regard.search import SearchSettings
from regard.text.pairs import Languages
from regard.training.recipe import Recipe
from regard.training.surroundings import Surroundings
from regard.training.training_settings import ScoringSettings
from regard.translation.translator import Translator, load

SCORES, TRANSLATIONS = "test.json", "test.txt"


def test(recipe: Recipe, around: Surroundings) -> None:
    """Translates and scores the test set; its scores go to the journal and, with the translations, into files."""
    assert recipe.test
    translator = load(around.out, device=str(around.device), engine="torch")
    found = score_file(translator, recipe, recipe.test)
    write(around.out / SCORES, json.dumps(found.table(), indent=2, ensure_ascii=False) + "\n")
    write(around.out / TRANSLATIONS, "".join(f"{text}\n" for text in found.translations))
    for each in found.scores:
        around.journal.say(f"{found.held_out}: {each}")
    for remark in found.remarks:
        around.journal.say(remark)


def test_of_another_task(recipe: Recipe, around: Surroundings) -> None:
    """The same for a model that does not translate: its scores, and a line for each example that has labels."""
    assert recipe.test
    data = recipe.data
    found = measure(
        around.out, Path(recipe.test.file), device=str(around.device), how=data.documents, columns=data.columns
    )
    write(around.out / SCORES, json.dumps(found.table(), indent=2, ensure_ascii=False) + "\n")
    write(around.out / TRANSLATIONS, "".join(f"{text}\n" for text in found.predicted))
    for name, value in found.scores.items():
        around.journal.say(f"{recipe.test.file}: {name.replace('_', ' ')} {value:.4f}")


def score_file(translator: Translator, recipe: Recipe, settings: ScoringSettings) -> Evaluation:
    """The scores on a file of pairs, read as the training files are."""
    data = recipe.data
    languages = Languages(data.source, data.target)
    held_out = read_test(
        Path(settings.file), languages, format=data.format, columns=data.columns, encoding=data.encoding
    )
    search = translator.default_search.model_dump() | {"beam_size": settings.beam_size}
    if settings.length_penalty is not None:
        search["length_penalty"] = settings.length_penalty
    return evaluate(
        translator,
        held_out,
        metrics=settings.metrics,
        options=Options(tokenised=settings.tokenised, lowercase=settings.lowercase, language=data.target),
        search=SearchSettings.read(search, where="test"),
        perplexity=False,
    )
