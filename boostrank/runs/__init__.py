"""Runs, which are rankings of retrieved documents, and their measures, given relevance judgments."""

from boostrank.runs.evaluation import evaluate_run

__all__ = ["evaluate_run"]
