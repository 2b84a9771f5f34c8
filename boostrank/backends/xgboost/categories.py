"""Names of categories as XGBoost stores them without loss: as ASCII.

XGBoost 3 counts the characters of a name where it needs the number of its bytes, so that names with other characters
than ASCII are cut at wrong places. Then several categories may have the same name, and one is scored as another; and a
model that is read from a file does not know its categories.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from boostrank.backends.feature_names import NameCode
from boostrank.inputs.frames import is_pandas, replace_columns

# XGBoost refuses zero bytes.
_CODE = NameCode(r"\x00\x80-\U0010ffff")
# Names in models that were trained without boostrank may contain "%C3%A9" themselves. This is the notation of RFC 5987.
_PREFIX = "utf-8''"


def encode_category(name: str) -> str:
    """Return a name in ASCII; ASCII names are unchanged, unless they begin as a name that was encoded.

    Examples
    --------
    >>> encode_category("blue"), encode_category("%C3%A9t%C3%A9"), encode_category("été")
    ('blue', '%C3%A9t%C3%A9', "utf-8''%C3%A9t%C3%A9")
    """
    is_plain = name.isascii() and "\0" not in name and not name.startswith(_PREFIX)
    return name if is_plain else _PREFIX + _CODE.encode(name)


def decode_category(name: str) -> str:
    """Return the name that was encoded. A name that :func:`encode_category` does not return is unchanged.

    Examples
    --------
    >>> decode_category("utf-8''%C3%A9t%C3%A9"), decode_category("%C3%A9t%C3%A9")
    ('été', '%C3%A9t%C3%A9')
    """
    return _CODE.decode(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else name


def with_ascii_categories(X: Any) -> Any:
    """A pandas DataFrame whose columns have categories with names in ASCII; anything else is unchanged."""
    if not is_pandas(X):
        return X
    import pandas as pd

    changed = {}
    for i, dtype in enumerate(X.dtypes):
        if isinstance(dtype, pd.CategoricalDtype) and dtype.categories.inferred_type == "string":
            names = dtype.categories.tolist()
            encoded = [encode_category(name) for name in names]
            if encoded != names:
                changed[i] = X.iloc[:, i].cat.rename_categories(encoded)
    return replace_columns(X, changed)


def decode_categories(column: dict[str, Any]) -> list[Any]:
    """The categories of a feature in XGBoost's document of a model: integers, or strings, of which it has all bytes.

    Raises
    ------
    ValueError
        For names with other characters than ASCII, which a training without boostrank stored incompletely.
    """
    if "offsets" not in column:
        return list(column["values"])
    content, ends = np.asarray(column["values"], dtype=np.int8).tobytes(), column["offsets"]
    if not content.isascii():
        raise ValueError(
            "the model has names of categories with other characters than ASCII, which XGBoost stores incompletely: "
            "train it by XGBoostRanker, which encodes them, or give the categories ASCII names"
        )
    return [decode_category(content[start:end].decode()) for start, end in pairwise(ends)]
