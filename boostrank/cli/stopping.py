"""How ``boostrank fit`` finds the number of rounds, and what it found, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boostrank.cli.reports import counted
from boostrank.metrics import Measure
from boostrank.rankers.settings import AUTO, DEFAULT_PATIENCE

_ENDING = "--validation, --validation-fraction, --rounds auto or --ensemble folds"


@dataclass(frozen=True)
class Stopping:
    """The options of ``fit`` about validation queries and folds; None for an option that is not given.

    Attributes
    ----------
    objective : str
    n_rounds : int or "auto"
    validation : Path or None
    validation_fraction : float or None
    refit : bool
    patience : int or None
    measure : Measure or None
    ensemble : "folds" or None
    n_folds : int or None
    """

    objective: str
    n_rounds: int | str
    validation: Path | None
    validation_fraction: float | None
    refit: bool
    patience: int | None
    measure: Measure | None
    ensemble: str | None
    n_folds: int | None

    @property
    def uses_folds(self) -> bool:
        """Whether models are trained on folds of the training queries."""
        return AUTO in (self.n_rounds, self.objective) or self.ensemble is not None

    @property
    def stops_early(self) -> bool:
        """Whether there are queries by which the number of rounds is chosen."""
        is_given = self.validation is not None or self.validation_fraction is not None
        return is_given or self.n_rounds == AUTO or self.ensemble is not None

    def check(self) -> None:
        """Raise ValueError for options that contradict each other, and for those that would have no effect."""
        ways = {
            "--rounds auto": self.n_rounds == AUTO,
            "--ensemble folds": self.ensemble is not None,
            "--validation": self.validation is not None,
            "--validation-fraction": self.validation_fraction is not None,
        }
        given = [option for option, is_given in ways.items() if is_given]
        if len(given) > 1 and given != ["--rounds auto", "--ensemble folds"]:
            raise ValueError(f"give either {given[0]} or {given[-1]}, by which the number of rounds is chosen")
        if self.validation_fraction is not None and not 0 < self.validation_fraction < 1:
            raise ValueError(f"--validation-fraction must be above 0 and below 1; got {self.validation_fraction:g}")
        for option, is_given, is_used, needed in (
            ("--refit", self.refit, self.validation_fraction is not None, "--validation-fraction"),
            ("--patience", self.patience is not None, self.stops_early, _ENDING),
            ("--eval-metric", self.measure is not None, self.stops_early or self.uses_folds, _ENDING),
            ("--folds", self.n_folds is not None, self.uses_folds, "--objective auto, --rounds auto or --ensemble"),
        ):
            if is_given and not is_used:
                raise ValueError(f"{option} needs {needed}: it would have no effect")

    def parameters(self) -> dict[str, Any]:
        """The parameters of a ranker that these options are."""
        return {
            "n_estimators": self.n_rounds,
            "early_stopping_rounds": (self.patience or DEFAULT_PATIENCE) if self.stops_early else None,
            "validation_fraction": self.validation_fraction,
            "refit": self.refit,
            "cv": self.n_folds,
            "ensemble": self.ensemble,
        }

    def results(self, ranker: Any) -> Iterator[str]:
        """Describe the results of the training, one line for each kind of result."""
        if self.objective == AUTO:
            changed = {"objective": ranker.objective_, **ranker.best_params_}
            yield "chosen: " + ", ".join(f"{name}={value}" for name, value in changed.items())
        if self.uses_folds:
            table = ranker.cv_results_
            chosen = int(table["chosen"].argmax())
            metric, n_rounds = table["metric"][chosen], int(table["n_rounds"][chosen])
            value, n_trained = table["mean_test_score"][chosen], int(table["rounds_trained"][chosen])
            yield f"cross-validation: {metric} {value:.4f} with {self._of_rounds(n_rounds, n_trained)}, mean over folds"
        if self.validation is not None or self.validation_fraction is not None:
            ((name, curves),) = ranker.evals_result_.items()
            metric, curve = next(iter(curves.items()))
            value, n_rounds = ranker.best_score_[name][metric], ranker.best_iteration_
            yield f"validation: {metric} {value:.4f} with {self._of_rounds(n_rounds, len(curve))}"
        if self.refit:
            yield f"trained again on all queries with {counted(ranker.best_iteration_, 'round')}"

    def _of_rounds(self, n_best: int, n_trained: int) -> str:
        """The number of rounds that was chosen, out of those that were trained."""
        if not self.stops_early:
            return counted(n_best, "round")
        if n_best == self.n_rounds:
            return f"all of {counted(n_best, 'round')} (more may be better: --rounds)"
        return f"{counted(n_best, 'round')}, the best of {n_trained}"
