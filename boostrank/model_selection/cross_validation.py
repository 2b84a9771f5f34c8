"""Cross-validation and grid search on folds of whole queries, with scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn import model_selection
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

from boostrank.clicks import ClickDCG, ClickLabels, ClickLog
from boostrank.inputs.arrays import Ints
from boostrank.inputs.checks import named_part
from boostrank.inputs.frames import find_qid, require_qid
from boostrank.metrics import Measure, make_scorer
from boostrank.metrics.scorers import RankingScorer
from boostrank.model_selection.estimators import accept_qid, last_step, n_rounds, unwrap
from boostrank.model_selection.splits import QueryKFold
from boostrank.preferences import PreferenceGraph
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import as_labels
from boostrank.queries.queries import Queries
from boostrank.queries.weights import document_weights
from boostrank.tables.html import html_table


class Folds(list[tuple[Ints, Ints]]):
    """Folds of whole queries: pairs of row numbers, to train and to test on. They are not printed."""

    def __repr__(self) -> str:
        return f"<{len(self)} folds of queries>"


class CrossValidationResults(dict[str, Any]):
    """The dict of :func:`cross_validate`; notebooks show a table of its scores, with a row for each fold."""

    def _repr_html_(self) -> str:
        """The scores of the folds and their means as an HTML table, for notebooks."""
        scores = {name: values for name, values in self.items() if name.startswith(("test_", "train_"))}
        rows = [
            [f"fold {i}", *(f"{value:.4f}" for value in row)]
            for i, row in enumerate(zip(*scores.values(), strict=True))
        ]
        means = ["mean", *(f"{np.mean(values):.4f}" for values in scores.values())]
        return html_table([["", *scores], *rows, means])


class QueryGridSearchCV(GridSearchCV):
    """Result of :func:`grid_search`: scikit-learn's ``GridSearchCV``, with metadata routing enabled in its methods.

    ``fit`` and ``score`` take `qid`, and `X` may be a DataFrame with a column or an index level named "qid". The
    attributes are those of ``GridSearchCV``.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=30, random_state=0)
    >>> ranker = br.LightGBMRanker("softmax", n_estimators=10)
    >>> search = grid_search(ranker, {"num_leaves": [4, 8]}, X, y, qid, cv=3, scoring=["ndcg@10", "map"])
    >>> search.best_params_ == search.cv_results_["params"][search.best_index_]
    True
    >>> search.score(X, y, qid=qid) == br.ndcg_score(y, search.predict(X), qid, k=10)
    True
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, and train `best_estimator_` with the best parameters, as ``GridSearchCV.fit`` with routing enabled.

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

    def predict(self, X: Any) -> Any:
        """Predict the score of each row by `best_estimator_`; a column "qid" of a DataFrame is no feature."""
        return super().predict(find_qid(X, None)[0])

    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Score `best_estimator_` by the scorer that `refit` names.

        Parameters
        ----------
        X, y
            As in :func:`grid_search`.
        **params
            `qid`, the query id of each row. May be left out as in :func:`grid_search`.
        """
        X, qid = find_qid(X, params.get("qid"), y)
        given = params if qid is None else {**params, "qid": qid}
        with sklearn.config_context(enable_metadata_routing=True):
            return float(super().score(X, y, **given))


def cross_validate(
    ranker: Any,
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Cross-validate a ranker on folds of whole queries.

    This is scikit-learn's ``cross_validate``, with metadata routing enabled during the call.

    Parameters
    ----------
    ranker : estimator
        A ranker, or a Pipeline that ends with one. Rankers of LightGBM, XGBoost and CatBoost get the groups in the form
        of their library.
    X : array-like, sparse matrix or DataFrame, shape (n_documents, n_features)
        Features.
    y : array-like, shape (n_documents,), PreferenceGraph or ClickLabels
        Relevance labels, or preferences between the rows of X, or clicks on them.
    qid : array-like, shape (n_documents,), optional
        Query id of each row. May be left out if `X` is a DataFrame with a column or an index level named "qid", or if
        `y` is a PreferenceGraph or ClickLabels.
    cv : int, splitter or iterable of (train, test), default 5
        An integer is the number of folds of :class:`boostrank.QueryKFold`.
    scoring : str, Measure or scorer, or list or dict of them, optional
        Measures as in :func:`boostrank.get_measure`, or scorers as those of :func:`boostrank.make_scorer`. Each element
        of a list, and each name of a dict, is a score in the result. The default is "ndcg@10", for a PreferenceGraph
        "agreement", and for ClickLabels "click-dcg@10".
    params : dict, optional
        Other arguments of the ranker's `fit`, such as `sample_weight`: weights of queries, in the sequence in which
        they first appear, or of documents. Each fold gets the weights of its rows. The weights are used in training,
        and in the scores of scorers that request them by ``set_score_request``. In a Pipeline only its last step gets
        them, unless others request them.
    **options
        Other arguments of scikit-learn's function, such as `n_jobs` or `return_train_score`.

    Returns
    -------
    dict of ndarray, each of shape (n_folds,)
        The result of scikit-learn's function, which notebooks show as a table. The scores are ``"test_score"``, or
        ``"test_NAME"`` for each name if `scoring` is a list or a dict. ``"test_n_estimators"`` is the number of
        boosting rounds that the predictions of each model use, which early stopping may have reduced.

    Raises
    ------
    ValueError
        If there are no query ids, if a fold has rows of one query both to train and to test on, for weights that are
        invalid, if `scoring` needs other labels than `y` are: relevance, a PreferenceGraph or ClickLabels; and if
        clicks have no impression in a part of a fold, or no click in its test part.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> cross_validate(br.LightGBMRanker(n_estimators=5), X, y, qid, cv=3)["test_score"].shape
    (3,)
    """
    ranker, X, folds, params = _prepare(ranker, X, y, qid, cv, params)
    scorers = _scorers(scoring, y, ranker, folds)
    with sklearn.config_context(enable_metadata_routing=True):
        result = model_selection.cross_validate(ranker, X, y, cv=folds, scoring=scorers, params=params, **options)
    if "estimator" in result:
        result["estimator"] = [unwrap(fitted) for fitted in result["estimator"]]
    return CrossValidationResults(result)


def grid_search(
    ranker: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    X: Any,
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    cv: Any = 5,
    scoring: Any = None,
    params: Mapping[str, Any] | None = None,
    **options: Any,
) -> QueryGridSearchCV:
    """Search for the best parameters of a ranker by cross-validation on folds of whole queries.

    This is scikit-learn's ``GridSearchCV``, with metadata routing enabled.

    Parameters
    ----------
    ranker, X, y, qid, cv, scoring, params
        As in :func:`cross_validate`. The `k` and the `gain` of a candidate do not change how it is scored.
    grid : dict, or list of dict
        Values to try, by the name of the parameter. The values of "objective" may also be native objectives such as
        "lambdarank".
    **options
        Other arguments of ``GridSearchCV``. By default `refit` is the name of the first score.

    Returns
    -------
    QueryGridSearchCV
        A ``GridSearchCV`` that is fitted, and whose `score` takes `qid` too.
        ``cv_results_["mean_test_n_estimators"]`` is the mean number of boosting rounds that the predictions of the
        models use.

    Raises
    ------
    ValueError
        As :func:`cross_validate`.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    >>> grid = {"objective": ["softmax", "lambdarank"]}
    >>> search = grid_search(br.LightGBMRanker(n_estimators=5), grid, X, y, qid, cv=3)
    >>> len(search.cv_results_["mean_test_score"])
    2
    >>> search.score(X, y, qid=qid) == br.make_scorer("ndcg@10")(search.best_estimator_, X, y, qid)
    True
    """
    ranker, X, folds, params = _prepare(ranker, X, y, qid, cv, params)
    scorers = _scorers(scoring, y, ranker, folds)
    if options.get("refit", True) is True:
        options["refit"] = next(iter(scorers))
    return QueryGridSearchCV(ranker, grid, cv=folds, scoring=scorers, **options).fit(X, y, **params)


def _prepare(
    ranker: Any, X: Any, y: ArrayLike, qid: ArrayLike | None, cv: Any, params: Mapping[str, Any] | None
) -> tuple[Any, Any, Folds, dict[str, Any]]:
    """Return a ranker that takes query ids, features, folds, and the arguments of `fit` with one value per row."""
    given = dict(params or {})
    own_qid = given.pop("qid", None)
    X, qid = find_qid(X, own_qid if qid is None else qid, y)
    queries = Queries.from_qid(require_qid(qid, "cross-validation"))
    if given.get("sample_weight") is not None:
        weights = document_weights(given["sample_weight"], queries, may_differ=True, grouped=False)
        given["sample_weight"] = queries.ungroup(weights)
    ranker = accept_qid(ranker)
    if given:
        ranker = _requesting(ranker, given)
    return ranker, X, make_folds(X, y, queries, cv), {**given, "qid": queries.qid}


def _requesting(ranker: Any, names: Iterable[str]) -> Any:
    """A clone of a ranker whose `fit` requests these arguments; the other steps of a Pipeline do not.

    Requests that the user has set are not changed.
    """
    ranker = clone(ranker)
    steps = [step for _, step in ranker.steps] if isinstance(ranker, Pipeline) else [ranker]
    with sklearn.config_context(enable_metadata_routing=True):
        for step in steps:
            request = get_routing_for_object(step)
            known = request.fit.requests if isinstance(request, MetadataRequest) else {}
            unset = [name for name in names if name in known and known[name] is None]
            if unset:
                step.set_fit_request(**dict.fromkeys(unset, step is steps[-1]))
    return ranker


def make_folds(X: Any, y: ArrayLike, queries: Queries, cv: Any) -> Folds:
    """Return the folds; raise ValueError if one of them has rows of one query to train and to test on."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and cv >= 2:
        splitter: Any = QueryKFold(int(cv))
    elif hasattr(cv, "split") and not isinstance(cv, str):
        splitter = cv
    elif isinstance(cv, Iterable) and not isinstance(cv, (str, bytes)):
        splitter = list(cv)
    else:
        raise ValueError(
            "cv must be an integer of at least 2, a splitter such as QueryKFold(5), or a list of pairs of row numbers "
            f"(train, test); got {cv!r}"
        )
    folds: Iterable[tuple[Ints, Ints]] = splitter.split(X, y, queries.qid) if hasattr(splitter, "split") else splitter
    rows = np.arange(queries.n_documents)
    checked = Folds((rows[train], rows[test]) for train, test in folds)
    number = queries.ungroup(queries.repeat(np.arange(queries.n_queries)))
    for train, test in checked:
        shared = np.intersect1d(number[train], number[test])
        if len(shared):
            raise ValueError(
                f"cv has a fold with rows of query {str(queries.ids[shared[0]])!r} (and {len(shared) - 1} others) on "
                "both sides, to train and to test on: use QueryKFold or another splitter by groups"
            )
    return checked


def _scorers(scoring: Any, y: Any, ranker: Any, folds: Folds) -> dict[str, Any]:
    """Scorers by name, and for rankers a scorer for the number of boosting rounds, "n_estimators".

    Raises
    ------
    ValueError
        If `y` is no relevance, and a measure needs relevance; and for clicks, if a measure is not defined in a fold.
    """
    labels = as_labels(y) if isinstance(y, (PreferenceGraph, ClickLabels, ClickLog)) else None
    if scoring is None:
        scoring = "ndcg@10" if labels is None else labels.default_measure(DCG(k=10))
    if isinstance(scoring, (str, Measure)) or callable(scoring):
        scoring = {"score": scoring}
    elif not isinstance(scoring, Mapping):
        scoring = {str(measure): measure for measure in scoring}
    scorers = {
        name: make_scorer(scorer) if isinstance(scorer, (str, Measure)) else scorer for name, scorer in scoring.items()
    }
    # In the scorers of a fold, scikit-learn makes warnings of errors.
    measures = [scorer.measure for scorer in scorers.values() if isinstance(scorer, RankingScorer)]
    for measure in measures:
        if labels is not None:
            grouped = labels.group(labels.values.queries)
            measure.bind(grouped.values, grouped.values.queries)
        elif isinstance(measure, ClickDCG):
            measure.checked(y)
    if isinstance(y, ClickLabels):
        _check_folds_of_clicks(y, folds, measures)
    is_ranker = "qid" in inspect.signature(last_step(ranker).fit).parameters
    return {**scorers, "n_estimators": _RoundsScorer()} if is_ranker else scorers


def _check_folds_of_clicks(clicks: ClickLabels, folds: Folds, measures: Sequence[Measure]) -> None:
    """Raise ValueError that names the first fold in which clicks have no impression, or a measure is not defined."""
    for i, parts in enumerate(folds):
        for use, rows in zip(("train", "test"), parts, strict=True):
            with named_part(f"fold {i} of cv, counted from 0, the rows to {use} on"):
                labels = clicks[rows]
                for measure in measures if use == "test" else []:
                    measure.bind(labels, labels.queries)


class _RoundsScorer:
    """The number of boosting rounds of a fitted ranker, with the signature of a scorer.

    It is no function because those have their address in memory in the texts of what they belong to.
    """

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        return n_rounds(estimator)

    def __repr__(self) -> str:
        return "number of rounds"
