"""One of several objectives: its labels, of all queries or of some, its weight, gain and cutoff."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, as_array
from boostrank.inputs.warnings import warn
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import check_relevance
from boostrank.ndcg.labels import Labels, Relevance, Rows
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import Queries


@dataclass(frozen=True, eq=False)
class PartialRelevance(Relevance):
    """Relevance of some of the queries; the others have no part of the objective.

    Attributes
    ----------
    relevance : ndarray of float64, shape (n_documents,)
        It is 0 where it is missing.
    is_missing : ndarray of bool, shape (n_documents,)
    name : str
        The name of the objective, for messages.
    """

    is_missing: Bools
    name: str

    def __getitem__(self, rows: Rows) -> PartialRelevance:
        return PartialRelevance(self.relevance[rows], self.is_missing[rows], self.name)

    @property
    def content(self) -> tuple[Any, ...]:
        """The relevance, and where it is missing."""
        return self.relevance, self.is_missing

    def group(self, queries: Queries) -> PartialRelevance:
        """The relevance, grouped by query.

        A query of which some labels are missing has none then. A warning says so.
        """
        is_missing = queries.group(self.is_missing)
        has_missing = queries.max(is_missing)
        n_parts = int(np.count_nonzero(has_missing & ~queries.min(is_missing)))
        if n_parts:
            warn(
                f"{n_parts} of {queries.n_queries} queries have labels of {self.name!r} for some "
                "of their documents only, and are left out of this objective, because their ideal "
                "DCG is not known. If a missing label means 0, such as no order, replace NaN by 0; "
                "otherwise make all labels of these queries NaN"
            )
        relevance = queries.group(self.relevance)
        return PartialRelevance(relevance, queries.repeat(has_missing), self.name)

    def weighted(self, weights: Floats | None, queries: Queries) -> Floats | None:
        """The weights of grouped documents, and 0 for those of queries that have no labels."""
        if not self.is_missing.any():
            return weights
        is_labelled = ~queries.repeat(queries.max(self.is_missing))
        return 1.0 * is_labelled if weights is None else weights * is_labelled


def relevance_of_some(y: ArrayLike | Labels, name: str) -> Labels:
    """Labels of an objective; of an array, in which NaN and None are missing, relevance.

    Raises
    ------
    ValueError
        If a label is negative or infinite; `name` is that of the objective.
    """
    if isinstance(y, Labels):
        return y
    text = f"the labels of {name!r}"
    values: Any = as_array(y, text)
    is_missing = pd.isna(values)
    if not is_missing.any():
        return Relevance(check_relevance(values, text))
    return PartialRelevance(
        check_relevance(np.where(is_missing, 0.0, values), text), is_missing, name
    )


@dataclass(frozen=True, eq=False)
class Objective:
    """One of several objectives.

    Attributes
    ----------
    name : str
    labels : Labels
    weight : float
        Its weight in the mean; the weights of all objectives have the sum 1.
    settings : dict
        "gain" and "k" of this objective, if they are others than those of the ranker or measure.
    """

    name: str
    labels: Labels
    weight: float
    settings: Mapping[str, Any] = field(default_factory=dict)

    def dcg(self, dcg: DCG) -> DCG:
        """Gain, discount and cutoff of this objective, where a ranker or measure has `dcg`."""
        return replace(dcg, **self.settings)

    def query_weights(self, queries: Queries) -> Floats:
        """Weight of each query in the mean of this objective; the mean over the queries is 1.

        It is 0 for queries that have no part of the objective. Raises ValueError if this is so for
        all of them.
        """
        weights = self.labels.weighted(None, queries)
        if weights is None:
            return np.ones(queries.n_queries)
        of_queries = weights[queries.starts]
        if not of_queries.any():
            raise ValueError(
                f"no query has labels of the objective {self.name!r} for all of its documents: "
                "give its labels, or the weight 0 to the objective"
            )
        return of_queries / of_queries.mean()

    def targets(
        self, surrogate: object, queries: Queries, dcg: DCG, normalize: Normalize
    ) -> Floats:
        """The targets of a surrogate for grouped labels; see :meth:`Labels.targets`."""
        return self.labels.targets(surrogate, queries, self.dcg(dcg), normalize)


class LabelsOfObjectives(Labels):
    """Labels of several objectives.

    Attributes
    ----------
    objectives : tuple of Objective
    """

    objectives: tuple[Objective, ...]

    def find(self, name: str) -> Objective:
        """The objective of a name; raise ValueError if there is none."""
        by_name = {objective.name: objective for objective in self.objectives}
        if name not in by_name:
            raise ValueError(
                f"objective must be one of {', '.join(map(repr, by_name))}; got {name!r}"
            )
        return by_name[name]

    @property
    def active(self) -> list[Objective]:
        """The objectives whose weight is not 0."""
        return [objective for objective in self.objectives if objective.weight > 0.0]
