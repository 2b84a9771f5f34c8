"""The arguments of ``fit`` as records: the data to train on, and validation sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from boostrank.inputs.table import Table, TableLike

#: The argument `eval_set` of ``fit``.
EvalSets = Sequence[tuple[Any, ...]] | Mapping[str, tuple[Any, ...]] | None


@dataclass(frozen=True)
class TrainingArguments:
    """The arguments of ``fit`` that have the data to train on."""

    X: TableLike
    y: Any
    qid: Any = None
    group: ArrayLike | None = None
    sample_weight: Any = None
    init_score: ArrayLike | None = None
    position: ArrayLike | None = None
    feature_name: Sequence[str] | str | None = None

    @property
    def table(self) -> Table:
        """The features, with the names of the argument `feature_name`; "auto" changes nothing."""
        table = Table(self.X)
        if self.feature_name is None or isinstance(self.feature_name, str):
            return table
        return table.with_names(self.feature_name)


@dataclass(frozen=True)
class EvalArguments:
    """The arguments of ``fit`` that have validation sets, which begin with "eval" there."""

    sets: EvalSets = None
    names: Sequence[str] | None = None
    qid: Sequence[Any] | None = None
    group: Sequence[Any] | None = None
    sample_weight: Sequence[Any] | None = None
    init_score: Sequence[Any] | None = None

    @property
    def are_given(self) -> bool:
        """Whether one of them was given."""
        return any(value is not None for value in vars(self).values())


@dataclass(frozen=True)
class RoundArguments:
    """The arguments of ``fit`` about its rounds, with `init_model` as a booster."""

    eval_metric: object = None
    eval_at: object = None
    early_stopping_metric: str | None = None
    callbacks: Sequence[Any] | None = None
    verbose: bool | int | str = False
    init_model: Any = None
    #: Whether validation sets were given; None if it is not known.
    has_eval_set: bool | None = None
