"""Cross-validation, learning curves and grid search of scikit-learn on folds of whole queries."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import ArrayLike
from sklearn import model_selection
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object
from sklearn.utils.validation import _num_samples

from boostrank.inputs.arrays import Floats, Ints, check_lengths, refuse_lazy
from boostrank.inputs.checks import (
    EstimatorSeed,
    as_random_state,
    check_number,
    named_part,
    refuse,
)
from boostrank.metrics import Measure, default_measure, make_scorer
from boostrank.metrics.registry import MeasuresLike
from boostrank.metrics.scorers import Estimator, call_with_qid
from boostrank.model_selection.estimators import accept_qid, unwrap
from boostrank.model_selection.splits import Folds, Splitter, make_folds
from boostrank.model_selection.time_split import without_time
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.groups import numbers_of_groups
from boostrank.queries.id_columns import warn_of_frame, without_id_warnings
from boostrank.queries.queries import Features, Queries, find_qid, require_qid
from boostrank.queries.weights import document_weights

#: Arguments of the `fit` of an estimator by name, such as `sample_weight`.
FitArguments = Mapping[str, Any]


class QueryGridSearchCV(model_selection.GridSearchCV):
    """Result of :func:`grid_search`: scikit-learn's ``GridSearchCV`` with metadata routing.

    Routing is enabled in its methods. ``fit`` and ``score`` take `qid`, and `X` may be a DataFrame
    with a column or an index level named "qid". The attributes are those of ``GridSearchCV``.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    >>> ranker = br.LightGBMRanker("softmax", n_estimators=10, learning_rate=0.1)
    >>> search = br.grid_search(
    ...     ranker, {"num_leaves": [4, 8]}, X, y, qid, cv=3, scoring=["ndcg@10", "map"]
    ... )
    >>> search.best_params_ == search.cv_results_["params"][search.best_index_]
    True
    >>> search.score(X, y, qid=qid) == br.ndcg_score(y, search.predict(X), qid, k=10)
    True
    """

    def fit(self, X: Features, y: ArrayLike | Labels | None = None, **params: object) -> Self:
        """Search, and train `best_estimator_` with the best parameters, as ``GridSearchCV.fit``.

        Parameters
        ----------
        X, y
            As in :func:`grid_search`.
        **params
            `qid`, and other arguments of the ranker's `fit` that it requests.
        """
        with sklearn.config_context(enable_metadata_routing=True):
            super().fit(X, y, **params)
        if hasattr(self, "best_estimator_"):
            self.best_estimator_: Any = unwrap(self.best_estimator_)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not hasattr(self, "best_params_"):
            return str(super().__repr__(N_CHAR_MAX))
        n_settings = len(self.cv_results_["params"])
        best = f"best_params_={self.best_params_}"
        if hasattr(self, "best_score_"):
            best += f", best_score_={self.best_score_:.4f}"
        return f"{type(self).__name__}({best}, of {n_settings} settings on {self.n_splits_} folds)"

    def predict(self, X: Features, qid: ArrayLike | None = None) -> Any:
        """Predict the score of each row by `best_estimator_`.

        A column "qid" of a DataFrame is no feature. `qid` are the lists of a ranker with
        `query_features`, as in its own `predict`.
        """
        X, qid = find_qid(X, qid)
        if qid is None:
            return super().predict(X)
        return call_with_qid(self.best_estimator_, "predict", qid, X)

    def score(self, X: Features, y: ArrayLike | Labels | None = None, **params: Any) -> float:
        """Score `best_estimator_` by the scorer that `refit` names.

        Parameters
        ----------
        X, y
            As in :func:`grid_search`.
        **params
            `qid`, the query id of each row. May be left out as in :func:`grid_search`.
        """
        X, qid = find_qid(X, params.get("qid"), y)
        if qid is not None:
            params["qid"] = qid
        with sklearn.config_context(enable_metadata_routing=True):
            return float(super().score(X, y, **params))


def cross_validate(
    ranker: Estimator,
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None = None,
    *,
    cv: Splitter = 5,
    groups: ArrayLike | None = None,
    scoring: MeasuresLike | None = None,
    params: FitArguments | None = None,
    **options: object,
) -> dict[str, Any]:
    """Cross-validate a ranker on folds of whole queries.

    This is scikit-learn's ``cross_validate``, with metadata routing enabled during the call.

    Parameters
    ----------
    ranker : estimator
        A ranker, or a Pipeline that ends with one. Rankers of LightGBM, XGBoost and CatBoost get
        the groups in the form of their library.
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
        Features.
    y : array-like, shape (n_documents,), PreferenceGraph, ClickLabels or MultipleLabels
        Relevance labels, or preferences between the rows of X, or clicks on them, or labels of
        several objectives.
    qid : array-like, shape (n_documents,), str or list of str, optional
        Query id of each row, or the names of columns or index levels of `X` that contain it. May be
        left out if `X` is a DataFrame with a column or an index level named "qid", or if `y` is a
        PreferenceGraph or ClickLabels.
    cv : int, splitter or iterable of (train, test), default 5
        An integer is the number of folds of :class:`boostrank.QueryKFold`. For lists in time give a
        :class:`boostrank.QueryTimeSplit`; a column of `X` that has its times is then no feature.
    groups : array-like, shape (n_documents,) or (n_queries,), optional
        Queries that belong together, such as those of one user: the group of each row, or of each
        query in the sequence in which queries first appear. No fold divides a group, and rankers of
        boostrank get the groups of their training rows.
    scoring : str, Measure or scorer, or list or dict of them, optional
        Measures as in :func:`boostrank.get_measure`, or scorers as those of
        :func:`boostrank.make_scorer`. Each element of a list, and each name of a dict, is a score
        in the result. The default is "ndcg@10", or "ndcg(gain=rank)@10" if labels are negative, for
        a PreferenceGraph "agreement", for ClickLabels "click-dcg@10", and for MultipleLabels
        "weighted-ndcg@10".
    params : dict, optional
        Other arguments of the ranker's `fit`, such as `sample_weight`: weights of queries, in the
        sequence in which they first appear, or of documents. Each fold gets the weights of its
        rows. The weights are used in training, and in the scores of scorers that request them by
        ``set_score_request``. In a Pipeline only its last step gets them, unless others request
        them.
    **options
        Other arguments of scikit-learn's function, such as `n_jobs` or `return_train_score`. By
        default `error_score` is "raise": an error in a fold is raised, and not printed as a
        warning.

    Returns
    -------
    dict of ndarray, each of shape (n_folds,)
        The result of scikit-learn's function. The scores are ``"test_score"``, or ``"test_NAME"``
        for each name if `scoring` is a list or a dict. With ``return_estimator=True``, the
        attribute `best_iteration_` of each ranker is its number of boosting rounds, which early
        stopping may have reduced.

    Raises
    ------
    ValueError
        If there are no query ids, if a fold has rows of one query both to train and to test on, for
        weights that are invalid, if `scoring` needs other labels than `y` are: relevance, a
        PreferenceGraph or ClickLabels; and if clicks have no impression in a part of a fold, or no
        click in its test part.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> br.cross_validate(br.LightGBMRanker(n_estimators=5), X, y, qid, cv=3)["test_score"].shape
    (3,)
    """
    ranker, X, folds, scorers, params = _prepare(ranker, X, y, qid, cv, groups, scoring, params)
    options.setdefault("error_score", "raise")
    with sklearn.config_context(enable_metadata_routing=True), without_id_warnings():
        result = model_selection.cross_validate(
            ranker, X, y, cv=folds, scoring=scorers, params=params, **options
        )
    if "estimator" in result:
        result["estimator"] = [unwrap(fitted) for fitted in result["estimator"]]
    return result


class OutOfFold(NamedTuple):
    """Scores of rows by rankers that were not trained on their queries.

    Attributes
    ----------
    scores : ndarray, shape (n_documents,)
        NaN for rows that no fold tests on.
    folds : ndarray of int64, shape (n_documents,)
        Number of the fold that tests on each row; -1 for none.
    rankers : list of estimator
        The fitted ranker of each fold.
    """

    scores: Floats
    folds: Ints
    rankers: list[Any]


class Trainings:
    """Trainings of clones of a ranker on all rows, or on those of the folds of queries.

    Parameters
    ----------
    ranker, X, y, qid, cv, groups, params
        As in :func:`cross_validate`. `cv` may be None if there is only a training on all rows.
    """

    def __init__(
        self,
        ranker: Estimator,
        X: Features,
        y: ArrayLike | Labels,
        qid: ArrayLike,
        *,
        cv: Splitter,
        groups: ArrayLike | None,
        params: FitArguments,
    ) -> None:
        prepared = _prepare(ranker, X, y, qid, cv, groups, None, params)
        self._ranker, self._X, self._folds, _, self._params = prepared
        self._y: Any = y

    def on_all_rows(self) -> Any:
        """A clone that is trained on all rows."""
        return unwrap(self._train(slice(None)))

    def out_of_fold(self) -> OutOfFold:
        """Train a clone on each fold, and score the rows that the fold tests on."""
        qid = self._params["qid"]
        scores = np.full(len(qid), np.nan)
        numbers = np.full(len(qid), -1)
        rankers = []
        for number, (train, test) in enumerate(self._folds):
            with named_part(f"fold {number + 1}"):
                fitted = self._train(train)
            rows = _safe_indexing(self._X, test)
            scores[test] = call_with_qid(fitted, "predict", qid[test], rows)
            numbers[test] = number
            rankers.append(unwrap(fitted))
        return OutOfFold(scores, numbers, rankers)

    def _train(self, rows: slice | Ints) -> Any:
        """A clone that is trained on some rows; other arguments than X and y if it takes them."""
        ranker: Any = clone(self._ranker)
        X = self._X
        if not isinstance(rows, slice):
            X = _safe_indexing(X, rows)
        with sklearn.config_context(enable_metadata_routing=True):
            routing = get_routing_for_object(ranker)
            taken = routing.consumes("fit", self._params.keys())
            left = self._params.keys() - taken - {"qid", "groups"}
            if left:
                raise ValueError(f"fit of {type(ranker).__name__} takes no {', '.join(left)}")
            ranker.fit(X, self._y[rows], **{name: self._params[name][rows] for name in taken})
        return ranker


def learning_curve(
    ranker: Estimator,
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None = None,
    *,
    train_sizes: Iterable[float] = (0.1, 0.25, 0.5, 0.75, 1.0),
    cv: Splitter = 5,
    random_state: EstimatorSeed = 0,
    **options: Any,
) -> pd.DataFrame:
    """Cross-validate a ranker with different numbers of training queries.

    The training queries of each fold are permuted at random, and the first of them are trained on:
    a larger part contains the smaller ones, and no query is cut apart. All parts of a fold are
    tested on the same queries.

    Parameters
    ----------
    ranker, X, y, qid, cv, **options
        As in :func:`boostrank.cross_validate`, with `scoring` and `params` among the options. With
        ``return_train_score=True`` the result has the scores on the queries that were trained on
        too.
    train_sizes : iterable of float
        Numbers of training queries: fractions in (0, 1] of the training queries of a fold, rounded,
        at least one query.
    random_state : int, RandomState or None, default 0
        Seed of the permutations.

    Returns
    -------
    DataFrame
        One row per size and fold, in the sequence of the sizes, with the columns train_size, as it
        was given, n_queries, the number of training queries, fold, and test_score, or test_NAME for
        each name if `scoring` is a list or a dict.

    Raises
    ------
    ValueError
        As :func:`boostrank.cross_validate`; and if there is no size, or one is out of range.

    Examples
    --------
    >>> import boostrank as br
    >>> data = br.make_ranking(n_queries=40, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=5, n_jobs=1)
    >>> table = br.model_selection.learning_curve(ranker, *data, train_sizes=[0.5, 1.0], cv=2)
    >>> table[["train_size", "n_queries", "fold"]].to_numpy().tolist()
    [[0.5, 10.0, 0.0], [0.5, 10.0, 1.0], [1.0, 20.0, 0.0], [1.0, 20.0, 1.0]]
    """
    sizes = list(train_sizes)
    if not sizes:
        refuse("train_sizes", sizes, "at least one fraction in (0, 1]")
    for size in sizes:
        check_number("an element of train_sizes", size, above=0, largest=1)
    X, qid = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(qid, "learning_curve"))
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    groups = options.get("groups")
    if groups is not None:
        groups = numbers_of_groups(groups, queries)
    folds = make_folds(X, y, queries, cv, groups)
    X = without_time(X, cv)
    random = as_random_state(random_state)
    permuted = [random.permutation(np.unique(number[train])) for train, _ in folds]
    rows = []
    smaller_folds = []
    for size in sizes:
        for i, (train, test) in enumerate(folds):
            n_queries = max(1, round(size * len(permuted[i])))
            is_kept = np.isin(number[train], permuted[i][:n_queries])
            rows.append((size, n_queries, i))
            smaller_folds.append((train[is_kept], test))
    results = cross_validate(ranker, X, y, qid, cv=smaller_folds, **options)
    table = pd.DataFrame(rows, columns=["train_size", "n_queries", "fold"])
    for name, values in results.items():
        if name.startswith(("test_", "train_")):
            table[name] = values
    return table


def grid_search(
    ranker: Estimator,
    grid: Mapping[str, Sequence[object]] | Sequence[Mapping[str, Sequence[object]]],
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None = None,
    *,
    cv: Splitter = 5,
    groups: ArrayLike | None = None,
    scoring: MeasuresLike | None = None,
    params: FitArguments | None = None,
    **options: object,
) -> QueryGridSearchCV:
    """Search for the best parameters of a ranker by cross-validation on folds of whole queries.

    This is scikit-learn's ``GridSearchCV``, with metadata routing enabled.

    Parameters
    ----------
    ranker, X, y, qid, cv, groups, scoring, params
        As in :func:`cross_validate`. The `k` and the `gain` of a candidate do not change how it is
        scored.
    grid : dict, or list of dict
        Values to try, by the name of the parameter. The values of "objective" may also be native
        objectives such as "lambdarank".
    **options
        Other arguments of ``GridSearchCV``. By default `refit` is the name of the first score, and
        `error_score` is "raise".

    Returns
    -------
    QueryGridSearchCV
        A ``GridSearchCV`` that is fitted, and whose `score` takes `qid` too.

    Raises
    ------
    ValueError
        As :func:`cross_validate`.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> grid = {"objective": ["softmax", "lambdarank"]}
    >>> search = br.grid_search(br.LightGBMRanker(n_estimators=5), grid, X, y, qid, cv=3)
    >>> len(search.cv_results_["mean_test_score"])
    2
    >>> search.score(X, y, qid=qid) == br.make_scorer("ndcg@10")(search.best_estimator_, X, y, qid)
    True
    """
    ranker, X, folds, scorers, params = _prepare(ranker, X, y, qid, cv, groups, scoring, params)
    options.setdefault("error_score", "raise")
    if options.get("refit", True) is True:
        options["refit"] = next(iter(scorers))
    search = QueryGridSearchCV(ranker, grid, cv=folds, scoring=scorers, **options)
    with without_id_warnings():
        return search.fit(X, y, **params)


def _prepare(
    ranker: Estimator,
    X: Features,
    y: ArrayLike | Labels,
    qid: ArrayLike | None,
    cv: Splitter,
    groups: ArrayLike | None,
    scoring: MeasuresLike | None,
    params: FitArguments | None,
) -> tuple[Any, Features, Folds, dict[str, Any], dict[str, Any]]:
    """A ranker that takes query ids, features, folds, scorers, and arguments of `fit` by row."""
    params = dict(params or {})
    refuse_lazy(y, "y")
    X, qid = find_qid(X, qid, y)
    queries = Queries.from_qid(require_qid(qid, "cross-validation"))
    check_lengths(qid=queries.n_documents, y=_num_samples(y))
    if params.get("sample_weight") is not None:
        weights = document_weights(params["sample_weight"], queries, may_differ=True, grouped=False)
        params["sample_weight"] = queries.ungroup(weights)
    estimator = accept_qid(ranker)
    of_queries = None
    if groups is not None:
        of_queries = numbers_of_groups(groups, queries)
        if "groups" in inspect.signature(_steps(estimator)[-1].fit).parameters:
            params["groups"] = queries.ungroup(queries.repeat(of_queries))
    estimator = _requesting(estimator, params)
    params["qid"] = queries.qid
    folds = make_folds(X, y, queries, cv, of_queries)
    X = without_time(X, cv)
    # Once, and not for each fold.
    warn_of_frame(X, queries)
    return estimator, X, folds, _scorers(scoring, y), params


def _steps(estimator: Any) -> list[Any]:
    """The steps of a Pipeline, of which the last one is the ranker; or the ranker."""
    if isinstance(estimator, Pipeline):
        return [step for _, step in estimator.steps]
    return [estimator]


def _requesting(ranker: Estimator, names: Iterable[str]) -> Any:
    """A clone of a ranker whose `fit` requests these arguments; of a Pipeline, only the last step.

    Requests that the user has set are not changed.
    """
    cloned: Any = clone(ranker)
    steps = _steps(cloned)
    with sklearn.config_context(enable_metadata_routing=True):
        for step in steps:
            request = get_routing_for_object(step)
            if not isinstance(request, MetadataRequest):
                continue
            requests = request.fit.requests
            unset = [name for name in names if name in requests and requests[name] is None]
            if unset:
                step.set_fit_request(**dict.fromkeys(unset, step is steps[-1]))
    return cloned


def _scorers(scoring: MeasuresLike | None, y: ArrayLike | Labels) -> dict[str, Any]:
    """Scorers by name."""
    if scoring is None:
        labels = as_labels(y, signed=True)
        # Other gains are not defined for negative labels.
        has_negative = labels.per_document.min() < 0
        scoring = default_measure(labels, DCG(10, "rank" if has_negative else "exp2"))
    named: dict[str, Any]
    if isinstance(scoring, Mapping):
        named = dict(scoring)
    elif isinstance(scoring, (str, Measure)) or callable(scoring):
        named = {"score": scoring}
    else:
        named = {str(measure): measure for measure in scoring}
    for name, scorer in named.items():
        if isinstance(scorer, (str, Measure)):
            named[name] = make_scorer(scorer)
    return named
