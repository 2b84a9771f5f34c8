"""Values of other libraries for the same labels and scores, and reasons of differences.

The reasons are conventions. No other library is imported; their conventions are in
:data:`boostrank.runs.CONVENTIONS`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from boostrank.inputs.arrays import Bools, Floats, Ints, as_array, check_lengths
from boostrank.inputs.checks import check_count, refuse
from boostrank.kernels.ranked_measures import PerBlock
from boostrank.metrics.base import Measure, QueryMeasure
from boostrank.metrics.binary import AveragePrecision
from boostrank.metrics.labels import GroupedLabels, labels_scores_queries
from boostrank.metrics.names import MEASURES, measure_name
from boostrank.metrics.registry import get_measure
from boostrank.metrics.summaries import fill_undefined, mean_of_queries
from boostrank.queries.queries import Queries
from boostrank.queries.rankings import RankedBlock
from boostrank.queries.segments import Segments
from boostrank.queries.weights import query_weights
from boostrank.runs.conventions import CONVENTIONS, STEPS, Convention, Settings, setting_text
from boostrank.runs.evaluation import (
    JudgedRun,
    for_runs,
    join,
    measures_of_runs,
    ranking_of,
    values_of_ranking,
)
from boostrank.runs.trec_tables import Source, as_qrels, as_run
from boostrank.text.tables import html_table, text_lines

# Parts of a difference below this are due to rounding.
ROUNDING_TOLERANCE = 1e-12
# Parts that four decimals would show as 0 are written with an exponent.
MIN_SHOWN_PART = 5e-5
_HEADER = ("library", "metric", "value", "diff", "because")


@dataclass(frozen=True, eq=False, repr=False)
class Reconciliation:
    """Result of :func:`reconcile` and :func:`reconcile_run`.

    Printed, it shows a table with the reasons of differences.

    Attributes
    ----------
    name : str
        Name of the measure: "ndcg", "map" or "mrr".
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
            Conventions of the metric, which are described in
            :class:`boostrank.runs.conventions.Settings`.
        value
            Value of the metric; NaN if the library does not take these data.
        low, high
            Bounds of the value if the library ranks tied documents by no rule; otherwise the value
            itself.
        difference
            `value` of the row minus `value` of this result.
        from_empty, from_labels, ..., from_weights
            Parts of the difference due to each convention, in the sequence of their columns; their
            sum is `difference`.
        because
            The parts that are not 0, as text, or the reason why the library does not take these
            data.

    Examples
    --------
    >>> import boostrank as br
    >>> result = br.reconcile(
    ...     [1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], qid=[7, 7, 8, 8], measure="ndcg@10"
    ... )
    >>> result.head
    'NDCG@10 = 0.3155 (exp2 gain, log2 discount, ties averaged, empty 0): 2 queries,
    1 of them empty, 0 of one document'
    >>> [row[:4] for row in result.rows if row[0] == "LightGBM"]
    [('LightGBM', 'ndcg@10', '0.8155', '+0.5000')]
    """

    name: str
    value: float
    settings: Settings
    n_queries: int
    n_empty: int
    n_single: int
    table: pd.DataFrame

    @property
    def head(self) -> str:
        """One line with the value, the settings and the numbers of queries."""
        texts = [
            setting_text(step, getattr(self.settings, step))
            for step in ("threshold", "gain", "discount", "denominator", "ties", "empty")
            if step in STEPS[self.name]
        ]
        name = measure_name(self.name.upper(), {}, self.settings.k)
        return (
            f"{name} = {self.value:.4f} ({', '.join(texts)}): {self.n_queries} queries, "
            f"{self.n_empty} of them empty, {self.n_single} of one document"
        )

    @property
    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Texts of the rows of the printed table: library, metric, value, difference, reasons."""
        table = self.table[["library", "metric", "value", "difference", "because"]].copy()
        has_value = table["value"].notna()
        for name, form in {"value": "{:.4f}", "difference": "{:+.4f}"}.items():
            table[name] = table[name].map(form.format).where(has_value, "-")
        return list(table.itertuples(index=False, name=None))

    def __repr__(self) -> str:
        rows = [_HEADER, *self.rows]
        return "\n".join([self.head, *text_lines(rows, 2, last_is_text=True)])

    def _repr_html_(self) -> str:
        """The printed table as HTML, for notebooks."""
        # Columns of texts come first.
        rows = [
            (library, metric, because, value, difference)
            for library, metric, value, difference, because in [_HEADER, *self.rows]
        ]
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

    The libraries are scikit-learn, LightGBM, XGBoost, CatBoost, pytrec_eval, ranx and ir_measures,
    as far as they have the measure. They need not be installed: each value is our measure with the
    conventions of a library, which are in :data:`boostrank.runs.CONVENTIONS` for the kinds of
    measures. To explain a difference, the conventions are changed one after the other from those of
    the call to those of the library: first the value of empty queries, then labels, which labels
    are relevant, gain, discount, cutoff, what the sum is divided by, precision of scores, tie rule,
    rounding and weights, as far as the measure has them. The sum of the parts is the difference.
    Another sequence of changes could give other parts.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As in :func:`boostrank.ndcg_score`.
    measure : str or Measure, default "ndcg"
        An argument of :func:`boostrank.get_measure`, such as ``"map@10"`` or ``"P(rel=2)@5"``.
        NDCG, MAP and MRR are known.
    documents : array-like of str, shape (n_documents,), optional
        Names of the documents, different within a query, by which pytrec_eval and ir_measures rank
        tied documents. The default is the row numbers "0", "1", ...
    **settings
        Settings of the measure, as in :func:`boostrank.get_measure`: `k`, `ties`, `empty` and
        others. The libraries are compared with these settings. A cutoff `k` must be an integer or
        None; XGBoost's metrics without a cutoff count 32 ranks. A `threshold` is passed to those
        libraries that have it.

    Returns
    -------
    Reconciliation

    Raises
    ------
    ValueError
        As :func:`boostrank.get_measure` and the function of the metric. Also for another measure,
        if `k` is a fraction, and if there is not one name in `documents` for each row, if a name is
        missing, or if two documents of a query have the same name.
    TypeError
        For a setting that the measure does not have.

    Notes
    -----
    The discounts ``1 / ln(1 + r)`` and ``1 / log2(1 + r)`` give the same NDCG, because the base
    cancels. For a query of one document scikit-learn's `ndcg_score` raises an error; here it is
    counted as any other query.

    ranx uses an unstable sort for queries of more than 15 documents. If there are any, `low` and
    `high` are the values with the worst and the best ranking of all tied documents; the value here
    ranks them by row number.

    Examples
    --------
    >>> import boostrank as br
    >>> br.reconcile([2, 0, 1, 1, 0], [0.5, 0.5, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"], k=3)
    NDCG@3 = 0.9057 (exp2 gain, log2 discount, ties averaged, empty 0): 2 queries,
    0 of them empty, 0 of one document
    library       metric                   value     diff  because
    ────────────────────────────────────────────────────────────────────────────────────────────────
    scikit-learn  ndcg_score(k=3)         0.9050  -0.0008  linear gain -0.0008
    LightGBM      ndcg@3                  0.9820  +0.0762  ties by row +0.0762
    XGBoost       ndcg@3                  0.9820  +0.0762  ties by row +0.0762
    XGBoost       ndcg@3-                 0.9820  +0.0762  ties by row +0.0762
    CatBoost      NDCG:top=3              0.8348  -0.0709  linear gain -0.0008; ties worst -0.0701
    CatBoost      NDCG:top=3;type=Exp     0.8295  -0.0762  ties worst -0.0762
    pytrec_eval   ndcg_cut_3              0.8348  -0.0709  linear gain -0.0008; ties by name -0.0701
    ranx          ndcg@3                  0.9751  +0.0694  linear gain -0.0008; ties by row +0.0701
    ranx          ndcg_burges@3           0.9820  +0.0762  ties by row +0.0762
    ir_measures   nDCG@3                  0.8348  -0.0709  linear gain -0.0008; ties by name -0.0701
    ir_measures   nDCG(dcg='exp-log2')@3  0.8295  -0.0762  ties by name -0.0762; 5 decimals -9e-07
    >>> br.reconcile([1, 0, 1, 0, 0], [0.5, 0.5, 0.1, 0.2, 0.1], ["a", "a", "a", "b", "b"], "mrr@3")
    MRR@3 = 0.3750 (relevant from 1, ties averaged, empty 0): 2 queries,
    1 of them empty, 0 of one document
    library      metric       value     diff  because
    ──────────────────────────────────────────────────────────────────
    CatBoost     MRR:top=3   0.2500  -0.1250  ties worst -0.1250
    pytrec_eval  recip_rank  0.2500  -0.1250  ties by name -0.1250
    ranx         mrr@3       0.5000  +0.1250  ties by row +0.1250
    ir_measures  RR          0.2500  -0.1250  ties by name -0.1250
    ir_measures  RR@3        0.5000  +0.1250  ties by name a-z +0.1250
    """
    our_measure = get_measure(measure, **settings)
    name = _known_name(our_measure, measure)
    assert isinstance(our_measure, QueryMeasure)
    data = ReconciledValues(name, y_true, y_score, qid, documents)
    weights = None
    if sample_weight is not None:
        weights = query_weights(sample_weight, data.queries, grouped=False)
    return _reconciliation(data, _settings_of(our_measure), weights)


def reconcile_run(
    qrels: Source,
    run: Source,
    measure: str | Measure = "nDCG@10",
    *,
    ties: str = "trec_eval",
    queries: str | None = None,
    **settings: Any,
) -> Reconciliation:
    """Compute what other libraries give for a measure of a run, and explain differences.

    The differences are those from our value. pytrec_eval, ir_measures and ranx get the judgments
    and the run. So relevant documents that were not retrieved count in the ideal DCG and in the
    number of relevant documents. ranx is called with ``make_comparable=True``. The other libraries
    take arrays, and their values are those for a left merge of the run with the judgments, in which
    such documents are lost, documents without a judgment are irrelevant, and queries that only one
    of both has are left out. Of the conventions of :func:`boostrank.reconcile`, the queries and the
    documents that count come after the value of empty queries.

    Parameters
    ----------
    qrels, run, ties, queries
        As in :func:`boostrank.evaluate_run`, which gives our value. Judgments below 0 count as 0
        for all libraries.
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
    >>> import boostrank as br
    >>> qrels = {"301": {"a": 2, "b": 1, "c": 0, "d": 1}, "302": {"a": 1}}
    >>> run = {"301": {"c": 3.0, "a": 2.0, "x": 1.0}, "302": {"a": 2.0, "b": 1.0}}
    >>> found = br.reconcile_run(qrels, run, "nDCG@10")
    >>> print(found.head)
    NDCG@10 = 0.7015 (linear gain, log2 discount, ties by name, empty 0): 2 queries,
    0 of them empty, 0 of one document
    >>> table = found.table.set_index("library")[["value", "because"]]
    >>> table.loc[["pytrec_eval", "scikit-learn"]].round(4)
                   value                                  because
    library
    pytrec_eval   0.7015
    scikit-learn  0.8155  retrieved documents only +0.1139
    """
    ((listed, named),) = measures_of_runs([measure]).items()
    our_measure = for_runs(listed, get_measure(named, **settings), ties)
    name = _known_name(our_measure, measure)
    # ir_measures and ranx count the queries that are not in the run.
    joined = "judged" if queries == "common" else queries
    judged = join(as_qrels(qrels), as_run(run), trec_ties=False, queries=joined)
    assert judged.ranking is not None
    scores = np.zeros(len(judged.labels))
    scores[judged.ranking.rows] = judged.ranking.scores
    documents = np.asarray(judged.texts.take(judged.row), dtype=object)
    qid = judged.queries.qid
    data = ReconciledValues(name, judged.labels, scores, qid, documents, judged)
    ours = replace(_settings_of(our_measure), queries=queries or "judged", documents="all")
    if ties == "trec_eval":
        ours = replace(ours, ties="names", scores="float32")
    return _reconciliation(data, ours, None)


def _known_name(our_measure: Measure, argument: object) -> str:
    """The name of a measure; ValueError if others do not have it, or its cutoff is a fraction."""
    name: str = getattr(our_measure, "name", "")
    if name not in STEPS or type(our_measure) is not MEASURES[name]:
        refuse("measure", argument, f"one of {', '.join(STEPS)}, such as 'ndcg@10' or 'map'")
    # Other libraries have no other cutoffs.
    check_count("k", getattr(our_measure, "k", None), optional=True)
    return name


def _reconciliation(
    data: ReconciledValues, ours: Settings, weights: Floats | None
) -> Reconciliation:
    """The values of all libraries, compared with our measure with the settings `ours`."""
    rows = [_row(convention, ours, data, weights) for convention in CONVENTIONS[data.name]]
    parts = [f"from_{step}" for step in data.steps]
    columns = ["library", "metric", *data.steps, "value", "low", "high", "difference", *parts]
    counted = data.counted(ours)
    return Reconciliation(
        name=data.name,
        value=data.mean(ours, weights),
        settings=ours,
        n_queries=int(counted.sum()),
        n_empty=int(np.isnan(data.per_query(ours)[counted]).sum()),
        n_single=int((data.sizes[counted] == 1).sum()),
        table=pd.DataFrame(rows, columns=[*columns, "because"]),
    )


def _settings_of(measure: QueryMeasure) -> Settings:
    """The settings of our measure."""
    settings = {field.name: getattr(measure, field.name) for field in fields(measure)}
    if settings["k"] is not None:
        settings["k"] = int(settings["k"])
    return Settings(**settings)


def _row(
    convention: Convention, ours: Settings, data: ReconciledValues, weights: Floats | None
) -> dict[str, Any]:
    """The row of a metric in the table; it has no numbers if the library refuses the data."""
    theirs = convention.settings(ours)
    longest = data.sizes.max()
    row: dict[str, Any] = {"library": convention.library, "metric": convention.name(ours, longest)}
    for step in data.steps:
        row[step] = getattr(theirs, step)
    row["labels"] = convention.labels
    labels = data.labels["given"]
    if theirs.documents == "retrieved":
        labels = labels[data.retrieved]
    row["because"] = convention.refuses(labels, longest, ours.threshold)
    if row["because"]:
        return row
    first = last = data.mean(ours, weights)
    reasons = []
    for step in data.steps:
        value = getattr(theirs, step)
        ours = replace(ours, **{step: value})
        before = last
        last = data.mean(ours, weights)
        part = last - before
        row[f"from_{step}"] = part
        if abs(part) > ROUNDING_TOLERANCE:
            reasons.append(f"{setting_text(step, value)} {_signed(part)}")
    if last > convention.max_value:
        fault = f"stops with an error, because its weighted mean is above 1: {last:.4f}"
        return {name: row[name] for name in ("library", "metric", *data.steps)} | {"because": fault}
    low = high = last
    if longest > convention.unstable_above:
        # The library ranks tied documents of long queries by no rule.
        low = data.mean(replace(theirs, ties="worst"), weights)
        high = data.mean(replace(theirs, ties="best"), weights)
    if high - low > ROUNDING_TOLERANCE:
        reasons.append(f"ties: {low:.4f} to {high:.4f}")
    row |= {"value": last, "low": low, "high": high, "difference": last - first}
    row["because"] = "; ".join(reasons)
    return row


def _signed(difference: float) -> str:
    """A part of a difference as text."""
    if abs(difference) >= MIN_SHOWN_PART:
        return f"{difference:+.4f}"
    return f"{difference:+.0e}"


class ReconciledValues:
    """Labels and scores of queries, with the values of a measure for different settings.

    The values are computed once for equal settings.

    Parameters
    ----------
    name : str
        Name of the measure.
    y_true, y_score, qid, documents
        As in :func:`boostrank.reconcile`.
    run : JudgedRun, optional
        The judgments and the ranking of these documents, which are grouped, if they are those of a
        run.
    """

    def __init__(
        self,
        name: str,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None,
        documents: ArrayLike | None,
        run: JudgedRun | None = None,
    ) -> None:
        labels, scores, self.queries = labels_scores_queries(y_true, y_score, qid, "reconcile")
        self.name = name
        self.labels = {"given": labels, "truncated": np.floor(labels)}
        #: The settings by which values can differ.
        self.steps = STEPS[name]
        if run is not None:
            empty, *others = self.steps
            self.steps = (empty, "queries", "documents", *others)
        self.scores = {"given": scores}
        grouped = self.queries.group(np.ravel(y_score))
        # Scores outside of the range of float32 become infinite, and are then tied.
        with np.errstate(over="ignore"):
            for precision in ("float64", "float32"):
                self.scores[precision] = grouped.astype(precision).astype(np.float64)
        codes = _name_codes(documents, self.queries)
        # Rows in the sequence of the names, so that the stable tie rule ranks tied documents by
        # their names.
        self.by_name = {
            "names": self.queries.sort(codes),
            "names ascending": self.queries.sort(-codes),
        }
        self.retrieved = np.ones(len(labels), dtype=bool)
        if run is not None and run.ranking is not None:
            self.retrieved[:] = False
            self.retrieved[run.ranking.rows] = True
        #: Number of ranked documents of each query, shape (n_queries,).
        self.sizes = self.queries.sum(self.retrieved.astype(np.int64))
        self._computed: dict[Settings, Floats] = {}

    def per_query(self, settings: Settings) -> Floats:
        """Value of each query, shape (n_queries,); NaN for queries without relevant documents.

        Documents of scores that relevant documents cannot have are irrelevant.
        """
        key = replace(settings, empty="skip", weights="queries", queries=None)
        if key not in self._computed:
            self._computed[key] = self._compute(key)
        return self._computed[key]

    def _compute(self, settings: Settings) -> Floats:
        queries = self.queries
        labels = self.labels[settings.labels]
        if settings.documents == "retrieved":
            labels = np.where(self.retrieved, labels, 0.0)
        scores = self.scores[settings.scores]
        rows = self.by_name.get(settings.ties)
        if rows is None:
            rows = queries.sort(scores)
        else:
            rows = rows[queries.sort(scores[rows])]
        prepared = _measure(self.name, settings).prepare(GroupedLabels(labels[rows], queries))
        ranking = ranking_of(self.retrieved[rows], scores[rows], queries)
        values = np.where(prepared.undefined, np.nan, values_of_ranking(prepared, ranking))
        if settings.decimals is not None:
            values = np.round(values, settings.decimals)
        return values

    def counted(self, settings: Settings) -> Bools:
        """Whether each query counts in the mean, shape (n_queries,)."""
        return (self.sizes > 0) | (settings.queries != "common")

    def mean(self, settings: Settings, weights: Floats | None) -> float:
        """Mean of the measure over queries, with the weights of `settings`."""
        counted = self.counted(settings)
        values = self.per_query(settings)[counted]
        queries = Queries.from_sizes(self.queries.sizes[counted], self.queries.ids[counted])
        undefined = np.isnan(values)
        if weights is None or settings.weights == "ignored":
            weights = np.ones(len(undefined))
        reason = "has no relevant document"
        filled = fill_undefined(
            values, undefined, queries, settings.empty, weights, reason, self.name
        )
        if settings.weights != "not of empty queries":
            return mean_of_queries(filled, weights)
        return float(filled @ np.where(undefined, 1.0, weights) / weights.sum())


def _measure(name: str, settings: Settings) -> Any:
    """The measure with these settings.

    Its tie rule is "stable" if tied documents are ranked by name.
    """
    measure = MEASURES[name]
    ties = settings.ties
    if ties == "last rank":
        measure = LastRankAveragePrecision
        ties = "average"
    elif ties in ("names", "names ascending"):
        ties = "stable"
    values = {setting.name: getattr(settings, setting.name) for setting in fields(measure)}
    return measure(**values | {"ties": ties})


def _name_codes(documents: ArrayLike | None, queries: Queries) -> Floats:
    """Index of the name of each grouped document in the sorted list of all names."""
    if documents is None:
        documents = np.arange(queries.n_documents)
    names = as_array(documents, "documents")
    check_lengths(y_true=queries.n_documents, documents=names.size)
    _, codes = np.unique(queries.group(names.ravel().astype(str)), return_inverse=True)
    return codes.astype(np.float64)


class LastRankAveragePrecision(AveragePrecision):
    """Average precision without a cutoff, where tied documents have the rank of the last of them.

    It is that of scikit-learn: ``AP = (1/R) sum over relevant documents i of #{relevant j: s_j >=
    s_i} / #{j: s_j >= s_i}``.
    """

    def per_block(
        self, gains: Floats, relevant: Floats, cutoffs: Ints, queries: Segments
    ) -> PerBlock:
        def values(ranked: RankedBlock) -> Floats:
            is_relevant = gains[ranked.rows]
            last = ranked.tied.ends - 1
            found_until = ranked.part.sum_before(is_relevant)[last] + is_relevant[last]
            precision = found_until / (ranked.part.positions[last] + 1)
            sums = ranked.part.sum(is_relevant * ranked.tied.repeat(precision))
            return sums / relevant[ranked.segments]

        return values
