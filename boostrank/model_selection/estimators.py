"""One interface for the rankers of LightGBM, XGBoost and CatBoost and other estimators: `fit` with
query ids.

This module imports none of these libraries. It knows their classes by name, because the caller has
imported them.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import _num_samples

from boostrank.datasets import Dataset
from boostrank.inputs.arrays import check_lengths
from boostrank.metrics.scorers import call_with_qid
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries, find_qid, positions_by_id, require_qid
from boostrank.queries.weights import document_weights, require_equal_weights


class Library(NamedTuple):
    """How the `fit` of a library's ranker takes queries and validation data, and how to read its
    number of rounds.

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

    arguments: Callable[[Any, Dataset, Any, list[Dataset]], dict[str, Any]]
    n_rounds: Callable[[Any], int]
    takes_document_weights: bool = False


class NativeRanker(BaseEstimator):
    """The ranker of LightGBM, XGBoost or CatBoost, with query ids in `fit`. :func:`accept_qid`
    creates it.

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

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The estimator, and, if `deep`, its parameters under their own names."""
        return {**(self.estimator.get_params() if deep else {}), "estimator": self.estimator}

    def set_params(self, **params: Any) -> Self:
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
        self, X: Any, y: Any, qid: Any = None, *, sample_weight: Any = None, eval_set: Any = None
    ) -> Self:
        """Train a clone of the estimator on the rows, which are sorted by query if they are not
        grouped by query.

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
        library, name = _library(self.estimator), type(self.estimator).__name__
        train, weights = _grouped(X, y, qid, sample_weight, name, library.takes_document_weights)
        eval_sets = eval_set or [] if needs_validation(self) else []
        validation = [_grouped(V, v, ids, None, name, False)[0] for V, v, ids in eval_sets]
        fitted = clone(self).estimator
        fitted.fit(train.X, train.y, **library.arguments(fitted, train, weights, validation))
        self.estimator_, self.best_iteration_ = fitted, library.n_rounds(fitted)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the score of each row, shape (n_documents,); a column "qid" of a DataFrame is no
        feature.
        """
        return np.asarray(self.estimator_.predict(find_qid(X, None)[0]))


def accept_qid(estimator: Any) -> Any:
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
    return _with_last_step(
        estimator, lambda last: last if _library(last) is None else NativeRanker(last)
    )


def unwrap(estimator: Any) -> Any:
    """Return the fitted estimator of the library itself; reverses :func:`accept_qid` after
    `fit`.
    """
    return _with_last_step(
        estimator, lambda last: last.estimator_ if isinstance(last, NativeRanker) else last
    )


def needs_validation(estimator: Any) -> bool:
    """Whether an estimator uses validation data: its `fit` takes `qid` and `eval_set`, and it stops
    early by them.

    A ranker with `validation_fraction` holds out some of the queries to train on, and needs no
    others. An estimator without a parameter `early_stopping_rounds` may use validation data for
    something else.
    """
    if isinstance(estimator, Pipeline):
        return needs_validation(estimator[-1])
    ranker = clone(accept_qid(estimator))
    parameters, takes = ranker.get_params(), inspect.signature(ranker.fit).parameters
    stops_early = any(parameters.get(name) for name in EARLY_STOPPING)
    may_use_them = stops_early or not (
        "early_stopping_rounds" in parameters or isinstance(ranker, NativeRanker)
    )
    return may_use_them and "eval_set" in takes and parameters.get("validation_fraction") is None


def fit_with_validation(estimator: Any, train: Dataset, validation: Dataset | None) -> Any:
    """Train a clone of any estimator, with query ids if it takes them and validation data if it
    needs them.

    Parameters
    ----------
    estimator : estimator
        A ranker of boostrank, LightGBM, XGBoost or CatBoost; an estimator whose `fit` takes `qid`,
        as an argument or by scikit-learn's metadata routing; a Pipeline that ends with one of
        these; or another estimator, which is trained on X and y only.
    train, validation : Dataset
        `validation` is passed as ``eval_set=[(X, y, qid)]`` if the estimator uses it
        (:func:`needs_validation`).

    Examples
    --------
    >>> from boostrank.datasets import make_ranking
    >>> from sklearn.linear_model import Ridge
    >>> data = Dataset(*make_ranking(n_queries=10, random_state=0))
    >>> fit_with_validation(Ridge(), data, data).predict(data.X).shape == data.y.shape
    True
    """
    fitted = last = clone(accept_qid(estimator))
    validation = validation if needs_validation(estimator) else None
    while isinstance(last, Pipeline):
        if len(last) > 1:
            transformer = last[:-1]
            train = train._replace(
                X=call_with_qid(transformer, "fit_transform", train.qid, train.X, train.y)
            )
            if validation is not None:
                rows = call_with_qid(transformer, "transform", validation.qid, validation.X)
                validation = validation._replace(X=rows)
        last = last[-1]
    arguments: dict[str, Any] = {}
    with sklearn.config_context(enable_metadata_routing=True):
        parameters = inspect.signature(last.fit).parameters
        if "qid" in parameters or get_routing_for_object(last).consumes("fit", ["qid"]):
            arguments["qid"] = train.qid
            if validation is not None:
                arguments["eval_set"] = [tuple(validation)]
        last.fit(train.X, train.y, **arguments)
    return fitted


def n_rounds(estimator: Any) -> float:
    """Number of boosting rounds that the predictions of a fitted ranker use; NaN for an estimator
    without this number.

    `estimator` is a ranker of boostrank, a :class:`NativeRanker`, or a Pipeline that ends with one.
    """
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return float(getattr(last, "best_iteration_", np.nan))


def _with_last_step(estimator: Any, change: Callable[[Any], Any]) -> Any:
    """The estimator as `change` returns it; of a Pipeline, a copy in which the last step is
    changed.
    """
    if not isinstance(estimator, Pipeline):
        return change(estimator)
    changed, (name, last) = copy.copy(estimator), estimator.steps[-1]
    changed.steps = [*estimator.steps[:-1], (name, _with_last_step(last, change))]
    return changed


def _grouped(
    X: Any, y: Any, qid: Any, sample_weight: Any, name: str, may_differ: bool
) -> tuple[Dataset, Any]:
    """The rows, sorted by query if they are not grouped, with the query ids 0, 1, ..., and the
    weight of each row.

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
    return Dataset(
        _safe_indexing(X, rows), relevance[rows], number[rows]
    ), None if weights is None else weights[rows]


def _library(estimator: Any) -> Any:
    """The library of a ranker, or of one of the base classes of its class; None for any other
    estimator.
    """
    names = [(kind.__module__.partition(".")[0], kind.__name__) for kind in type(estimator).__mro__]
    return next((LIBRARIES[name] for name in names if name in LIBRARIES), None)


def _lightgbm_arguments(
    estimator: Any, train: Dataset, weights: Any, validation: list[Dataset]
) -> dict[str, Any]:
    groups = [np.bincount(data.qid) for data in validation] or None
    arguments: dict[str, Any] = {
        "group": np.bincount(train.qid),
        "sample_weight": weights,
        "eval_group": groups,
    }
    # LightGBM 4.7 warns that `eval_set` is deprecated, and older versions have nothing else.
    if validation and "eval_X" in inspect.signature(estimator.fit).parameters:
        features, labels, _ = zip(*validation, strict=True)
        return {**arguments, "eval_X": features, "eval_y": labels}
    return {**arguments, "eval_set": [data[:2] for data in validation] or None}


def _lightgbm_rounds(estimator: Any) -> int:
    # Without early stopping, the best iteration is 0.
    return int(estimator.best_iteration_ or estimator.n_iter_)


def _xgboost_arguments(
    estimator: Any, train: Dataset, weights: Any, validation: list[Dataset]
) -> dict[str, Any]:
    return {
        "qid": train.qid,
        "sample_weight": None if weights is None else weights[np.diff(train.qid, prepend=-1) > 0],
        "eval_set": [data[:2] for data in validation] or None,
        "eval_qid": [data.qid for data in validation] or None,
    }


def _xgboost_rounds(estimator: Any) -> int:
    # Without early stopping, there is no best iteration.
    last = getattr(estimator, "best_iteration", None)
    return int(estimator.get_booster().num_boosted_rounds() if last is None else last + 1)


def _catboost_arguments(
    estimator: Any, train: Dataset, weights: Any, validation: list[Dataset]
) -> dict[str, Any]:
    columns = {name: estimator.get_params().get(name) for name in ("cat_features", "text_features")}
    # Only a Pool has query ids. The module is that of the estimator, which the caller has imported.
    pool = sys.modules["catboost"].Pool
    return {
        "group_id": train.qid,
        "group_weight": weights,
        "eval_set": [pool(data.X, data.y, group_id=data.qid, **columns) for data in validation]
        or None,
    }


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
EARLY_STOPPING = [f"early_stopping{end}" for end in ("", "_round", "_rounds")]
EARLY_STOPPING += [
    "n_iter_no_change",
    "callbacks",
    "od_wait",
    "od_pval",
    "od_type",
    "use_best_model",
]
