"""`step`, one token at a time, against `forward`."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st

from small import BEGIN, options, padded, pairs, transformer

LENGTH = 40  # past the first capacity of the cache


@given(st.lists(pairs, min_size=1, max_size=4), options)
def test_step_by_step_is_what_forward_gives(batch: list[Any], settings: dict[str, Any]) -> None:
    model = transformer(dtype=torch.float32, **settings)
    rows = padded(batch)
    with torch.no_grad():
        expected = model(rows)
    state = model.start(model.encode(rows.streams["source"]))
    for t in range(rows.streams["target"].tokens.size(1)):
        logits, state = model.step(rows.streams["target"].tokens[:, t], state)
        real = rows.streams["target"].segments[:, t] != 0
        torch.testing.assert_close(logits[real], expected[real, t], rtol=0, atol=1e-5)


@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_rows_that_were_reordered_and_dropped_go_on_as_if_they_had_been_there_always(random: Any, width: int) -> None:
    """Follows every row's history by hand and compares with `forward` over that history."""
    model = transformer(dtype=torch.float32)
    sources = [[random.randrange(2, 20) for _ in range(random.randint(1, 6))] for _ in range(3)]
    rows = padded([(source, []) for source in sources]).streams["source"]
    state = model.start(model.encode(rows), width=width)
    sentences = [n for n in range(3) for _ in range(width)]
    histories: list[list[int]] = [[] for _ in sentences]
    tokens = torch.tensor([BEGIN] * len(sentences))
    for t in range(LENGTH):
        logits, state = model.step(tokens, state)
        chosen = [random.randrange(2, 20) for _ in sentences]
        if t % 3 == 1:
            order = [r - r % width + random.randrange(width) for r in range(len(sentences))]
            state = state.reorder(torch.tensor(order))
            histories, logits = [list(histories[r]) for r in order], logits[order]
        if t in (5, 20):
            kept = random.sample(range(len(sentences) // width), len(sentences) // width - 1)
            state = state.keep(torch.tensor(kept))
            order = [n * width + w for n in kept for w in range(width)]
            sentences, histories = [sentences[r] for r in order], [histories[r] for r in order]
            logits, chosen = logits[order], [chosen[r] for r in order]
        if t in (6, 21, LENGTH - 1):
            told = padded([(sources[n], history) for n, history in zip(sentences, histories, strict=True)])
            with torch.no_grad():
                expected = model(told)[:, -1]
            torch.testing.assert_close(logits, expected, rtol=0, atol=1e-5)
        tokens = torch.tensor(chosen)
        histories = [[*history, token] for history, token in zip(histories, chosen, strict=True)]
    assert len(sentences) == width


@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_sentences_that_take_the_places_of_others_go_on_as_if_they_were_alone(random: Any, width: int) -> None:
    """Newcomers with shorter and longer sources, while the ring of the cache goes round and grows."""
    model = transformer(dtype=torch.float32)

    def source() -> list[int]:
        return [random.randrange(2, 20) for _ in range(random.randint(1, 6))]

    def started(sources: list[list[int]]) -> Any:
        return model.start(model.encode(padded([(source, []) for source in sources]).streams["source"]), width=width)

    sources = [source() for _ in range(3)]
    state = started(sources)
    histories: list[list[int]] = [[] for _ in range(3 * width)]
    tokens = torch.full((3 * width,), BEGIN)
    for t in range(3 * LENGTH):
        logits, state = model.step(tokens, state)
        order = [r - r % width + random.randrange(width) for r in range(len(histories))]
        state = state.reorder(torch.tensor(order))
        histories, logits = [list(histories[r]) for r in order], logits[order]
        if t % 29 == 0:
            told = padded([(sources[r // width], history) for r, history in enumerate(histories)])
            with torch.no_grad():
                expected = model(told)
            ends = torch.tensor([len(history) for history in histories])
            torch.testing.assert_close(logits, expected[torch.arange(len(ends)), ends], rtol=0, atol=1e-5)
        chosen = [random.randrange(2, 20) for _ in histories]
        histories = [[*history, token] for history, token in zip(histories, chosen, strict=True)]
        if t % 7 == 3 or len(histories[2 * width]) == LENGTH:
            places = random.sample(range(2), random.randint(1, 2)) if t % 7 == 3 else [2]
            new = [source() for _ in places]
            state = state.put(torch.tensor(places), started(new))
            for place, its_source in zip(places, new, strict=True):
                sources[place] = its_source
                for row in range(place * width, (place + 1) * width):
                    histories[row], chosen[row] = [], BEGIN
        tokens = torch.tensor(chosen)
