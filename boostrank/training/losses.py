"""All losses by the names that rankers take, and how they are bound to data.

These are surrogates of NDCG, and losses of extensions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import entry_points
from typing import Any, ClassVar

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean
from boostrank.queries.dcg import DCG, Normalize
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Surrogate
from boostrank.training.objective import BoundLoss, Objective

#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md,
#: "Defaults").
DEFAULT_LOSS = "softmax"
#: Extensions enter their losses here, under the names that rankers take.
ENTRY_POINTS = "boostrank.losses"


class BindableLoss(ABC):
    """A loss that is no surrogate of NDCG, and says itself how it is bound to data."""

    shift_invariant: ClassVar[bool] = False

    @abstractmethod
    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> BoundLoss:
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
            f"unknown objective {loss!r}{did_you_mean(loss, loss_names())}; "
            f"boostrank.surrogates.SURROGATES and "
            "boostrank.preferences.EDGE_LOSSES have all names; or give an instance of Surrogate or "
            "EdgeLoss"
        )
    return instance


def find_loss(loss: Any) -> Loss | None:
    """As :func:`get_loss`, but None if `loss` is neither an instance nor the name of a loss."""
    if isinstance(loss, (Surrogate, BindableLoss)):
        return loss
    if not isinstance(loss, str):
        return None
    if loss in SURROGATES:
        return SURROGATES[loss]
    for point in entry_points(group=ENTRY_POINTS, name=loss):
        # It is a mapping that has its own name.
        return point.load()[loss]
    return None


def loss_names() -> list[str]:
    """The names of all losses."""
    return [*SURROGATES, *(point.name for point in entry_points(group=ENTRY_POINTS))]


def bind(
    loss: str | Loss,
    labels: Labels,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: Floats | None = None,
) -> BoundLoss:
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
        Weights of documents, grouped and checked, as
        :func:`~boostrank.queries.weights.document_weights` returns them and :meth:`Labels.weighted`
        multiplies them.

    Returns
    -------
    BoundLoss

    Raises
    ------
    ValueError
        If the loss does not take such labels or weights or this `normalize`, or a target is outside
        of the surrogate's `target_bounds`.

    Examples
    --------
    >>> import numpy as np
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
            f"{loss!r} needs targets in [{low:g}, {high:g}], but with normalize={normalize!r} they "
            f"reach from {targets.min():g} to {targets.max():g}: use normalize='dcg' with a "
            f"discount that starts at 1 or more, "
            "normalize='none' of ClickLabels, or another surrogate"
        )
    return Objective(loss, targets, queries, weights)
