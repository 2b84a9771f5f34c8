"""The ranker on XGBoost, and model files of either library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.interface import Backend
from boostrank.backends.models import ModelSource, Notes, read_source, source_name
from boostrank.backends.xgboost import backend as xgboost_backend
from boostrank.backends.xgboost.features import adopt_missing
from boostrank.inputs.checks import EstimatorSeed, plain_number
from boostrank.ndcg.dcg import Discount
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.targets import Normalize
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.lightgbm import LightGBMRanker
from boostrank.training.losses import DEFAULT_LOSS, Objective
from boostrank.training.settings import NOT_NEGATIVE, OF_FIT, RULES, Rule, integer, one_of


class NamesOfXGBRanker(BoostedRanker):
    """The methods and attributes of XGBRanker that have other names in boostrank."""

    def get_booster(self) -> Any:
        """Return `booster_`."""
        check_is_fitted(self, "booster_")
        return self.booster_

    def get_num_boosting_rounds(self) -> int:
        """Return `n_estimators`, or if it is None, the number of rounds of the model."""
        return int(self.n_estimators or self.best_iteration_)

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters that XGBoost has too; `objective` only if it is XGBoost's own."""
        names = {*xgboost_backend.parameters.PARAMETERS, "random_state", *self._native} - {*OF_FIT}
        parameters = {
            name: plain_number(value) for name, value in self.get_params().items() if name in names
        }
        is_native = self.objective in xgboost_backend.parameters.NATIVE_OBJECTIVES
        return {**parameters, "objective": self.objective} if is_native else parameters

    @property
    def best_iteration(self) -> int:
        """The round that early stopping found, counted from 0.

        There is none without early stopping.
        """
        return int(self.get_booster().best_iteration)

    @property
    def best_score(self) -> float:
        """The value of the deciding metric in this round."""
        return float(self.get_booster().best_score)

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The score that all documents have before the first tree, shape (1,)."""
        return np.array([xgboost_backend.base_score(self.get_booster())], dtype=np.float32)

    def evals_result(self) -> dict[str, dict[str, list[float]]]:
        """Return the values of the metrics of validation sets in every round.

        Sets have their names in XGBRanker.

        They are those of `evals_result_`, but sets without a name of their own are "validation_0",
        "validation_1", ...

        Raises
        ------
        ValueError
            If there are none, because there was no validation set, or because the model was read
            from a file.
        """
        sets = enumerate(super().evals_result().items())
        return {
            f"validation_{i}" if name in ("training", f"valid_{i}") else name: values
            for i, (name, values) in sets
        }


class XGBoostRanker(NamesOfXGBRanker):
    """Gradient boosted ranker on XGBoost, with NDCG-consistent surrogates or its own objectives.

    An element that a sparse matrix does not store is 0, as in a dense array, and not missing, as it
    would be in XGBoost itself. Sparse features are given to XGBoost in dense blocks of rows, so
    that training takes the time of dense features, and the memory that XGBoost needs for these.
    Only the dense array itself is not made, except with `tree_method` "exact" or "approx", or with
    weights of a native objective.

    The parameters and attributes that both rankers have are described in full in
    :class:`boostrank.rankers.base.BoostedRanker`.

    Parameters
    ----------
    objective : str, Surrogate, EdgeLoss, callable or None, default "softmax"
        The loss: a name or an instance of ours, the name of an objective of XGBoost, or a function.
    gain, discount, k
        Gain, discount and cutoff of NDCG in the targets, in early stopping and in `score`.
    lower_is_better : bool, optional
        Whether the smallest label of a query is the best, as with finishing places; needs
        ``gain="rank"``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        How gains are normalized to targets.
    n_estimators : int, optional
        Number of boosting rounds. For the losses of boostrank, the training queries decide by
        default.
    learning_rate : float, optional
        What a tree is multiplied with.
    subsample_queries : float in (0, 1], optional
        Share of the queries that each round draws.
    colsample_bytree, colsample_bynode : float in (0, 1], optional
        Share of the features that each tree draws, and share of these that each of its nodes draws.
    early_stopping_rounds : int, optional
        Rounds without a better metric on validation queries after which the training stops.
    validation_fraction : float in (0, 1), optional
        Share of the training queries that are held out as validation set.
    validation : {"random", "last"}, default "random"
        Which queries are held out: random ones, or the last ones of the data.
    query_features : str, list of str or QueryFeatures, optional
        Features relative to the list of a query, which the ranker adds: ``["standardize",
        "rank"]``.
    random_state : int, RandomState or None
        Seed.
    n_jobs : int, optional
        Number of threads of `fit` and `predict`, also of a model that `load_model` reads.
    max_depth, max_leaves, grow_policy : int, int and str, optional
        As in ``xgboost.XGBRanker``. If none of them is set, the losses of boostrank grow trees as
        LightGBM does: the leaf with the largest gain is split until there are 20 leaves
        (`grow_policy` "lossguide", `max_leaves` 20, `max_depth` 0, which means any). If one of them
        is set, the others have XGBoost's own defaults: "depthwise", 0 (any number of leaves) and 6.
        So have all three for XGBoost's objectives, for functions, and with ``tree_method="exact"``.
    gamma, subsample, tree_method, max_bin
        As in ``xgboost.XGBRanker``.
    min_child_weight, reg_lambda : float, optional
        As in ``xgboost.XGBRanker``. The mean Hessian of a surrogate is 1 before the first round, so
        that both are about numbers of documents that a round draws. By default 10 and 20 for the
        losses of boostrank, and XGBoost's own defaults, 1 and 1, for its objectives and for
        functions.
    reg_alpha : float, default 0
        As in ``xgboost.XGBRanker``.
    importance_type : str, default "gain"
        Kind of importance in `feature_importances_`: "weight", "gain", "cover", "total_gain" or
        "total_cover". They are not divided by their sum, as ``xgboost.XGBRanker`` does.
    **native
        Other parameters of XGBoost by their native names. XGBoost's other names of the parameters
        above may be used instead of them, such as `eta` or `num_boost_round`. `eval_metric` (names
        and measures, of which the last one decides on early stopping, as in XGBRanker) and
        `callbacks` are arguments of `fit` that may be given here; those of `fit` come before them.
        `base_score` is the score before the first round, 0 by default; it is that of `init_model`
        otherwise. `fit` raises an error for names that XGBoost does not know, for parameters that
        have no meaning in a ranker or beside the others, and for two names of one parameter with
        different values; a parameter that has its default does not count.

        Parameters that concern single features take them by name, or by index from 0; a column
        "qid" is no feature and does not count. Values of too many or too few features, and features
        that do not exist, are errors.

        - `monotone_constraints`: a sequence with one value per feature, or a dict, ``{"price":
          -1}``. Features that a dict does not have are not constrained.
        - `interaction_constraints`: a list of lists of features. Features of a path in a tree are
          all in one of the lists. A feature that is in none is on no path with others.
        - `feature_weights`: one weight per feature, or a dict, in which others have the weight 1.
          They are used where `colsample_bytree`, `colsample_bylevel` or `colsample_bynode` sample
          features. Features of weight 0 are sampled only if there are not enough others.
        - `feature_types`: one of "q", "int", "i", "float" (all for numbers) or "c" (categorical)
          per feature, or a dict, in which others have the type of their column. The values of
          categorical features are integers from 0.
        - `missing`: a number or infinity that means a missing value, besides NaN; not for
          DataFrames with columns of a categorical type. It is a property of the model: `predict`
          and saved models use that of the training. With ``missing=0``, elements that a sparse
          matrix does not store are missing.

        Columns of a DataFrame with a categorical type are categorical features. In the model, names
        of categories that are not ASCII are percent-encoded, such as "utf-8''caf%C3%A9", because
        XGBoost would store them incompletely.

        With ``device="cuda"``, XGBoost grows trees on a GPU. If CuPy is installed (``pip install
        "cupy-cuda12x[ctk]"``), surrogates that take arrays of a GPU
        (:attr:`~boostrank.surrogates.Surrogate.takes_device_arrays`) are computed there too: of
        those with a name, all but "consistent-lambdarank", "pairwise-logistic" and
        "pairwise-squared-hinge". Other losses are computed by the CPU, and XGBoost copies gradients
        to the GPU.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> ranker = br.XGBoostRanker("softmax", k=10, random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.7
    True

    Two metrics on a validation set, of which the first decides on early stopping:

    >>> ranker = br.XGBoostRanker(learning_rate=0.1, early_stopping_rounds=50)
    >>> test = br.make_ranking(n_queries=20, random_state=1)
    >>> ranker = ranker.fit(X, y, qid, eval_set={"test": test}, eval_metric=["ndcg@10", "map"])
    >>> list(ranker.best_score_["test"]), ranker.best_iteration_ < 1000
    (['ndcg@10', 'map'], True)
    """

    _backend: ClassVar[Backend] = xgboost_backend
    _rules: ClassVar[Mapping[str, Rule]] = {
        **RULES,
        "max_depth": integer(0),
        "max_leaves": integer(0),
        "grow_policy": one_of("depthwise", "lossguide"),
        "gamma": NOT_NEGATIVE,
        "tree_method": one_of("auto", "exact", "approx", "hist"),
        "max_bin": integer(2),
        "importance_type": one_of("weight", "gain", "cover", "total_gain", "total_cover"),
    }

    def __init__(
        self,
        objective: Objective = DEFAULT_LOSS,
        *,
        gain: Gain = "exp2",
        lower_is_better: bool | None = None,
        discount: Discount = "log2",
        k: int | float | None = None,
        normalize: Normalize = "dcg",
        n_estimators: int | None = None,
        learning_rate: float | None = None,
        max_depth: int | None = None,
        max_leaves: int | None = None,
        grow_policy: str | None = None,
        min_child_weight: float | None = None,
        gamma: float = 0.0,
        subsample: float = 1.0,
        subsample_queries: float | None = None,
        colsample_bytree: float | None = None,
        colsample_bynode: float | None = None,
        reg_alpha: float = 0.0,
        reg_lambda: float | None = None,
        tree_method: str = "hist",
        max_bin: int = 256,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        validation: str = "random",
        query_features: object = None,
        importance_type: str = "gain",
        random_state: EstimatorSeed = None,
        n_jobs: int | None = None,
        **native: object,
    ) -> None:
        self.objective = objective
        self.gain = gain
        self.lower_is_better = lower_is_better
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
        self.subsample_queries = subsample_queries
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.tree_method = tree_method
        self.max_bin = max_bin
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.validation = validation
        self.importance_type = importance_type
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.query_features = query_features
        if native:
            self._native = native

    def _load(self, source: ModelSource) -> tuple[Any, Notes]:
        booster, notes = super()._load(source)
        adopt_missing(booster, self._native)
        if self.n_jobs is not None:
            booster.set_param({"nthread": self.n_jobs})
        return booster, notes

    def _take_booster(self, booster: object) -> None:
        taken = xgboost_backend.as_booster(booster)
        adopt_missing(taken, self._native)
        self._set_booster(taken)


def load_model(path: ModelSource) -> LightGBMRanker | XGBoostRanker:
    """Read a model file of a ranker, a bag, LightGBM or XGBoost.

    Its content says which ranker has the model.

    Parameters
    ----------
    path : str, path, bytes or bytearray
        A file of ``save_model``, of a ranker, a :class:`boostrank.BaggedRanker` or a booster of the
        libraries; or its content.

    Returns
    -------
    LightGBMRanker or XGBoostRanker
        With the model and its features, and the default parameters. A bag is one model, with the
        trees of all members.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a complete model of a ranker of one of the libraries.

    Examples
    --------
    >>> import os, tempfile
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.XGBoostRanker(n_estimators=5).fit(X, y, qid)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.json")
    >>> ranker.save_model(path)
    >>> loaded = br.load_model(path)
    >>> type(loaded).__name__, bool((loaded.predict(X) == ranker.predict(X)).all())
    ('XGBoostRanker', True)
    """
    head = read_source(path)[:5]
    if head == b"tree\n":
        return LightGBMRanker().load_model(path)
    if head.startswith(b"{"):
        return XGBoostRanker().load_model(path)
    raise ValueError(
        f"{source_name(path)} is a model neither of LightGBM nor of XGBoost; joblib.load reads a "
        f"pickle"
    )
