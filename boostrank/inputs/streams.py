"""The protocol of features that are read in blocks of rows.

They need not fit into memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array, csr_matrix

#: Features of documents, one row for each: in memory, or in blocks that are read when needed.
FeatureMatrix: TypeAlias = (
    "NDArray[Any] | csr_array[Any] | csr_matrix[Any] | pd.DataFrame | FeatureStream"
)
#: The same, or arrays with consecutive rows of whole queries.
FeatureBlocks: TypeAlias = "FeatureMatrix | list[NDArray[Any]]"
#: Number of elements of a block: 16 MiB of float32.
BLOCK_ELEMENTS = 2**22


class FeatureStream(ABC):
    """Features in place of the array `X`, which rankers read in blocks.

    Attributes
    ----------
    shape : (int, int)
        Number of documents and of features.
    dtype : dtype
        float32 or float64, the type of the values that are read.
    names : list of str or None
        Names of the features.
    cache : str or None
        A folder in which a library may keep the bins of the features while it trains.
    in_memory : bool
        Whether the features are in memory, so that all of them may be read at once.
    """

    ndim = 2
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    cache: str | None = None
    in_memory = False

    @abstractmethod
    def __getitem__(self, rows: Any) -> Self:
        """Choose rows without reading them: a slice, or increasing row numbers, or a mask."""

    @abstractmethod
    def read(self, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Read the rows from `start` up to, but not with, `stop`; by default all rows.

        Infinite values are errors.
        """

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NDArray[Any]:
        raise TypeError(
            f"{type(self).__name__} is not read into memory as a whole, unless you call its method "
            f"read()"
        )

    @property
    def rows_per_block(self) -> int:
        """Number of rows of the blocks in which features are read."""
        return max(1, BLOCK_ELEMENTS // max(1, self.shape[1]))

    def blocks(self) -> Iterator[NDArray[Any]]:
        """Read all rows, one block after the other; at least one block, which may have no rows."""
        for start in range(0, max(1, len(self)), self.rows_per_block):
            yield self.read(start, start + self.rows_per_block)

    def column_blocks(self) -> Iterator[NDArray[Any]]:
        """Read all rows of features in memory, some columns after the others."""
        yield self.read()

    def own_features(self) -> Any:
        """The features from which all are computed, in the same rows.

        They are these, or others in memory.
        """
        return self

    def without_rows(self) -> Any:
        """An array, or a DataFrame if the features have names, with these features and no rows."""
        values = np.empty((0, self.shape[1]), self.dtype)
        if self.names is None:
            return values
        import pandas as pd

        return pd.DataFrame(values, columns=self.names)
