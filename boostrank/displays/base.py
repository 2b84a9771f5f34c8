"""The base classes of displays, which can be drawn again, and names of the rankers that a display shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from boostrank.inputs.frames import find_qid, require_qid


@dataclass
class Display(ABC):
    """Values that can be drawn; a subclass is a dataclass of them, and defines `_draw`.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Of the last call of :meth:`plot`.
    """

    figure_: Any = field(default=None, kw_only=True, repr=False)
    ax_: Any = field(default=None, kw_only=True, repr=False)

    def plot(self, ax: Any = None) -> Self:
        """Draw onto `ax`, or onto the axes of a new figure."""
        self.ax_ = self._draw(ax)
        self.figure_ = self.ax_.figure
        return self

    @abstractmethod
    def _draw(self, ax: Any) -> Any:
        """Draw onto `ax`, or onto the axes of a new figure if it is None; returns the axes."""


@dataclass
class PredictionDisplay(Display):
    """A display of scores, which its `from_predictions` takes."""

    #: Whether the scores are those of one ranker, without a name, and not of several by name.
    _takes_one: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def from_predictions(cls, *data: Any, **settings: Any) -> Self:
        """Compute the values from labels, scores and query ids, and plot them."""

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, qid: ArrayLike | None = None, **settings: Any
    ) -> Self:
        """Predict with a fitted estimator, and plot as :meth:`from_predictions`.

        Parameters
        ----------
        estimator : fitted estimator
            Or a mapping of names to fitted estimators, where :meth:`from_predictions` takes scores by name.
        X, y, qid
            `qid` may be a column or the index of `X`, as in the rankers' `fit`.
        **settings
            The other parameters of :meth:`from_predictions`. The default of `name` is the name of the estimator's
            class.
        """
        qid = require_qid(find_qid(X, qid)[1], f"{cls.__name__}.from_estimator")
        if cls._takes_one:
            return cls.from_predictions(y, estimator.predict(X), qid, **settings)
        rankers = named(estimator, settings.pop("name", None), type(estimator).__name__)
        return cls.from_predictions(y, {name: one.predict(X) for name, one in rankers.items()}, qid, **settings)


def named(values: Any, name: str | None, default: str) -> dict[str, Any]:
    """`values` by name: a mapping stays as it is, a single value gets the name `name`, or `default` if that is None."""
    if not isinstance(values, Mapping):
        return {name or default: values}
    if name is not None:
        raise ValueError(f"name is for a single ranker; got {name!r} beside the names {', '.join(map(str, values))}")
    return {str(key): value for key, value in values.items()}
