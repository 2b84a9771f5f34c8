"""A line that compiled code prints to stdout is left out; everything else is printed as before."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: The descriptor of stdout of the process, to which compiled code prints.
STDOUT = 1
#: Seconds that the end of the context waits for lines to be copied. A process that was started while the context
#: lasted prints to the pipe too; its lines are copied for as long as it runs, and nobody waits for that.
MAX_SECONDS = 1.0

_lock = threading.Lock()
_n_contexts = 0
_original = -1
_copier: threading.Thread | None = None


@contextmanager
def without_line(hidden: bytes) -> Iterator[None]:
    """Leave one line out of what this process prints to stdout while the context lasts.

    A pipe takes the place of stdout, and a thread copies all other lines to where stdout was. Contexts of several
    threads may overlap, with the same line: the first one that begins puts the pipe in place, and the last one that
    ends removes it. A process without stdout is left as it is.

    Parameters
    ----------
    hidden : bytes
        The line, without white space at its ends.
    """
    _begin(hidden)
    try:
        yield
    finally:
        _end()


def _begin(hidden: bytes) -> None:
    global _n_contexts, _original, _copier
    with _lock:
        _n_contexts += 1
        if _n_contexts > 1:
            return
        try:
            _original = os.dup(STDOUT)
        except OSError:  # There is no stdout.
            _original = -1
            return
        reader, writer = os.pipe()
        os.dup2(writer, STDOUT)
        os.close(writer)
        _copier = threading.Thread(target=_copy, args=(reader, os.dup(_original), hidden), daemon=True)
        _copier.start()


def _end() -> None:
    global _n_contexts, _original, _copier
    with _lock:
        _n_contexts -= 1
        if _n_contexts or _original < 0:
            return
        # This closes the only descriptor of this process that writes to the pipe, so that the copier comes to its end.
        os.dup2(_original, STDOUT)
        os.close(_original)
        copier, _original, _copier = _copier, -1, None
    if copier is not None:
        copier.join(MAX_SECONDS)


def _copy(reader: int, target: int, hidden: bytes) -> None:
    """Copy the lines of one descriptor to the other, all but one, and close both.

    Threads that print the hidden line at the same time can mix its words: lines of only these words are hidden.
    """
    words = re.compile(b"(?:" + b"|".join(map(re.escape, hidden.split())) + rb"|\s)+")
    # Where nobody reads the target any more, the pipe is closed too, and who prints gets the same error as without it.
    with suppress(OSError), open(reader, "rb") as lines, open(target, "wb") as output:
        for line in lines:
            if not line.strip() or not words.fullmatch(line):
                output.write(line)
                output.flush()
