"""Rankings of single queries: what each rank adds to DCG, NDCG with ties, and why one rank is above another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.core.queries import Queries
from boostrank.displays.base import Display, PredictionDisplay
from boostrank.displays.style import (
    BLACK,
    BLUE,
    DARK,
    GREY,
    HEIGHT,
    ORANGE,
    SKY,
    SLANTED_CHARACTER,
    axes,
    few_ticks,
    legend_below,
    light_grid,
    ndcg_name,
    shortened,
    slanted,
    whole_ticks,
    wrapped,
)
from boostrank.inputs.arrays import Floats, check_lengths
from boostrank.inputs.checks import check_count
from boostrank.inspection.explanations import Explanation, explain, feature_text, number_format, value_text
from boostrank.metrics import dcg_breakdown, tie_range
from boostrank.metrics.labels import require_ids

if TYPE_CHECKING:
    import pandas as pd

# With more ranks than this, the names of documents and their relevance would overlap, so they are not drawn.
MAX_LABELLED_RANKS = 15
# Longer names are shortened, and names that are longer together than the axis is wide are slanted.
MAX_CHARACTERS, MAX_CHARACTERS_OF_AXIS = 24, 70
# Differences of NDCG up to this are rounding errors.
ROUNDING_TOLERANCE = 1e-12
# Up to this number of queries have their ids beside them.
MAX_ROWS = 10
# Longer names and values of features are shortened.
MAX_NAME, MAX_VALUE = 24, 10
# Share of an axis that is left free at both ends, for the numbers at the bars.
MARGIN = 0.2


@dataclass
class DCGBreakdownDisplay(PredictionDisplay):
    """The contribution of each rank of one query to DCG@k, and its contribution in the ideal ranking.

    Created by :meth:`from_predictions` or :meth:`from_estimator`.

    Attributes
    ----------
    table : DataFrame
        Rows of :func:`boostrank.metrics.dcg_breakdown` for this query; its column `document` counts the rows of all
        queries.
    documents : list of str
        Name of the document in each row of `table`.
    k : int, float or None
    dcg, ideal_dcg, ndcg : float
        `ndcg` is NaN if the query has no relevant document.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> display = DCGBreakdownDisplay.from_predictions([3, 2, 0, 1], [0.2, 0.4, 0.3, 0.1], [7] * 4, k=3, ax=ax)
    >>> display.dcg, round(display.ndcg, 4)
    (6.5, 0.692)
    >>> ax.get_title()
    'query 7: NDCG@3 = 0.6920; numbers at bars: relevance'
    """

    table: pd.DataFrame
    documents: list[str]
    k: int | float | None
    dcg: float
    ideal_dcg: float
    ndcg: float
    _takes_name: ClassVar[bool] = False

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        query: Any = None,
        k: int | float | None = None,
        documents: Sequence[Any] | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> DCGBreakdownDisplay:
        """Compute what each rank of one query adds to its DCG, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, k, **settings
            As in :func:`boostrank.metrics.dcg_breakdown`; `settings` are `gain`, `discount` and `ties`.
        query : query id, optional
            Id of the query to plot; required if `qid` has several queries.
        documents : sequence, shape (n_documents,), optional
            Name of each row of `y_true`; by default "row 0", "row 1" and so on.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.dcg_breakdown`; and for a `query` that is missing or not in `qid`, or
            `documents` of the wrong number.
        """
        names = [f"row {row}" for row in range(np.size(y_true))] if documents is None else [str(d) for d in documents]
        check_lengths(y_true=np.size(y_true), documents=len(names))
        table = dcg_breakdown(y_true, y_score, qid, k=k, **settings)
        known = table["qid"].unique()
        if query is not None or len(known) > 1:
            table = table[table["qid"] == query].reset_index(drop=True)
        if table.empty:
            raise ValueError(
                f"query must be one of the {len(known)} queries of qid, such as {known[0]!s}; got {query!r}"
            )
        shown = [names[row] for row in table["document"]]
        dcg, ideal = float(table["cumulative"].iloc[-1]), float(table["ideal_cumulative"].iloc[-1])
        return cls(table, shown, k, dcg, ideal, dcg / ideal if ideal else float("nan")).plot(ax)

    def _draw(self, ax: Any) -> Any:
        ranks, table = self.table["rank"].to_numpy(), self.table
        dcg = ndcg_name(self.k).removeprefix("N")
        is_labelled = len(table) <= MAX_LABELLED_RANKS
        names = [shortened(name, MAX_CHARACTERS) for name in self.documents]
        longest = max(map(len, names))
        # Long names of neighbours would overlap.
        is_slanted = is_labelled and longest * len(names) > MAX_CHARACTERS_OF_AXIS
        ax = axes(ax, HEIGHT + SLANTED_CHARACTER * longest * is_slanted)
        legend = f"ranked by score: {dcg} = {self.dcg:.3f}"
        by_score = ax.bar(ranks - 0.2, table["contribution"], width=0.38, color=BLUE, label=legend)
        look = {"facecolor": "none", "edgecolor": ORANGE, "hatch": "//"}
        legend = f"ideal ranking: {dcg} = {self.ideal_dcg:.3f}"
        ideal = ax.bar(ranks + 0.2, table["ideal_contribution"], width=0.38, label=legend, **look)
        if is_labelled:
            for bars, relevance in ((by_score, table["relevance"]), (ideal, table["ideal_relevance"])):
                ax.bar_label(bars, [f"{value:g}" for value in relevance], padding=1, fontsize="small", color="0.3")
            texts, look = ("{} {}", slanted()) if is_slanted else ("{}\n{}", {})
            ax.set_xticks(ranks, list(map(texts.format, ranks, names)), **look)
            ax.set_xlabel("rank, and document that the scores put at this rank")
        else:
            whole_ticks(ax)
            ax.set_xlabel("rank")
        ax.set_ylabel("gain × discount")
        value = "not defined (no relevant document)" if np.isnan(self.ndcg) else f"= {self.ndcg:.4f}"
        title = f"query {shortened(table['qid'].iloc[0], 30)}: {ndcg_name(self.k)} {value}"
        title += "; numbers at bars: relevance" if is_labelled else ""
        ax.set_title(wrapped(title, 64), fontsize="medium")
        ax.legend(frameon=False)
        light_grid(ax)
        return ax


@dataclass
class TieRangeDisplay(PredictionDisplay):
    """Range of the NDCG of each query over all permutations of its tied documents, and the average over them.

    Created by :meth:`from_predictions` or :meth:`from_estimator`. Queries are rows, sorted by the average, and up to
    10 of them have their ids.

    Attributes
    ----------
    queries : ndarray, shape (n_queries,)
        Query ids, sorted by increasing average; queries that are skipped are left out.
    worst, average, best : ndarray, shape (n_queries,)
        Smallest, average and largest NDCG of each query over these permutations.
    k : int, float or None
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> labels, scores, qid = [0, 1, 1, 0], [2, 2, 1, 0], ["a", "a", "b", "b"]
    >>> display = TieRangeDisplay.from_predictions(labels, scores, qid, ax=Figure().subplots())
    >>> display.queries.tolist(), display.worst.round(4).tolist(), display.best.tolist()
    (['a', 'b'], [0.6309, 1.0], [1.0, 1.0])
    """

    queries: NDArray[Any]
    worst: Floats
    average: Floats
    best: Floats
    k: int | float | None
    _takes_name: ClassVar[bool] = False

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        k: int | float | None = None,
        ax: Any = None,
        **settings: Any,
    ) -> TieRangeDisplay:
        """Compute the range of each query's NDCG, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, k, **settings
            As in :func:`boostrank.ndcg_score`; `settings` are `gain`, `discount` and `empty`.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As :func:`boostrank.metrics.tie_range`.
        """
        values = tie_range(y_true, y_score, qid, k=k, per_query=True, **settings)
        queries = Queries.from_qid(require_ids(qid, "tie_range"))
        permutation = np.argsort(values.average, kind="stable")
        kept = permutation[~np.isnan(values.average[permutation])]
        return cls(queries.ids[kept], values.worst[kept], values.average[kept], values.best[kept], k).plot(ax)

    def _draw(self, ax: Any) -> Any:
        n, name = len(self.queries), ndcg_name(self.k)
        is_labelled = n <= MAX_ROWS
        ax = axes(ax, 1.8 + 0.3 * n if is_labelled else HEIGHT)
        positions = np.arange(1, n + 1)
        # Many queries need thin lines and small points, or neighbours would cover each other.
        width, size = (8.0, 6.0) if is_labelled else (max(150 / n, 0.6), max(100 / n, 1.0))
        label = "worst to best permutation of ties"
        ax.hlines(positions, self.worst, self.best, color=SKY, linewidth=width, label=label)
        ax.plot(self.average, positions, "o", color=BLACK, markersize=size, label="average over all permutations")
        depend = f"{(self.best - self.worst > ROUNDING_TOLERANCE).sum()} of {n} depend on the ranking of ties"
        ranges = {"worst": self.worst, "average": self.average, "best": self.best}
        means = ", ".join(f"{key} {part.mean():.4f}" for key, part in ranges.items())
        ax.set_title(f"{f'mean {name} over queries' if n > 1 else name}: {means}", fontsize="medium")
        if is_labelled:
            ax.set_yticks(positions, [shortened(query) for query in self.queries])
        ax.set_ylim(n + 0.6, 0.4)
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylabel("query" if is_labelled else "query, sorted by the average")
        ax.set_xlabel(f"{name} ({depend})" if n > 1 else name)
        legend_below(ax)
        light_grid(ax, "x")
        return ax


@dataclass
class ContributionDisplay(Display):
    """Contributions of the features to the difference of the scores of two documents, as bars that add up to it.

    Created by :meth:`from_estimator`, or for an explanation by ``ContributionDisplay(boostrank.explain(...)).plot()``.
    Each bar begins where the one above it ends. The last bar is the difference of the scores, or the score where one
    document is explained, whose first bar begins at the expected score.

    Attributes
    ----------
    explanation : Explanation
        The values; see :class:`boostrank.inspection.Explanation`.
    n_features : int
        Maximum number of features that are drawn; the others are one bar.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> from matplotlib.figure import Figure
    >>> X, y, qid = make_ranking(n_queries=40, random_state=0)
    >>> ranker = LightGBMRanker(n_estimators=5, n_jobs=1).fit(X, y, qid)
    >>> display = ContributionDisplay.from_estimator(ranker, X, qid, query=3, ax=Figure().subplots())
    >>> display.ax_.get_title()
    'query 3: why rank 1 is above rank 2'
    """

    explanation: Explanation
    n_features: int = 10

    @classmethod
    def from_estimator(
        cls, ranker: Any, X: Any, qid: ArrayLike | None = None, *, n_features: int = 10, ax: Any = None, **settings: Any
    ) -> ContributionDisplay:
        """Explain the difference of two scores, and plot it.

        Parameters
        ----------
        ranker, X, qid, **settings
            As in :func:`boostrank.explain`; `settings` are `query`, `ranks`, `y` and `feature_names`.
        n_features : int, default 10
            Maximum number of features to draw, those with the largest differences.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError, TypeError
            As that function, and if `n_features` is not an integer of at least 1.
        """
        check_count("n_features", n_features)
        return cls(explain(ranker, X, qid, **settings), n_features).plot(ax)

    def _draw(self, ax: Any) -> Any:
        found, summary = self.explanation, self.explanation.summary(self.n_features)
        is_pair, query = len(found.ranks) == 2, f"query {shortened(found.query, 30)}"
        differences = summary["difference"].to_numpy(dtype=np.float64)
        start, total = (0.0, found.difference) if is_pair else (found.expected_score, found.scores[0])
        ends = start + np.cumsum(differences)
        starts = np.append(start, ends[:-1])
        last = len(ends)
        ax = axes(ax, 1.5 + 0.32 * (last + 1))
        for sign, look in ((1, {"color": BLUE}), (-1, {"facecolor": "none", "edgecolor": ORANGE, "hatch": "////"})):
            rows = np.flatnonzero(differences * sign > 0)
            ax.barh(rows, differences[rows], left=starts[rows], height=0.6, **look)
        ax.barh(last, total, height=0.6, color=DARK)
        # Thin lines show that a bar begins where the one above it ends.
        ax.vlines(ends, np.arange(last), np.arange(1, last + 1), color=GREY, linewidth=0.8)
        ax.axvline(0.0, color=GREY, linewidth=1)
        if is_pair:
            a, b = found.ranks
            title = f"{query}: why rank {a} is {'above' if a < b else 'below'} rank {b}"
            label = f"score of rank {a} minus score of rank {b}\n(in brackets: values at rank {a} | rank {b})"
        else:
            ax.axvline(start, color=GREY, linewidth=1, linestyle="--")
            title = f"{query}: the score of the document at rank {found.ranks[0]}"
            label = "score; dashed: the expected score\n(in brackets: value of the feature)"
        number = number_format([*differences, total])
        for row, (end, difference) in enumerate(zip(ends, differences, strict=True)):
            _write_number(ax, end, row, number(difference, "+"), difference >= 0)
        _write_number(ax, total, last, number(total, "+" if is_pair else ""), total >= 0)
        points = [*ends, start, 0.0, total]
        margin = MARGIN * (np.ptp(points) or 1.0)
        ax.set_xlim(min(points) - margin, max(points) + margin)
        few_ticks(ax)
        labels = [_feature_label(row) for row in summary.itertuples()]
        ax.set_yticks(range(last + 1), [*labels, "difference of scores" if is_pair else "score"])
        ax.set_ylim(last + 0.5, -0.5)
        ax.set_title(wrapped(title, 64), fontsize="medium")
        ax.set_xlabel(label)
        light_grid(ax, "x")
        return ax


def _feature_label(row: Any) -> str:
    """Name of a feature with its values; the sum of the others has none."""
    values = [value for value in (row.value_a, row.value_b) if value is not None]
    name = shortened(feature_text(row.feature), MAX_NAME)
    texts = " | ".join(shortened(value_text(value), MAX_VALUE) for value in values)
    return f"{name} ({texts})" if texts else name


def _write_number(ax: Any, end: float, row: int, text: str, is_right: bool) -> None:
    """Write a number at the end of its bar, on the side to which the bar goes."""
    ax.annotate(
        text,
        (end, row),
        (4 if is_right else -4, 0),
        textcoords="offset points",
        ha="left" if is_right else "right",
        va="center",
        fontsize="small",
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )
