"""The ranker on XGBoost."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from sklearn.utils.validation import check_is_fitted

from boostrank.backends.base import Backend
from boostrank.backends.xgboost import backend as xgboost_backend
from boostrank.backends.xgboost.features import adopt_missing, missing_parameter
from boostrank.core.dcg import Discount, Gain
from boostrank.core.targets import Normalize
from boostrank.objectives.losses import DEFAULT_LOSS, Loss
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.candidates import XGBOOST_CANDIDATES
from boostrank.rankers.settings import NOT_NEGATIVE, RULES, SHARE, Rule, integer, one_of


class XGBoostRanker(BoostedRanker):
    """Gradient boosted ranker on XGBoost, with NDCG-consistent surrogates or XGBoost's own ranking objectives.

    An element that a sparse matrix does not store is 0, as in a dense array, and not missing, as it would be in XGBoost
    itself. Sparse features are given to XGBoost in dense blocks of rows, so that training takes the time of dense
    features, and the memory that XGBoost needs for these. Only the dense array itself is not made, except with
    `tree_method` "exact" or "approx", or with weights of a native objective.

    Parameters
    ----------
    objective : str, Surrogate, EdgeLoss or callable, default "consistent-lambdarank"
        A surrogate of :mod:`boostrank.surrogates`, by name or as an instance; for labels that are preferences a loss
        of :mod:`boostrank.preferences` ("edge-logistic"); or XGBoost's "rank:ndcg", "rank:pairwise" or "rank:map".
        XGBoost's objectives have their own targets: `gain` is passed on to "rank:ndcg", which knows only "exp2" and
        "linear", and `discount` and `k` are only used in `score` and early stopping. A function ``(y, scores[,
        weight[, group]]) -> (gradient, hessian)`` gets labels, scores, weights (None without `sample_weight`) and sizes
        of queries, grouped by query. It applies the weights itself, and `gain`, `discount` and `k` are only used in
        `score` and early stopping.

        "auto" chooses by cross-validation over the training queries among a few candidates,
        ``boostrank.rankers.candidates.XGBOOST_CANDIDATES``, "rank:ndcg" among them. The first one, the default
        objective, is kept unless another one is better by more than one standard error of the difference, paired by
        query: the difference of the deciding metric of `fit`, by default NDCG with the ranker's `gain`, `discount` and
        `k`, 10 if `k` is None. Queries without a relevant document do not count. For clicks, the objective of the
        library is left out. Candidates that are worse than the best one by more than two standard errors after a
        quarter or half of the rounds are dropped. Parameters of the ranker that are not at their default take the place
        of those of candidates. With 3 folds, all trainings together have at most 10 times the rounds times documents of
        one training; with 4 or more folds, only the default and the best other candidate go on after a quarter of the
        rounds.
    gain, discount, k
        Gain, discount and cutoff of NDCG in the targets, in early stopping and in `score`. See
        :class:`boostrank.DCG`.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        How gains are normalized to targets of the surrogate; only "dcg" is NDCG-consistent. See
        :func:`boostrank.make_targets`. :class:`boostrank.ClickLabels` have a setting of their own in its place.
    n_estimators : int or "auto", default 100
        Number of boosting rounds. "auto" takes the number at which the mean over `cv` folds of the training queries of
        the deciding metric of `fit` is best, and trains on all queries with it. The trainings on folds end when this
        mean has not improved for `early_stopping_rounds` rounds, 50 if that is None, and after 2000 rounds. A
        validation set is then only evaluated.
    learning_rate : float, optional
        By default 0.1, and from 0.1 to 0.3 for the losses of boostrank with 50 to 299 rounds and without early
        stopping: the more of what trees learn from some training queries is true of others, the larger it is. Two
        short trainings on at most 400 training queries tell (:mod:`boostrank.rankers.learning_rate`). With
        `booster` "dart" or "gblinear" it is 0.1. XGBoost's default is 0.3, with which most objectives overfit small
        data sets within 100 rounds.
    max_depth, max_leaves, grow_policy : int, int and str, optional
        As in ``xgboost.XGBRanker``. If none of them is set, the losses of boostrank grow trees as LightGBM does: the
        leaf with the largest gain is split until there are 31 leaves (`grow_policy` "lossguide", `max_leaves` 31,
        `max_depth` 0, which means any). If one of them is set, the others have XGBoost's own defaults: "depthwise", 0
        (any number of leaves) and 6. So have all three for XGBoost's objectives, for functions, and with
        ``tree_method="exact"``.
    gamma, subsample, colsample_bytree, tree_method, max_bin
        As in ``xgboost.XGBRanker``.
    min_child_weight, reg_lambda : float, optional
        As in ``xgboost.XGBRanker``. The mean Hessian of a surrogate is 1 before the first round, so that both are about
        numbers of documents. By default 20 and 50 for the losses of boostrank, and XGBoost's own defaults, 1 and 1, for
        its objectives and for functions. Linear models have no `min_child_weight`, and XGBoost's own default of
        `reg_lambda` for them is 0.
    colsample_bynode : float in (0, 1], optional
        Share of the features that is drawn for each node of a tree, which is then split by one of them. By default 0.7
        for the losses of boostrank, and XGBoost's own default, 1, for its objectives and for functions. Linear models
        and ``tree_method="exact"`` do not have it.
    reg_alpha : float, default 0
        As in ``xgboost.XGBRanker``.
    early_stopping_rounds : int, optional
        Training stops when the deciding metric has not improved for this number of rounds: `early_stopping_metric` of
        `fit`, by default the first metric, on the last validation set that is not the training data. The model keeps
        the rounds up to the best one. With `objective="auto"`, candidates are judged at the best round of their mean
        over folds, instead of after all rounds.
    validation_fraction : float in (0, 1), optional
        Share of the training queries that are held out as validation set. With `objective="auto"`, only the others
        decide on the objective.
    refit : bool, default False
        After early stopping on the queries that `validation_fraction` holds out, train once more on all queries, with
        the number of rounds that was found.
    cv : int, optional
        Number of folds of the training queries for `objective="auto"`, `n_estimators="auto"` and `ensemble="folds"`.
        They are drawn with `random_state`, and each query is held out by one fold. By default 5, and 3 with
        `objective="auto"`: a candidate costs ``cv - 1`` trainings.
    ensemble : {"folds"}, optional
        "folds" averages the models of the folds, instead of training on all queries. `n_estimators` is the number of
        rounds of each of them.
    importance_type : str, default "gain"
        Kind of importance in `feature_importances_`: "weight", "gain", "cover", "total_gain" or "total_cover".
        They are not divided by their sum, as ``xgboost.XGBRanker`` does.
    random_state : int, RandomState or None
        An integer is XGBoost's own seed, and the seed of the choice of the queries to hold out: the same integer gives
        the same model. From a RandomState, each `fit` draws another seed. With None, XGBoost uses its default seed, and
        each `fit` holds out other queries.
    n_jobs : int, optional
        Number of threads of XGBoost, and of the losses and metrics of boostrank in `fit`. None lets XGBoost choose,
        and is ``OMP_NUM_THREADS``, or the number of processors, for losses and metrics.
    verbosity : int, default 1
        As in XGBoost.
    **native
        Other parameters of XGBoost by their native names. XGBoost's other names of the parameters above may be used
        instead of them, such as `eta` or `num_boost_round`. `fit` raises an error for names that XGBoost does not know,
        for parameters that have no meaning in a ranker or beside the others, and for two names of one parameter with
        different values; a parameter that has its default does not count.

        Parameters that concern single features take them by name, or by index from 0; a column "qid" is no feature and
        does not count. Values of too many or too few features, and features that do not exist, are errors.

        - `monotone_constraints`: a sequence with one value per feature; the same as a string, "(1,0,-1)"; or a dict,
          ``{"price": -1}``. Features that a dict does not have are not constrained.
        - `interaction_constraints`: a list of lists of features, or a string, "[[0, 1], [2, 3]]". Features of a path
          in a tree are all in one of the lists. A feature that is in none is on no path with others.
        - `feature_weights`: one weight per feature, or a dict, in which others have the weight 1. They are used where
          `colsample_bytree`, `colsample_bylevel` or `colsample_bynode` sample features. Features of weight 0 are
          sampled only if there are not enough others.
        - `feature_types`: one of "q", "int", "i", "float" (all for numbers) or "c" (categorical) per feature, or a
          dict, in which others have the type of their column. The values of categorical features are integers from 0.
        - `missing`: a number that means a missing value, besides NaN, in all features that are not columns of a
          categorical type. It is a property of the model: `predict` and saved models use that of the training. With
          ``missing=0``, elements that a sparse matrix does not store are missing.
        - `enable_categorical`: columns of a DataFrame with a categorical type are categorical features in any case.
          With False they are an error. In the model, names that are not ASCII are percent-encoded, such as
          "utf-8''caf%C3%A9", because XGBoost would store them incompletely.

        With ``device="cuda"``, XGBoost grows trees on a GPU. If CuPy is installed (``pip install boostrank[gpu]``),
        surrogates that take arrays of a GPU (:attr:`~boostrank.surrogates.Surrogate.takes_device_arrays`) are computed
        there too. Of those with a name, these are all but "consistent-lambdarank", "pairwise-logistic" and the hinges.
        Other losses are computed by the CPU, and XGBoost copies gradients to the GPU. The part on the GPU has been
        tested with a stand-in for CuPy only, and has not run on a GPU.

    Attributes
    ----------
    booster_ : xgboost.Booster
    best_iteration_ : int
        Number of rounds that `predict` uses: those found by early stopping, or `n_estimators`; with `init_model`, also
        its rounds. With `ensemble="folds"`, that of all averaged models together; `cv_results_` has that of each.
    learning_rate_ : float
        The learning rate at the start of the training, which callbacks may change; not after `load_model`.
    evals_result_ : dict of str to dict of str to list of float
        Values of each metric on each validation set, one for each round of this training:
        ``{"valid_0": {"ndcg@10": [...], "map": [...]}, "test": ...}``. The names of the sets are those of `eval_set` or
        `eval_names`; the queries that `validation_fraction` holds out are "valid_0". With `n_estimators="auto"` or
        `ensemble="folds"`, the held-out queries of the folds are "fold_0", "fold_1", ... Empty without validation sets.
    best_score_ : dict of str to dict of str to float
        The values in round `best_iteration_`, ``{"valid_0": {"ndcg@10": ..., "map": ...}, "test": ...}``.
    n_estimators_, n_iter_ : int
        Number of rounds of the model, equal to `best_iteration_`: rounds after the best one are not kept.
    objective_ : str, Surrogate, EdgeLoss or callable
        The parameter `objective` with which the model was trained, the chosen one if it was "auto"; models that were
        read from a file have none.
    best_params_ : dict
        With folds: the parameters of the chosen candidate, in which it differs from the ranker with the default
        objective.
    cv_results_ : dict of str to ndarray of shape (n_candidates,)
        With folds: the results of the candidates, from which ``pandas.DataFrame(cv_results_)`` makes a table.
        :class:`boostrank.displays.CandidatesDisplay` plots them. Without `objective="auto"` there is one candidate.

        params, objective
            Its parameters, as in `best_params_`, and its objective.
        metric
            Name of the deciding metric.
        n_rounds
            Number of rounds at which it is judged.
        mean_test_score
            Mean of the deciding metric over the folds, after this number of rounds.
        difference, standard_error
            Mean over the held-out queries with a relevant document of its value minus that of the first candidate, and
            the standard error of this mean; for a dropped candidate, when it was dropped.
        rounds_trained, dropped, chosen
            Number of rounds that it was trained, and whether it was dropped before the end or chosen.
        mean_curve
            Mean of the deciding metric over the folds after each round, shape (rounds_trained,).
    feature_name_ : list of str
        Names of the features; for features without names, those that XGBoost makes up.
    feature_importances_ : ndarray, shape (n_features_in_,)
    best_iteration : int
        ``best_iteration_ - 1``, the number of the best round counted from 0, as in ``xgboost.XGBRanker``.
    n_features_in_, n_features_ : int
    feature_names_in_ : ndarray of str, if X had column names

    Examples
    --------
    >>> from boostrank import XGBoostRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, random_state=0)
    >>> ranker = XGBoostRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.7
    True

    Two metrics on a validation set, of which the first decides on early stopping:

    >>> ranker = XGBoostRanker(n_estimators=200, early_stopping_rounds=10)
    >>> test = make_ranking(n_queries=20, random_state=1)
    >>> ranker = ranker.fit(X, y, qid, eval_set={"test": test}, eval_metric=["ndcg@10", "map"])
    >>> list(ranker.best_score_["test"]), ranker.n_iter_ < 200
    (['ndcg@10', 'map'], True)

    Objective and number of rounds chosen by cross-validation over the training queries:

    >>> ranker = XGBoostRanker("auto", n_estimators="auto", early_stopping_rounds=10, random_state=0).fit(X, y, qid)
    >>> chosen = ranker.cv_results_["chosen"]
    >>> ranker.best_iteration_ == ranker.cv_results_["n_rounds"][chosen].item()
    True
    """

    _backend: ClassVar[Backend] = xgboost_backend
    _candidates: ClassVar[Sequence[Mapping[str, Any]]] = XGBOOST_CANDIDATES
    _rules: ClassVar[Mapping[str, Rule]] = {
        **RULES,
        "max_depth": integer(0),
        "max_leaves": integer(0),
        "grow_policy": one_of("depthwise", "lossguide"),
        "gamma": NOT_NEGATIVE,
        "colsample_bynode": SHARE,
        "tree_method": one_of("auto", "exact", "approx", "hist"),
        "max_bin": integer(2),
        "importance_type": one_of("weight", "gain", "cover", "total_gain", "total_cover"),
    }

    def __init__(
        self,
        objective: str | Loss | Callable[..., Any] = DEFAULT_LOSS,
        *,
        gain: Gain = "exp2",
        discount: Discount = "log2",
        k: int | float | None = None,
        normalize: Normalize = "dcg",
        n_estimators: int | str = 100,
        learning_rate: float | None = None,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        grow_policy: str | None = None,
        min_child_weight: float | None = None,
        gamma: float = 0.0,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        colsample_bynode: float | None = None,
        reg_alpha: float = 0.0,
        reg_lambda: float | None = None,
        tree_method: str = "hist",
        max_bin: int = 256,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        refit: bool = False,
        cv: int | None = None,
        ensemble: str | None = None,
        importance_type: str = "gain",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbosity: int = 1,
        **native: Any,
    ) -> None:
        self.objective = objective
        self.gain = gain
        self.discount = discount
        self.k = k
        self.normalize = normalize
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.grow_policy = grow_policy
        self.min_child_weight = min_child_weight
        self.gamma = gamma
        self.subsample = subsample
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.tree_method = tree_method
        self.max_bin = max_bin
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.cv = cv
        self.ensemble = ensemble
        self.importance_type = importance_type
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbosity = verbosity
        self._set_native(native)

    def load_model(self, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file in XGBoost's format; the parameters of the ranker do not change.

        The number that means a missing value is that of the training. If the file does not contain it, because it was
        not set or because another program wrote the file, it is the parameter `missing`.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is not a complete model of a ranker of XGBoost, or the parameter `missing` is no number. The
            ranker is then unchanged.
        """
        missing = missing_parameter(self._native)
        super().load_model(path)
        adopt_missing(self.booster_, missing)
        return self

    @property
    def best_iteration(self) -> int:
        """Number of the last round that `predict` uses, counted from 0, as in ``xgboost.XGBRanker``."""
        check_is_fitted(self, "booster_")
        return self.best_iteration_ - 1
