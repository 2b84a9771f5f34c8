"""Clicks on the documents of one worker, as labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks import DocumentClicks
from boostrank.core.queries import Queries
from boostrank.objectives.labels import Clicks


@dataclass(frozen=True, eq=False)
class ClickRecords(Clicks):
    """Clicks on the documents of one worker. The weights of its data contain those of the clicks already.

    All weights of one worker may be 0, because they are relative to those of all workers.
    """

    values: DocumentClicks

    def weighted(self, weights: ArrayLike | None) -> ArrayLike | None:
        """Return the weights of the data, which contain those of the clicks."""
        return weights

    @classmethod
    def concatenate(cls, parts: list[ClickRecords], queries: Queries) -> ClickRecords:
        """The clicks on the documents of several parts, which have different queries; `queries` are those of all."""
        return cls(DocumentClicks(np.concatenate([part.values.records for part in parts]), queries))
