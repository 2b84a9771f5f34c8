"""All losses that rankers take, by name or as objects: ours, those of extensions, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

from boostrank.backends.interface import LibraryParameters
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import did_you_mean, refuse
from boostrank.inputs.extensions import extension_names, find_extension
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.ndcg.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.queries.queries import Queries
from boostrank.queries.weights import DOCUMENT_WEIGHTS, require_equal_weights, unit_mean
from boostrank.surrogates import SURROGATES
from boostrank.surrogates.loss import Loss, ScaledLoss

#: The default loss of rankers, chosen by NDCG on held-out training queries (benchmarks/README.md,
#: "Which loss").
DEFAULT_LOSS = "softmax"
#: Extensions enter their losses here, under the names that rankers take.
ENTRY_POINTS = "boostrank.losses"
# XGBoost itself would stop with an error, or take the weight of the first document of a query.
_ONE_WEIGHT = f"XGBoost takes one weight per query. {DOCUMENT_WEIGHTS}"
#: What rankers take as their parameter `objective`.
Objective = str | Loss | Callable[..., Any] | None


class LibraryLoss(Loss):
    """An objective that the boosting library computes itself, such as "lambdarank".

    Parameters
    ----------
    name : str
        Its name in the library.
    weighs_documents : bool
        Whether the library multiplies the gradient of each document by its weight.
    """

    has_random_trees = False

    def __init__(self, name: str, weighs_documents: bool) -> None:
        self.native_objective = name
        self._weighs_documents = weighs_documents

    def __repr__(self) -> str:
        return repr(self.native_objective)

    def check_labels(self, labels: Labels) -> None:
        """Raise ValueError for labels that are no relevance."""
        labels.require_relevance(self.native_objective)

    def bind(
        self,
        labels: Labels,
        queries: Queries,
        dcg: DCG,
        normalize: Normalize,
        weights: Floats | None,
    ) -> None:
        """None: the library binds it."""
        return

    def weights_of_library(self, queries: Queries, weights: Floats | None) -> Floats | None:
        """The weights as the library's own ranker takes them.

        They have the mean 1 only if they are too small or too large for float32.

        Raises ValueError if they differ within a query and the library takes one weight per query.
        """
        if weights is None:
            return None
        if not self._weighs_documents:
            require_equal_weights(weights, queries, _ONE_WEIGHT)
        return unit_mean(weights, keep_ordinary=True)


def is_function(objective: object) -> TypeGuard[Callable[..., Any]]:
    """Whether the parameter `objective` is a function, and neither a name nor a loss."""
    return callable(objective) and not isinstance(objective, (Loss, type))


def get_loss(loss: str | Loss) -> Loss:
    """The loss with a name and default settings; an instance is returned unchanged.

    Parameters
    ----------
    loss : str or Loss
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
            "boostrank.surrogates.SURROGATES and boostrank.preferences.EDGE_LOSSES have all names; "
            "or give an instance of Surrogate or EdgeLoss"
        )
    return instance


def find_loss(loss: object) -> Loss | None:
    """As :func:`get_loss`, but None if `loss` is neither an instance nor the name of a loss."""
    if isinstance(loss, Loss):
        return loss
    if not isinstance(loss, str):
        return None
    if loss in SURROGATES:
        return SURROGATES[loss]
    found: Loss | None = find_extension(ENTRY_POINTS, loss, Loss, "loss")
    return found


def loss_names() -> list[str]:
    """The names of all losses."""
    return [*SURROGATES, *extension_names(ENTRY_POINTS)]


def resolve_loss(library: LibraryParameters, objective: Objective, normalize: str) -> Loss:
    """The loss that the parameter `objective` of a ranker stands for.

    Raises ValueError if there is none, and for another `normalize` than the default beside a
    function or an objective of the library.
    """
    name = objective
    if objective is None or isinstance(objective, str):
        name = library.OBJECTIVE_ALIASES.get(objective, objective)
    loss: Loss | None
    if isinstance(name, str) and name in library.NATIVE_OBJECTIVES:
        loss = LibraryLoss(name, library.WEIGHS_DOCUMENTS)
    elif is_function(name):
        # Imported on use: few trainings need it.
        from boostrank.training.functions import FunctionLoss

        loss = FunctionLoss(name)
    else:
        loss = find_loss(name)
        if loss is None:
            names = [*loss_names(), *library.NATIVE_OBJECTIVES]
            expected = f"one of {', '.join(names)}, or a Surrogate, EdgeLoss or function"
            # Imported on use, for an error.
            from boostrank.training.counterparts import question

            refuse("objective", objective, expected, question(library.LIBRARY, objective, names))
        return loss
    if normalize != CONSISTENT_NORMALIZATION:
        raise ValueError(f"normalize={normalize!r} has no meaning for the objective {name!r}")
    return loss


def bind(
    loss: str | Loss,
    labels: Labels,
    queries: Queries,
    dcg: DCG | None = None,
    normalize: Normalize = "dcg",
    weights: Floats | None = None,
) -> ScaledLoss:
    """Bind a loss of boostrank to grouped labels; see :meth:`Loss.bind`.

    Parameters
    ----------
    loss : str or Loss
        Its name, or the loss.
    labels, queries, dcg, normalize, weights
        As in :meth:`Loss.bind`. The default of `dcg` is ``DCG()``.

    Raises
    ------
    ValueError
        If the loss does not take such labels or weights or this `normalize`, or a target is outside
        of the surrogate's `target_bounds`.

    Examples
    --------
    >>> import numpy as np
    >>> from boostrank.ndcg.labels import Relevance
    >>> labels = Relevance(np.array([1.0, 0.0, 0.0, 2.0]))
    >>> loss = bind("softmax", labels, Queries.from_sizes([2, 2]))
    >>> loss.gradient_hessian(np.zeros(4))[0].tolist()
    [-0.5, 0.5, 0.5, -0.5]
    """
    bound = get_loss(loss).bind(labels, queries, dcg or DCG(), normalize, weights)
    assert isinstance(bound, ScaledLoss)
    return bound
