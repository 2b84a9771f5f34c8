"""Names of features that a boosting library does not take, encoded such that the names can be read from its models."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote

from boostrank.inputs.frames import is_pandas


class NameCode:
    r"""The encoding of names of features for one boosting library: forbidden characters are percent-encoded.

    Names without such characters are unchanged.

    Parameters
    ----------
    forbidden : str
        Characters that the library does not take in a name, or would replace: the inside of the brackets of a regular
        expression.

    Examples
    --------
    >>> code = NameCode(r"\[\]")
    >>> code.encode("price [EUR]"), code.decode("price %5BEUR%5D")
    ('price %5BEUR%5D', 'price [EUR]')
    """

    def __init__(self, forbidden: str) -> None:
        self._forbidden = re.compile(f"[{forbidden}%]")

    def encode(self, name: str) -> str:
        """Return a name without forbidden characters."""
        return self._forbidden.sub(lambda match: quote(match[0], safe=""), name)

    def decode(self, name: str) -> str:
        """Return the name that was encoded. A name that :meth:`encode` does not return is unchanged."""
        decoded = unquote(name)
        return decoded if self.encode(decoded) == name else name

    def encode_columns(self, X: Any) -> Any:
        """Encode the names of the columns of a pandas DataFrame; return anything else unchanged."""
        if not is_pandas(X):
            return X
        names = [self.encode(str(name)) for name in X.columns]
        return X if names == list(X.columns) else X.set_axis(names, axis=1)
