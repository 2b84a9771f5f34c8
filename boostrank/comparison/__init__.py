"""Comparison of rankers on the same folds, by paired tests over queries."""

from boostrank.comparison.comparison import Comparison
from boostrank.comparison.paired import compare
from boostrank.comparison.trainings import FinishedTraining

__all__ = ["Comparison", "FinishedTraining", "compare"]
