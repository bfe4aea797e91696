"""Parts of a list that are worked on side by side: in order, never more than may be held, and ended when asked."""

import threading
from collections.abc import Iterator, Sequence

import pytest

from regard.translation.side_by_side import side_by_side


def parts(count: int, taken: list[int]) -> Iterator[list[int]]:
    for number in range(count):
        taken.append(number)
        yield [number, number]


def test_results_come_in_order_and_no_more_parts_are_taken_than_may_be_held() -> None:
    taken: list[int] = []
    second_has_begun = threading.Event()

    def work(part: Sequence[int]) -> list[int]:
        if part[0] == 1:
            second_has_begun.set()
        assert part[0] or second_has_begun.wait(10), "the second part waits for the first"
        return [10 * number for number in part]

    results = side_by_side(parts(9, taken), work, ahead=3)
    assert next(results) == 0
    assert len(taken) <= 3
    assert [0, *results] == [10 * (number // 2) for number in range(18)]


def test_an_error_is_raised_at_its_place_and_an_early_end_stops_the_rest() -> None:
    taken: list[int] = []

    def work(part: Sequence[int]) -> list[int]:
        if part[0] == 2:
            raise ValueError("the third part")
        return list(part)

    results = side_by_side(parts(100, taken), work, ahead=2)
    assert [next(results) for _ in range(4)] == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="the third part"):
        next(results)
    stopped = side_by_side(parts(100, taken), work, ahead=2)
    assert next(stopped) == 0
    stopped.close()  # type: ignore[attr-defined]
    assert len(taken) < 10
