"""Clicks as labels: a click log with all that targets of surrogates and evaluations need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NoReturn, get_args

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from boostrank.clicks import relevance as estimation
from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.models import get_click_model
from boostrank.clicks.targets import ClickNormalize, Unit, session_weights, targets_of_relevance
from boostrank.inputs.arrays import Bools, Floats, finite_numbers
from boostrank.inputs.checks import check_choice, refuse_first
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels, Rows, RowsOfQueries
from boostrank.ndcg.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.queries.queries import Queries
from boostrank.queries.weights import check_weights

#: What to do with rows that were never shown.
NotShown = Literal["error", "irrelevant", "predict"]


@dataclass(frozen=True, eq=False, repr=False)
class ClickLabels(RowsOfQueries, Labels):
    """A click log with its click model, in place of the labels `y`.

    Rankers, cross-validation, grid search, validation sets and scorers take it where they take
    labels. It belongs to all rows of a data set, and has their query ids, so that `qid` may be left
    out. Indexing it by rows keeps the log of these rows.

    **Training.** The targets of the surrogate are :meth:`targets`. The gradient of a surrogate is
    affine in them, so that the loss of a query at the mean of the targets of its sessions is, apart
    from a constant, the mean of the losses of these sessions. With ``average="sessions"``, each
    query has its number of sessions as weight: then the training minimizes the sum of the losses of
    all sessions. A query without impressions has the weight 0, and no gradient. `sample_weight`
    multiplies these weights. The gain of the ranker does not matter, because relevance is binary
    here, and its parameter `normalize` must keep its default. Objectives of the boosting libraries
    and losses of preferences need other labels.

    **Evaluation.** Early stopping, ``ranker.score`` and cross-validation use
    :class:`boostrank.clicks.ClickDCG`, the self-normalized estimate of DCG that
    :func:`boostrank.clicks.evaluate` computes, with the settings of this object.

    Parameters
    ----------
    log : ClickLog
        Of all rows of `X`.
    model : str, ClickModel, or array-like of propensities
        As in :func:`boostrank.clicks.get_click_model`. The propensity 1.0 of all positions makes
        naive labels: how often a document was clicked when it was shown.
    normalize : {"independent", "none"}, default "independent"
        The kind of targets: for NDCG with independent relevances, or for DCG. ``"none"``: the
        estimated probability of relevance. ``"independent"``: its expected normalized gain, if
        relevances are independent. The page "Targets from clicks" of the guide has the definitions
        and proofs, and says which one to use.
    clip : float in [0, 1), default 0
        Smallest number that divides clicks.
    not_shown : {"error", "irrelevant", "predict"}, default "error"
        What to do with rows that were never shown, of queries that have impressions: raise an error
        that names one of them; count them as not relevant; or, with ``"predict"``, train on the
        relevance that `shrink` predicts for them, and count them as not relevant in evaluations
        only. In an evaluation, only documents at ranks that count matter. ``"predict"`` was best in
        our benchmark: a ranker that was trained on the best ten documents of each query does not
        know the others, and to count those as not relevant is wrong after a weak ranker. To leave
        them out, take the rows ``log.shown`` of `X` and of the log.
    average : {"sessions", "queries"}, default "sessions"
        Whether queries have weights in proportion to their number of sessions, or equal weights, in
        the training and in evaluations. In a log of counts, the number of sessions of a query is
        the largest number of impressions of a position.
    shrink : None, "auto", or array-like, shape (n_documents,), default None
        Whether the estimates of relevance are shrunk towards a prediction, in the training only.
        Documents with few clicks are then judged by their features and by the positions where they
        were shown, and those with many clicks by the clicks (the guide's page "Relevance from
        clicks"). None: no shrinkage, so that they have no bias, but ``"auto"`` with
        ``not_shown="predict"``. ``"auto"``: rankers make the prediction when they are trained, from
        the clicks on other queries. An array has the predicted probability of relevance of each row
        in (0, 1), which must not come from the clicks on its own query, such as that of
        ``sklearn.model_selection.cross_val_predict`` with the queries as groups.

    Raises
    ------
    ValueError
        If an argument is invalid, if the model has no propensity for a position of the log, or if a
        propensity is not in (0, 1]. Rows without support are found by :meth:`targets`, so by
        ``fit``.

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017,
    divide clicks by propensities; Agarwal, Takatsu, Zaitsev and Joachims, "A general framework for
    counterfactual learning-to-rank", SIGIR 2019, for DCG. Oosterhuis and de Rijke, "Policy-aware
    unbiased learning to rank for top-k rankings", SIGIR 2020, on documents that a log does not
    show; Oosterhuis, "Doubly robust estimation for correcting position bias in click feedback for
    unbiased learning to rank", ACM TOIS 2023. Other ways learn propensities and the ranker
    together: Ai et al., "Unbiased learning to rank with unbiased propensity estimation", SIGIR
    2018; Hu et al., "Unbiased LambdaMART", WWW 2019, which LightGBM's `position` and XGBoost's
    `lambdarank_unbiased` follow; Yan et al., "Revisiting two-tower models for unbiased learning to
    rank", SIGIR 2022. Or they let examination depend on what else is shown: Chen et al., "Adapting
    interactional observation embedding for counterfactual learning to rank", SIGIR 2021.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> log = br.simulate_clicks(y, X[:, 0], qid, depth=None, random_state=0).log
    >>> clicks = br.ClickLabels(log, ("power", 1.0))
    >>> ranker = br.LightGBMRanker(random_state=0).fit(X, clicks)
    >>> br.ndcg_score(y, ranker.predict(X), qid, k=10) > br.ndcg_score(y, X[:, 0], qid, k=10)
    True
    """

    log: ClickLog
    model: Any
    normalize: ClickNormalize = "independent"
    clip: float = 0.0
    not_shown: NotShown = "error"
    average: Unit = "sessions"
    shrink: Any = None

    default_measure: ClassVar[str] = "click-dcg"
    losses: ClassVar[str] = "a surrogate, such as 'softmax'"

    def __post_init__(self) -> None:
        check_log(self.log)
        check_choice("normalize", self.normalize, get_args(ClickNormalize))
        check_choice("not_shown", self.not_shown, get_args(NotShown))
        check_choice("average", self.average, get_args(Unit))
        object.__setattr__(self, "model", get_click_model(self.model))
        is_auto = isinstance(self.shrink, str) and self.shrink == "auto"
        if self.shrink is not None and not is_auto:
            prior = finite_numbers(self.shrink, "shrink", log=len(self.log))
            fault = "not a predicted probability of relevance in (0, 1)"
            refuse_first(
                (prior <= 0.0) | (prior >= 1.0),
                lambda row: f"shrink[{row}] is {prior[row]:g}, {fault}",
            )
            object.__setattr__(self, "shrink", prior)
        if self.not_shown == "predict" and self.shrink is None:
            object.__setattr__(self, "shrink", "auto")
        # This checks the other settings, and whether the model fits the log.
        estimation.entry_weights(self.log, self.model, self.clip)

    @property
    def queries(self) -> Queries:  # type: ignore[override]
        """The queries of the rows."""
        return self.log.queries

    def __repr__(self) -> str:
        arguments = [repr(self.log), repr(self.model)]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "shrink" and self._has_prior:
                value = "array"
            if field.name not in ("log", "model") and value != field.default:
                arguments.append(f"{field.name}={value!r}")
        return f"ClickLabels({', '.join(arguments)})"

    def __getitem__(self, rows: Rows) -> ClickLabels:
        """The clicks of some rows; see :meth:`ClickLog.__getitem__`."""
        shrink = self.shrink
        if self._has_prior:
            kept, _ = self._numbers_of(rows)
            shrink = shrink[kept]
        return replace(self, log=self.log[rows], shrink=shrink)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NoReturn:
        raise ValueError(
            "relevance labels are needed, one number for each document, but got ClickLabels: "
            "clicks are evaluated by the measure 'click-dcg@10' or by boostrank.clicks.evaluate, "
            "and targets() are numbers"
        )

    def sameness(self, queries: Queries) -> str:
        """Why nothing can be learned from the clicks; "" if estimates of relevance differ."""
        if not self.log.n_clicks:
            return "no document of the click log was clicked; train on more sessions"
        estimates = self.relevance
        if (estimates != estimates[0]).any():
            return ""
        advice = "train on more sessions"
        return f"all documents have the same estimated relevance, {estimates[0]:g}; {advice}"

    @property
    def fingerprint(self) -> int:
        """A number that is equal for equal clicks."""
        return hash(tuple(map(bytes, self.log.aggregate().columns)))

    @property
    def content(self) -> tuple[Any, ...]:
        """The columns of the log, its sessions, and the other settings."""
        log = self.log
        settings = [getattr(self, field.name) for field in fields(self) if field.name != "log"]
        sessions = None if log.sessions is None else log.sessions.indptr
        return log.qid, *log.columns, sessions, *settings

    def group(self, queries: Queries) -> ClickLabels:
        """The clicks, with rows grouped by query; ValueError if the log has other query ids."""
        self.check_qid(queries.qid)
        return self if queries.permutation is None else self[queries.permutation]

    def weighted(self, weights: Floats | None, queries: Queries) -> Floats:
        """The weight of its query for each grouped document, times that of the document."""
        of_queries = self.queries.repeat(self.query_weights)
        return of_queries if weights is None else check_weights(weights * of_queries)

    def prepare(self, predict_logs: Callable[[Floats, Floats], Floats]) -> ClickLabels:
        """The clicks, shrunk towards what the features predict if `shrink` is ``"auto"``.

        `predict_logs` makes the prediction, see :meth:`boostrank.ndcg.labels.Labels.prepare`.
        """
        if not isinstance(self.shrink, str) or not self.log.n_clicks:
            return self
        logs = predict_logs(np.maximum(self.relevance, 0.0), self.evidence)
        return self.with_prediction(logs)

    @cached_property
    def estimates(self) -> estimation.RelevanceEstimates:
        """Unbiased estimates of the relevance of each row, which may be negative.

        They are 0 for rows that were never shown.
        """
        return estimation.estimate_relevance(self.log, self.model, clip=self.clip)

    @property
    def relevance(self) -> Floats:
        """Estimated probability of relevance of each row, shape (n_documents,).

        See :attr:`estimates`.
        """
        return self.estimates.relevance

    @cached_property
    def evidence(self) -> Floats:
        """How much the clicks on each row say, shape (n_documents,).

        It is a number of impressions whose relevance is known.
        """
        impressions = self.estimates.impressions.astype(np.float64)
        mean = estimation.mean_relevance(self.relevance, impressions)
        return estimation.evidence(self.log, self.model, self.clip, np.full(len(self), mean))

    def with_prediction(self, logs: ArrayLike) -> ClickLabels:
        """The same clicks, shrunk towards the relevance that features and positions predict.

        Parameters
        ----------
        logs : array-like, shape (n_documents,)
            Logarithm of the relevance of each row, up to a constant, as predicted from the features
            by models that were fitted to the clicks on other queries. A regression on the clicks
            calibrates it, and adds the mean positions. Scores of the ranker that made the lists may
            take its place.

        Examples
        --------
        >>> import boostrank as br
        >>> log = br.ClickLog(
        ...     [1, 1, 1], row=[0, 1, 2], position=[1, 2, 3],
        ...     clicks=[5, 1, 1], impressions=[9, 9, 9],
        ... )
        >>> labels = br.ClickLabels(log, ("power", 1.0), normalize="none")
        >>> (
        ...     labels.with_prediction([0.0, -1.0, -1.0]).targets().round(2).tolist(),
        ...     labels.targets().round(2).tolist(),
        ... )
        ([0.57, 0.24, 0.25], [0.56, 0.22, 0.33])
        """
        logs = finite_numbers(logs, "logs", log=len(self))
        positions = estimation.mean_positions(self.log) / self.log.n_positions
        prior = estimation.predict_relevance(self.relevance, self.evidence, logs, positions)
        return replace(self, shrink=prior)

    @property
    def lacks_support(self) -> Bools:
        """Whether nothing is known of a row, shape (n_documents,): an error where it matters.

        False for all rows with ``not_shown="irrelevant"`` and ``"predict"``, and for queries of
        weight 0.
        """
        return (self.not_shown == "error") & ~self.estimates.shown & (self.document_weights > 0.0)

    @cached_property
    def query_weights(self) -> Floats:
        """Weight of each query, shape (n_queries,), with the sum 1.

        It is 0 for queries without impressions.
        """
        return session_weights(self.log, self.average)

    @property
    def document_weights(self) -> Floats:
        """The weight of its query for each row, shape (n_documents,).

        With :meth:`targets` as labels and this as `sample_weight`, a ranker with ``gain="linear"``
        and ``normalize="none"`` is trained as by this object: for data on a cluster.
        """
        return self.queries.ungroup(self.queries.repeat(self.query_weights))

    def targets(
        self,
        surrogate: object = None,
        queries: Queries | None = None,
        dcg: DCG | None = None,
        normalize: Normalize = "dcg",
    ) -> Floats:
        """The targets of surrogates that rankers train on, one for each row, shape (n_documents,).

        Estimates of relevance are clipped to [0, 1], because surrogates are not bounded below for
        negative targets. This bias tends to 0 with the number of sessions (the page
        theory/losses_of_clicks of the guide). With ``shrink="auto"`` they are not shrunk, because a
        ranker makes the prediction from its features: it calls :meth:`with_prediction` first.

        Parameters
        ----------
        surrogate, queries
            Not used: all surrogates have these targets, and the labels have their queries.
        dcg : DCG, optional
            Discount and cutoff; the default is ``DCG()``.
        normalize : "dcg"
            The parameter of the ranker, which must have its default.

        Raises
        ------
        ValueError
            If `normalize` has another value; if a row is in :attr:`lacks_support`, or has to be
            predicted before :meth:`with_prediction` was called.

        Warns
        -----
        UserWarning
            If rows have more clicks than rows that are always relevant would have, by more than
            four standard deviations: the probabilities of the model are then too small. Not for
            cascade models.
        """
        if normalize != CONSISTENT_NORMALIZATION:
            raise ValueError(
                f"normalize={normalize!r} of a ranker is not for clicks: set normalize of the "
                "ClickLabels"
            )
        estimation.warn_of_excess(self.log, self.model)
        advice = "Leave such rows out, or pass not_shown='predict' or 'irrelevant'"
        estimation.require_support(self.log, self.lacks_support, advice)
        if self._has_prior:
            evidence = estimation.evidence(self.log, self.model, self.clip, self.shrink)
            relevance = estimation.shrunk(self.relevance, evidence, self.shrink)
            if self.not_shown != "predict":
                relevance = self.estimates.shown * relevance
        elif self.not_shown == "predict":
            raise ValueError(
                "not_shown='predict' has no prediction yet: call with_prediction first, as rankers "
                "do when they are trained, or pass shrink as an array"
            )
        else:
            relevance = np.clip(self.relevance, 0.0, 1.0)
        return targets_of_relevance(self.queries, relevance, self.normalize, dcg or DCG())

    @property
    def _has_prior(self) -> bool:
        return isinstance(self.shrink, np.ndarray)
