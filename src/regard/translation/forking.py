"""Translators and forks: a process that was forked after a Translator was opened cannot translate.

A fork copies the memory of a process, but only the thread that forked. The child waits indefinitely for threads that
multiply matrices, for those of CTranslate2, and for locks that other threads held; and it cannot use its parent's GPU.
"""

from __future__ import annotations

import os

from regard.errors import TranslatorError

_opened_in: int | None = None  # the process in which the first Translator was opened


def refuse_after_fork() -> None:
    """Raises an error in a child that was forked after a Translator was opened; otherwise remembers the process."""
    global _opened_in
    process = os.getpid()
    if _opened_in is None:
        _opened_in = process
    if _opened_in != process:
        raise TranslatorError(
            f"Process {process} was forked from process {_opened_in}, which had opened a Translator; "
            "here it would wait indefinitely for threads that only exist there.\n"
            "  Start processes with multiprocessing.get_context('spawn'), and pass them the Translator: it opens its"
            " folder again. Or fork before the first regard.load, and load in each process."
        )
