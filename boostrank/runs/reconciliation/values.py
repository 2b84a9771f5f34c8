"""Values of a measure of the same labels and scores for different settings, for :func:`boostrank.reconcile`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, check_lengths
from boostrank.metrics.base import QueryMean, QueryMeasure
from boostrank.metrics.binary import AveragePrecision
from boostrank.metrics.graded import ExpectedReciprocalRank
from boostrank.metrics.labels import GroupedLabels, labels_scores_queries
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments
from boostrank.runs.evaluation import JudgedRun, ranking_of, values_of_ranking
from boostrank.runs.reconciliation.conventions import Kind, Settings


class ReconciledValues:
    """Labels and scores of queries, with the values of a measure for different settings, which are cached.

    Parameters
    ----------
    kind : Kind
        The kind of measure.
    y_true, y_score, qid, documents
        As in :func:`boostrank.reconcile`.
    run : JudgedRun, optional
        The judgments and the ranking of these documents, which are grouped, if they are those of a run.
    """

    def __init__(
        self,
        kind: Kind,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        documents: ArrayLike | None,
        run: JudgedRun | None = None,
    ) -> None:
        labels, scores, self.queries = labels_scores_queries(y_true, y_score, qid, "reconcile")
        self.kind, self.labels = kind, {"given": labels, "truncated": np.floor(labels)}
        self.scores = {"given": scores}
        # Scores outside of the range of float32 become infinite, and are then tied.
        with np.errstate(over="ignore"):
            for precision in ("float64", "float32"):
                self.scores[precision] = self.queries.group(np.ravel(y_score)).astype(precision).astype(np.float64)
        codes = _name_codes(documents, self.queries)
        # Rows in the sequence of the names, so that the stable tie rule ranks tied documents by their names.
        self.by_name: dict[str, Any] = {"names": self.queries.sort(codes), "names ascending": self.queries.sort(-codes)}
        self.retrieved = self.judged = np.ones(len(labels), dtype=bool)
        if run is not None and run.ranking is not None:
            self.retrieved, self.judged = np.zeros(len(labels), dtype=bool), run.judgments >= 0.0
            self.retrieved[run.ranking.rows] = True
        #: Number of ranked documents of each query, shape (n_queries,).
        self.sizes = self.queries.sum(self.retrieved.astype(np.int64))
        self._known: dict[Settings, Floats] = {}

    def per_query(self, settings: Settings) -> Floats:
        """Value of each query, shape (n_queries,); NaN for queries without relevant documents.

        Documents of scores that relevant documents cannot have are irrelevant.
        """
        key = replace(settings, empty="skip", weights="queries", queries=None)
        if key not in self._known:
            self._known[key] = self._compute(key)
        return self._known[key]

    def _compute(self, settings: Settings) -> Floats:
        labels, scores, queries = self.labels[settings.labels], self.scores[settings.scores], self.queries
        if settings.relevant_scores == "above 0":
            labels = np.where(scores > 0, labels, 0.0)
        if settings.documents == "retrieved":
            labels = np.where(self.retrieved, labels, 0.0)
        ranked = self.retrieved & self.judged if settings.documents == "judged" else self.retrieved
        rows = self.by_name.get(settings.ties, slice(None))
        labels, scores, ranked = labels[rows], scores[rows], ranked[rows]
        rows = queries.sort(scores)
        prepared = _measure(self.kind, settings).prepare(GroupedLabels(labels[rows], queries))
        values = values_of_ranking(prepared, ranking_of(ranked[rows], scores[rows], queries))
        values = np.where(prepared.undefined, np.nan, values)
        if settings.depth == "documents" and settings.k is not None:
            # Divided by the number of documents of the query, if it has fewer than the cutoff.
            values = np.minimum(values * (settings.k / np.clip(self.sizes, 1, settings.k)), 1.0)
        return values if settings.decimals is None else np.round(values, settings.decimals)

    def counted(self, settings: Settings) -> Bools:
        """Whether each query counts in the mean, shape (n_queries,)."""
        return (self.sizes > 0) | (settings.queries != "common")

    def mean(self, settings: Settings, weights: Floats | None, values: Floats | None = None) -> float:
        """Mean over queries of `values`, which are those of the measure by default, with the weights of `settings`."""
        values = self.per_query(settings) if values is None else values
        queries, counted = self.queries, self.counted(settings)
        values, queries = values[counted], Queries.from_sizes(queries.sizes[counted], queries.ids[counted])
        undefined = np.isnan(values)
        if settings.weights == "ignored":
            weights = None
        mean = QueryMean(undefined, queries, settings.empty, weights)
        if weights is None or settings.weights != "not of empty queries":
            return mean(values)
        return float(mean.fill(values) @ np.where(undefined, 1.0, weights) / weights.sum())


def _measure(kind: Kind, settings: Settings) -> Any:
    """The measure with these settings; its tie rule is "stable" if tied documents are ranked by name."""
    names = {field.name for field in fields(kind.measure)}
    own = {name: getattr(settings, name) for name in kind.steps if name in names}
    measure: type[QueryMeasure] = kind.measure
    if settings.ties == "last rank":
        measure, own["ties"] = LastRankAveragePrecision, "average"
    elif settings.ties in ("names", "names ascending"):
        own["ties"] = "stable"
    if settings.gain == "probability":
        measure = ProbabilityReciprocalRank
    return measure(**own)


def _name_codes(documents: ArrayLike | None, queries: Queries) -> Floats:
    """Index of the name of each grouped document in the sorted list of all names, shape (n_documents,)."""
    names = np.arange(queries.n_documents) if documents is None else np.asarray(documents)
    check_lengths(y_true=queries.n_documents, documents=names.size)
    texts, query = names.ravel().astype(str), queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    invalid = pd.isna(names) | pd.DataFrame({"query": query, "name": texts}).duplicated().to_numpy()
    if invalid.any():
        row = int(np.argmax(invalid))
        raise ValueError(
            f"documents must not be missing, and must be different within a query; documents[{row}] is "
            f"{names.tolist()[row]!r}, in the query {str(queries.ids[query[row]])!r}"
        )
    return np.unique(queries.group(texts), return_inverse=True)[1].astype(np.float64)


class ProbabilityReciprocalRank(ExpectedReciprocalRank):
    """Expected reciprocal rank of labels that are themselves probabilities to be satisfied, as in CatBoost."""

    def satisfaction(self, labels: GroupedLabels) -> Floats:
        return labels.values


class LastRankAveragePrecision(AveragePrecision):
    """Average precision without a cutoff, where tied documents have the rank of the last of them, as in scikit-learn.

    ``AP = (1/R) sum over relevant documents i of #{relevant j: s_j >= s_i} / #{j: s_j >= s_i}``.
    """

    def per_block(self, gains: Floats, relevant: Floats, queries: Segments) -> Callable[[RankedBlock], Floats]:
        def values(ranked: RankedBlock) -> Floats:
            part, tied, found = ranked.part, ranked.tied, gains[ranked.rows]
            last = tied.ends - 1
            found_until = part.sum_before(found)[last] + found[last]
            return part.sum(found * tied.repeat(found_until / (part.positions[last] + 1))) / relevant[ranked.segments]

        return values
