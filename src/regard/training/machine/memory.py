"""Memory that stays: the C library keeps what a step frees, since the next step needs as much again.

By default glibc gives large blocks back to the system at once. On a CPU every step then asks for hundreds of megabytes
again, page by page, and the system fills each page with zeros.
"""

from __future__ import annotations

import ctypes

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
_ALWAYS = 2**31 - 1
_SIZES = (2**30, 2**25)  # bytes; older versions refuse more than the second


def keep_freed_memory() -> bool:
    """For this process, from now on; False where there is no glibc, and nothing was changed."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return any(mallopt(_MMAP_THRESHOLD, size) for size in _SIZES) and bool(mallopt(_TRIM_THRESHOLD, _ALWAYS))
