"""All losses by the names that rankers take: surrogates of NDCG, and losses of the edges of preference graphs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from boostrank.inputs.checks import did_you_mean
from boostrank.preferences import EDGE_LOSSES, EdgeLoss
from boostrank.surrogates import SURROGATES, Surrogate

Loss = Surrogate | EdgeLoss

#: Losses with their default settings by name.
LOSSES: Mapping[str, Loss] = MappingProxyType({**SURROGATES, **EDGE_LOSSES})

#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md, "Defaults").
DEFAULT_LOSS = "consistent-lambdarank"


def get_loss(loss: str | Loss) -> Loss:
    """The loss with a name and default settings; an instance is returned unchanged.

    Parameters
    ----------
    loss : str, Surrogate or EdgeLoss
        A name in :data:`LOSSES`, or an instance.

    Raises
    ------
    ValueError
        If no loss has this name.

    Examples
    --------
    >>> get_loss("edge-logistic")
    EdgeLoss(margin='logistic')
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]
    raise ValueError(
        f"unknown objective {loss!r}{did_you_mean(loss, LOSSES)}; boostrank.surrogates.SURROGATES and "
        "boostrank.preferences.EDGE_LOSSES have all names; or give an instance of Surrogate or EdgeLoss"
    )
