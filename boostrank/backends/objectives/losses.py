"""All losses by the names that rankers take: surrogates of NDCG, losses of preferences, and ensembles of losses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from boostrank.inputs.checks import did_you_mean
from boostrank.preferences import EDGE_LOSSES, EdgeLoss
from boostrank.surrogates import SURROGATES, Surrogate


@dataclass(frozen=True)
class LossEnsemble:
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
    losses : tuple of str, Surrogate or EdgeLoss
        At least two. Names are replaced by the losses that they name.

    Raises
    ------
    ValueError
        If there are fewer than two losses, and for an unknown name.

    Examples
    --------
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, random_state=0)
    >>> ranker = LightGBMRanker(LossEnsemble(("softmax", "pairwise-exponential")), random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.8
    True
    """

    losses: tuple[str | Surrogate | EdgeLoss, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.losses, (tuple, list)) or len(self.losses) < 2:
            raise ValueError(f"losses must be a tuple of at least two losses or names of losses; got {self.losses!r}")
        object.__setattr__(self, "losses", tuple(get_single_loss(loss) for loss in self.losses))


Loss = Surrogate | EdgeLoss | LossEnsemble


def get_loss(loss: str | Loss) -> Loss:
    """The loss with a name and default settings; an instance is returned unchanged.

    Parameters
    ----------
    loss : str, Surrogate, EdgeLoss or LossEnsemble
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
        "boostrank.preferences.EDGE_LOSSES have all names; or give an instance of Surrogate, EdgeLoss or LossEnsemble"
    )


def get_single_loss(loss: str | Loss) -> Surrogate | EdgeLoss:
    """The loss as :func:`get_loss` gives it; raises ValueError for an ensemble too."""
    chosen = get_loss(loss)
    if isinstance(chosen, LossEnsemble):
        raise ValueError(f"{loss!r} is an ensemble, which only rankers train: give one of its losses, {chosen.losses}")
    return chosen


#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md, "Defaults").
DEFAULT_LOSS = "ensemble"
#: Losses with their default settings by name.
LOSSES: Mapping[str, Loss] = MappingProxyType(
    {
        **SURROGATES,
        **EDGE_LOSSES,
        DEFAULT_LOSS: LossEnsemble((SURROGATES["consistent-lambdarank"], SURROGATES["softmax"])),
    }
)
