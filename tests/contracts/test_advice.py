"""What auto advises for a corpus, and the memory and time that it estimates."""

import pytest
import torch

from regard import models, presets
from regard.tokens import train as train_tokenisers
from regard.training.advice import advise, suitable_vocabulary, warnings
from regard.training.machine.estimate import estimate, memory
from regard.training.token_estimate import side_of
from regard.training.training_settings import TrainingSettings
from summaries import texts


@pytest.mark.parametrize(
    ("pairs", "words", "preset", "vocabulary", "dropout"),
    [
        (800, 7, "tiny", 2_000, 0.3),
        (10_000, 7, "tiny", 4_000, 0.3),
        (29_000, 12, "tiny", 8_000, 0.3),
        (165_000, 7, "base", 8_000, 0.3),
        (3_000, 22, "small", 2_000, 0.3),
        (30_000, 25, "small", 4_000, 0.3),
        (100_000, 25, "base", 8_000, 0.3),
        (500_000, 25, "base", 16_000, 0.2),
        (4_500_000, 25, "base", 32_000, 0.1),
    ],
)
def test_advice_grows_with_the_corpus(pairs: int, words: int, preset: str, vocabulary: int, dropout: float) -> None:
    side = texts(pairs, words)
    advice = advise(pairs, source=side, target=side)
    assert (advice.preset, advice.vocabulary, advice.dropout) == (preset, vocabulary, dropout)
    assert advice.tables["model"]["norm"] == "pre"
    assert f"{pairs:,} pairs" in advice.reasons[0]
    assert any("find more" in reason for reason in advice.reasons) == (pairs < 5_000)
    assert advise(pairs, source=side, target=side, fast=False).preset == ("small" if preset == "base" else preset)


def test_a_named_preset_gets_a_vocabulary_that_suits_the_corpus() -> None:
    vocabulary, reason = suitable_vocabulary(800, 37_000) or (0, "")
    assert vocabulary == 2_000
    assert reason.startswith("800 pairs: a vocabulary of 2,000, because the preset's 37,000 needs more text")
    assert suitable_vocabulary(30_000, 8_000) is None
    assert suitable_vocabulary(10**9, 37_000) is None


def test_a_warm_up_that_training_does_not_reach_is_warned_of() -> None:
    (warning,) = warnings(TrainingSettings(steps=30, warmup=2_000))
    assert warning.startswith("Warning: 30 steps are fewer than the 2,000 warm-up steps")
    assert warning.endswith("--set training.warmup=7")
    assert warnings(TrainingSettings(steps=2_000, warmup=2_000)) == []
    assert warnings(TrainingSettings(steps=30, warmup=2_000, schedule="constant")) == []


def test_an_estimate_counts_the_parameters_of_the_model_that_is_advised() -> None:
    side = texts(30_000, 12)
    advice = advise(30_000, source=side, target=side)
    needs = estimate(advice)
    table = presets.load("tiny").model | {"source_vocabulary": 8_000, "target_vocabulary": 8_000}
    model = models.build("transformer", models.read_settings(table, where="tiny"))
    assert needs.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert needs.memory > 16 * needs.parameters
    assert needs.seconds > 0
    tokens = 30_000 * (12 / 0.68 + 1)  # a subword of so large a vocabulary is two thirds of a word
    assert needs.epochs == pytest.approx(needs.steps * 8_192 / tokens, rel=0.05)


@pytest.mark.parametrize(("preset", "taken"), [("base", 7.2), ("big", 13.7)])
def test_on_a_gpu_with_bf16_the_estimated_memory_is_that_which_was_measured(preset: str, taken: float) -> None:
    table = presets.load(preset).model
    sizes = {"source_vocabulary": 37_000, "target_vocabulary": 37_000}
    with torch.device("meta"):
        model = models.build("transformer", models.read_settings(table | sizes, where=preset))
    parameters = sum(parameter.numel() for parameter in model.parameters())
    estimated = memory(table, parameters, 198 * 128, 37_000, in_bf16=True) / 2**30
    assert estimated == pytest.approx(taken, rel=0.12)  # GiB, as measured; fitted to these two
    assert estimated < memory(table, parameters, 198 * 128, 37_000, in_bf16=False) / 2**30


def _han(length: int, first: int) -> str:
    return "".join(chr(0x4E00 + (first * 31 + place * 7) % 2_500) for place in range(length))


@pytest.mark.parametrize("joined", ["", " iPhone "])
def test_scripts_without_spaces_are_prose_in_subwords_with_room_for_their_characters(joined: str) -> None:
    source = side_of(f"{_han(15, number)}{joined}{_han(15, number + 9)}。" for number in range(2_000))
    target = side_of(f"Word{number} and {3 * number} other words are in this one." for number in range(2_000))
    assert source.unspaced
    assert not source.single_words
    advice = advise(2_000, source=source, target=target)
    assert (advice.tokeniser.kind, advice.tokeniser.target_kind) == ("subwords", None)
    letters = 2_501 + len(set(target.alphabet))
    assert advice.vocabulary >= 2_000 + letters - 250
    assert advice.preset == "small"
    assert any("of them are room for the" in reason for reason in advice.reasons)


def test_a_dictionary_of_a_script_without_spaces_is_still_one_of_characters() -> None:
    words = side_of(_han(2 + number % 3, number) for number in range(3_000))
    assert words.single_words
    assert advise(3_000, source=words, target=words).tokeniser.kind == "characters"


def test_alphabets_change_no_vocabulary() -> None:
    side = side_of([f"The sentence number {number} has some words, like all of them." for number in range(3_000)])
    assert advise(3_000, source=side, target=side).vocabulary == 2_000
    assert not side.unspaced


def test_a_named_preset_has_room_for_a_large_alphabet() -> None:
    side = side_of(_han(30, number) for number in range(1_000))
    vocabulary, _ = suitable_vocabulary(1_000, 8_000, [side]) or (0, "")
    assert vocabulary == 2_000 + 2_400
    assert suitable_vocabulary(1_000, 4_000, [side]) is None


def test_the_advised_vocabulary_can_be_trained() -> None:
    sources = [f"{_han(12, number)} DVD {_han(12, 3 * number)}。" for number in range(1_500)]
    targets = [f"Sentence {number} about things." for number in range(1_500)]
    advice = advise(1_500, source=side_of(sources), target=side_of(targets))
    made = train_tokenisers(sources, targets, advice.tokeniser)
    ids = made.source.encode(sources[7])
    assert made.source.decode(ids) == sources[7]
    assert len(ids) < 2 * len(sources[7])  # characters, not bytes
