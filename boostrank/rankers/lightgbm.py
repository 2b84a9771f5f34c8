"""The ranker on LightGBM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from boostrank.backends.base import Backend
from boostrank.backends.lightgbm import backend as lightgbm_backend
from boostrank.core.dcg import Discount, Gain
from boostrank.core.targets import Normalize
from boostrank.objectives.losses import DEFAULT_LOSS, Loss
from boostrank.rankers.automatic import LIGHTGBM_CANDIDATES
from boostrank.rankers.base import BoostedRanker, insert_common_text
from boostrank.rankers.settings import RULES, Rule, integer, one_of


@insert_common_text("LightGBM", native_objective="lambdarank")
class LightGBMRanker(BoostedRanker):
    """Gradient boosted ranker on LightGBM, with NDCG-consistent surrogates or LightGBM's own ranking objectives.

    Parameters
    ----------
    objective : str, Surrogate, EdgeLoss or callable, default "consistent-lambdarank"
        A surrogate of :mod:`boostrank.surrogates`, by name or as an instance; for labels that are preferences a loss
        of :mod:`boostrank.preferences` ("edge-logistic"); or LightGBM's "lambdarank" or "rank_xendcg". LightGBM's
        objectives have their own targets: `gain` is passed on to "lambdarank", and `discount` and `k` are only used in
        `score` and early stopping. A function ``(y, scores[, weight[, group]]) -> (gradient, hessian)`` gets labels,
        scores, weights (None without `sample_weight`) and sizes of queries, grouped by query. It applies the weights
        itself, and `gain`, `discount` and `k` are only used in `score` and early stopping.

        $choice_of_objective
    $targets_and_rounds
        With `boosting` "dart" it is 0.1, which is LightGBM's own default.
    num_leaves, max_depth, min_child_samples, min_child_weight, subsample, colsample_bytree, reg_alpha
        As in ``lightgbm.LGBMRanker``. The mean Hessian of a surrogate is 1 before the first round, so that
        `min_child_weight` is about a number of documents. LightGBM draws rows only if the native parameter
        `subsample_freq` (`bagging_freq`) is set too.
    reg_lambda : float, optional
        As in ``lightgbm.LGBMRanker``. By default 50 for the losses of boostrank, where it is about a number of
        documents, and LightGBM's own default, 0, for its objectives and for functions.
    $validation
    importance_type : {"split", "gain"}, default "split"
        Kind of importance in `feature_importances_`: number of splits, or their total gain.
    $seed_and_threads
    **native
        Other parameters of LightGBM by their native names. LightGBM's other names of the parameters above may be used
        instead of them, such as `num_iterations` or `lambda_l1`. `fit` raises an error for names that LightGBM does
        not know, for parameters that have no meaning in a ranker, and for two names of one parameter with different
        values; a parameter that has its default does not count.

        $parameters_of_features

        - `monotone_constraints`, `feature_contri`, `max_bin_by_feature`, `cegb_penalty_feature_lazy` and
          `cegb_penalty_feature_coupled`: a sequence with one value per feature, or a dict, ``{"price": -1}``.
          Features that a dict does not have are not constrained, and have no penalty, the contribution 1, and `max_bin`
          bins. With `linear_tree`, LightGBM constrains splits, but not the linear models.
        - `interaction_constraints`: a list of lists of features. Features of a path in a tree are all in one of the
          lists. LightGBM does not use features that are in none.
        - `categorical_feature`: a list of features. Their values are integers from 0; negative ones are missing values.
          Then exactly these are categorical features, and columns of other categorical types are numbers, the positions
          of their categories. With "auto", the default, columns of a DataFrame with an unordered categorical type are
          categorical features.

        With ``device_type="cuda"`` or "gpu", LightGBM grows trees on a GPU, if it was built for it. Losses of boostrank
        are then computed by the CPU, because LightGBM takes gradients only in the memory of the host.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    best_iteration_ : int
        Number of rounds that `predict` uses: those found by early stopping, or `n_estimators`; with `init_model`, also
        its rounds. With `ensemble="folds"`, that of all averaged models together; `cv_results_` has that of each.
        Rounds in which LightGBM finds no split have no tree, and do not count, except the first one.
    $attributes

    Examples
    --------
    $examples
    """

    _backend: ClassVar[Backend] = lightgbm_backend
    _candidates: ClassVar[Sequence[Mapping[str, Any]]] = LIGHTGBM_CANDIDATES
    _rules: ClassVar[Mapping[str, Rule]] = {
        **RULES,
        "num_leaves": integer(2),
        "max_depth": integer(),
        "min_child_samples": integer(0),
        "importance_type": one_of("split", "gain"),
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
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        min_child_weight: float = 1e-3,
        subsample: float = 1.0,
        colsample_bytree: float = 1.0,
        reg_alpha: float = 0.0,
        reg_lambda: float | None = None,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        refit: bool = False,
        cv: int | None = None,
        ensemble: str | None = None,
        importance_type: str = "split",
        random_state: Any = None,
        n_jobs: int | None = None,
        **native: Any,
    ) -> None:
        self.objective = objective
        self.gain = gain
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
        self.colsample_bytree = colsample_bytree
        self.reg_alpha = reg_alpha
        self.reg_lambda = reg_lambda
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.cv = cv
        self.ensemble = ensemble
        self.importance_type = importance_type
        self.random_state = random_state
        self.n_jobs = n_jobs
        self._set_native(native)
