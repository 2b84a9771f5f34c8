"""The warnings of the package, at the line of the user that called it."""

from __future__ import annotations

import inspect
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Give a warning whose place is the line of the user that called the package.

    Functions of other libraries may lie between functions of the package, such as those of joblib
    between the ranker and the members of a bag: the place is the caller of the outermost function
    of the package. In a thread that the package or a library has started, this is a line of the
    library that runs the thread.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("the log has no click")
    >>> str(caught[0].message)
    'the log has no click'
    """
    frame = place = inspect.currentframe()
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == "boostrank":
            place = frame.f_back or frame
        frame = frame.f_back
    # Python without frames is not supported.
    assert place is not None
    # warnings.warn would need the number of frames, and does not count those of imports.
    module, registry = (
        str(place.f_globals.get("__name__")),
        place.f_globals.setdefault("__warningregistry__", {}),
    )
    warnings.warn_explicit(
        message, category, place.f_code.co_filename, place.f_lineno, module, registry
    )
