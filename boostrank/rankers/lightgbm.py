"""The ranker on LightGBM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sklearn.utils.validation import check_is_fitted

from boostrank.backends.interface import Backend
from boostrank.backends.lightgbm import backend as lightgbm_backend
from boostrank.inputs.checks import EstimatorSeed
from boostrank.ndcg.dcg import Discount
from boostrank.ndcg.gains import Gain
from boostrank.ndcg.targets import Normalize
from boostrank.rankers.base import BoostedRanker
from boostrank.training.losses import DEFAULT_LOSS, Objective
from boostrank.training.settings import RULES, Rule, integer, one_of


class NamesOfLGBMRanker(BoostedRanker):
    """The attributes of a fitted LGBMRanker that have other names in boostrank."""

    @property
    def feature_name_(self) -> list[str]:
        """Names of the features in `booster_`.

        They are "Column_0", "Column_1", ... for features without names.
        """
        check_is_fitted(self, "booster_")
        return list(self.booster_.feature_name())

    @property
    def n_features_(self) -> int:
        """The attribute `n_features_in_`."""
        check_is_fitted(self, "booster_")
        return self.n_features_in_

    @property
    def n_estimators_(self) -> int:
        """The attribute `best_iteration_`: no later rounds are kept."""
        check_is_fitted(self, "booster_")
        return self.best_iteration_

    n_iter_ = n_estimators_

    @property
    def fitted_(self) -> bool:
        """Whether there is a model."""
        return hasattr(self, "booster_")

    @fitted_.setter
    def fitted_(self, fitted: bool) -> None:
        # Scripts set it after the booster.
        if fitted != self.fitted_:
            raise ValueError(f"fitted_ is {self.fitted_}: set _Booster, or call fit or load_model")


class LightGBMRanker(NamesOfLGBMRanker):
    """Gradient boosted ranker on LightGBM, with NDCG-consistent surrogates or its own objectives.

    The parameters and attributes that both rankers have are described in full in
    :class:`boostrank.rankers.base.BoostedRanker`.

    Parameters
    ----------
    objective : str, Surrogate, EdgeLoss, callable or None, default "softmax"
        The loss: a name or an instance of ours, the name of an objective of LightGBM, or a
        function.
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
        Number of threads of `fit`; `predict` takes `num_threads`.
    num_leaves : int, optional
        As in ``lightgbm.LGBMRanker``. By default 20 for the losses of boostrank, and LightGBM's own
        default, 31, for its objectives and for functions.
    reg_lambda : float, optional
        As in ``lightgbm.LGBMRanker``. By default 20 for the losses of boostrank, where it is about
        a number of documents that a round draws, and LightGBM's own default, 0, for its objectives
        and for functions.
    max_depth, min_child_samples, min_child_weight, subsample, reg_alpha
        As in ``lightgbm.LGBMRanker``. The mean Hessian of a surrogate is 1 before the first round,
        so that `min_child_weight` is about a number of documents. LightGBM draws rows only if the
        native parameter `subsample_freq` (`bagging_freq`) is set too. `min_child_samples` also
        counts documents that a round leaves out.
    importance_type : {"split", "gain"}, default "split"
        Kind of importance in `feature_importances_`: number of splits, or their total gain.
    **native
        Other parameters of LightGBM by their native names. LightGBM's other names of the parameters
        above may be used instead of them, such as `num_iterations`, `lambda_l1` or `label_gain`,
        which is `gain`. `metric`, `eval_at` and `callbacks` are arguments of `fit` that may be
        given here too; those of `fit` come before them, but `eval_at` replaces that of `fit`, as in
        LightGBM. `fit` raises an error for names that LightGBM does not know, for parameters that
        have no meaning in a ranker, and for two names of one parameter with different values; a
        parameter that has its default does not count.

        Parameters that concern single features take them by name, or by index from 0; a column
        "qid" is no feature and does not count. Values of too many or too few features, and features
        that do not exist, are errors.

        - `monotone_constraints`, `feature_contri`, `max_bin_by_feature`,
          `cegb_penalty_feature_lazy` and `cegb_penalty_feature_coupled`: a sequence with one value
          per feature, or a dict, ``{"price": -1}``. Features that a dict does not have are not
          constrained, and have no penalty, the contribution 1, and `max_bin` bins. With
          `linear_tree`, LightGBM constrains splits, but not the linear models.
        - `interaction_constraints`: a list of lists of features. Features of a path in a tree are
          all in one of the lists. LightGBM does not use features that are in none.
        - `categorical_feature`: a list of features. Their values are integers from 0; negative ones
          are missing values. Then exactly these are categorical features, and columns of other
          categorical types are numbers, the positions of their categories. With "auto", the
          default, columns of a DataFrame with an unordered categorical type are categorical
          features.

        With ``device_type="cuda"`` or "gpu", LightGBM grows trees on a GPU, if it was built for it.
        Losses of boostrank are then computed by the CPU, because LightGBM takes gradients only in
        the memory of the host.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> ranker = br.LightGBMRanker("softmax", k=10, random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.7
    True

    Two metrics on a validation set, of which the first decides on early stopping:

    >>> ranker = br.LightGBMRanker(learning_rate=0.1, early_stopping_rounds=50)
    >>> test = br.make_ranking(n_queries=20, random_state=1)
    >>> ranker = ranker.fit(X, y, qid, eval_set={"test": test}, eval_metric=["ndcg@10", "map"])
    >>> list(ranker.best_score_["test"]), ranker.best_iteration_ < 1000
    (['ndcg@10', 'map'], True)
    """

    _backend: ClassVar[Backend] = lightgbm_backend
    _rules: ClassVar[Mapping[str, Rule]] = {
        **RULES,
        "num_leaves": integer(2),
        "max_depth": integer(),
        "min_child_samples": integer(0),
        "importance_type": one_of("split", "gain"),
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
        num_leaves: int | None = None,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        subsample: float = 1.0,
        subsample_queries: float | None = None,
        colsample_bytree: float | None = None,
        colsample_bynode: float | None = None,
        reg_alpha: float = 0.0,
        reg_lambda: float | None = None,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        validation: str = "random",
        query_features: object = None,
        importance_type: str = "split",
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
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.min_child_weight = min_child_weight
        self.subsample = subsample
        self.subsample_queries = subsample_queries
        self.colsample_bytree = colsample_bytree
        self.colsample_bynode = colsample_bynode
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.validation = validation
        self.importance_type = importance_type
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.query_features = query_features
        if native:
            self._native = native
