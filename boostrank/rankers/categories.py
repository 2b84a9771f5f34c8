"""Categories of the columns of a DataFrame: those of the training, which columns of other DataFrames get."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from boostrank.inputs.frames import replace_columns


@dataclass(frozen=True)
class ColumnCategories:
    """The categories of columns of the training data.

    XGBoost itself takes a new category for a known one that is sorted after it, and raises an error only if there is
    none; LightGBM makes it a missing value.

    Attributes
    ----------
    known : dict of int to pandas.Index
        Categories of the columns with a categorical type, by the index of the column.
    kinds_are_known : bool
        Whether all other columns are known to be numbers. Those of a model that was read from a file are not.
    """

    known: Mapping[int, Any]
    kinds_are_known: bool

    @classmethod
    def of_frame(cls, X: Any) -> Self:
        """The categories of a pandas DataFrame."""
        return cls({i: X.dtypes.iloc[i].categories for i in _categorical_columns(X)}, True)

    @classmethod
    def of_model(cls, categories: Mapping[int, list[Any] | None]) -> Self:
        """The categories that a model knows; None stands for those that it does not."""
        import pandas as pd

        known = {i: pd.Index(values) for i, values in categories.items() if values}
        return cls(known, False)

    def apply(self, X: Any) -> Any:
        """A DataFrame whose columns have these categories; values of new categories become missing values.

        Raises
        ------
        ValueError
            If a column has categories and had numbers in the training, or conversely, or if it has none of the known
            categories, and values of another kind, such as integers in place of strings.
        """
        now = _categorical_columns(X)
        differ = set(self.known) - set(now) | (set(now) - set(self.known) if self.kinds_are_known else set())
        if differ:
            i = min(differ)
            kind = "categories, but had numbers" if i in now else f"the type {X.dtypes.iloc[i]}, but had categories"
            raise ValueError(
                f"the column {X.columns[i]!r} of X has {kind} in the training: give it the type of the training data"
            )
        changed = {
            i: X.iloc[:, i].cat.set_categories(known)
            for i, known in self.known.items()
            if not _are_equal(X.columns[i], X.dtypes.iloc[i].categories, known)
        }
        return replace_columns(X, changed)


def _are_equal(name: Any, categories: Any, known: Any) -> bool:
    """Whether categories are the known ones; raises ValueError if they are of another kind."""
    if categories is known or (categories.dtype == known.dtype and categories.equals(known)):
        return True
    kinds = [index.inferred_type for index in (categories, known)]
    if len(categories) and kinds[0] != kinds[1] and not categories.isin(known).any():
        raise ValueError(
            f"the column {name!r} of X has categories such as {categories[0]!r}, and in the training it had such as "
            f"{known[0]!r}: give it the type of the training data"
        )
    return False


def _categorical_columns(X: Any) -> list[int]:
    import pandas as pd

    return [i for i, dtype in enumerate(X.dtypes) if isinstance(dtype, pd.CategoricalDtype)]
