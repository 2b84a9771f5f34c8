"""``fit`` on several workers, as the driver sees it: from settings of a ranker to its model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.random import RandomState

from boostrank.backends.models import warn_without_splits
from boostrank.backends.records import Trained
from boostrank.clusters.rows import ColocatedData
from boostrank.clusters.worker import train_worker
from boostrank.inputs.checks import check_choice
from boostrank.metrics import Measure
from boostrank.metrics.graded import ExpectedReciprocalRank
from boostrank.rankers.base import BoostedRanker
from boostrank.training.arguments import RoundArguments
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import is_function
from boostrank.training.settings import Settings
from boostrank.training.specification import specify

#: Parameters that LightGBM has only in training on one machine, and what happens with several
#: workers.
ONE_MACHINE_ONLY = {
    "interaction_constraints": "LightGBM's workers crash with it",
    **dict.fromkeys(
        (
            "linear_tree",
            "cegb_penalty_split",
            "cegb_penalty_feature_lazy",
            "cegb_penalty_feature_coupled",
        ),
        "each of LightGBM's workers would compute it from its own rows",
    ),
    "monotone_constraints_method": "LightGBM's workers use 'basic' in place of others",
}
TREE_LEARNERS = ("data", "data_parallel", "voting", "voting_parallel")
#: Name of the validation set of the queries that `validation_fraction` holds out.
HELD_OUT = "valid_0"


#: A training of one worker: :func:`~boostrank.clusters.worker.train_worker` with a backend and a
#: specification.
Work = Callable[..., Trained | None]


def checked_settings(
    ranker: BoostedRanker,
    eval_set: object,
    early_stopping_metric: str | None = None,
    *,
    name: str = "eval_set",
) -> Settings:
    """The settings of a ranker that is to be trained by several workers.

    Parameters
    ----------
    ranker : BoostedRanker
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
    settings = ranker._settings()
    settings.check_validation(eval_set, early_stopping_metric, name)
    if is_function(ranker.objective):
        raise ValueError(
            "a function as objective is not possible on a cluster: workers know only their own "
            "queries"
        )
    if settings.validation == "last":
        raise ValueError(
            "validation='last' is not possible on a cluster, where rows have no sequence: give "
            f"the last queries as {name}"
        )
    if settings.lower_is_better:
        raise ValueError(
            "lower_is_better=True is not possible on a cluster: give labels of which larger ones "
            "are better, such as the largest place minus the place"
        )
    if getattr(settings.query_features, "cut_copies", 0):
        raise ValueError(
            "cut_copies of query_features is not possible on a cluster: use the ranker of one "
            "machine"
        )
    # XGBoost has interaction_constraints too, and its workers take them.
    if settings.backend.parameters.LIBRARY == "LightGBM":
        _check_native(settings.native)
    return settings


def _check_native(native: Mapping[str, object]) -> None:
    """Raise ValueError for parameters that LightGBM does not have on several workers."""
    check_choice("tree_learner", native.get("tree_learner", "data"), TREE_LEARNERS)
    for parameter, reason in ONE_MACHINE_ONLY.items():
        value = native.get(parameter)
        # These values change nothing.
        if value is not None and not (np.isscalar(value) and value in (0, "", "basic")):
            raise ValueError(
                f"{parameter}={value!r} cannot be used on a cluster: {reason}. Use "
                "br.LightGBMRanker"
            )


def _check_metrics(metrics: Sequence[object]) -> None:
    """Raise ValueError for metrics that depend on the labels of other workers."""
    reason = "is not possible on a cluster, where each worker knows only its own queries: give"
    for metric in metrics:
        if not isinstance(metric, Measure):
            raise ValueError(f"a function as eval_metric {reason} names or measures")
        if isinstance(metric, ExpectedReciprocalRank) and metric.max_grade is None:
            raise ValueError(
                f"eval_metric {str(metric)!r} {reason} get_measure({str(metric)!r}, max_grade=...)"
            )


def select_queries(
    settings: Settings,
    random_state: RandomState,
    data: ColocatedData,
    validation: dict[str, ColocatedData],
) -> tuple[Any, dict[str, Any]]:
    """The queries to train and to validate on, as the engine gives them to its workers.

    Parameters
    ----------
    settings : Settings
    random_state : RandomState
        Draws the queries of `data` that are held out, if the settings say so.
    data : ColocatedData
    validation : dict of str to ColocatedData
        Validation sets by name.

    Returns
    -------
    (training, sets)
        The queries to train on, and those of validation sets by name.
    """
    settings.backend.check_n_rows(data.n_documents, "on all workers")
    kept = settings.kept_queries(np.arange(data.n_queries), random_state)
    if kept is not None:
        return data.select(kept), {HELD_OUT: data.select(~kept)}
    sets = {name: rows.select() for name, rows in validation.items()}
    return data.select(), sets


def fit_ranker(
    ranker: BoostedRanker,
    settings: Settings,
    features: TrainingFeatures,
    n_documents: int,
    random_state: RandomState,
    train: Callable[[Work], Trained],
    **options: Any,
) -> None:
    """Train on the workers, and set the attributes of the ranker as its own ``fit`` does.

    Parameters
    ----------
    ranker : BoostedRanker
        It stays as it was if the training fails.
    settings : Settings
        From :func:`checked_settings`.
    features : TrainingFeatures
        Number, names and categories of the features of the training data.
    n_documents : int
        Number of documents on all workers.
    random_state : RandomState
        From the parameter `random_state`. The queries to hold out are drawn from it before.
    train : callable
        Calls a function on all workers, and returns what the worker of rank 0 returned.
    **options
        Arguments of ``fit``, as in :class:`~boostrank.training.arguments.RoundArguments`.
    """
    query_features = settings.query_features
    if query_features is not None:
        features.query_features = query_features.learn(None, None, features)
    shape = n_documents, features.of_booster.number
    arguments = RoundArguments(**options)
    specification = specify(settings, features, shape, random_state, arguments)
    _check_metrics(specification.metrics)
    expand = None if query_features is None else query_features.expand
    trained = train(partial(train_worker, settings.backend, specification, expand=expand))
    if not trained.has_splits:
        warn_without_splits("")
    ranker._set_fitted(trained, features, specification)
