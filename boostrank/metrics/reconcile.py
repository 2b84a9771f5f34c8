"""The NDCG that other libraries compute for the same labels and scores, and the conventions that explain differences.

No other library is imported; their conventions are in :data:`boostrank.metrics.CONVENTIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.dcg import DCG, Discount, Gain, Ties, check_ties
from boostrank.metrics.base import as_value
from boostrank.metrics.input_checks import labels_scores_queries
from boostrank.metrics.library_conventions import CONVENTIONS, STEPS, Convention, Settings, setting_text
from boostrank.metrics.query_mean import Empty, QueryMean
from boostrank.queries import Queries
from boostrank.segments import Floats
from boostrank.setting_checks import is_count
from boostrank.weights import query_weights

if TYPE_CHECKING:
    import pandas as pd

# Parts of a difference below this are due to rounding.
ROUNDING_TOLERANCE = 1e-12
# Parts that four decimals would show as 0 are written with an exponent.
MIN_SHOWN_PART = 5e-5


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation:
    """Result of :func:`reconcile`; if it is printed, it shows a table with the reasons of each difference.

    Attributes
    ----------
    value : float
        NDCG with the settings of the call.
    settings : Settings
        Settings of the call.
    n_queries, n_empty, n_single : int
        Number of queries, of queries without relevant documents, and of queries of one document.
    table : DataFrame
        One row per metric of a library, with the columns:

        library, metric
            Name of the library, and name of the metric in it.
        empty, labels, gain, discount, k, scores, ties, weights, one_document
            Conventions of the metric; see :data:`boostrank.metrics.CONVENTIONS`.
        value
            Value of the metric; NaN if the library does not take these data.
        low, high
            Bounds of the value if the library ranks tied documents by no rule; otherwise the value itself.
        difference
            `value` of the row minus `value` of this result.
        from_empty, from_labels, ..., from_weights
            Parts of the difference due to each convention, in the sequence of their columns; their sum is `difference`.
        because
            The parts that are not 0, as text, or the reason why the library does not take these data.
    """

    value: float
    settings: Settings
    n_queries: int
    n_empty: int
    n_single: int
    table: pd.DataFrame

    @property
    def head(self) -> str:
        """One line with the value, the settings and the numbers of queries."""
        asked = ", ".join(
            setting_text(step, getattr(self.settings, step)) for step in ("gain", "discount", "ties", "empty")
        )
        name = "NDCG" if self.settings.k is None else f"NDCG@{self.settings.k}"
        counts = f"{self.n_queries} queries, {self.n_empty} of them empty, {self.n_single} of one document"
        return f"{name} = {self.value:.4f} ({asked}): {counts}"

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Library, metric, value, difference and reasons of each row of the printed table, as text."""
        known = self.table["value"].notna()
        columns = (
            self.table["library"],
            self.table["metric"],
            self.table["value"].map("{:.4f}".format).where(known, "-"),
            self.table["difference"].map("{:+.4f}".format).where(known, "-"),
            self.table["because"],
        )
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def __repr__(self) -> str:
        rows = [("library", "metric", "value", "diff", "because"), *self.rows]
        width = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = (f"{a:<{width[0]}}  {b:<{width[1]}}  {c:>{width[2]}}  {d:>{width[3]}}  {e}" for a, b, c, d, e in rows)
        return "\n".join([self.head, *(line.rstrip() for line in lines)])


def reconcile(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    k: int | None = None,
    gain: Gain = "exp2",
    discount: Discount = "log2",
    ties: Ties = "average",
    empty: Empty = "zero",
    sample_weight: ArrayLike | None = None,
    documents: ArrayLike | None = None,
) -> Reconciliation:
    """Compute the NDCG@k of other libraries, and explain its differences to :func:`boostrank.ndcg_score`.

    The libraries need not be installed: each value is an NDCG with the conventions of a library. To explain a
    difference, the conventions are changed one after the other from those of the call to those of the library: first
    the value of empty queries, then labels, gain, discount, cutoff, precision of scores, tie rule and weights. The sum
    of the parts is the difference. Another sequence of changes could give other parts.

    Parameters
    ----------
    y_true, y_score, qid, gain, discount, ties, empty, sample_weight
        As in :func:`boostrank.ndcg_score`. The libraries are compared with these settings.
    k : int, optional
        Cutoff. None: all ranks, except for XGBoost's ``ndcg``, which then counts 32 ranks.
    documents : array-like of str, shape (n_documents,), optional
        Names of the documents, different within a query, by which pytrec_eval ranks tied documents. The default is the
        row numbers "0", "1", ...

    Returns
    -------
    Reconciliation

    Raises
    ------
    ValueError
        As :func:`boostrank.ndcg_score`. Also if `k` is a fraction, and if there is not one name in `documents` for each
        row, if a name is missing, or if two documents of a query have the same name.

    Notes
    -----
    The discounts ``1 / ln(1 + r)`` and ``1 / log2(1 + r)`` give the same NDCG, because the base cancels. For a query of
    one document scikit-learn's `ndcg_score` raises an error; here it is counted as any other query. ranx uses an
    unstable sort for queries of more than 15 documents, so that its ranking of tied documents cannot be predicted; its
    values here rank them by row number, and `low` and `high` are their bounds.

    Examples
    --------
    >>> reconcile([2, 0, 1, 0, 0], [0.5, 0.5, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"], k=3)
    NDCG@3 = 0.4057 (exp2 gain, log2 discount, ties averaged, empty 0): 2 queries, 1 of them empty, 0 of one document
    library       metric                value     diff  because
    scikit-learn  ndcg_score(k=3)      0.4050  -0.0008  linear gain -0.0008
    LightGBM      ndcg@3               0.9820  +0.5762  empty 1 +0.5000; ties by row +0.0762
    XGBoost       ndcg@3               0.9820  +0.5762  empty 1 +0.5000; ties by row +0.0762
    XGBoost       ndcg@3-              0.4820  +0.0762  ties by row +0.0762
    CatBoost      NDCG:top=3           0.8348  +0.4291  empty 1 +0.5000; linear gain -0.0008; ties worst -0.0701
    CatBoost      NDCG:top=3;type=Exp  0.8295  +0.4238  empty 1 +0.5000; ties worst -0.0762
    pytrec_eval   ndcg_cut_3           0.3348  -0.0709  linear gain -0.0008; ties by name -0.0701
    ranx          ndcg@3               0.4751  +0.0694  linear gain -0.0008; ties by row +0.0701
    ranx          ndcg_burges@3        0.4820  +0.0762  ties by row +0.0762
    """
    if k is not None and not is_count(k):
        raise ValueError(
            f"k must be None or an integer of at least 1, because other libraries have no other cutoffs; got {k!r}"
        )
    check_ties(ties)
    DCG(k, gain, discount)
    import pandas as pd

    data = _Data(y_true, y_score, qid, documents)
    weights = None if sample_weight is None else query_weights(sample_weight, data.queries, grouped=False)
    ours = Settings(empty, "given", as_value(gain), as_value(discount), k, "given", ties, "queries")
    value, sizes = data.mean(ours, weights), data.queries.sizes
    rows = [_row(convention, ours, data, weights) for convention in CONVENTIONS]
    n_empty, n_single = int(np.isnan(data.per_query(ours)).sum()), int((sizes == 1).sum())
    return Reconciliation(value, ours, len(sizes), n_empty, n_single, pd.DataFrame(rows))


class _Data:
    """Labels and scores of queries, with their NDCG for different settings, which is cached."""

    def __init__(
        self, y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None, documents: ArrayLike | None
    ) -> None:
        relevance, scores, self.queries = labels_scores_queries(y_true, y_score, qid, "reconcile")
        self.relevance = {"given": relevance, "truncated": np.floor(relevance)}
        self.scores = {"given": scores}
        # Scores outside of the range of float32 become infinite, and are then tied.
        with np.errstate(over="ignore"):
            for kind in ("float64", "float32"):
                self.scores[kind] = self.queries.group(np.ravel(y_score)).astype(kind).astype(np.float64)
        self.by_name = self.queries.sort(_name_codes(documents, self.queries))
        self._known: dict[Settings, Floats] = {}

    def per_query(self, settings: Settings) -> Floats:
        """NDCG of each query, shape (n_queries,); NaN for queries without relevant documents."""
        key = replace(settings, empty="zero", weights="queries")
        if key not in self._known:
            dcg = DCG(settings.k, settings.gain, settings.discount)
            gains, scores = dcg.gains(self.relevance[settings.labels]), self.scores[settings.scores]
            if settings.ties == "names":
                values = dcg.ndcg(gains[self.by_name], scores[self.by_name], self.queries, "stable")
            else:
                values = dcg.ndcg(gains, scores, self.queries, settings.ties)
            self._known[key] = values
        return self._known[key]

    def mean(self, settings: Settings, weights: Floats | None, values: Floats | None = None) -> float:
        """Mean over queries of `values`, which are NDCG by default, with the empty and weights of `settings`."""
        values = self.per_query(settings) if values is None else values
        undefined = np.isnan(values)
        if settings.weights == "ignored":
            weights = None
        mean = QueryMean(undefined, self.queries, settings.empty, weights)
        if weights is None or settings.weights == "queries":
            return mean(values)
        return float(mean.fill(values) @ np.where(undefined, 1.0, weights) / weights.sum())


def _row(convention: Convention, ours: Settings, data: _Data, weights: Floats | None) -> dict[str, Any]:
    """The row of a metric in the table of a :class:`Reconciliation`."""
    k = None if ours.k is None else int(ours.k)
    theirs = convention.settings(k)
    row: dict[str, Any] = {"library": convention.library, "metric": convention.name(k, data.queries.sizes.max())}
    row.update({step: getattr(theirs, step) for step in STEPS})
    row.update({"labels": convention.labels, "one_document": convention.one_document})
    values = [data.mean(ours, weights)]
    refused = convention.refuses(data.relevance["given"], data.queries)
    if not refused:
        for step in STEPS:
            ours = replace(ours, **{step: getattr(theirs, step)})
            values.append(data.mean(ours, weights))
        if values[-1] > convention.max_value:
            refused = f"stops with an error, because its weighted mean is above 1: {values[-1]:.4f}"
    if refused:
        numbers = ("value", "low", "high", "difference", *(f"from_{step}" for step in STEPS))
        row.update(dict.fromkeys(numbers, np.nan))
        row["because"] = refused
        return row
    low, high = _bounds(convention, theirs, data, weights)
    parts = dict(zip(STEPS, np.diff(values).tolist(), strict=True))
    because = [
        f"{setting_text(step, getattr(theirs, step))} {_signed(part)}"
        for step, part in parts.items()
        if abs(part) > ROUNDING_TOLERANCE
    ]
    if high - low > ROUNDING_TOLERANCE:
        because.append(f"ties: {low:.4f} to {high:.4f}")
    row.update({"value": values[-1], "low": low, "high": high, "difference": values[-1] - values[0]})
    row.update({f"from_{step}": part for step, part in parts.items()})
    row["because"] = "; ".join(because)
    return row


def _bounds(convention: Convention, theirs: Settings, data: _Data, weights: Floats | None) -> tuple[float, float]:
    """Smallest and largest value over the permutations of tied documents that the library ranks by no rule."""
    max_stable = np.inf if convention.unstable_above is None else convention.unstable_above
    unstable, values = data.queries.sizes > max_stable, data.per_query(theirs)
    if not unstable.any():
        value = data.mean(theirs, weights)
        return value, value
    worst = np.where(unstable, data.per_query(replace(theirs, ties="worst")), values)
    best = np.where(unstable, data.per_query(replace(theirs, ties="best")), values)
    return data.mean(theirs, weights, worst), data.mean(theirs, weights, best)


def _name_codes(documents: ArrayLike | None, queries: Queries) -> Floats:
    """Index of the name of each grouped document in the sorted list of all names, shape (n_documents,)."""
    names: NDArray[Any] = (
        np.arange(queries.n_documents).astype(str) if documents is None else _checked_names(documents, queries)
    )
    codes = np.unique(queries.group(names), return_inverse=True)[1].astype(np.float64)
    descending = codes[queries.sort(codes)]
    twice = np.flatnonzero((descending[1:] == descending[:-1]) & (queries.positions[1:] > 0))
    if len(twice):
        query = queries.ids[np.searchsorted(queries.indptr, twice[0], side="right") - 1]
        raise ValueError(f"documents must be different within a query; query {str(query)!r} has one twice")
    return codes


def _checked_names(documents: ArrayLike, queries: Queries) -> NDArray[Any]:
    """Names of documents as text; ValueError if there is not one for each document, or one is missing."""
    import pandas as pd

    names = np.asarray(documents)
    if names.shape != (queries.n_documents,):
        raise ValueError(
            f"documents must have one name for each of {queries.n_documents} rows; got shape {names.shape}"
        )
    missing = pd.isna(names)
    if missing.any():
        raise ValueError(f"documents must not be missing; documents[{int(np.argmax(missing))}] is")
    return names.astype(str)


def _signed(part: float) -> str:
    """A part of a difference as text."""
    return f"{part:+.4f}" if abs(part) >= MIN_SHOWN_PART else f"{part:+.0e}"
