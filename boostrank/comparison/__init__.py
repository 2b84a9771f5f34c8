"""Comparison of rankers on the same folds, and of runs, by paired tests over queries."""

from boostrank.comparison.comparison import Comparison
from boostrank.comparison.paired import compare
from boostrank.comparison.paired_runs import compare_runs
from boostrank.comparison.trainings import FinishedTraining

__all__ = ["Comparison", "FinishedTraining", "compare", "compare_runs"]
