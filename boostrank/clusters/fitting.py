"""``fit`` on several workers, as the driver sees it: from the settings of a local ranker to its trained model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from boostrank.backends.base import Backend, Trained
from boostrank.backends.lightgbm import backend as lightgbm_backend
from boostrank.backends.lightgbm.features import check_n_rows
from boostrank.backends.models import warn_without_splits
from boostrank.clusters.collective import Endpoint, PortEndpoint
from boostrank.clusters.training import ClusterSpecification
from boostrank.inputs.checks import check_choice
from boostrank.metrics import Measure
from boostrank.metrics.graded import ExpectedReciprocalRank
from boostrank.rankers.base import BoostedRanker
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import is_function
from boostrank.training.settings import Settings

#: Parameters that LightGBM has only in training on one machine, and what happens with several workers.
ONE_MACHINE_ONLY = {
    "interaction_constraints": "LightGBM's workers crash with it",
    **dict.fromkeys(
        ("linear_tree", "cegb_penalty_split", "cegb_penalty_feature_lazy", "cegb_penalty_feature_coupled"),
        "each of LightGBM's workers would compute it from its own rows",
    ),
    "monotone_constraints_method": "LightGBM's workers use 'basic' in place of others",
}
TREE_LEARNERS = ("data", "data_parallel", "voting", "voting_parallel")


def checked_settings(
    local: BoostedRanker, eval_set: Any, early_stopping_metric: str | None = None, *, name: str = "eval_set"
) -> Settings:
    """The settings of a local ranker that is to be trained by several workers.

    Parameters
    ----------
    local : BoostedRanker
    eval_set : list, dict or None
        Validation sets. It is only checked whether there are any, where parameters need them.
    early_stopping_metric : str, optional
    name : str, default "eval_set"
        Name of the argument that has the validation sets.

    Raises
    ------
    ValueError
        For settings that are invalid, or that are not possible on a cluster.
    """
    settings = local._settings()
    settings.check_validation(eval_set, early_stopping_metric, name)
    problem = ""
    if settings.chooses_rounds:
        problem = (
            "n_estimators='auto' is not possible on a cluster: choose it on a sample of the queries with the local "
            "ranker, or set validation_fraction and early_stopping_rounds"
        )
    elif is_function(settings.values["objective"]):
        problem = "a function as objective is not possible on a cluster, where each worker knows only its own queries"
    if problem:
        raise ValueError(problem)
    # These parameters are LightGBM's; XGBoost has interaction_constraints too, and its workers take them.
    native = settings.native if settings.backend is lightgbm_backend else {}
    check_choice("tree_learner", native.get("tree_learner", "data"), TREE_LEARNERS)
    for name, reason in ONE_MACHINE_ONLY.items():
        value = native.get(name)
        # These values change nothing.
        if value is not None and not (np.isscalar(value) and value in (0, "", "basic")):
            raise ValueError(f"{name}={value!r} cannot be used on a cluster: {reason}. Use boostrank.LightGBMRanker")
    return settings


def check_n_documents(backend: Backend, n_documents: int) -> None:
    """Raise ValueError for more documents than all workers together can train on.

    With more, LightGBM's workers train a constant model without an error (its issue 5861).
    """
    if backend is lightgbm_backend:
        check_n_rows(n_documents, "on all workers")


def specify(
    settings: Settings,
    features: TrainingFeatures,
    random_state: np.random.RandomState,
    names: Sequence[str] = (),
    **options: Any,
) -> ClusterSpecification:
    """The specification that all workers get.

    Parameters
    ----------
    settings : Settings
        From :func:`checked_settings`.
    features : TrainingFeatures
        Number, names and categories of the features of the training data.
    random_state : RandomState
        From ``settings.random_state()``. :meth:`Settings.kept_queries` uses it first, if there is no validation set.
    names : sequence of str, default ()
        Names of the validation sets. Without any, the queries that are held out are called "valid_0".
    **options
        Arguments of ``fit``, as in :meth:`Settings.specification`.

    Raises
    ------
    ValueError
        For parameters that do not fit the features, and for metrics that depend on the labels of other workers.
    """
    training = settings.specification(features, random_state, **options)
    for metric in training.metrics:
        if not isinstance(metric, Measure):
            raise ValueError(
                "a function as eval_metric is not possible on a cluster, because each worker knows only its own "
                "queries: give names or measures"
            )
        if isinstance(metric, ExpectedReciprocalRank) and metric.max_grade is None:
            raise ValueError(
                f"eval_metric {str(metric)!r} needs max_grade on a cluster, because each worker knows the labels of "
                f"its own queries only: get_measure({str(metric)!r}, max_grade=...)"
            )
    endpoint = PortEndpoint if settings.backend is lightgbm_backend else Endpoint
    return ClusterSpecification(settings.backend, training, endpoint, tuple(names) or ("valid_0",))


def fit_local(
    local: BoostedRanker,
    cluster: ClusterSpecification,
    features: TrainingFeatures,
    train: Callable[[ClusterSpecification, bool], Trained],
    refit: bool,
    sameness: str = "",
) -> None:
    """Train on the workers, and set the attributes of the local ranker as its own ``fit`` does.

    Parameters
    ----------
    local : BoostedRanker
        It stays as it was if the training fails.
    cluster, features
        See :func:`specify`.
    train : callable
        Trains on the workers by a specification and returns what the worker of rank 0 returned. Its second argument
        says whether it is to train on all queries, those held out among them, and without validation sets.
    refit : bool
        Whether to train once more on all queries, with the number of rounds that was found.
    sameness : str, default ""
        Why nothing can be learned from the labels; "" if they differ. It is part of the warning for a model without
        splits.
    """
    trained = train(cluster, False)
    if refit:
        training = cluster.training.for_refit(cluster.backend, trained.best_round)
        last = train(replace(cluster, training=training), True)
        trained = last._replace(evals_result=trained.evals_result, best_round=trained.best_round)
    if not trained.has_splits:
        warn_without_splits(sameness)
    local._set_fitted(trained, features, cluster.training)
