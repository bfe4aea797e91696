"""Parts of a long list that are worked on side by side, and come back in order.

A search of few sentences, such as those that are searched again, leaves cores idle. Beside it, the next part is
searched.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")

_TOGETHER = 2  # parts that are worked on; the search of one keeps all cores busy


def side_by_side(
    parts: Iterable[Sequence[Item]], work: Callable[[Sequence[Item]], list[Done]], *, ahead: int
) -> Iterator[Done]:
    """What `work` makes of each part, in order; at most `ahead` parts are held."""
    pool = ThreadPoolExecutor(_TOGETHER, thread_name_prefix="regard-part")
    waiting: deque[Future[list[Done]]] = deque()
    try:
        for part in parts:
            waiting.append(pool.submit(work, part))
            while len(waiting) >= ahead:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
