"""An estimator that makes probabilities of the scores of a ranker."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.models import ModelSource
from boostrank.calibration.first_place import METHODS as METHODS_OF_FIRST
from boostrank.calibration.first_place import FirstPlace, lists_to_count
from boostrank.calibration.members import (
    CalibratedMember,
    CalibrationData,
    folded,
    load_member,
    save_member,
)
from boostrank.calibration.plackett_luce import (
    RankProbabilities,
    mean_of_tables,
    rank_probabilities,
)
from boostrank.calibration.relevance import METHODS as METHODS_OF_RELEVANCE
from boostrank.calibration.relevance import Relevance, checked_thresholds
from boostrank.inputs.arrays import Floats, check_lengths, finite_numbers
from boostrank.inputs.checks import (
    Seed,
    as_generator,
    check_choice,
    check_count,
    check_flag,
    named_part,
    refuse,
)
from boostrank.inputs.table import QID, Table
from boostrank.metrics.registry import default_measure
from boostrank.metrics.scorers import Estimator, call_with_qid
from boostrank.model_selection.cross_validation import Trainings
from boostrank.model_selection.splits import Splitter
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import as_labels
from boostrank.queries.groups import numbers_of_groups
from boostrank.queries.queries import Queries, names_of_ids, require_qid, table_and_qid
from boostrank.queries.weights import document_weights
from boostrank.training.data import features_and_qid, id_per_row
from boostrank.training.features import note_of_ids

#: Methods by what the probabilities are of; the first one is the default.
METHODS = {"first": METHODS_OF_FIRST, "relevance": METHODS_OF_RELEVANCE}
_LISTS_ADVICE = (
    "Probabilities are those of a list: give qid= or group= as in fit, or a column or an index "
    "'qid' of X, or qid=0 if X is one list."
)


class CalibratedRanker(BaseEstimator):
    """A ranker whose scores are made probabilities, by scores of queries that it did not learn.

    It is for rankers what scikit-learn's ``CalibratedClassifierCV`` is for classifiers. The
    probability of a document to be the first of its list is the softmax of the scores of the list,
    divided by a temperature T:

        P(i is first) = exp(s_i / T) / sum_j exp(s_j / T).

    T is found by maximum likelihood on scores of whole queries that the ranker was not trained on.
    The event is the largest label of the list; documents that tie for it share it equally. The page
    "Scores as probabilities" of the guide says for which losses one temperature is enough.

    The probability of a document to be relevant must be comparable between lists, and scores of
    losses that compare the documents of a list are not: a constant added to all scores of a list
    does not change these losses. So the logit of the probability is

        b (s_i - mean of s in the list) + l(list).

    The level ``l`` is a multiple of the mean score, plus a small model of boosted trees on features
    of the list: means of the columns of X, the length, and mean and spread of the scores. What
    scores say is its offset, so that the sequence within a list stays that of the ranker. The trees
    are left out if they do not lower the log loss on other lists. That is so for losses with a term
    for each document, ``LightGBMRanker("logistic", normalize="none")``, whose scores know the
    level. The guide has measurements of both.

    Parameters
    ----------
    ranker : estimator
        A ranker of boostrank, LightGBM, XGBoost or CatBoost, a bag, or a Pipeline that ends with a
        ranker. A ``sklearn.frozen.FrozenEstimator`` is a fitted one, which is not trained again.
    target : {"first", "relevance"}, default "first"
        What the probabilities are of: the first place of the list, or labels that reach thresholds.
    method : {"temperature", "isotonic", "sigmoid"}, optional
        For "first", "temperature" by default; "isotonic" also bends the probabilities by an
        isotonic regression, and divides them by their sum in the list. It is for scores that no
        temperature makes calibrated, such as those of LambdaMART, and wants a thousand lists or
        more. For "relevance", "isotonic" by default: an isotonic regression of each threshold on
        the logit; "sigmoid" is a logistic regression, for a few hundred lists or fewer.
    thresholds : float or array-like, optional
        With "relevance", the labels to be reached; by default all but the smallest one.
    cv : int, splitter, iterable of (train, test) or "prefit", default 5
        Folds of whole queries, as in :func:`boostrank.cross_validate`; an integer is the number of
        folds of :class:`boostrank.QueryKFold`. Queries that no fold tests on do not count. With
        "prefit", or a FrozenEstimator, `ranker` is fitted, and the data of `fit` must be other
        queries than those of its training.
    ensemble : bool, default False
        False: one ranker is trained on all queries, with the temperature of the scores out of the
        folds. True: the rankers of the folds, each with the temperature of its own test queries,
        stay together, and their probabilities are averaged.

    Attributes
    ----------
    calibrated_rankers_ : list of CalibratedMember
        One, or with ``ensemble=True`` one for each fold: the fitted `ranker`, and its
        `calibration`.
    ranker_ : estimator
        The fitted ranker, without ``ensemble=True``.
    temperature_ : float
        T, with the target "first" and without ``ensemble=True``. It is below 1 if scores say too
        little, and above 1 if they say too much.
    thresholds_ : list of float
        With the target "relevance", what the columns of `predict_proba` are about.
    n_features_in_ : int, if the ranker has it
    feature_names_in_ : ndarray of str, if the ranker has it

    References
    ----------
    Platt, "Probabilistic outputs for support vector machines", 1999. Guo, Pleiss, Sun and
    Weinberger, "On calibration of modern neural networks", ICML 2017 (temperature). Plackett, "The
    analysis of permutations", Applied Statistics 1975.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=60, random_state=0)
    >>> ranker = br.CalibratedRanker(br.LightGBMRanker(n_estimators=20), cv=3).fit(X, y, qid)
    >>> probabilities = ranker.predict_proba(X, qid=qid)
    >>> queries = br.Queries.from_qid(qid)
    >>> queries.sum(probabilities)[:3].round(6).tolist()
    [1.0, 1.0, 1.0]
    >>> ranks = ranker.predict_ranks(X, qid=qid, k=3, random_state=0)
    >>> ranks.among_best.shape == (len(y), 3), round(float(ranks.expected_rank.min()), 1) >= 1
    (True, True)

    The probability of each label of 1 or more:

    >>> relevance = br.CalibratedRanker(br.LightGBMRanker(n_estimators=20), "relevance", cv=3)
    >>> probabilities = relevance.fit(X, y, qid).predict_proba(X, qid=qid)
    >>> relevance.thresholds_, probabilities.shape == (len(y), 5)
    ([1.0, 2.0, 3.0, 4.0, 5.0], True)
    """

    __metadata_request__fit: ClassVar = {"qid": True, "groups": True}
    __metadata_request__predict: ClassVar = {"qid": True}
    __metadata_request__predict_proba: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    def __init__(
        self,
        ranker: Estimator,
        target: str = "first",
        *,
        method: str | None = None,
        thresholds: ArrayLike | None = None,
        cv: Splitter | str = 5,
        ensemble: bool = False,
    ) -> None:
        self.ranker = ranker
        self.target = target
        self.method = method
        self.thresholds = thresholds
        self.cv = cv
        self.ensemble = ensemble

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Train the ranker, and find how its scores become probabilities.

        Parameters
        ----------
        X, y, qid, group, sample_weight, groups
            As in :meth:`boostrank.LightGBMRanker.fit`, but y must be relevance. Weights count in
            the training and, as the mean of each query, in the calibration. No fold divides a group
            of queries.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For parameters and data that are invalid; if no list says which document is first, or
            thresholds do not divide the labels; and if the scores are not better than chance. After
            an error the estimator is unchanged.
        """
        self._check_parameters()
        name = f"{type(self).__name__}.fit"
        table = Table(X)
        qid_columns = names_of_ids(qid, table) or (QID,)
        table, ids = features_and_qid(table, y, qid, group, name)
        group_column = None
        if isinstance(groups, str):
            group_column = groups
            groups = table.keys([group_column])
            if groups is None:
                expected = "values, or the name of a column or an index level of X"
                refuse("groups", group_column, expected)
            table = table.without(group_column)
        queries = Queries.from_qid(ids)
        relevance = as_labels(y).require_relevance(type(self).__name__)
        check_lengths(X=table.n_rows, y=len(relevance), qid=queries.n_documents)
        weights = None
        if sample_weight is not None:
            of_documents = document_weights(sample_weight, queries, may_differ=True, grouped=False)
            weights = queries.ungroup(of_documents)
        if groups is not None:
            groups = queries.ungroup(queries.repeat(numbers_of_groups(groups, queries)))
        data = CalibrationData(table.given, relevance, weights, queries.qid, groups)
        if self.target == "first":
            lists_to_count(queries.group(relevance), queries, data.query_weights(queries))
            thresholds = []
        else:
            thresholds = checked_thresholds(self.thresholds, relevance)
        ranker = self._fitted_ranker()
        if ranker is None:
            members = self._train(data, thresholds)
        else:
            scores = call_with_qid(ranker, "predict", data.qid, data.X)
            members = [
                CalibratedMember(ranker, self._calibrate(np.asarray(scores), data, thresholds))
            ]
        self._qid_columns = qid_columns
        self._group_column = group_column
        self._set_members(members)
        return self

    def predict(
        self, X: Any, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Floats:
        """Predict the score of each row, which ranks the documents as the ranker does.

        The scores are those of the ranker; with the target "first" they are divided by the
        temperature, so that with the method "temperature" their softmax within a list is the
        probability to be first. With ``ensemble=True`` they are the mean over the rankers.

        Parameters
        ----------
        X, qid, group
            As in :meth:`boostrank.LightGBMRanker.predict`.

        Returns
        -------
        ndarray, shape (n_documents,)
        """
        check_is_fitted(self, "calibrated_rankers_")
        features, ids = self._features_and_ids(X, qid, group)
        scores = [
            member.calibration.scaled(call_with_qid(member.ranker, "predict", ids, features))
            for member in self.calibrated_rankers_
        ]
        return np.mean(scores, axis=0)

    def predict_proba(
        self, X: Any, *, qid: ArrayLike | None = None, group: ArrayLike | None = None
    ) -> Floats:
        """Predict the probability of each document to be the first of its list, or relevant.

        Parameters
        ----------
        X : features, shape (n_documents, n_features)
            As in `fit`, with all documents of each list.
        qid, group : optional
            The lists, as in `fit`; also one number, ``qid=0``, which makes one list of all rows.

        Returns
        -------
        ndarray, shape (n_documents,) or (n_documents, n_thresholds)
            With the target "first", they sum to 1 in each list. With "relevance" there is a column
            for each threshold, and they do not increase from one to the next.

        Raises
        ------
        ValueError
            If there are no lists, and for features that differ from those of the training.
        """
        X, queries = self._lists(X, qid, group, "predict_proba")
        probabilities = []
        for member in self.calibrated_rankers_:
            scores = _grouped_scores(member.ranker, X, queries)
            probabilities.append(member.calibration.probabilities(scores, X, queries))
        return queries.ungroup(np.mean(probabilities, axis=0))

    def predict_ranks(
        self,
        X: Any,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        k: int = 3,
        n_draws: int = 1000,
        random_state: Seed = None,
    ) -> RankProbabilities:
        """Predict the probabilities of ranks, by the model of Plackett and Luce.

        The model draws the first place by the probabilities of `predict_proba`, the second one
        among the other documents in the same way, and so on. It is an assumption on the second and
        later places, of which the calibration knows nothing.

        Parameters
        ----------
        X, qid, group
            As in :meth:`predict_proba`.
        k : int, default 3
            The last rank. The ranks 1 and 2 and the expected rank are exact.
        n_draws : int, default 1000
            Number of drawn rankings for the ranks from 3 on.
        random_state : int, numpy.random.Generator or None

        Returns
        -------
        RankProbabilities

        Raises
        ------
        ValueError
            As :meth:`predict_proba`.
        """
        check_is_fitted(self, "calibrated_rankers_")
        if not isinstance(self.calibrated_rankers_[0].calibration, FirstPlace):
            raise ValueError(
                "ranks have probabilities with target='first'; the target is 'relevance', whose "
                "probabilities are those of single documents"
            )
        check_count("k", k)
        check_count("n_draws", n_draws)
        random = as_generator(random_state)
        X, queries = self._lists(X, qid, group, "predict_ranks")
        tables = []
        for member in self.calibrated_rankers_:
            scores = _grouped_scores(member.ranker, X, queries)
            calibration: Any = member.calibration
            utilities = calibration.utilities(scores, queries)
            tables.append(rank_probabilities(utilities, queries, k, n_draws, random))
        return mean_of_tables(tables).ungrouped(queries)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Mean NDCG of the predicted scores, as ``score`` of the ranker.

        For probabilities see :func:`boostrank.calibration.log_loss`.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`boostrank.LightGBMRanker.score`.
        """
        check_is_fitted(self, "calibrated_rankers_")
        _, ids = table_and_qid(Table(X), qid, y, columns=self._qid_columns)
        ids = require_qid(ids, f"{type(self).__name__}.score")
        # Rankers of the libraries have no gain and no cutoff of their own.
        parameters = getattr(self.calibrated_rankers_[0].ranker, "_parameters", None)
        measure = default_measure(as_labels(y), getattr(parameters, "_dcg", DCG()))
        return float(measure(y, self.predict(X, qid=ids), ids, sample_weight=sample_weight))

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Write the ranker and its calibration to one file in the format of the boosting library.

        The library, and :func:`boostrank.load_model`, read the ranker from it.

        Parameters
        ----------
        path : path

        Raises
        ------
        ValueError
            With ``ensemble=True``, and if the ranker is not one of boostrank.
        """
        check_is_fitted(self, "calibrated_rankers_")
        notes = note_of_ids(self._qid_columns, self._group_column)
        save_member(self._one_member("save_model"), path, notes)

    @classmethod
    def load_model(cls, path: ModelSource) -> Self:
        """Read a file of :meth:`save_model`, or its content.

        Parameters
        ----------
        path : str, path, bytes or bytearray

        Returns
        -------
        CalibratedRanker
            Fitted; its `ranker` is the frozen ranker of the file.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file has no calibration, or is no complete model of a ranker.
        """
        member = load_member(path)
        frozen = FrozenEstimator(member.ranker)
        target = "relevance"
        method = "sigmoid"
        if isinstance(member.calibration, FirstPlace):
            target = "first"
            method = "temperature"
        if member.calibration.is_isotonic:
            method = "isotonic"
        loaded = cls(frozen, target, method=method)
        loaded._qid_columns = member.ranker._qid_columns
        loaded._group_column = member.ranker._group_column
        loaded._set_members([member])
        return loaded

    def to_ranker(self) -> Any:
        """The ranker with the temperature folded into its leaves, with the target "first".

        It is a LightGBMRanker or an XGBoostRanker, whose scores are those of :meth:`predict`, so
        that their softmax within a list is the probability to be first.

        Raises
        ------
        ValueError
            With ``ensemble=True``, with the target "relevance", and if the ranker is not one of
            boostrank.
        """
        check_is_fitted(self, "calibrated_rankers_")
        return folded(self._one_member("to_ranker"))

    def export(self, path: str | os.PathLike[str], format: str, **settings: object) -> None:
        """Write the ranker of :meth:`to_ranker` in the format of another program.

        Parameters
        ----------
        path, format, **settings
            As in :meth:`boostrank.LightGBMRanker.export`. A constant that the program adds to all
            scores changes no probability.

        Raises
        ------
        ValueError
            As :meth:`to_ranker`, and as the export of the ranker.
        """
        self.to_ranker().export(path, format, **settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _one_member(self, method: str) -> CalibratedMember:
        """The member; ValueError if there are several."""
        if len(self.calibrated_rankers_) > 1:
            raise ValueError(f"{method} needs one ranker: set ensemble=False")
        return self.calibrated_rankers_[0]

    def _check_parameters(self) -> None:
        """Raise ValueError for parameters that are invalid."""
        check_choice("target", self.target, METHODS)
        if self.method is not None:
            check_choice(f"method of target {self.target!r}", self.method, METHODS[self.target])
        if self.target == "first" and self.thresholds is not None:
            raise ValueError("thresholds are those of target='relevance'; the target is 'first'")
        check_flag("ensemble", self.ensemble)
        is_other_text = isinstance(self.cv, str) and self.cv != "prefit"
        if is_other_text or (isinstance(self.cv, (int, np.integer)) and self.cv < 2):
            expected = "2 or more folds, a splitter, pairs of row numbers, or 'prefit'"
            refuse("cv", self.cv, expected)

    def _fitted_ranker(self) -> Any:
        """The ranker if it is fitted already, else None."""
        if isinstance(self.ranker, FrozenEstimator):
            return self.ranker.estimator
        return self.ranker if isinstance(self.cv, str) else None

    def _train(self, data: CalibrationData, thresholds: list[float]) -> list[CalibratedMember]:
        """The members: rankers that are trained on the data, with their calibration."""
        cv: Any = self.cv
        trainings = Trainings(
            self.ranker,
            data.X,
            data.relevance,
            data.qid,
            cv=cv,
            groups=data.groups,
            params={} if data.weights is None else {"sample_weight": data.weights},
        )
        scored = trainings.out_of_fold()
        if self.ensemble:
            members = []
            for number, ranker in enumerate(scored.rankers):
                rows = np.flatnonzero(scored.folds == number)
                with named_part(f"the test queries of fold {number + 1}"):
                    calibration = self._calibrate(scored.scores[rows], data.take(rows), thresholds)
                members.append(CalibratedMember(ranker, calibration))
            return members
        rows = np.flatnonzero(scored.folds >= 0)
        calibration = self._calibrate(scored.scores[rows], data.take(rows), thresholds)
        return [CalibratedMember(trainings.on_all_rows(), calibration)]

    def _calibrate(
        self, scores: Floats, data: CalibrationData, thresholds: list[float]
    ) -> FirstPlace | Relevance:
        """The map from scores to probabilities, by scores of queries that were not learned."""
        queries = Queries.from_qid(data.qid)
        checked = finite_numbers(scores, "the scores of the ranker", X=queries.n_documents)
        relevance = queries.group(data.relevance)
        weights = data.query_weights(queries)
        method = self.method or METHODS[self.target][0]
        if self.target == "first":
            return FirstPlace.fit(queries.group(checked), relevance, queries, weights, method)
        return Relevance.fit(
            data.X,
            queries.group(checked),
            relevance,
            queries,
            weights,
            data.folds(queries),
            thresholds,
            method,
            self.get_params().get("ranker__n_jobs"),
        )

    def _set_members(self, members: list[CalibratedMember]) -> None:
        """Set the fitted attributes, and remove those of an earlier `fit`."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.calibrated_rankers_ = members
        ranker, calibration = members[0]
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(ranker, name):
                setattr(self, name, getattr(ranker, name))
        if isinstance(calibration, Relevance):
            self.thresholds_ = calibration.thresholds
        if len(members) > 1:
            return
        self.ranker_ = ranker
        if isinstance(calibration, FirstPlace):
            self.temperature_ = calibration.temperature

    def _features_and_ids(
        self, X: Any, qid: ArrayLike | None, group: ArrayLike | None, receiver: str = ""
    ) -> tuple[Any, Any]:
        """Features without columns of ids, and the query ids, which may be None without receiver.

        A receiver needs them.
        """
        table = Table(X)
        ids = id_per_row(table, qid)
        if receiver or group is not None:
            table, ids = features_and_qid(
                table, None, ids, group, receiver, _LISTS_ADVICE, self._qid_columns
            )
        else:
            table, ids = table_and_qid(table, ids, columns=self._qid_columns)
        return table.without(self._group_column).given, ids

    def _lists(
        self, X: Any, qid: ArrayLike | None, group: ArrayLike | None, method: str
    ) -> tuple[Any, Queries]:
        """Features of the rows, and their queries; ValueError if there are none."""
        check_is_fitted(self, "calibrated_rankers_")
        receiver = f"{type(self).__name__}.{method}"
        features, ids = self._features_and_ids(X, qid, group, receiver)
        return features, Queries.from_qid(ids)


def _grouped_scores(ranker: Any, X: Any, queries: Queries) -> Floats:
    """Scores of the rows, grouped by query."""
    scores = call_with_qid(ranker, "predict", queries.qid, X)
    return queries.group(finite_numbers(scores, "the scores of the ranker", X=queries.n_documents))
