"""One interface for rankers of LightGBM, XGBoost and CatBoost and others: `fit` with query ids.

This module imports none of these libraries. It knows their classes by name, because the caller has
imported them.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples

from boostrank.datasets import Dataset
from boostrank.inputs.arrays import Floats, check_lengths
from boostrank.metrics.scorers import Estimator, call_with_qid
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.queries import Features, Queries, find_qid, positions_by_id, require_qid
from boostrank.queries.weights import document_weights, require_equal_weights


class Library(NamedTuple):
    """How the `fit` of a library's ranker takes queries, and how to read its number of rounds.

    Attributes
    ----------
    arguments : callable
        Function of an estimator, training data, their weights and a list of validation data that
        returns the arguments of the estimator's `fit` except X and y. Rows of a query follow each
        other, and query ids are 0, 1, ....
    n_rounds : callable
        Function of a fitted estimator that returns the number of boosting rounds that its
        predictions use.
    takes_document_weights : bool
        Whether weights may differ within a query.
    """

    arguments: Callable[[Any, Dataset, Floats | None, list[Dataset]], dict[str, Any]]
    n_rounds: Callable[[Any], int]
    takes_document_weights: bool = False


class NativeRanker(BaseEstimator):
    """The ranker of LightGBM, XGBoost or CatBoost, with query ids in `fit`, by :func:`accept_qid`.

    Parameters
    ----------
    estimator : lightgbm.LGBMRanker, xgboost.XGBRanker or catboost.CatBoostRanker
        Its parameters can be set under their own names.

    Attributes
    ----------
    estimator_ : object of the class of `estimator`
        The fitted estimator.
    best_iteration_ : int
        Number of boosting rounds that predictions use.
    """

    __metadata_request__fit: ClassVar = {"qid": True, "sample_weight": True, "eval_set": True}

    def __init__(self, estimator: Estimator) -> None:
        self.estimator: Any = estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The estimator, and, if `deep`, its parameters under their own names."""
        parameters = self.estimator.get_params() if deep else {}
        return {**parameters, "estimator": self.estimator}

    def set_params(self, **params: object) -> Self:
        """Set the estimator, or its parameters."""
        self.estimator = params.pop("estimator", self.estimator)
        self.estimator.set_params(**params)
        return self

    def __sklearn_clone__(self) -> NativeRanker:
        # scikit-learn's `clone` refuses a CatBoostRanker with lists, such as `cat_features`,
        # because it copies them.
        parameters = self.estimator.get_params(deep=False)
        copied = {name: clone(value, safe=False) for name, value in parameters.items()}
        return NativeRanker(type(self.estimator)(**copied))

    def fit(
        self,
        X: Features,
        y: ArrayLike | Labels,
        qid: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        eval_set: Iterable[tuple[Features, ArrayLike, ArrayLike]] | None = None,
    ) -> Self:
        """Train a clone of the estimator on the rows, which are sorted by query if necessary.

        Parameters
        ----------
        X, y, qid
            As in :meth:`boostrank.LightGBMRanker.fit`, but y must be relevance.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries, in the sequence in which they first appear in `qid`, or of
            documents. Only LightGBM takes weights that differ within a query.
        eval_set : list of (X, y, qid), optional
            Validation sets. They are used only if a parameter of the estimator asks for early
            stopping.

        Raises
        ------
        ValueError
            If there are no query ids, and for labels, query ids, weights or validation sets that
            are invalid.
        """
        library = _library(self.estimator)
        name = type(self.estimator).__name__
        train, weights = _grouped(X, y, qid, sample_weight, name, library.takes_document_weights)
        validation = []
        if eval_set is not None and needs_validation(self):
            for X_held_out, labels, ids in eval_set:
                data, _ = _grouped(X_held_out, labels, ids, None, name, False)
                validation.append(data)
        fitted = clone(self).estimator
        fitted.fit(train.X, train.y, **library.arguments(fitted, train, weights, validation))
        self.estimator_ = fitted
        self.best_iteration_ = library.n_rounds(fitted)
        return self

    def predict(self, X: Features) -> NDArray[Any]:
        """Predict the score of each row, shape (n_documents,).

        A column "qid" of a DataFrame is no feature.
        """
        features, _ = find_qid(X, None)
        return np.asarray(self.estimator_.predict(features))


def accept_qid(estimator: Estimator) -> Any:
    """Wrap a ranker of LightGBM, XGBoost or CatBoost, such that its `fit` takes query ids.

    Parameters
    ----------
    estimator : estimator
        A ranker of these libraries is wrapped in a :class:`NativeRanker`, and so is one that is the
        last step of a Pipeline. Any other estimator is returned unchanged.

    Examples
    --------
    >>> import lightgbm
    >>> ranker = accept_qid(lightgbm.LGBMRanker(n_estimators=2, min_child_samples=1, verbose=-1))
    >>> ranker.fit(
    ...     [[0.0], [3.0], [1.0], [2.0]], [0, 3, 1, 2], qid=["a", "b", "a", "b"]
    ... ).best_iteration_
    2
    """
    return _with_last_step(estimator, _wrap)


def unwrap(estimator: Estimator) -> Any:
    """Return the fitted estimator of the library itself, which :func:`accept_qid` has wrapped."""
    return _with_last_step(estimator, _unwrap)


def _wrap(estimator: Estimator) -> Estimator:
    return estimator if _library(estimator) is None else NativeRanker(estimator)


def _unwrap(estimator: Estimator) -> Estimator:
    return estimator.estimator_ if isinstance(estimator, NativeRanker) else estimator


def needs_validation(estimator: Estimator) -> bool:
    """Whether an estimator uses validation data: its `fit` takes them, and it stops early by them.

    A ranker with `validation_fraction` holds out some of the queries to train on, and needs no
    others. An estimator without a parameter `early_stopping_rounds` may use validation data for
    something else.
    """
    if isinstance(estimator, Pipeline):
        return needs_validation(estimator[-1])
    ranker = clone(accept_qid(estimator))
    parameters = ranker.get_params()
    if "eval_set" not in inspect.signature(ranker.fit).parameters:
        return False
    if parameters.get("validation_fraction") is not None:
        return False
    if any(parameters.get(name) for name in EARLY_STOPPING):
        return True
    return "early_stopping_rounds" not in parameters and not isinstance(ranker, NativeRanker)


def fit_with_validation(
    estimator: Estimator,
    train: Dataset,
    validation: Dataset | None,
    groups: ArrayLike | None = None,
) -> Any:
    """Train a clone of any estimator, with query ids and validation data if it takes them.

    Parameters
    ----------
    estimator : estimator
        A ranker of boostrank, LightGBM, XGBoost or CatBoost; an estimator whose `fit` takes `qid`,
        as an argument or by scikit-learn's metadata routing; a Pipeline that ends with one of
        these; or another estimator, which is trained on X and y only.
    train, validation : Dataset
        `validation` is passed as ``eval_set=[(X, y, qid)]`` if the estimator uses it
        (:func:`needs_validation`).
    groups : array-like, shape (n_documents,), optional
        The group of each row to train on, for an estimator whose `fit` takes `groups`.

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from sklearn.linear_model import Ridge
    >>> data = Dataset(*make_ranking(n_queries=10, random_state=0))
    >>> fit_with_validation(Ridge(), data, data).predict(data.X).shape == data.y.shape
    True
    """
    fitted = last = clone(accept_qid(estimator))
    if not needs_validation(estimator):
        validation = None
    while isinstance(last, Pipeline):
        if len(last) > 1:
            train, validation = _fit_transform(last[:-1], train, validation)
        last = last[-1]
    arguments: dict[str, Any] = {}
    with sklearn.config_context(enable_metadata_routing=True):
        parameters = inspect.signature(last.fit).parameters
        if "qid" in parameters or get_routing_for_object(last).consumes("fit", ["qid"]):
            arguments["qid"] = train.qid
            if validation is not None:
                arguments["eval_set"] = [tuple(validation)]
        if groups is not None and "groups" in parameters:
            arguments["groups"] = groups
        last.fit(train.X, train.y, **arguments)
    return fitted


def _fit_transform(
    transformer: Estimator, train: Dataset, validation: Dataset | None
) -> tuple[Dataset, Dataset | None]:
    """The data with the features that a transformer makes, which is fitted to the first ones."""
    X = call_with_qid(transformer, "fit_transform", train.qid, train.X, train.y)
    if validation is not None:
        rows = call_with_qid(transformer, "transform", validation.qid, validation.X)
        validation = validation._replace(X=rows)
    return train._replace(X=X), validation


def n_rounds(estimator: Estimator) -> float:
    """Number of boosting rounds that predictions of a fitted ranker use; NaN if it has none.

    `estimator` is a ranker of boostrank, a :class:`NativeRanker`, or a Pipeline that ends with one.
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(getattr(last, "best_iteration_", np.nan))


def _with_last_step(estimator: Estimator, change: Callable[[Estimator], Estimator]) -> Any:
    """The estimator as `change` returns it; of a Pipeline, a copy with the last step changed."""
    if not isinstance(estimator, Pipeline):
        return change(estimator)
    name, last = estimator.steps[-1]
    changed = copy.copy(estimator)
    changed.steps = [*estimator.steps[:-1], (name, _with_last_step(last, change))]
    return changed


def _grouped(
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None,
    sample_weight: ArrayLike | None,
    name: str,
    may_differ: bool,
) -> tuple[Dataset, Floats | None]:
    """The rows, grouped by query, with the query ids 0, 1, ..., and the weight of each row.

    `name` is the estimator's, for messages, and `may_differ` says whether it takes weights that
    differ within a query.
    """
    X, qid = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(qid, f"{name}.fit"))
    relevance = as_labels(y).require_relevance(name)
    check_lengths(X=_num_samples(X), y=len(relevance), qid=queries.n_documents)
    weights = None
    if sample_weight is not None:
        weights = document_weights(sample_weight, queries, may_differ=True, grouped=False)
        if not may_differ:
            require_equal_weights(weights, queries, f"{name} takes no weights of documents.")
        weights = queries.ungroup(weights)
    if queries.permutation is None:
        return Dataset(X, relevance, queries.repeat(np.arange(queries.n_queries))), weights
    number = queries.ungroup(queries.repeat(positions_by_id(queries.ids)))
    rows = np.argsort(number, kind="stable")
    if weights is not None:
        weights = weights[rows]
    return Dataset(_safe_indexing(X, rows), relevance[rows], number[rows]), weights


def _library(estimator: Estimator) -> Any:
    """The library of a ranker, or of a base class of its class; None for any other estimator."""
    for kind in type(estimator).__mro__:
        package, _, _ = kind.__module__.partition(".")
        library = LIBRARIES.get((package, kind.__name__))
        if library is not None:
            return library
    return None


def _lightgbm_arguments(
    estimator: Any, train: Dataset, weights: Floats | None, validation: list[Dataset]
) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "group": np.bincount(train.qid),
        "sample_weight": weights,
        "eval_group": [np.bincount(data.qid) for data in validation] or None,
    }
    # LightGBM 4.7 warns that `eval_set` is deprecated, and older versions have nothing else.
    if validation and "eval_X" in inspect.signature(estimator.fit).parameters:
        arguments["eval_X"] = tuple(data.X for data in validation)
        arguments["eval_y"] = tuple(data.y for data in validation)
    else:
        arguments["eval_set"] = [(data.X, data.y) for data in validation] or None
    return arguments


def _lightgbm_rounds(estimator: Any) -> int:
    # Without early stopping, the best iteration is 0.
    return int(estimator.best_iteration_ or estimator.n_iter_)


def _xgboost_arguments(
    estimator: Any, train: Dataset, weights: Floats | None, validation: list[Dataset]
) -> dict[str, Any]:
    if weights is not None:
        # One weight for each query.
        weights = weights[np.diff(train.qid, prepend=-1) > 0]
    return {
        "qid": train.qid,
        "sample_weight": weights,
        "eval_set": [(data.X, data.y) for data in validation] or None,
        "eval_qid": [data.qid for data in validation] or None,
    }


def _xgboost_rounds(estimator: Any) -> int:
    # Without early stopping, there is no best iteration.
    last = getattr(estimator, "best_iteration", None)
    return int(estimator.get_booster().num_boosted_rounds() if last is None else last + 1)


def _catboost_arguments(
    estimator: Any, train: Dataset, weights: Floats | None, validation: list[Dataset]
) -> dict[str, Any]:
    columns = {name: estimator.get_params().get(name) for name in ("cat_features", "text_features")}
    # Only a Pool has query ids. The module is that of the estimator, which the caller has imported.
    make_pool = sys.modules["catboost"].Pool
    pools = [make_pool(data.X, data.y, group_id=data.qid, **columns) for data in validation]
    return {"group_id": train.qid, "group_weight": weights, "eval_set": pools or None}


# Rankers by the package and the name of their class.
LIBRARIES = {
    ("lightgbm", "LGBMRanker"): Library(
        _lightgbm_arguments, _lightgbm_rounds, takes_document_weights=True
    ),
    ("xgboost", "XGBRanker"): Library(_xgboost_arguments, _xgboost_rounds),
    ("catboost", "CatBoostRanker"): Library(
        _catboost_arguments, lambda ranker: int(ranker.tree_count_)
    ),
}
# Parameters of estimators that make them choose their number of rounds by validation data.
EARLY_STOPPING = [
    "early_stopping",
    "early_stopping_round",
    "early_stopping_rounds",
    "n_iter_no_change",
    "callbacks",
    "od_wait",
    "od_pval",
    "od_type",
    "use_best_model",
]
