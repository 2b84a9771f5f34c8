"""The ranker on LightGBM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from boostrank.backends.base import Backend
from boostrank.backends.lightgbm import backend as lightgbm_backend
from boostrank.core.dcg import Discount, Gain
from boostrank.core.targets import Normalize
from boostrank.objectives.losses import DEFAULT_LOSS, Loss
from boostrank.rankers.base import BoostedRanker
from boostrank.rankers.candidates import LIGHTGBM_CANDIDATES
from boostrank.rankers.settings import RULES, Rule, integer, one_of


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

        "auto" chooses by cross-validation over the training queries among a few candidates,
        ``boostrank.rankers.candidates.LIGHTGBM_CANDIDATES``, "lambdarank" among them. The first one, the default
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
        short trainings on at most 400 training queries tell (:mod:`boostrank.rankers.learning_rate`). With `boosting`
        "dart" or "rf" it is 0.1, which is LightGBM's own default.
    num_leaves, max_depth, min_child_samples, min_child_weight, subsample, subsample_freq
        As in ``lightgbm.LGBMRanker``. The mean Hessian of a surrogate is 1 before the first round, so that
        `min_child_weight` is about a number of documents.
    colsample_bytree, reg_alpha
        As in ``lightgbm.LGBMRanker``.
    reg_lambda : float, optional
        As in ``lightgbm.LGBMRanker``. By default 50 for the losses of boostrank, where it is about a number of
        documents, and LightGBM's own default, 0, for its objectives and for functions.
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
    importance_type : {"split", "gain"}, default "split"
        Kind of importance in `feature_importances_`: number of splits, or their total gain.
    random_state : int, RandomState or None
        An integer is LightGBM's own seed, and the seed of the choice of the queries to hold out: the same integer gives
        the same model. From a RandomState, each `fit` draws another seed. With None, LightGBM uses its default seed,
        and each `fit` holds out other queries.
    n_jobs : int, optional
        Number of threads of LightGBM, and of the losses and metrics of boostrank in `fit`. None lets LightGBM choose,
        and is ``OMP_NUM_THREADS``, or the number of processors, for losses and metrics.
    verbosity : int, default -1
        As in LightGBM.
    **native
        Other parameters of LightGBM by their native names. LightGBM's other names of the parameters above may be used
        instead of them, such as `num_iterations` or `lambda_l1`. `fit` raises an error for names that LightGBM does
        not know, for parameters that have no meaning in a ranker, and for two names of one parameter with different
        values; a parameter that has its default does not count.

        Parameters that concern single features take them by name, or by index from 0; a column "qid" is no feature and
        does not count. Values of too many or too few features, and features that do not exist, are errors.

        - `monotone_constraints`, `feature_contri`, `max_bin_by_feature`, `cegb_penalty_feature_lazy` and
          `cegb_penalty_feature_coupled`: a sequence with one value per feature; the same as a string, "1,0,-1"; or a
          dict, ``{"price": -1}``. Features that a dict does not have are not constrained, and have no penalty, the
          contribution 1, and `max_bin` bins. With `linear_tree`, LightGBM constrains splits, but not the linear models.
        - `interaction_constraints`: a list of lists of features, or a string, "[0,1],[2,3]". Features of a path in a
          tree are all in one of the lists. LightGBM does not use features that are in none.
        - `categorical_feature`: a list of features, or a string, "0,1" or "name:colour,shape". Their values are
          integers from 0; negative ones are missing values. Then exactly these are categorical features, and columns
          of other categorical types are numbers, the positions of their categories. With "auto", the default, columns
          of a DataFrame with an unordered categorical type are categorical features.

        `boosting="rf"` needs one of LightGBM's objectives, and a sample of rows or features for each tree.

        With ``device_type="cuda"`` or "gpu", LightGBM grows trees on a GPU, if it was built for it. Losses of boostrank
        are then computed by the CPU, because LightGBM takes gradients only in the memory of the host.

    Attributes
    ----------
    booster_ : lightgbm.Booster
    best_iteration_ : int
        Number of rounds that `predict` uses: those found by early stopping, or `n_estimators`; with `init_model`, also
        its rounds. With `ensemble="folds"`, that of all averaged models together; `cv_results_` has that of each.
        Rounds in which LightGBM finds no split have no tree, and do not count, except the first one.
    learning_rate_ : float
        The learning rate at the start of the training, which callbacks may change; not after `load_model`.
    evals_result_ : dict of str to dict of str to list of float
        Values of each metric on each validation set, one for each round of this training:
        ``{"valid_0": {"ndcg@10": [...], "map": [...]}, "test": ...}``. The names of the sets are those of `eval_set` or
        `eval_names`; the queries that `validation_fraction` holds out are "valid_0". With `n_estimators="auto"` or
        `ensemble="folds"`, the held-out queries of the folds are "fold_0", "fold_1", ... Empty without validation sets.
    best_score_ : dict of str to dict of str to float
        The values of the model, ``{"valid_0": {"ndcg@10": ..., "map": ...}, "test": ...}``.
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
        Names of the features; for features without names, those that LightGBM makes up.
    feature_importances_ : ndarray, shape (n_features_in_,)
    n_features_in_, n_features_ : int
    feature_names_in_ : ndarray of str, if X had column names

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, random_state=0)
    >>> ranker = LightGBMRanker("softmax", k=10, n_estimators=20, random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.7
    True

    Two metrics on a validation set, of which the first decides on early stopping:

    >>> ranker = LightGBMRanker(n_estimators=200, early_stopping_rounds=10)
    >>> test = make_ranking(n_queries=20, random_state=1)
    >>> ranker = ranker.fit(X, y, qid, eval_set={"test": test}, eval_metric=["ndcg@10", "map"])
    >>> list(ranker.best_score_["test"]), ranker.n_iter_ < 200
    (['ndcg@10', 'map'], True)

    Objective and number of rounds chosen by cross-validation over the training queries:

    >>> ranker = LightGBMRanker("auto", n_estimators="auto", early_stopping_rounds=10, random_state=0).fit(X, y, qid)
    >>> chosen = ranker.cv_results_["chosen"]
    >>> ranker.best_iteration_ == ranker.cv_results_["n_rounds"][chosen].item()
    True
    """

    _backend: ClassVar[Backend] = lightgbm_backend
    _candidates: ClassVar[Sequence[Mapping[str, Any]]] = LIGHTGBM_CANDIDATES
    _rules: ClassVar[Mapping[str, Rule]] = {
        **RULES,
        "num_leaves": integer(2),
        "max_depth": integer(),
        "min_child_samples": integer(0),
        "subsample_freq": integer(0),
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
        subsample_freq: int = 0,
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
        verbosity: int = -1,
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
        self.subsample_freq = subsample_freq
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
        self.verbosity = verbosity
        self._set_native(native)
