"""The losses of an ensemble, bound to one data set: each trains a model of its own, in turns, in one boosting run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.base import BoostingFunction
from boostrank.inputs.arrays import Floats
from boostrank.queries.queries import Queries
from boostrank.training.objective import BoundLoss, Float32s

# What a round adds to scores is rounded to so many units of the last place of the largest score.
ROUNDING_UNITS = 64


class EnsembleObjective:
    """The losses of a :class:`~boostrank.training.losses.LossEnsemble`, bound to one data set.

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
