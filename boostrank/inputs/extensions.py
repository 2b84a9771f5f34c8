"""Extensions, which the core finds by name, because it does not import them.

An extension is an entry point of an installed package: the name of a loss or of a measure, and the
object that has this name, or a mapping that has the object under this name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any


def find_extension(group: str, name: str, kind: type | tuple[type, ...], noun: str) -> Any:
    """The object that an extension has entered under a name; None if there is none.

    Parameters
    ----------
    group : str
        The group of entry points, such as "boostrank.losses".
    name : str
    kind : type or tuple of type
        The class of such objects.
    noun : str
        What such an object is, for the message.

    Raises
    ------
    ImportError
        If the object cannot be loaded, or is of another class.

    Examples
    --------
    >>> from boostrank.surrogates.loss import Loss
    >>> find_extension("boostrank.losses", "edge-logistic", Loss, "loss")
    EdgeLoss(margin='logistic')
    """
    for point in entry_points(group=group, name=name):
        is_no = f"the entry point {name}={point.value} is no {noun}"
        try:
            found = point.load()
            if isinstance(found, Mapping):
                found = found[name]
        except (ImportError, AttributeError, KeyError) as error:
            raise ImportError(f"{is_no}: {error!r}") from error
        if not isinstance(found, kind):
            raise ImportError(f"{is_no}: {found!r}")
        return found
    return None


def extension_names(group: str) -> list[str]:
    """The names that extensions have entered into a group of entry points."""
    return [point.name for point in entry_points(group=group)]
