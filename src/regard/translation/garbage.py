"""Python's search for cyclic garbage, switched off while texts are translated."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_counting = threading.Lock()
_inside, _was_enabled = 0, True  # how many look for no garbage, and whether Python did before the first of them


@contextmanager
def no_garbage() -> Iterator[None]:
    """Python does not look for cyclic garbage meanwhile.

    Most objects that are made for sentences stay, so there is hardly any garbage. Looking for it would take a quarter
    of the host's time, and a GPU would wait for longer than many steps. The last of several threads switches it on.
    """
    global _inside, _was_enabled
    with _counting:
        _was_enabled = _was_enabled if _inside else gc.isenabled()
        _inside += 1
        gc.disable()
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if not _inside and _was_enabled:
                gc.enable()
