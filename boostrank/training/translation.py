"""Native parameters that a user gave: other names of parameters of the ranker, or handed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from boostrank.backends.interface import LibraryParameters
from boostrank.inputs import checks

#: Values of parameters by name.
Values = Mapping[str, Any]


def translate(
    library: LibraryParameters,
    refused: Mapping[str, str],
    values: Values,
    native: Values,
    defaults: Values,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Translate native parameters that are other names of parameters of the ranker.

    Parameters
    ----------
    library : LibraryParameters
    refused : mapping of str to str
        Result of :meth:`LibraryParameters.refused_parameters`.
    values : mapping of str to object
        Parameters of the ranker by name.
    native : mapping of str to object
        Native parameters by their canonical names or aliases.
    defaults : mapping of str to object
        Defaults of the parameters of the ranker. A parameter that has its default counts as not
        given.

    Returns
    -------
    values : dict
        Parameters of the ranker, with the values of native parameters that are other names of them.
    native : dict
        The other native parameters by their canonical names.

    Raises
    ------
    ValueError
        For a native parameter that is unknown or refused, and for two names of one parameter with
        two values.
    """
    resolved = dict(values)
    handed_on: dict[str, Any] = {}
    # The name by which a parameter was given, and its value, by its name in the ranker.
    given: dict[str, tuple[str, object]] = {}
    for name, value in values.items():
        if not are_equal(value, defaults.get(name)):
            given[name] = name, value
    for name, value in native.items():
        canonical = _canonical_name(library, refused, name, value, values)
        if value is None or canonical in refused:
            continue
        if canonical in library.CONVERT:
            value = library.CONVERT[canonical](value)
        name_in_ranker = library.EXPLICIT.get(canonical, canonical)
        first_name, previous = given.setdefault(name_in_ranker, (name, value))
        if not are_equal(value, previous):
            raise ValueError(
                f"{first_name}={previous!r} and {name}={value!r} are two names of one parameter: "
                f"give only {name_in_ranker}"
            )
        if canonical in library.EXPLICIT:
            resolved[name_in_ranker] = value
        else:
            handed_on[canonical] = value
    return resolved, handed_on


def _canonical_name(
    library: LibraryParameters,
    refused: Mapping[str, str],
    name: str,
    value: object,
    values: Values,
) -> str:
    """The canonical name of a parameter.

    Raises ValueError if the name is unknown, or the parameter is refused with this value.
    """
    known = library.canonical_names()
    canonical = known.get(name)
    if canonical is None and name in refused:
        canonical = name
    if canonical is None:
        raise ValueError(
            f"neither the ranker nor {library.LIBRARY} has a parameter {name!r}"
            f"{_similar_name(library, refused, name, values)}"
        )
    neutral = (None, *library.NEUTRAL.get(canonical, ()))
    is_neutral = any(are_equal(value, other) for other in neutral)
    if canonical in refused and not is_neutral:
        alias = ""
        if name != canonical:
            alias = f", which is {library.LIBRARY}'s {canonical},"
        raise ValueError(
            f"the parameter {name!r}{alias} cannot be used in a ranker: {refused[canonical]}"
        )
    return canonical


def _similar_name(
    library: LibraryParameters, refused: Mapping[str, str], name: str, values: Values
) -> str:
    """The question whether a known name is meant, or nothing."""
    names = {}
    for alias, canonical in library.canonical_names().items():
        if canonical not in refused:
            names[alias] = library.EXPLICIT.get(canonical, canonical)
    return checks.did_you_mean(name, {**names, **values}, names)


def are_equal(first: object, second: object) -> bool:
    """Whether two values of a parameter are the same object, or have equal elements."""
    return first is second or np.array_equal(first, second)  # type: ignore[arg-type]
