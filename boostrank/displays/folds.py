"""Folds over time: the lists that each of them trains and tests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator

from boostrank.displays import style
from boostrank.displays.style import Display
from boostrank.model_selection.splits import make_folds
from boostrank.model_selection.time_split import times_of_rows
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Features, Queries, find_qid, require_qid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a fold in the picture, in inches, and of everything else.
FOLD_HEIGHT, OTHER_HEIGHT = 0.35, 1.2


@dataclass
class FoldsDisplay(Display):
    """The lists that each fold trains on and tests on, as marks over time; a fold is a row.

    Attributes
    ----------
    trained, tested : list of pandas.Index
        The times of the lists that each fold trains on, and of those that it tests on; without
        times, the numbers of the lists.
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=12, random_state=0)
    >>> display = br.displays.FoldsDisplay.from_cv(
    ...     br.QueryTimeSplit(3, gap=1), X, y, qid, ax=Figure().subplots()
    ... )
    >>> [(len(trained), len(tested)) for trained, tested in zip(display.trained, display.tested)]
    [(2, 3), (5, 3), (8, 3)]
    """

    trained: list[pd.Index]
    tested: list[pd.Index]

    @classmethod
    def from_cv(
        cls,
        cv: BaseCrossValidator,
        X: Features,
        y: ArrayLike | Labels | None = None,
        qid: ArrayLike | None = None,
        *,
        time: str | ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> FoldsDisplay:
        """Plot the folds that a splitter makes of these rows.

        Parameters
        ----------
        cv : splitter
            Such as :class:`boostrank.QueryTimeSplit` or :class:`boostrank.QueryKFold`.
        X, y, qid
            As in :func:`boostrank.cross_validate`; labels may be left out.
        time : str or array-like, shape (n_documents,), optional
            As in :class:`boostrank.QueryTimeSplit`, whose own times are the default. Without any,
            lists are numbered as they first appear.
        ax : matplotlib axes, optional

        Raises
        ------
        ValueError
            As the splitter.
        """
        features, ids = find_qid(X, qid, y)
        queries = Queries.from_qid(require_qid(ids, "FoldsDisplay.from_cv"))
        labels = np.zeros(queries.n_documents) if y is None else y
        folds = make_folds(features, labels, queries, cv)
        time = getattr(cv, "time", None) if time is None else time
        if time is None:
            times = pd.Index(queries.ungroup(queries.repeat(np.arange(queries.n_queries))))
        else:
            times = times_of_rows(time, features)
        trained = [times[train].unique() for train, _ in folds]
        return cls(trained, [times[test].unique() for _, test in folds]).plot(ax)

    def _draw(self, ax: Axes | None) -> Axes:
        n_folds = len(self.tested)
        height = OTHER_HEIGHT + FOLD_HEIGHT * n_folds
        ax = style.axes(ax, height + style.legend_height(["train", "test"]))
        for label, color, parts in (
            ("train", style.BLUE, self.trained),
            ("test", style.ORANGE, self.tested),
        ):
            for fold, times in enumerate(parts, 1):
                # Labels with a "_" are not in legends.
                first = label if fold == 1 else "_"
                ax.vlines(_drawn(times), fold - 0.35, fold + 0.35, colors=color, label=first)
        ax.set_yticks(range(1, n_folds + 1))
        ax.invert_yaxis()
        ax.set_ylabel("fold")
        ax.set_xlabel("time")
        style.legend_below(ax)
        return ax


def _drawn(times: pd.Index) -> Any:
    """Times as matplotlib draws them: periods by their starts."""
    return times.to_timestamp() if isinstance(times, pd.PeriodIndex) else times
