"""Tasks: streams and labels, a model folder that names its task, and a language model from one file here and there."""

from pathlib import Path
from typing import Any

import pytest
import torch

from regard import ModelFolderError, SettingsError, modelfolder, models, tasks
from regard.batches.corpus import StoredCorpus, store
from regard.batches.loader import Loader, LoaderSettings
from regard.batches.rows import rows_of
from regard.models.fast import fast_form
from regard.tasks import language, translation
from regard.training.distribution import Processes
from regard.training.machine.precision import Precision
from regard.training.optimisation import Optimisation
from regard.training.training_settings import TrainingSettings
from regard.translation.translator import Translator
from small import padded, transformer

CPU = torch.device("cpu")


def corpus(folder: Path) -> StoredCorpus:
    """Texts that count upwards, of different lengths."""
    texts = [[0] + [2 + (first + n) % 20 for n in range(length)] for first in range(20) for length in (3, 5, 9)]
    return store(folder, {"text": texts}, begin=0, end=1, vocabulary=23)


def language_model() -> Any:
    torch.manual_seed(1)
    table = models.sized({"architecture": "decoder_only", "d_model": 32, "d_ff": 64, "heads": 4, "layers": 2,
                          "norm": "pre", "activation": "gelu", "dropout": 0.0}, {"text": 23})  # fmt: skip
    return models.build("decoder_only", models.read_settings(table, where="model"))


def test_tasks_are_found_by_their_file_names_and_others_are_refused() -> None:
    assert {"language", "translation"} <= set(tasks.tasks())
    assert tasks.task("translation") is translation.TASK
    with pytest.raises(SettingsError, match=r"task = 'langauge': there is no such task; .*language"):
        tasks.task("langauge")


def test_the_shift_by_one_position_is_the_tasks_and_stays_within_each_sentence() -> None:
    stored = rows_of([[[5, 6, 1], [7, 1]], [[8, 1]]], length=6)
    batch = language.batch({"text": stored}, begin=0, tokens=0)
    text = batch.streams["text"]
    assert text.tokens.tolist() == [[5, 6, 1, 7, 1, 0], [8, 1, 0, 0, 0, 0]]
    assert batch.labels.tolist() == [[6, 1, 0, 1, 0, 0], [1, 0, 0, 0, 0, 0]]
    assert batch.labelled.tolist() == [[True, True, False, True, False, False], [True] + [False] * 5]
    assert batch.tokens == 4


def test_the_loader_fills_rows_of_one_stream_with_every_text_once(tmp_path: Path) -> None:
    stored = corpus(tmp_path / "corpus")
    loader = Loader(stored, LoaderSettings(batch_tokens=96, row_lengths=(16, 32)), language.TASK)
    found: list[list[int]] = []
    for batch, after in loader.batches():
        for tokens, segments in zip(*batch.streams["text"][:2], strict=True):
            found += [tokens[segments == number].tolist() for number in range(1, int(segments.max()) + 1)]
        if after.epoch:
            break
    text = stored.streams["text"]
    assert sorted(found) == sorted([*text.sentence(number), 1] for number in range(len(stored)))


def test_a_language_model_never_depends_on_what_comes_after_nor_on_its_neighbours() -> None:
    model = language_model().double().eval()

    def logits(*texts: list[int]) -> torch.Tensor:
        rows = rows_of([list(texts)])
        with torch.no_grad():
            return model(language.batch({"text": rows}, begin=0, tokens=0))[0]

    one, other = logits([5, 6, 7, 8]), logits([5, 6, 7, 9])
    torch.testing.assert_close(one[:3], other[:3])
    torch.testing.assert_close(logits([3, 3], [5, 6, 7, 8])[2:], one)


def test_a_language_model_learns_in_a_few_steps_by_the_same_loader_loop_and_fast_form(tmp_path: Path) -> None:
    model, kind = language_model(), models.architecture("decoder_only")
    settings = TrainingSettings(batch_tokens=192, row_lengths=(32,), label_smoothing=0.0)
    optimisation = Optimisation(
        model, settings, device=CPU, precision=Precision("float32", None, ""), processes=Processes(), say=print,
        kind=kind,
    )  # fmt: skip
    loader = Loader(corpus(tmp_path / "corpus"), LoaderSettings(batch_tokens=192, row_lengths=(32,)), language.TASK)
    losses = []
    for number, (batch, _) in zip(range(60), loader.batches(), strict=False):
        update = optimisation.step(batch, number=number + 1, rate=3e-3)
        losses.append(update.losses.likelihood.item() / batch.tokens)
    assert losses[0] > 3.1  # log 23: it has learned nothing yet
    assert losses[-1] < 1.2


def test_a_language_models_fast_form_gives_the_gradients_of_the_plain_one() -> None:
    plain = language_model().double().train()
    batch = language.batch({"text": rows_of([[[5, 6, 1], [7, 8, 9, 1]], [[4, 1]]], length=9)}, begin=0, tokens=9)
    found = []
    for model in (plain, fast_form(plain, "training")):
        logits = model(batch)[batch.labelled]
        found.append([logits.detach(), *torch.autograd.grad(logits.square().sum(), list(plain.parameters()))])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_a_model_folder_names_its_task_and_one_without_a_name_is_a_translator(tmp_path: Path) -> None:
    model = language_model()
    modelfolder.save(
        tmp_path / "language", model, architecture="decoder_only", settings=model.settings, task="language"
    )
    loaded = modelfolder.load(tmp_path / "language")
    assert loaded.description.task == "language"
    batch = language.batch({"text": rows_of([[[5, 6, 1]]])}, begin=0, tokens=3)
    torch.testing.assert_close(loaded.model(batch), model.eval()(batch))
    pair = transformer(dtype=torch.float32)
    modelfolder.save(tmp_path / "pair", pair, architecture="transformer", settings=pair.settings)
    assert '"task"' not in (tmp_path / "pair" / "regard.json").read_text()
    assert modelfolder.load(tmp_path / "pair").description.task == "translation"
    assert modelfolder.load(tmp_path / "pair").model(padded([([5], [6])])).shape == (1, 2, 23)


def test_a_model_of_another_task_does_not_open_as_a_translator(tmp_path: Path) -> None:
    model = language_model()
    modelfolder.save(
        tmp_path / "language", model, architecture="decoder_only", settings=model.settings, task="language"
    )
    with pytest.raises(ModelFolderError, match="trained for the task 'language', so it does not translate"):
        Translator(tmp_path / "language")
