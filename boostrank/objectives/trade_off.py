"""The trade-off between objectives: models of several weights, cross-validated, as a curve."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from boostrank.backends.progress import ProgressBar
from boostrank.comparison.groups import (
    groups_of_rows,
    of_ids,
    with_validation_groups,
)
from boostrank.comparison.trainings import TrainingJob, run_trainings
from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Bools, Floats, Ints, as_array
from boostrank.inputs.checks import (
    EstimatorSeed,
    check_choice,
    check_number,
    is_count,
    refuse,
)
from boostrank.metrics import Measure, default_measure, get_measure
from boostrank.metrics.registry import MeasureLike
from boostrank.metrics.scorers import Estimator
from boostrank.model_selection import split_queries, with_validation
from boostrank.model_selection.estimators import needs_validation
from boostrank.model_selection.splits import Splitter, make_folds
from boostrank.model_selection.time_split import without_time
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.objectives.labels import MultipleLabels, Weights, as_multiple_labels
from boostrank.objectives.measures import ObjectiveMeasure
from boostrank.queries.groups import number_groups
from boostrank.queries.id_columns import warn_of_frame, without_id_warnings
from boostrank.queries.queries import Features, Queries, find_qid, require_qid
from boostrank.significance import confidence_interval
from boostrank.significance.paired_tests import randomization_test
from boostrank.text.tables import text_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from boostrank.displays import TradeOffDisplay

#: The methods of a curve: one model for each choice of weights; and the weighted sum of the scores
#: of the models of the single objectives.
ONE_MODEL = "one model"
ADDED_SCORES = "added scores"
METHODS = (ONE_MODEL, ADDED_SCORES)


class Pick(NamedTuple):
    """Weights that keep constraints, and a test of them on queries that did not choose them.

    Attributes
    ----------
    weights : dict of str to float
        Weight of each objective, for :meth:`boostrank.MultipleLabels.with_weights`.
    best : str
        The objective that is largest.
    baseline : str
        The objective whose own model the test compares with.
    table : DataFrame
        One row per objective, which is the index: the mean and that of the baseline on the queries
        of the test; the difference with its 95% interval, low and high; the p-value of
        :func:`boostrank.permutation_test`; and the least difference that the constraint allows, NaN
        without one.
    n_queries : int
        Number of the queries of the test.
    """

    weights: dict[str, float]
    best: str
    baseline: str
    table: pd.DataFrame
    n_queries: int


@dataclass(eq=False, repr=False)
class TradeOff:
    """Result of :func:`trade_off`: what each choice of weights gives in each objective.

    Attributes
    ----------
    names : list of str
        The objectives.
    measure : str
        Name of the measure.
    weights : ndarray, shape (n_weights, n_objectives)
        The choices of weights. Those of the models of single objectives are among them.
    values : dict of str to ndarray, shape (n_weights, n_queries, n_objectives)
        Cross-validated value of each query in each objective by the method, "one model" or "added
        scores"; NaN for a query that has no part of the objective.
    qid : ndarray, shape (n_queries,)
        Ids of the queries.
    groups : ndarray, shape (n_queries,), or None
        The group of each query, over which intervals and tests are then.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, clicks, qid = br.make_ranking(n_queries=60, random_state=0)
    >>> labels = {"click": clicks, "margin": np.maximum(X[:, 0], 0.0)}
    >>> ranker = br.LightGBMRanker(n_estimators=10, random_state=0, n_jobs=1)
    >>> result = br.trade_off(ranker, X, labels, qid, weights=3, cv=2)
    >>> result.weights.tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    >>> list(result.table.columns)[:4]
    ['method', 'weight of click', 'weight of margin', 'click']
    >>> pick = result.pick({"click": -0.5})
    >>> pick.weights, pick.best, pick.n_queries
    ({'click': 0.0, 'margin': 1.0}, 'margin', 30)
    """

    names: list[str]
    measure: str
    weights: Floats
    values: Mapping[str, Floats]
    qid: NDArray[Any]
    groups: NDArray[Any] | None = None

    @cached_property
    def table(self) -> pd.DataFrame:
        """The curve of each method, a row for each choice of weights.

        The columns are the method; the weights, as "weight of NAME"; the mean over queries of each
        objective with its 95% interval, as "NAME", "low of NAME" and "high of NAME"; "weighted
        mean", the sum of weights times means; and "front": whether no other weights of the method
        give larger means, or equal ones, in all objectives and a larger one in some.
        """
        return pd.concat([self._table_of(method) for method in METHODS], ignore_index=True)

    def means(self, method: str = ONE_MODEL, queries: Bools | None = None) -> Floats:
        """Mean of each objective over the queries that have it, shape (n_weights, n_objectives).

        Parameters
        ----------
        method : {"one model", "added scores"}
        queries : ndarray of bool, shape (n_queries,), optional
            The queries of the means; all by default.
        """
        check_choice("method", method, METHODS)
        values = self.values[method]
        if queries is not None:
            values = values[:, queries]
        means: Floats = np.nanmean(values, axis=1)
        return means

    def _table_of(self, method: str) -> pd.DataFrame:
        means = self.means(method)
        table: dict[str, Any] = {"method": method}
        for name, weights in zip(self.names, self.weights.T, strict=True):
            table[f"weight of {name}"] = weights
        for i, name in enumerate(self.names):
            rows = self.values[method][:, :, i]
            table[name] = means[:, i]
            intervals = [confidence_interval(row, 0.0 * row, groups=self.groups) for row in rows]
            table[f"low of {name}"], table[f"high of {name}"] = zip(*intervals, strict=True)
        table["weighted mean"] = (self.weights * means).sum(axis=1)
        table["front"] = is_on_front(means)
        return pd.DataFrame(table)

    def __repr__(self) -> str:
        rows = [["method", *(f"w {name}" for name in self.names), *self.names, "mean", "front"]]
        for row in self.table.to_dict("records"):
            weights = [f"{row[f'weight of {name}']:.2f}" for name in self.names]
            means = [f"{row[name]:.4f}" for name in (*self.names, "weighted mean")]
            rows.append([row["method"], *weights, *means, "*" if row["front"] else ""])
        title = f"{self.measure} over {len(self.qid)} queries; *: on the front of the method"
        return "\n".join([title, *text_lines(rows)])

    def pick(
        self,
        constraint: Mapping[str, float],
        *,
        best: str | None = None,
        fraction: float = 0.5,
        random_state: EstimatorSeed = 0,
    ) -> Pick:
        """The weights that are best in one objective among those that lose little of others.

        A part of the queries chooses the weights: of the choices whose mean in each objective of
        `constraint` is at most so much below that of the model of this objective alone, the one
        with the largest mean in `best`. The other queries test the weights, because the means of
        those that chose them are too good. All values are those of models that were trained on
        other queries.

        Parameters
        ----------
        constraint : dict of str to float
            The least difference to the model of the objective alone, by objective: with ``{"click":
            -0.005}``, weights may lose 0.005 of the measure in the clicks.
        best : str, optional
            The objective to be largest; by default the one that is not in `constraint`.
        fraction : float in (0, 1), default 0.5
            Share of the queries that test.
        random_state : int, RandomState or None, default 0
            Seed of the choice of these queries.

        Raises
        ------
        ValueError
            If a name is none of an objective, a difference is above 0, or no weights keep several
            constraints.
        """
        allowed = self._checked(constraint)
        others = [name for name in self.names if name not in allowed]
        if best is None and len(others) != 1:
            refuse("best", best, f"one of {', '.join(self.names)}, to be largest")
        best = others[0] if best is None else best
        check_choice("best", best, self.names)
        choosing, testing = self._divided(fraction, random_state)
        means = self.means(queries=choosing)
        is_allowed = np.ones(len(means), dtype=bool)
        for name, least in allowed.items():
            i = self.names.index(name)
            is_allowed &= means[:, i] - means[self._alone(i), i] >= least
        if not is_allowed.any():
            refuse("constraint", constraint, "such that some weights keep it")
        of_best = np.where(is_allowed, means[:, self.names.index(best)], -np.inf)
        picked = int(np.argmax(of_best))
        baseline = next(iter(allowed))
        table = self._tested(picked, self._alone(self.names.index(baseline)), testing, allowed)
        weights = dict(zip(self.names, self.weights[picked].tolist(), strict=True))
        return Pick(weights, best, baseline, table, int(testing.sum()))

    def _checked(self, constraint: Mapping[str, float]) -> Mapping[str, float]:
        if not isinstance(constraint, Mapping) or not constraint:
            refuse("constraint", constraint, 'a mapping such as {"click": -0.005}')
        for name, least in constraint.items():
            check_choice("a name in constraint", name, self.names)
            check_number(f"constraint[{name!r}]", least, largest=0)
        return constraint

    def _divided(self, fraction: float, random_state: EstimatorSeed) -> tuple[Bools, Bools]:
        """Masks of the queries that choose and of those that test."""
        every_query = np.arange(len(self.qid))
        _, tested = split_queries(every_query, fraction, random_state, groups=self.groups)
        testing = np.zeros(len(self.qid), dtype=bool)
        testing[tested] = True
        return ~testing, testing

    def _alone(self, i: int) -> int:
        """The number of the weights that have only objective `i`."""
        return int(np.argmax(self.weights[:, i] == 1.0))

    def _tested(
        self, picked: int, baseline: int, testing: Bools, allowed: Mapping[str, float]
    ) -> pd.DataFrame:
        """The table of :class:`Pick`."""
        rows = []
        groups = None if self.groups is None else self.groups[testing]
        for i, name in enumerate(self.names):
            values, others = (
                self.values[ONE_MODEL][number, testing, i] for number in (picked, baseline)
            )
            test = randomization_test(values, others, None, groups, 10_000, 0)
            low, high = confidence_interval(values, others, groups=groups)
            rows.append(
                {
                    "objective": name,
                    "mean": np.nanmean(values),
                    "baseline": np.nanmean(others),
                    "difference": test.difference,
                    "low": low,
                    "high": high,
                    "p_value": test.p_value,
                    "allowed": allowed.get(name, np.nan),
                }
            )
        return pd.DataFrame(rows).set_index("objective")

    def plot(
        self, x: str | None = None, y: str | None = None, ax: Axes | None = None
    ) -> TradeOffDisplay:
        """Plot the curve of two objectives.

        The parameters are those of :meth:`boostrank.displays.TradeOffDisplay.from_result`, which
        makes the display that is returned.
        """
        for point in entry_points(group="boostrank.displays", name="trade-off"):
            display: TradeOffDisplay = point.load()(self, x, y, ax)
            return display
        raise ImportError("boostrank is not installed with its entry points: install it again")


def trade_off(
    ranker: Estimator,
    X: Features,
    labels: MultipleLabels | Mapping[str, ArrayLike | Labels],
    qid: ArrayLike | None = None,
    *,
    weights: int | Sequence[Weights] | NDArray[np.floating[Any]] = 11,
    cv: Splitter = 5,
    groups: Any = None,
    measure: MeasureLike | None = None,
    n_jobs: int | None = None,
    results: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> TradeOff:
    """Cross-validate a ranker with several weights of objectives.

    For each choice of weights, a model is trained on the weighted mean of the objectives
    (:class:`boostrank.MultipleLabels`). Beside it stands what is often done without such labels:
    one model for each objective, whose scores are added with the weights.

    Parameters
    ----------
    ranker : estimator
        A ranker of boostrank, a bag or a Pipeline of one, with a loss that takes MultipleLabels. If
        it stops early by validation sets, a fifth of the training queries of each fold is one.
    X, qid
        As in :func:`boostrank.cross_validate`.
    labels : MultipleLabels, mapping or DataFrame
        Labels of the objectives; their weights do not matter.
    weights : int or sequence, default 11
        Number of choices of weights of two objectives, from the first one alone to the second one
        alone, at equal distances; or the choices themselves, an array of shape (n_weights,
        n_objectives) or a list of mappings. Those of one objective alone are added if they are
        missing.
    cv : int, splitter or iterable of (train, test), default 5
        As in :func:`boostrank.cross_validate`. No query may be in the test rows of two folds.
    groups : array-like, str, Mapping, Series or DataFrame, optional
        What queries belong to, such as users, as in :func:`boostrank.compare`: no fold divides a
        group, and intervals and tests are over groups in place of queries.
    measure : str, Measure or callable, optional
        As in :func:`boostrank.get_measure`; by default the one of the labels with the cutoff 10,
        "weighted-ndcg@10": NDCG with the gain and cutoff of each objective.
    n_jobs, results, progress
        Number of trainings at the same time, the folder where their results are kept, and whether a
        bar is shown, as in :func:`boostrank.compare`.

    Returns
    -------
    TradeOff
        Its table has the curves with intervals over queries and the fronts, ``pick`` chooses
        weights by a constraint, and ``plot`` draws it.

    Raises
    ------
    ValueError
        If there is one objective only, for weights that are invalid, and as
        :func:`boostrank.cross_validate`.

    Examples
    --------
    See :class:`boostrank.objectives.TradeOff`.
    """
    several = as_multiple_labels(labels)
    names = list(several.weights)
    if len(names) < 2:
        refuse("labels", labels, "of at least two objectives", got=repr(several))
    choices = _choices(several, weights)
    of_queries = None
    if groups is not None:
        X, of_queries = groups_of_rows(X, several, qid, groups)
    X, ids = find_qid(X, qid, several)
    queries = Queries.from_qid(require_qid(ids, "trade_off"))
    numbers = None
    if of_queries is not None:
        numbers = number_groups(of_ids(of_queries, queries.ids))
    pairs = make_folds(X, several, queries, cv, numbers)
    tested = np.concatenate([test for _, test in pairs])
    if len(np.unique(tested)) < len(tested):
        raise ValueError("cv tests a query in several folds: use an integer or QueryKFold")
    y: Any = several
    data = Dataset(without_time(X, cv), y, as_array(ids, "qid"))
    folds = [
        Fold(f"Fold{i}", data.take(train), None, data.take(test))
        for i, (train, test) in enumerate(pairs, 1)
    ]
    of_choices = [several.with_weights(choice) for choice in choices]
    jobs = _jobs(ranker, folds, of_choices, pairs, of_queries)
    folder = None if results is None else Path(results)
    scores = np.full((len(choices), queries.n_documents), np.nan)
    # Once, and not for each training.
    warn_of_frame(folds[0].train.X, Queries.from_qid(folds[0].train.qid))
    bar = ProgressBar(len(jobs), progress, lambda: "trade-off", "trainings")
    running = contextlib.closing(run_trainings(jobs, n_jobs, folder))
    with without_id_warnings(), bar, running as finished:
        for number, result, is_saved in finished:
            choice, fold = divmod(number, len(folds))
            scores[choice, pairs[fold][1]] = result.scores
            if is_saved:
                bar.leave_out()
            else:
                bar.advance()
    named = default_measure(several, DCG(k=10)) if measure is None else get_measure(measure)
    rows = np.sort(tested)
    alone = [scores[np.argmax(choices[:, i] == 1.0)] for i in range(len(names))]
    of_methods = {ONE_MODEL: scores, ADDED_SCORES: choices @ np.stack(alone)}
    values = {
        method: _values(named, several[rows], of_method[:, rows], data.qid[rows])
        for method, of_method in of_methods.items()
    }
    ids_of_queries = Queries.from_qid(data.qid[rows]).ids
    of_tested = None if of_queries is None else of_ids(of_queries, ids_of_queries)
    return TradeOff(names, str(named), choices, values, ids_of_queries, of_tested)


def is_on_front(means: Floats) -> Bools:
    """Whether no other row is at least as large everywhere, and larger somewhere.

    Parameters
    ----------
    means : ndarray, shape (n_points, n_objectives)

    Examples
    --------
    >>> is_on_front(np.array([[1.0, 0.0], [0.5, 0.5], [0.4, 0.5], [0.0, 1.0]])).tolist()
    [True, True, False, True]
    """
    others = means[None, :, :]
    own = means[:, None, :]
    is_dominated = np.all(others >= own, axis=2) & np.any(others > own, axis=2)
    is_on: Bools = ~np.any(is_dominated, axis=1)
    return is_on


def _choices(
    labels: MultipleLabels, weights: int | Sequence[Weights] | NDArray[np.floating[Any]]
) -> Floats:
    """The choices of weights with the sum 1, with those of one objective alone; each once."""
    names = list(labels.weights)
    given: Iterable[Any]
    if is_count(weights):
        if weights < 2 or len(names) != 2:
            expected = "a number of at least 2 for two objectives, or an array of weights"
            refuse("weights", weights, expected, got=f"{weights} for {len(names)} objectives")
        first = np.linspace(1.0, 0.0, int(weights))
        given = np.stack([first, 1.0 - first], axis=1)
    else:
        listed: Any = weights
        given = list(listed)
    rows = [list(labels.with_weights(choice).weights.values()) for choice in given]
    units = np.eye(len(names)).tolist()
    missing = [unit for unit in units if unit not in rows]
    different = dict.fromkeys(map(tuple, [*rows, *missing]))
    return np.array(list(different))


def _jobs(
    ranker: Estimator,
    folds: Sequence[Fold],
    of_choices: Sequence[MultipleLabels],
    pairs: Sequence[tuple[Ints, Ints]],
    groups: pd.Series | None,
) -> list[TrainingJob]:
    """The trainings of all choices of weights on all folds, which share their features.

    `groups` has the group of each query by query id.
    """
    holds_out = needs_validation(ranker)
    jobs = []
    for labels in of_choices:
        name = repr(labels)
        for fold, (train, test) in zip(folds, pairs, strict=True):
            of_labels: Any = labels
            weighted = fold._replace(
                train=fold.train._replace(y=of_labels[train]),
                test=fold.test._replace(y=of_labels[test]),
            )
            of_rows = None
            if groups is not None and holds_out:
                weighted = with_validation_groups(weighted, groups, 0)
            elif holds_out:
                weighted = with_validation(weighted, random_state=0)
            if groups is not None:
                of_rows = of_ids(groups, weighted.train.qid)
            jobs.append(TrainingJob(name, ranker, weighted, of_rows))
    return jobs


def _values(measure: Measure, labels: MultipleLabels, scores: Floats, qid: NDArray[Any]) -> Floats:
    """Value of each query in each objective, shape (n_weights, n_queries, n_objectives)."""
    queries = Queries.from_qid(qid)
    grouped = labels.group(queries)
    names = list(labels.weights)
    bound = [ObjectiveMeasure(measure, name).bind(grouped, queries) for name in names]
    values = [
        np.stack([of_objective.per_query(queries.group(row)) for of_objective in bound], axis=1)
        for row in scores
    ]
    return np.stack(values)
