"""Parameters of the boosting libraries by name: which are known, what they are called, and which are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np


@dataclass(frozen=True)
class KnownParameters:
    """The parameters of a boosting library.

    Attributes
    ----------
    library : str
        Name of the library, for messages.
    canonical : mapping of str to str
        The canonical name of each parameter, by its canonical name and by its aliases.
    explicit : mapping of str to str
        Names of the parameters of the ranker, by their canonical names in the library.
    refused : mapping of str to str
        Parameters that would have no effect or a wrong one in a ranker, by canonical name: the reason, and what to use
        instead.
    """

    library: str
    canonical: Mapping[str, str]
    explicit: Mapping[str, str]
    refused: Mapping[str, str]

    def translate(
        self, values: Mapping[str, Any], native: Mapping[str, Any], defaults: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Translate the native parameters that a user gave.

        Parameters
        ----------
        values : mapping of str to object
            Parameters of the ranker by name.
        native : mapping of str to object
            Native parameters by their canonical names or aliases.
        defaults : mapping of str to object
            Defaults of the parameters of the ranker. A parameter that has its default counts as not given.

        Returns
        -------
        values : dict
            Parameters of the ranker, with the values of native parameters that are other names of them.
        native : dict
            The other native parameters by their canonical names.

        Raises
        ------
        ValueError
            For a native parameter that is unknown or refused, and for two names of one parameter with two values.
        """
        resolved, handed_on = dict(values), {}
        given = {name: (name, value) for name, value in values.items() if not _equal(value, defaults.get(name))}
        for name, value in native.items():
            canonical = self._find(name, values)
            own = self.explicit.get(canonical, canonical)
            other, previous = given.setdefault(own, (name, value))
            if not _equal(value, previous):
                raise ValueError(
                    f"{other}={previous!r} and {name}={value!r} are two names of one parameter: give only {own}"
                )
            if canonical in self.explicit:
                resolved[own] = value
            else:
                handed_on[canonical] = value
        return resolved, handed_on

    def _find(self, name: str, values: Mapping[str, Any]) -> str:
        """The canonical name of a parameter; ValueError if it is unknown or refused."""
        canonical = self.canonical.get(name)
        if canonical is None and name in self.refused:
            canonical = name
        if canonical is None:
            nearest = [
                self.canonical.get(found, found) for found in get_close_matches(name, {**values, **self.canonical})
            ]
            hint = f"; did you mean {self.explicit.get(nearest[0], nearest[0])!r}?" if nearest else ""
            raise ValueError(f"neither the ranker nor {self.library} has a parameter {name!r}{hint}")
        if canonical in self.refused:
            alias = "" if name == canonical else f", which is {self.library}'s {canonical},"
            raise ValueError(f"the parameter {name!r}{alias} cannot be used in a ranker: {self.refused[canonical]}")
        return canonical


def _equal(first: Any, second: Any) -> bool:
    return first is second or np.array_equal(first, second)
