"""The API of our own: options, n best, alignment, scores, attention, streams, models."""

import json
from typing import Any

import pytest

from serving import Running
from trained import translation

TEXT = "alto cado esta"
SAID = translation(TEXT)
ASKED = {"text": TEXT, "source": "en", "target": "de"}


def one(served: Running, **changed: Any) -> dict[str, Any]:
    status, answer = served.post("/v1/translate", ASKED | changed)
    assert status == 200, answer
    found: dict[str, Any] = answer["translations"][0]
    return found


def test_a_translation_has_its_language_model_score_and_tokens(served: Running) -> None:
    found = one(served, logprobs=True)
    assert (found["text"], found["language"], found["model"]) == (SAID, "en", "en-de")
    assert len(found["logprobs"]) == len(found["tokens"]) + 1
    assert found["score"] < 0
    assert found["alternatives"] == []
    assert found["alignment"] == []


def test_the_n_best_come_in_the_order_of_their_scores(served: Running) -> None:
    found = one(served, n_best=3)
    scores = [other["score"] for other in found["alternatives"]]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert found["alternatives"][0]["text"] == found["text"]


def test_alignment_is_given_in_characters(served: Running) -> None:
    links = one(served, alignment=True)["alignment"]
    assert {(TEXT[a:b], SAID[c:d]) for a, b, c, d in links} == {(word, translation(word)) for word in TEXT.split()}


def test_every_text_of_a_list_is_answered_in_order_and_a_model_can_be_named(served: Running) -> None:
    status, answer = served.post("/v1/translate", {"text": ["gan", "", "alto cado"], "model": "de-en"})
    assert status == 200
    assert [each["text"] for each in answer["translations"]] == [translation("gan"), "", translation("alto cado")]
    assert answer["translations"][0]["language"] == "de"
    assert served.post("/v1/translate", {"text": "gan", "model": "no-model"})[0] == 404
    assert served.post("/v1/translate", ASKED | {"model": "de-en"})[0] == 400


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"bean_size": 4}, "bean_size"),
        ({"text": 5}, "text"),
        ({"target": ""}, "target"),
        ({"disabled_heads": [["cross", 9, 0]]}, "no such head"),
        ({"temperature": 0.5}, "sampling"),
        ({"glossary": [["", "x"]]}, "empty"),
        ({"text": "\ud800"}, ""),
    ],
)
def test_what_is_wrong_is_said(served: Running, changed: dict[str, Any], reason: str) -> None:
    status, answer = served.post("/v1/translate", ASKED | changed)
    assert status == 400
    assert reason in answer["error"]


def test_heads_that_are_switched_off_change_what_is_said(served: Running) -> None:
    every = [["cross", layer, head] for layer in range(2) for head in range(4)]
    assert one(served, disabled_heads=[["encoder", 0, 0]])["text"]
    assert one(served, disabled_heads=every)["text"] != SAID


def test_the_attention_of_a_sentence_has_every_weight(served: Running) -> None:
    status, found = served.post("/v1/attention", ASKED)
    assert status == 200
    source, target = len(found["source_tokens"]), len(found["target_tokens"])
    assert found["translation"] == SAID
    assert set(found["kinds"]) == {"encoder", "decoder", "cross"}
    for kind, (queries, keys) in {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": (target, source),
    }.items():
        layers = found["kinds"][kind]
        assert (len(layers), len(layers[0]), len(layers[0][0]), len(layers[0][0][0])) == (2, 4, queries, keys)
        assert sum(layers[1][2][0]) == pytest.approx(1, abs=1e-3)
    status, without = served.post("/v1/attention", ASKED | {"disabled_heads": [["cross", 1, 2]]})
    assert status == 200
    assert sum(map(sum, without["kinds"]["cross"][1][2])) == 0
    assert served.post("/v1/attention", ASKED | {"text": "alto " * 300})[0] == 400


def test_given_translations_are_scored(served: Running) -> None:
    asked = {"source": "en", "target": "de", "text": [TEXT, TEXT], "translation": [SAID, "vos vos"]}
    status, answer = served.post("/v1/score", asked)
    assert status == 200
    right, wrong = answer["scores"]
    assert right["total"] > wrong["total"]
    assert right["total"] == pytest.approx(sum(right["logprobs"]))
    assert served.post("/v1/score", asked | {"translation": [SAID]})[0] == 400


def test_a_long_text_is_streamed_part_by_part_and_is_the_same_as_without_a_stream(served: Running) -> None:
    text = "Alto cado. " * 25 + "\n" + "Gan esta.\n\n" + "dumel"
    answer = served.request("POST", "/v1/translate/stream", json=ASKED | {"text": text})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = [event.split("\n", 1) for event in answer.text.strip().split("\n\n")]
    parsed = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in events]
    assert [name for name, _ in parsed] == ["part"] * (len(parsed) - 1) + ["done"]
    assert len(parsed) > 4
    assert "".join(data["source"] for _, data in parsed[:-1]) == text
    assert parsed[-1][1]["text"] == one(served, text=text)["text"]


def test_models_and_their_cards_are_listed(served: Running) -> None:
    status, answer = served.get("/v1/models")
    assert status == 200
    first = answer["models"][0]
    assert first == {
        "name": "en-de",
        "source": "en",
        "target": "de",
        "card": "/v1/models/en-de/card",
        "engine": "torch",
        "attention": True,
    }
    assert served.get(first["card"]) == (200, b"# en to de\n")
    assert served.get("/v1/models/en-de") == (200, first)
    assert served.get("/v1/models/..%2f..%2fetc%2fpasswd")[0] == 404
    assert {"/v1/translate", "/v1/attention", "/v1/models"} <= set(served.get("/v1/openapi.json")[1]["paths"])
