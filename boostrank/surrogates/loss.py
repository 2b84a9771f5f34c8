"""The interface of losses: what a ranker trains, and the same bound to the data of a training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from boostrank.inputs.arrays import Floats
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import Queries

#: Scores of the documents to their gradient and Hessian, as arrays that the boosting library takes.
BoostingFunction = Callable[[NDArray[Any]], tuple[Any, Any]]


class BoundLoss(ABC):
    """A loss bound to the data of a training.

    The other methods than :meth:`boosting_function` say where its arrays are, and whether the data
    are divided among workers. Here, they are those of arrays of NumPy in one process.

    Attributes
    ----------
    queries : Queries
    takes_device_arrays : bool
        Whether it has a method ``to_device(move)``, which returns a copy whose arrays `move` has
        brought to a device.
    """

    queries: Queries
    takes_device_arrays: bool = False

    @abstractmethod
    def boosting_function(self) -> BoostingFunction:
        """The function that gives gradient and Hessian of each round of one training.

        Both are float32, each of shape (n_documents,). The next round may write to the same arrays.
        """

    def memory(self) -> AbstractContextManager[Any]:
        """A context in which arrays of gradients can be computed with."""
        return nullcontext()

    def copy(self, values: NDArray[Any]) -> Any:
        """Copy an array of NumPy to an array of the kind that gradients have."""
        return values.copy()

    def total(self, values: Sequence[float]) -> Floats:
        """Sums over all workers of numbers of this one."""
        return np.asarray(values, dtype=np.float64)


class Loss(ABC):
    """A loss of a ranker: a surrogate, one of an extension, a function, or one of the library.

    Attributes
    ----------
    has_random_trees : bool
        Whether the defaults of a ranker are random trees, as many as left-out queries choose.
    native_objective : str or None
        The name of the objective, if the boosting library computes it itself.
    shift_invariant : bool
        Whether gradients do not change if all scores of a query are shifted.
    """

    has_random_trees: ClassVar[bool] = True
    native_objective: str | None = None
    shift_invariant: ClassVar[bool] = False

    @abstractmethod
    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> BoundLoss | None:
        """Bind the loss to grouped labels and weights.

        Parameters
        ----------
        labels : Labels
        queries : Queries
        dcg : DCG
            Gain, discount and cutoff of the targets.
        normalize : {"dcg", "none", "l2", "sum", "softmax"}
            Kind of targets; see :func:`boostrank.make_targets`.
        weights : ndarray, shape (n_documents,), optional
            Checked weights of documents.

        Returns
        -------
        BoundLoss or None
            None if the boosting library computes the objective itself.

        Raises
        ------
        ValueError
            If the loss does not take such labels, weights or targets.
        """

    def check_labels(self, labels: Labels) -> None:
        """Raise ValueError for labels that the loss does not take, before anything is computed."""
        return

    def weights_of_library(self, queries: Queries, weights: Floats | None) -> Floats | None:
        """Weights of documents that the library itself applies; None if the loss applies them."""
        return None
