"""Plot of what each rank of one query adds to its DCG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from boostrank.core.dcg import Discount, Gain, Ties
from boostrank.displays.display import Display
from boostrank.displays.predictions import predictions
from boostrank.displays.style import (
    BLUE,
    HEIGHT,
    ORANGE,
    SLANTED_CHARACTER,
    axes,
    light_grid,
    ndcg_name,
    shortened,
    slanted,
    whole_ticks,
    wrapped,
)
from boostrank.metrics import dcg_breakdown

if TYPE_CHECKING:
    import pandas as pd

# With more ranks than this, the names of documents and their relevance would overlap, so they are not drawn.
MAX_LABELLED_RANKS = 15
# Longer names are shortened, and names that are longer together than the axis is wide are slanted.
MAX_CHARACTERS, MAX_CHARACTERS_OF_AXIS = 24, 70


@dataclass
class DCGBreakdownDisplay(Display):
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

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        query: Any = None,
        k: int | float | None = None,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        ties: Ties = "stable",
        documents: Sequence[Any] | None = None,
        ax: Any = None,
    ) -> DCGBreakdownDisplay:
        """Compute what each rank of one query adds to its DCG, and plot it.

        Parameters
        ----------
        y_true, y_score, qid, k, gain, discount, ties
            As in :func:`boostrank.metrics.dcg_breakdown`.
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
        if len(names) != np.size(y_true):
            raise ValueError(f"documents has {len(names)} names for the {np.size(y_true)} documents of y_true")
        table = dcg_breakdown(y_true, y_score, qid, k=k, gain=gain, discount=discount, ties=ties)
        table = _one_query(table, query)
        shown = [names[row] for row in table["document"]]
        dcg, ideal = float(table["cumulative"].iloc[-1]), float(table["ideal_cumulative"].iloc[-1])
        return cls(table, shown, k, dcg, ideal, dcg / ideal if ideal else float("nan")).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> DCGBreakdownDisplay:
        """Predict with a fitted estimator, and plot what each rank of one query adds to its DCG.

        `qid` may be a column or the index of `X`, as in the rankers' `fit`. `settings` are the other parameters of
        :meth:`from_predictions`.
        """
        scores, found = predictions({"": estimator}, X, qid, f"{cls.__name__}.from_estimator")
        return cls.from_predictions(y, scores[""], found, **settings)

    def _draw(self, ax: Any) -> Any:
        ranks, table = self.table["rank"].to_numpy(), self.table
        at = "" if self.k is None else f"@{self.k}"
        labelled = len(table) <= MAX_LABELLED_RANKS
        names = [shortened(name, MAX_CHARACTERS) for name in self.documents]
        longest = max(map(len, names))
        # Long names of neighbours would overlap.
        is_slanted = labelled and longest * len(names) > MAX_CHARACTERS_OF_AXIS
        ax = axes(ax, HEIGHT + SLANTED_CHARACTER * longest * is_slanted)
        legend = f"ranked by score: DCG{at} = {self.dcg:.3f}"
        by_score = ax.bar(ranks - 0.2, table["contribution"], width=0.38, color=BLUE, label=legend)
        look = {"facecolor": "none", "edgecolor": ORANGE, "hatch": "//"}
        legend = f"ideal ranking: DCG{at} = {self.ideal_dcg:.3f}"
        ideal = ax.bar(ranks + 0.2, table["ideal_contribution"], width=0.38, label=legend, **look)
        if labelled:
            for bars, relevance in ((by_score, table["relevance"]), (ideal, table["ideal_relevance"])):
                ax.bar_label(bars, [f"{value:g}" for value in relevance], padding=1, fontsize="small", color="0.3")
        ax.set_xlabel("rank")
        whole_ticks(ax)
        if labelled:
            look, between = (slanted(), " ") if is_slanted else ({}, "\n")
            ax.set_xticks(ranks, [f"{rank}{between}{name}" for rank, name in zip(ranks, names, strict=True)], **look)
            ax.set_xlabel("rank, and document that the scores put at this rank")
        ax.set_ylabel("gain × discount")
        value = "not defined (no relevant document)" if np.isnan(self.ndcg) else f"= {self.ndcg:.4f}"
        title = f"query {shortened(table['qid'].iloc[0], 30)}: {ndcg_name(self.k)} {value}"
        title += "; numbers at bars: relevance" if labelled else ""
        ax.set_title(wrapped(title, 64), fontsize="medium")
        ax.legend(frameon=False)
        light_grid(ax)
        return ax


def _one_query(table: pd.DataFrame, query: Any) -> pd.DataFrame:
    known = table["qid"].unique()
    if query is None and len(known) > 1:
        raise ValueError(f"qid has {len(known)} queries; query must be the id of the one to plot, such as {known[0]!s}")
    chosen = table if query is None else table[table["qid"] == query]
    if chosen.empty:
        raise ValueError(f"query must be one of qid, such as {known[0]!s}; got {query!r}")
    return chosen.reset_index(drop=True)
