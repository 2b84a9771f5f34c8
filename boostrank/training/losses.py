"""All losses by the names that rankers take, and how they are bound to data.

These are surrogates of NDCG, ensembles of losses, and losses of extensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BoostingFunction
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, refuse
from boostrank.queries.dcg import DCG, Normalize
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Surrogate
from boostrank.training.objective import BoundLoss, Float32s, Objective

#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md, "Defaults").
DEFAULT_LOSS = "ensemble"
#: Extensions enter their losses here, under the names that rankers take.
ENTRY_POINTS = "boostrank.losses"
# What a round adds to scores is rounded to so many units of the last place of the largest score.
ROUNDING_UNITS = 64


class BindableLoss(ABC):
    """A loss that is no surrogate of NDCG, and says itself how it is bound to data."""

    shift_invariant: ClassVar[bool] = False

    @abstractmethod
    def bind(
        self, labels: Labels, queries: Queries, dcg: DCG, normalize: Normalize, weights: Floats | None
    ) -> BoundLoss | EnsembleObjective:
        """Bind the loss to grouped labels and weights of documents; see :func:`bind`."""


Loss = Surrogate | BindableLoss


def is_function(objective: Any) -> bool:
    """Whether the parameter `objective` is a function, and not the name of a loss or a loss."""
    return callable(objective) and not isinstance(objective, (Surrogate, BindableLoss, type))


def get_loss(loss: str | Loss) -> Loss:
    """The loss with a name and default settings; an instance is returned unchanged.

    Parameters
    ----------
    loss : str, Surrogate or BindableLoss
        A name in :func:`loss_names`, or an instance.

    Raises
    ------
    ValueError
        If no loss has this name.

    Examples
    --------
    >>> get_loss("edge-logistic")
    EdgeLoss(margin='logistic')
    """
    instance = find_loss(loss)
    if instance is None:
        raise ValueError(
            f"unknown objective {loss!r}{did_you_mean(loss, loss_names())}; boostrank.surrogates.SURROGATES and "
            "boostrank.preferences.EDGE_LOSSES have all names; or give an instance of Surrogate, EdgeLoss or "
            "LossEnsemble"
        )
    return instance


def find_loss(loss: Any) -> Loss | None:
    """As :func:`get_loss`, but None if `loss` is neither an instance nor the name of a loss."""
    if isinstance(loss, (Surrogate, BindableLoss)):
        return loss
    if not isinstance(loss, str):
        return None
    if loss == DEFAULT_LOSS:
        return DEFAULT_ENSEMBLE
    if loss in SURROGATES:
        return SURROGATES[loss]
    for point in entry_points(group=ENTRY_POINTS, name=loss):
        # It is a mapping that has its own name.
        return point.load()[loss]
    return None


def loss_names() -> list[str]:
    """The names of all losses."""
    return [*SURROGATES, DEFAULT_LOSS, *(point.name for point in entry_points(group=ENTRY_POINTS))]


def get_single_loss(loss: str | Loss) -> Loss:
    """The loss as :func:`get_loss` gives it; raises ValueError for an ensemble too."""
    single = get_loss(loss)
    if isinstance(single, LossEnsemble):
        raise ValueError(f"{loss!r} is an ensemble, which only rankers train: give one of its losses, {single.losses}")
    return single


@dataclass(frozen=True)
class LossEnsemble(BindableLoss):
    """Losses of which each trains a model of its own, in turns; the ranker is the mean of these models.

    With K losses, round ``r = 0, 1, ...`` trains a tree ``f_r`` of model ``r mod K``, with the gradient of its loss at
    its own scores. These are the scores where boosting starts plus K times the sum of its trees, so that the mean of
    the K models is the sum of all trees, one ordinary model of the boosting library. Each model has a K-th of the
    rounds, and steps that are K times as long.

    Models that minimize different losses make different errors, so that their mean has smaller ones, at the cost of one
    training. If each loss is consistent with NDCG, so is the mean: the scores that minimize the expected loss of each
    model sort like ``E[u]``, and so does their mean.

    With DART, which changes earlier trees, all losses have the scores of the mean.

    Parameters
    ----------
    losses : tuple of str, Surrogate or BindableLoss
        At least two. Names are replaced by the losses that they name.

    Raises
    ------
    ValueError
        If there are fewer than two losses, and for an unknown name.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> losses = br.LossEnsemble(("softmax", "pairwise-exponential"))
    >>> ranker = br.LightGBMRanker(losses, random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.8
    True
    """

    losses: tuple[str | Loss, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.losses, (tuple, list)) or len(self.losses) < 2:
            refuse("losses", self.losses, "a tuple of at least two losses or names of losses")
        object.__setattr__(self, "losses", tuple(get_single_loss(loss) for loss in self.losses))

    def bind(
        self, labels: Labels, queries: Queries, dcg: DCG, normalize: Normalize, weights: Floats | None
    ) -> EnsembleObjective:
        """Bind each loss to the labels and weights."""
        members = [bind(loss, labels, queries, dcg, normalize, weights) for loss in self.losses]
        return EnsembleObjective(queries, members)


@dataclass(frozen=True)
class EnsembleObjective:
    """The losses of a :class:`LossEnsemble`, bound to one data set.

    Attributes
    ----------
    queries : Queries
    members : list of BoundLoss
    """

    queries: Queries
    members: list[BoundLoss]
    takes_device_arrays: ClassVar[bool] = False

    @property
    def n_models(self) -> int:
        """Number of models, each of which has a loss of its own."""
        return len(self.members)

    def boosting_function(self, has_one_model: bool) -> BoostingFunction:
        """Return the function that gives gradient and Hessian of the next loss in each round of one training.

        Parameters
        ----------
        has_one_model : bool
            Whether all losses are computed at the scores that boosting gives, since earlier trees change.
        """
        members, n = self.members, len(self.members)
        buffers = np.empty(self.queries.n_documents, np.float32), np.empty(self.queries.n_documents, np.float32)
        models: list[Floats] = []
        before, n_rounds = np.empty(0), 0

        def boost(scores: NDArray[Any]) -> tuple[Float32s, Float32s]:
            nonlocal before, n_rounds
            turn = n_rounds % n
            # They may be those of a model whose turn comes later.
            members[turn].check_finite(scores, scores, slice(0, len(scores)))
            if not models:
                models.extend(np.tile(scores.astype(np.float64), (n, 1)))
            elif not has_one_model:
                # What the last round added belongs to the model that was trained then. Documents of one leaf got the
                # same, but the differences have rounding errors of the sums of all models, and losses of ranks treat
                # documents with equal scores in another way.
                unit = ROUNDING_UNITS * np.finfo(scores.dtype).eps * max(np.abs(scores).max(), 1e-30)
                models[turn - 1] += n * unit * np.rint((scores.astype(np.float64) - before) / unit)
            # LightGBM writes the scores of the next round to the same array.
            before, n_rounds = scores.copy(), n_rounds + 1
            return members[turn].gradient_hessian(scores if has_one_model else models[turn], buffers)

        return boost


def single_objectives(objective: Any) -> list[BoundLoss]:
    """The losses of an ensemble, or the only one; none for an objective of a boosting library."""
    if isinstance(objective, EnsembleObjective):
        return objective.members
    return [] if objective is None else [objective]


#: The ensemble that :data:`DEFAULT_LOSS` names.
DEFAULT_ENSEMBLE = LossEnsemble((SURROGATES["consistent-lambdarank"], SURROGATES["softmax"]))


def bind(
    loss: str | Loss,
    labels: Labels,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: Floats | None = None,
) -> Any:
    """Bind a loss to grouped labels.

    Parameters
    ----------
    loss : str, Surrogate or BindableLoss
    labels : Labels
        Grouped by query.
    queries : Queries
    dcg : DCG, optional
        Gain, discount and cutoff of the targets of a surrogate; the default is ``DCG()``.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets of a surrogate; see :func:`boostrank.make_targets`.
    weights : ndarray, shape (n_documents,), optional
        Weights of documents, grouped and checked, as :func:`~boostrank.queries.weights.document_weights` returns them
        and :meth:`Labels.weighted` multiplies them.

    Returns
    -------
    BoundLoss or EnsembleObjective

    Raises
    ------
    ValueError
        If the loss does not take such labels or weights or this `normalize`, or a target is outside of the surrogate's
        `target_bounds`.

    Examples
    --------
    >>> from boostrank.queries.labels import Relevance
    >>> labels = Relevance(np.array([1.0, 0.0, 0.0, 2.0]))
    >>> loss = bind("softmax", labels, Queries.from_sizes([2, 2]))
    >>> loss.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """
    loss, dcg = get_loss(loss), dcg or DCG()
    if not isinstance(loss, Surrogate):
        return loss.bind(labels, queries, dcg, normalize, weights)
    targets = labels.targets(loss, queries, dcg, normalize)
    if not loss.within_bounds(targets).all():
        low, high = loss.target_bounds
        raise ValueError(
            f"{loss!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} they reach from "
            f"{targets.min():g} to {targets.max():g}: use normalize='dcg' with a discount that starts at 1 or more, "
            "normalize='none' of ClickLabels, or another surrogate"
        )
    return Objective(loss, targets, queries, weights)
