"""Labels of several objectives, such as clicks, orders and margins, in one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from boostrank.inputs.arrays import Floats, as_floats, check_lengths
from boostrank.inputs.checks import did_you_mean, refuse
from boostrank.inputs.table import is_pandas
from boostrank.metrics.base import QueryMeasure
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.gains import Gain, warn_of_large_labels
from boostrank.ndcg.labels import Labels, Rows, RowsOfQueries
from boostrank.ndcg.targets import Normalize
from boostrank.objectives.measures import ObjectiveMeasure, WeightedNDCG
from boostrank.objectives.objective import LabelsOfObjectives, Objective, relevance_of_some
from boostrank.queries.queries import Queries
from boostrank.queries.weights import check_weights

M = TypeVar("M")
#: Weights of objectives: by name, or in the sequence of the objectives.
Weights = Mapping[str, float] | Sequence[float] | NDArray[np.floating[Any]]


class MultipleLabels(LabelsOfObjectives):
    """Labels of several objectives, in place of the labels `y`: one model for their weighted mean.

    Rankers, bags, cross-validation, grid search, validation sets, measures and scorers take it
    where they take labels. Indexing it by rows keeps the labels of these rows.

    **Training.** The targets of the surrogate are ``u = sum_m w_m u_m`` with the weights ``w_m``
    and the normalized gains ``u_m`` of each objective, which have its own gain, cutoff and ideal
    DCG. The loss at `u` is, for losses that are affine in the targets as nearly all are, the
    weighted mean of the losses of the objectives, and a consistent surrogate finds the ranking with
    the largest expected weighted mean of NDCGs, ``sum_m w_m NDCG_m``, if the cutoffs are equal. The
    page "Several objectives" of the theory has the proof. Labels that are mixed to one number,
    ``sum_m w_m y_m``, are not consistent for any mean of NDCGs.

    **Missing labels.** A query whose labels of an objective are NaN has no part of this objective,
    and the weights are those of the means over the queries that have it: ``sum_m w_m mean_{q has m}
    NDCG_m(q)``. A query that has no part of any objective is not trained on. If only some documents
    of a query have NaN, its ideal DCG is not known, and it has no part either, with a warning. If a
    missing label means 0, as for orders of documents without a click, replace NaN by 0. A query
    whose labels are all 0 has a part: its NDCG counts as 0, as by default in
    :func:`boostrank.ndcg_score`. Make its labels NaN to leave it out of the mean.

    **Evaluation.** A measure of relevance, such as "ndcg@10", is the weighted mean of its values in
    the objectives; ``get_measure("ndcg@10", objective="order")`` is its value in one of them.
    :func:`boostrank.evaluate` and :func:`boostrank.compare` show both. ``score`` and early stopping
    use "weighted-ndcg", NDCG with the gains and cutoffs of the training.

    Parameters
    ----------
    labels : mapping or DataFrame
        Labels by the name of the objective: array-like, shape (n_documents,), numbers of 0 or more,
        or NaN where they are missing; or ClickLabels of all rows.
    weights : mapping or sequence of float, optional
        Weight of each objective, by name or in the sequence of `labels`: 0 or more, not all 0. They
        are divided by their sum. By default they are equal.
    gain : str, table, callable or mapping of these, optional
        Gain of all objectives, or of some by name, as in :class:`boostrank.DCG`. Where there is
        none, it is that of the ranker. For amounts of money take "linear", or "log" if a few
        amounts in a list are much larger than the others: the ideal DCG of a query divides its
        amounts, so that a large one has influence within its own query only.
    k : int, float or mapping of these, optional
        Cutoff, in the same way; None in a mapping means that every rank counts. The theory is for
        equal cutoffs: with others, the model is best for the weighted mean of the sums over all
        ranks, each divided by the ideal DCG at its own cutoff.

    Attributes
    ----------
    objectives : tuple of Objective
    weights : dict of str to float
        The weights, with the sum 1.

    Raises
    ------
    ValueError
        If there is no objective, if labels, weights, gains or cutoffs are invalid, or if a name is
        none of an objective. A training raises it too if no query has labels of an objective whose
        weight is not 0.

    Examples
    --------
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, clicks, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> margin = np.maximum(X[:, 0], 0.0)
    >>> labels = br.MultipleLabels(
    ...     {"click": clicks, "margin": margin}, {"click": 0.7, "margin": 0.3},
    ...     gain={"margin": "linear"},
    ... )
    >>> labels
    MultipleLabels(click=0.7, margin=0.3)
    >>> ranker = br.LightGBMRanker(random_state=0).fit(X, labels, qid)
    >>> values = br.evaluate(labels, ranker.predict(X), qid, "ndcg@10")
    >>> list(values)
    ['ndcg(objective=click)@10', 'ndcg(objective=margin)@10', 'ndcg@10']
    """

    default_measure: ClassVar[str] = "weighted-ndcg"
    losses: ClassVar[str] = "a surrogate, such as 'softmax'"

    def __init__(
        self,
        labels: Mapping[str, ArrayLike | Labels],
        weights: Weights | None = None,
        *,
        gain: Gain | Mapping[str, Gain] | None = None,
        k: int | float | Mapping[str, int | float | None] | None = None,
    ) -> None:
        given: Any = labels
        if is_pandas(given) and getattr(given, "ndim", 0) == 2:
            given = {name: given[name] for name in given.columns}
        is_named = isinstance(given, Mapping) and given
        if not is_named or not all(isinstance(name, str) and name for name in given):
            expected = "a mapping or a DataFrame of labels by the name of the objective"
            refuse("labels", labels, expected, got=type(labels).__name__)
        names = list(given)
        of_names = {name: relevance_of_some(values, name) for name, values in given.items()}
        check_lengths(**{name: len(values) for name, values in of_names.items()})
        settings = _settings(names, {"gain": gain, "k": k})
        by_name = _weights_by_name(names, weights)
        self.objectives = tuple(
            Objective(name, of_names[name], by_name[name], settings[name]) for name in names
        )

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each objective, with the sum 1."""
        return {objective.name: objective.weight for objective in self.objectives}

    def with_weights(self, weights: Weights) -> MultipleLabels:
        """The same labels with other weights.

        Examples
        --------
        >>> import boostrank as br
        >>> labels = br.MultipleLabels({"click": [1, 0], "order": [0, 1]})
        >>> labels.with_weights({"click": 3, "order": 1})
        MultipleLabels(click=0.75, order=0.25)
        """
        by_name = _weights_by_name(list(self.weights), weights)
        return self._changed(
            [replace(objective, weight=by_name[objective.name]) for objective in self.objectives]
        )

    def _changed(self, objectives: Sequence[Objective]) -> MultipleLabels:
        changed = MultipleLabels.__new__(MultipleLabels)
        changed.objectives = tuple(objectives)
        return changed

    def _with_labels(self, change: Callable[[Labels], Labels]) -> MultipleLabels:
        """The same objectives, each with the labels that a function makes of its own."""
        return self._changed(
            [replace(objective, labels=change(objective.labels)) for objective in self.objectives]
        )

    def __repr__(self) -> str:
        weights = [f"{name}={weight:g}" for name, weight in self.weights.items()]
        return f"MultipleLabels({', '.join(weights)})"

    def __len__(self) -> int:
        return len(self.objectives[0].labels)

    @property
    def shape(self) -> tuple[int]:
        """The shape (n_documents,): scikit-learn takes this object for an array of labels."""
        return (len(self),)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise ValueError(
            "relevance labels are needed, one number for each document, but got MultipleLabels: "
            "give the labels of one objective"
        )

    def __getitem__(self, rows: Rows) -> MultipleLabels:
        # scikit-learn indexes by (rows, ...).
        if isinstance(rows, tuple) and rows[1:] == (Ellipsis,):
            rows = rows[0]
        return self._with_labels(lambda labels: labels[rows])

    @property
    def qid(self) -> NDArray[Any] | None:
        """Query id of each row, if the labels of an objective have them: clicks do."""
        ids = (objective.labels.qid for objective in self.objectives)
        return next((of_labels for of_labels in ids if of_labels is not None), None)

    def check_qid(self, qid: ArrayLike) -> None:
        """Raise ValueError if `qid` are not the query ids of clicks among the labels."""
        for objective in self.objectives:
            if isinstance(objective.labels, RowsOfQueries):
                objective.labels.check_qid(qid)

    @property
    def fingerprint(self) -> int | None:
        """A number that is equal for equal labels; None without clicks."""
        found = [objective.labels.fingerprint for objective in self.active]
        if all(number is None for number in found):
            return None
        return hash(tuple(found))

    @property
    def content(self) -> tuple[Any, ...]:
        """The names, weights, settings and labels of the objectives."""
        content: list[Any] = []
        for objective in self.objectives:
            content += [objective.name, objective.weight, *sorted(objective.settings)]
            content += [objective.settings[name] for name in sorted(objective.settings)]
            content += objective.labels.content
        return tuple(content)

    @property
    def per_document(self) -> Floats:
        """The weighted sum of the labels, where missing ones are 0: it only tells lists apart."""
        total = np.zeros(len(self))
        for objective in self.active:
            total += objective.weight * objective.labels.per_document
        return total

    def warn_of_large(self, gain: Gain) -> None:
        """Warn of labels of an objective that are hardly meant for its gain, if that is 2^y - 1."""
        for objective in self.active:
            of_objective = objective.dcg(DCG(gain=gain)).gain
            name = f"label of {objective.name!r}"
            warn_of_large_labels(objective.labels.per_document, of_objective, name)

    def sameness(self, queries: Queries) -> str:
        """Why no ranking can be learned; "" if the labels of an objective differ in a query."""
        causes = []
        for objective in self.active:
            cause = objective.labels.sameness(queries)
            if not cause:
                return ""
            causes.append(f"{objective.name}: {cause}")
        return "; ".join(causes)

    def group(self, queries: Queries) -> MultipleLabels:
        """The labels, grouped by query; ValueError if those of an objective have other queries."""
        return self._with_labels(lambda labels: labels.group(queries))

    def prepare(self, predict_logs: Callable[[Floats, Floats], Floats]) -> MultipleLabels:
        """The labels to train on; those of clicks may need a prediction from the features."""
        return self._with_labels(lambda labels: labels.prepare(predict_logs))

    def weighted(self, weights: Floats | None, queries: Queries) -> Floats | None:
        """Weights of grouped documents, times the sum of those that objectives give their query.

        An objective gives its weight to its queries, such that their mean over all queries is this
        weight. The weights are unchanged if all queries have all objectives.
        """
        if len(self.active) == 1:
            return self.active[0].labels.weighted(weights, queries)
        total = self._query_weights(queries).sum(axis=0)
        if total.min() == total.max():
            return weights
        of_documents = queries.repeat(total)
        return of_documents if weights is None else check_weights(weights * of_documents)

    def targets(
        self, surrogate: object, queries: Queries, dcg: DCG, normalize: Normalize = "dcg"
    ) -> Floats:
        """The targets of surrogates for grouped labels, shape (n_documents,).

        In each query they are the weighted mean of the targets of the objectives that it has. With
        them as labels, ``gain="linear"``, ``normalize="none"``, and the result of :meth:`weighted`
        as `sample_weight`, a ranker is trained as by this object: for data on a cluster.

        Parameters
        ----------
        surrogate : object
            For messages.
        queries : Queries
        dcg : DCG
            Gain, discount and cutoff, where objectives have none of their own.
        normalize : str, default "dcg"
            As in :func:`boostrank.make_targets`.

        Raises
        ------
        ValueError
            If the labels of an objective have no targets, as preferences, or if no query has labels
            of an objective.

        Examples
        --------
        >>> import boostrank as br
        >>> labels = br.MultipleLabels({"click": [1, 1, 0], "order": [1, 0, 0]}, [0.5, 0.5])
        >>> labels.targets("softmax", br.Queries.from_sizes([3]), br.DCG()).round(4).tolist()
        [0.8066, 0.3066, 0.0]
        """
        query_weights = self._query_weights(queries)
        total = query_weights.sum(axis=0)
        shares = np.divide(query_weights, total, out=np.zeros_like(query_weights), where=total > 0)
        targets = np.zeros(queries.n_documents)
        for objective, share in zip(self.active, shares, strict=True):
            of_objective = objective.targets(surrogate, queries, dcg, normalize)
            targets += queries.repeat(share) * of_objective
        return targets

    def _query_weights(self, queries: Queries) -> Floats:
        """Weight of each query in each active objective, shape (n_active, n_queries).

        The mean over the queries is the weight of the objective.
        """
        return np.stack(
            [objective.weight * objective.query_weights(queries) for objective in self.active]
        )

    def measure(self, measure: M) -> M:
        """The weighted mean of a measure over the objectives."""
        result: Any = measure
        if isinstance(measure, QueryMeasure):
            result = ObjectiveMeasure(measure)
        return result

    def measures(self, named: Mapping[str, M]) -> Mapping[str, M]:
        """Each measure in each objective, and then its weighted mean, by name."""
        result: dict[str, Any] = {}
        for name, measure in named.items():
            if isinstance(measure, (QueryMeasure, WeightedNDCG)):
                for objective in self.objectives:
                    of_objective = ObjectiveMeasure(measure, objective.name)
                    is_named = name == str(measure)
                    key = str(of_objective) if is_named else f"{name} ({objective.name})"
                    result[key] = of_objective
            result[name] = measure
        return result


def as_multiple_labels(
    labels: MultipleLabels | Mapping[str, ArrayLike | Labels],
) -> MultipleLabels:
    """Return labels of several objectives, and make them of a mapping or a DataFrame."""
    return labels if isinstance(labels, MultipleLabels) else MultipleLabels(labels)


def _weights_by_name(names: list[str], weights: Weights | None) -> dict[str, float]:
    """The weight of each objective, with the sum 1; raise ValueError for invalid weights."""
    given: Any = [1.0] * len(names) if weights is None else weights
    expected = f"one number of 0 or more for each of {', '.join(map(repr, names))}, not all 0"
    if is_pandas(given):
        given = given.to_dict()
    if isinstance(given, Mapping):
        _check_names("weights", given, names)
        if set(given) != set(names):
            refuse("weights", weights, expected)
        given = [given[name] for name in names]
    values = as_floats(given, "weights")
    is_valid = values.shape == (len(names),) and np.isfinite(values).all()
    if not is_valid or (values < 0.0).any() or not values.any():
        refuse("weights", weights, expected)
    return dict(zip(names, (values / values.sum()).tolist(), strict=True))


def _settings(names: list[str], given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of each objective that are its own, by name; they are checked."""
    settings: dict[str, dict[str, Any]] = {name: {} for name in names}
    for key, value in given.items():
        if isinstance(value, Mapping):
            _check_names(key, value, names)
            for name in value:
                settings[name][key] = value[name]
        elif value is not None:
            for name in names:
                settings[name][key] = value
    for of_objective in settings.values():
        # It checks them.
        DCG(**of_objective)
    return settings


def _check_names(argument: str, values: Mapping[str, object], names: list[str]) -> None:
    """Raise ValueError for a name that is none of an objective."""
    for name in values:
        if name not in names:
            raise ValueError(
                f"{argument} has {name!r}, which is no objective{did_you_mean(name, names)}; the "
                f"objectives are {', '.join(names)}"
            )
