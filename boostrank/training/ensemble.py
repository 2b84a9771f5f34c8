"""Ensembles of losses, which train a model each in turns, in one boosting run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BoostingFunction
from boostrank.inputs.arrays import Floats
from boostrank.queries.dcg import DCG
from boostrank.queries.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.queries.targets import Normalize
from boostrank.training.losses import BindableLoss, Loss, get_loss
from boostrank.training.objective import BoundLoss, Float32s, bind

# What a round adds to scores is rounded to so many units of the last place of the largest score.
ROUNDING_UNITS = 64


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
    >>> from boostrank import LightGBMRanker, make_ranking
    >>> X, y, qid = make_ranking(n_queries=50, random_state=0)
    >>> ranker = LightGBMRanker(LossEnsemble(("softmax", "pairwise-exponential")), random_state=0).fit(X, y, qid)
    >>> ranker.score(X, y, qid) > 0.8
    True
    """

    losses: tuple[str | Loss, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.losses, (tuple, list)) or len(self.losses) < 2:
            raise ValueError(f"losses must be a tuple of at least two losses or names of losses; got {self.losses!r}")
        object.__setattr__(self, "losses", tuple(get_single_loss(loss) for loss in self.losses))

    def bind(
        self, labels: Labels, queries: Queries, dcg: DCG, normalize: Normalize, weights: Floats | None
    ) -> EnsembleObjective:
        """Bind each loss to the labels and weights."""
        return EnsembleObjective([bind(loss, labels, queries, dcg, normalize, weights) for loss in self.losses])


def get_single_loss(loss: str | Loss) -> Loss:
    """The loss as :func:`~boostrank.training.losses.get_loss` gives it; raises ValueError for an ensemble too."""
    found = get_loss(loss)
    if isinstance(found, LossEnsemble):
        raise ValueError(f"{loss!r} is an ensemble, which only rankers train: give one of its losses, {found.losses}")
    return found


class EnsembleObjective:
    """The losses of a :class:`LossEnsemble`, bound to one data set.

    Parameters
    ----------
    members : list of BoundLoss
    """

    takes_device_arrays = False

    def __init__(self, members: Sequence[Any]) -> None:
        self.members: list[BoundLoss] = list(members)

    @property
    def queries(self) -> Queries:
        """The queries of the data set."""
        return self.members[0].queries

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
                models.extend(scores.astype(np.float64) for _ in members)
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
