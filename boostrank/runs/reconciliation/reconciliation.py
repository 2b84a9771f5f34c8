"""Values of other libraries for the same labels and scores, and the conventions that explain differences.

No other library is imported; their conventions are in :data:`boostrank.runs.CONVENTIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_count
from boostrank.metrics.base import Measure, QueryMeasure
from boostrank.metrics.registry import get_measure
from boostrank.queries.weights import query_weights
from boostrank.runs.evaluation import TREC_EVAL, for_runs, join, measures_of_runs
from boostrank.runs.reconciliation.conventions import CONVENTIONS, KINDS, Convention, Kind, Settings, setting_text
from boostrank.runs.reconciliation.values import ReconciledValues
from boostrank.runs.trec_tables import as_qrels, as_run
from boostrank.tables.html import html_table
from boostrank.tables.text import text_lines

# Parts of a difference below this are due to rounding.
ROUNDING_TOLERANCE = 1e-12
# Parts that four decimals would show as 0 are written with an exponent.
MIN_SHOWN_PART = 5e-5


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation:
    """Result of :func:`reconcile` and :func:`reconcile_run`; printed, it shows a table with reasons of differences.

    Attributes
    ----------
    kind : Kind
        The kind of measure.
    value : float
        Our measure with the settings of the call.
    settings : Settings
        Settings of the call.
    n_queries, n_empty, n_single : int
        Number of queries, of queries without relevant documents, and of queries of one document.
    table : DataFrame
        One row per metric of a library, with the columns:

        library, metric
            Name of the library, and name of the metric in it.
        empty, labels, ..., weights
            Conventions of the metric: those of `kind.steps`, which are described in
            :class:`boostrank.runs.reconciliation.conventions.Settings`.
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

    Examples
    --------
    >>> result = reconcile([1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], qid=[7, 7, 8, 8], measure="ndcg@10")
    >>> result.head
    'NDCG@10 = 0.3155 (exp2 gain, log2 discount, ties averaged, empty 0): 2 queries, 1 of them empty, 0 of one document'
    >>> [row[:4] for row in result.rows if row[0] == "LightGBM"]
    [('LightGBM', 'ndcg@10', '0.8155', '+0.5000')]
    """

    kind: Kind
    value: float
    settings: Settings
    n_queries: int
    n_empty: int
    n_single: int
    table: pd.DataFrame

    @property
    def head(self) -> str:
        """One line with the value, the settings and the numbers of queries."""
        settings = self.settings
        texts = ", ".join(setting_text(step, getattr(settings, step)) for step in (*self.kind.shown, "ties", "empty"))
        name = self.kind.title if settings.k is None else f"{self.kind.title}@{settings.k}"
        counts = f"{self.n_queries} queries, {self.n_empty} of them empty, {self.n_single} of one document"
        return f"{name} = {self.value:.4f} ({texts}): {counts}"

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Library, metric, value, difference and reasons of each row of the printed table, as text."""
        known, forms = self.table["value"].notna(), {"value": "{:.4f}", "difference": "{:+.4f}"}
        numbers = [self.table[name].map(form.format).where(known, "-") for name, form in forms.items()]
        columns = (self.table["library"], self.table["metric"], *numbers, self.table["because"])
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def __repr__(self) -> str:
        rows = [("library", "metric", "value", "diff", "because"), *self.rows]
        return "\n".join([self.head, *text_lines(rows, 2, last_is_text=True)])

    def _repr_html_(self) -> str:
        """The printed table as HTML, for notebooks."""
        rows = [(a, b, e, c, d) for a, b, c, d, e in [("library", "metric", "value", "diff", "because"), *self.rows]]
        return html_table(rows, self.head, n_texts=3)


def reconcile(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: ArrayLike | None = None,
    measure: str | Measure = "ndcg",
    *,
    sample_weight: ArrayLike | None = None,
    documents: ArrayLike | None = None,
    **settings: Any,
) -> Reconciliation:
    """Compute what other libraries give for a measure, and explain how it differs from our value.

    The libraries are scikit-learn, LightGBM, XGBoost, CatBoost, pytrec_eval, ranx, ir_measures and torchmetrics, as
    far as they have the measure. They need not be installed: each value is our measure with the
    conventions of a library, which are in :data:`boostrank.runs.CONVENTIONS` for the kinds of measures. To explain a
    difference, the conventions are changed one after the other from those of the call to those of the library: first
    the value of empty queries, then labels, which labels are relevant, gain, largest grade, discount, cutoff, what the
    sum is divided by, precision of scores, scores that relevant documents can have, tie rule, rounding and weights, as
    far as the measure has them. The sum of the parts is the difference. Another sequence of changes could give other
    parts.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As in :func:`boostrank.ndcg_score`.
    measure : str or Measure, default "ndcg"
        An argument of :func:`boostrank.get_measure`, such as ``"map@10"`` or ``"P(rel=2)@5"``. NDCG, MAP, MRR, ERR and
        precision are known.
    documents : array-like of str, shape (n_documents,), optional
        Names of the documents, different within a query, by which pytrec_eval and ir_measures rank tied documents. The
        default is the row numbers "0", "1", ...
    **settings
        Settings of the measure, as in :func:`boostrank.get_measure`: `k`, `ties`, `empty` and others. The libraries are
        compared with these settings. A cutoff `k` must be an integer or None; XGBoost's metrics without a cutoff count
        32 ranks. A `threshold` is passed to those libraries that have it.

    Returns
    -------
    Reconciliation

    Raises
    ------
    ValueError
        As :func:`boostrank.get_measure` and the function of the metric. Also for another measure, if `k` is a fraction,
        and if there is not one name in `documents` for each row, if a name is missing, or if two documents of a query
        have the same name.
    TypeError
        For a setting that the measure does not have.

    Notes
    -----
    The discounts ``1 / ln(1 + r)`` and ``1 / log2(1 + r)`` give the same NDCG, because the base cancels. For a query of
    one document scikit-learn's `ndcg_score` raises an error; here it is counted as any other query.

    Some libraries rank tied documents by no rule, and `low` and `high` are the bounds of their value. ranx uses an
    unstable sort for queries of more than 15 documents; the value here ranks their tied documents by row number.
    torchmetrics ranks tied documents by the partial sort of PyTorch; the value here is the mean over all permutations.

    torchmetrics takes no document whose score is 0 or less as relevant, except in NDCG. CatBoost's ERR takes labels as
    probabilities. If no largest grade is given for our ERR, it is the largest label.

    Examples
    --------
    >>> reconcile([2, 0, 1, 1, 0], [0.5, 0.5, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"], k=3)
    NDCG@3 = 0.9057 (exp2 gain, log2 discount, ties averaged, empty 0): 2 queries, 0 of them empty, 0 of one document
    library       metric                            value     diff  because
    ─────────────────────────────────────────────────────────────────────────────────────────────────────────
    scikit-learn  ndcg_score(k=3)                  0.9050  -0.0008  linear gain -0.0008
    LightGBM      ndcg@3                           0.9820  +0.0762  ties by row +0.0762
    XGBoost       ndcg@3                           0.9820  +0.0762  ties by row +0.0762
    XGBoost       ndcg@3-                          0.9820  +0.0762  ties by row +0.0762
    CatBoost      NDCG:top=3                       0.8348  -0.0709  linear gain -0.0008; ties worst -0.0701
    CatBoost      NDCG:top=3;type=Exp              0.8295  -0.0762  ties worst -0.0762
    pytrec_eval   ndcg_cut_3                       0.8348  -0.0709  linear gain -0.0008; ties by name -0.0701
    ranx          ndcg@3                           0.9751  +0.0694  linear gain -0.0008; ties by row +0.0701
    ranx          ndcg_burges@3                    0.9820  +0.0762  ties by row +0.0762
    ir_measures   nDCG@3                           0.8348  -0.0709  linear gain -0.0008; ties by name -0.0701
    ir_measures   nDCG(dcg='exp-log2')@3           0.8295  -0.0762  ties by name -0.0762; 5 decimals -9e-07
    torchmetrics  RetrievalNormalizedDCG(top_k=3)  0.9050  -0.0008  linear gain -0.0008
    >>> reconcile([1, 0, 1, 0, 0], [0.5, 0.5, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"], "mrr@3")
    MRR@3 = 0.3750 (relevant from 1, ties averaged, empty 0): 2 queries, 1 of them empty, 0 of one document
    library       metric                  value     diff  because
    ──────────────────────────────────────────────────────────────────────────────
    CatBoost      MRR:top=3              0.2500  -0.1250  ties worst -0.1250
    pytrec_eval   recip_rank             0.2500  -0.1250  ties by name -0.1250
    ranx          mrr@3                  0.5000  +0.1250  ties by row +0.1250
    ir_measures   RR                     0.2500  -0.1250  ties by name -0.1250
    ir_measures   RR@3                   0.5000  +0.1250  ties by name a-z +0.1250
    torchmetrics  RetrievalMRR(top_k=3)  0.3750  +0.0000  ties: 0.2500 to 0.5000
    """
    chosen = get_measure(measure, **settings)
    kind = _kind_of(chosen, measure)
    assert isinstance(chosen, QueryMeasure)
    chosen.check_domain("arrays")
    data = ReconciledValues(kind, y_true, y_score, qid, documents)
    weights = None if sample_weight is None else query_weights(sample_weight, data.queries, grouped=False)
    return _reconciliation(data, _settings_of(chosen, kind, data), weights)


def reconcile_run(
    qrels: Any,
    run: Any,
    measure: str | Measure = "nDCG@10",
    *,
    ties: str = TREC_EVAL,
    unjudged: str = "zero",
    queries: str | None = None,
    **settings: Any,
) -> Reconciliation:
    """Compute what other libraries give for a measure of a run, and explain how it differs from our value.

    pytrec_eval, ir_measures and ranx get the judgments and the run. So relevant documents that were not retrieved count
    in the ideal DCG and in the number of relevant documents. ranx is called with ``make_comparable=True``. The other
    libraries take arrays, and their values are those for a left merge of the run with the judgments, in which such
    documents are lost, documents without a judgment are irrelevant, and queries that only one of both has are left out.
    Of the conventions of :func:`boostrank.reconcile`, the queries and the documents that count come after the value of
    empty queries.

    Parameters
    ----------
    qrels, run, ties, unjudged, queries
        As in :func:`boostrank.evaluate_run`, which gives our value. Judgments below 0 count as 0 for all libraries.
    measure, **settings
        As in :func:`boostrank.reconcile`; names of ir_measures have its conventions.

    Returns
    -------
    Reconciliation

    Raises
    ------
    ValueError, TypeError
        As :func:`boostrank.evaluate_run` and :func:`boostrank.reconcile`.

    Examples
    --------
    >>> qrels = {"301": {"a": 2, "b": 1, "c": 0, "d": 1}, "302": {"a": 1}}
    >>> run = {"301": {"c": 3.0, "a": 2.0, "x": 1.0}, "302": {"a": 2.0, "b": 1.0}}
    >>> found = reconcile_run(qrels, run, "nDCG@10")
    >>> print(found.head)
    NDCG@10 = 0.7015 (linear gain, log2 discount, ties by name, empty 0): 2 queries, 0 of them empty, 0 of one document
    >>> found.table.set_index("library").loc[["pytrec_eval", "scikit-learn"], ["value", "because"]].round(4)
                   value                                  because
    library
    pytrec_eval   0.7015
    scikit-learn  0.8155  retrieved documents only +0.1139
    """
    ((name, named),) = measures_of_runs([measure]).items()
    chosen = for_runs(name, get_measure(named, **settings), ties, unjudged)
    kind = _kind_of(chosen, measure)
    kind = replace(kind, own=(*kind.own, "queries", "documents"))
    # ir_measures and ranx count the queries that are not in the run.
    judged = join(as_qrels(qrels), as_run(run), trec_ties=False, queries="judged" if queries == "common" else queries)
    assert judged.ranking is not None
    scores = np.zeros(len(judged.labels))
    scores[judged.ranking.rows] = judged.ranking.scores
    names = judged.texts.take(judged.row)
    data = ReconciledValues(kind, judged.labels, scores, judged.queries.qid, names, judged)
    of_run: dict[str, Any] = {"queries": queries or "judged", "documents": "judged" if chosen.judged_only else "all"}
    if ties == TREC_EVAL:
        of_run |= {"ties": "names", "scores": "float32"}
    return _reconciliation(data, replace(_settings_of(chosen, kind, data), **of_run), None)


def _kind_of(chosen: Measure, given: object) -> Kind:
    """The kind of a measure; raise ValueError if it is not known, or if its cutoff is a fraction."""
    kind = KINDS.get(getattr(chosen, "name", ""))
    if kind is None or type(chosen) is not kind.measure:
        known = ", ".join(KINDS)
        raise ValueError(f"measure must be one of {known}, such as 'ndcg@10' or 'map'; got {given!r}")
    check_count("k", getattr(chosen, "k", None), optional=True)  # Other libraries have no other cutoffs.
    return kind


def _reconciliation(data: ReconciledValues, ours: Settings, weights: Floats | None) -> Reconciliation:
    """The values of all libraries, compared with our measure with the settings `ours`."""
    kind, value = data.kind, data.mean(ours, weights)
    rows = [_row(convention, ours, data, weights) for convention in CONVENTIONS[kind.measure.name]]
    counted = data.counted(ours)
    n_empty, n_single = np.isnan(data.per_query(ours)[counted]).sum(), (data.sizes[counted] == 1).sum()
    return Reconciliation(kind, value, ours, int(counted.sum()), int(n_empty), int(n_single), pd.DataFrame(rows))


def _settings_of(measure: QueryMeasure, kind: Kind, data: ReconciledValues) -> Settings:
    """The settings of our measure."""
    own = {field.name: getattr(measure, field.name) for field in fields(measure) if field.name in kind.steps}
    if own.get("k") is not None:
        own["k"] = int(own["k"])
    if "max_grade" in kind.steps:
        own["gain"] = "exp2"
        if own["max_grade"] is None:
            own["max_grade"] = float(data.labels["given"].max()) or 1.0
    if "depth" in kind.steps:
        own["depth"] = "cutoff"
    return Settings(**own)


def _row(convention: Convention, ours: Settings, data: ReconciledValues, weights: Floats | None) -> dict[str, Any]:
    """The row of a metric in the table of a :class:`Reconciliation`."""
    theirs, steps = convention.settings(ours), data.kind.steps
    row: dict[str, Any] = {"library": convention.library, "metric": convention.name(ours, data.sizes.max())}
    row.update({step: getattr(theirs, step) for step in steps})
    row["labels"] = convention.labels
    values = [data.mean(ours, weights)]
    labels = data.labels["given"][data.retrieved] if theirs.documents == "retrieved" else data.labels["given"]
    refused = convention.refuses(labels, data.sizes.max(), ours.threshold)
    if not refused:
        for step in steps:
            ours = replace(ours, **{step: getattr(theirs, step)})
            values.append(data.mean(ours, weights))
        if values[-1] > convention.max_value:
            refused = f"stops with an error, because its weighted mean is above 1: {values[-1]:.4f}"
    if refused:
        numbers = ("value", "low", "high", "difference", *(f"from_{step}" for step in steps))
        row.update(dict.fromkeys(numbers, np.nan))
        row["because"] = refused
        return row
    low, high = _bounds(convention, theirs, data, weights)
    parts = dict(zip(steps, np.diff(values).tolist(), strict=True))
    because = [
        f"{setting_text(step, getattr(theirs, step))} {_signed(part)}"
        for step, part in parts.items()
        if abs(part) > ROUNDING_TOLERANCE
    ]
    if low != high:
        because.append(f"ties: {low:.4f} to {high:.4f}")
    row.update({"value": values[-1], "low": low, "high": high, "difference": values[-1] - values[0]})
    row.update({f"from_{step}": part for step, part in parts.items()})
    row["because"] = "; ".join(because)
    return row


def _bounds(
    convention: Convention, theirs: Settings, data: ReconciledValues, weights: Floats | None
) -> tuple[float, float]:
    """Smallest and largest value over the permutations of tied documents that the library ranks by no rule."""
    max_stable = np.inf if convention.unstable_above is None else convention.unstable_above
    unstable, values = data.sizes > max_stable, data.per_query(theirs)
    value = data.mean(theirs, weights)
    if not unstable.any():
        return value, value
    low, high = (
        data.mean(theirs, weights, np.where(unstable, data.per_query(replace(theirs, ties=ties)), values))
        for ties in ("worst", "best")
    )
    # Without ties the three differ by rounding alone.
    return (value, value) if high - low <= ROUNDING_TOLERANCE else (low, high)


def _signed(part: float) -> str:
    """A part of a difference as text."""
    return f"{part:+.4f}" if abs(part) >= MIN_SHOWN_PART else f"{part:+.0e}"
