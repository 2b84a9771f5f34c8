"""All losses by the names that rankers take: surrogates of NDCG, ensembles of losses, and losses of extensions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.queries.targets import Normalize
from boostrank.surrogates import SURROGATES, Surrogate

if TYPE_CHECKING:
    from boostrank.training.ensemble import EnsembleObjective
    from boostrank.training.objective import BoundLoss

#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md, "Defaults").
DEFAULT_LOSS = "ensemble"
#: The losses of the ensemble of this name.
DEFAULT_MEMBERS = ("consistent-lambdarank", "softmax")
#: Extensions enter their losses here, under the names that rankers take.
ENTRY_POINTS = "boostrank.losses"


class BindableLoss(ABC):
    """A loss that is no surrogate of NDCG, and says itself how it is bound to data."""

    shift_invariant: ClassVar[bool] = False

    @abstractmethod
    def bind(
        self, labels: Labels, queries: Queries, dcg: DCG, normalize: Normalize, weights: Floats | None
    ) -> BoundLoss | EnsembleObjective:
        """Bind the loss to grouped labels and weights of documents; see :func:`boostrank.training.objective.bind`."""


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
    if isinstance(loss, (Surrogate, BindableLoss)):
        return loss
    if isinstance(loss, str) and loss == DEFAULT_LOSS:
        from boostrank.training.ensemble import LossEnsemble

        return LossEnsemble(DEFAULT_MEMBERS)
    if isinstance(loss, str) and loss in SURROGATES:
        return SURROGATES[loss]
    loaders = _losses_of_extensions()
    if isinstance(loss, str) and loss in loaders:
        return loaders[loss]()
    raise ValueError(
        f"unknown objective {loss!r}{did_you_mean(loss, loss_names())}; boostrank.surrogates.SURROGATES and "
        "boostrank.preferences.EDGE_LOSSES have all names; or give an instance of Surrogate, EdgeLoss or LossEnsemble"
    )


def is_loss_name(name: Any) -> bool:
    """Whether a loss has this name."""
    return isinstance(name, str) and (name == DEFAULT_LOSS or name in SURROGATES or name in _losses_of_extensions())


def loss_names() -> list[str]:
    """The names of all losses."""
    return [*SURROGATES, DEFAULT_LOSS, *_losses_of_extensions()]


def _losses_of_extensions() -> dict[str, Callable[[], Any]]:
    """Functions that import the losses of extensions, by name: an entry point is a mapping that has its name."""
    return {point.name: lambda point=point: point.load()[point.name] for point in entry_points(group=ENTRY_POINTS)}
