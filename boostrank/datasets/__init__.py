"""Data sets of many queries: the record (X, y, qid), LETOR and TREC files, features in files, and synthetic data."""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.datasets.dataset import Dataset, Fold
    from boostrank.datasets.feature_files import FeatureFiles
    from boostrank.datasets.letor_folds import read_letor_folds
    from boostrank.datasets.letor_reader import read_letor
    from boostrank.datasets.letor_writer import write_letor
    from boostrank.datasets.synthetic import make_ranking
    from boostrank.datasets.trec_files import read_qrels, read_run, write_run
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "dataset": ("Dataset", "Fold"),
            "feature_files": ("FeatureFiles",),
            "letor_folds": ("read_letor_folds",),
            "letor_reader": ("read_letor",),
            "letor_writer": ("write_letor",),
            "synthetic": ("make_ranking",),
            "trec_files": ("read_qrels", "read_run", "write_run"),
        },
    )

__all__ = [
    "Dataset",
    "FeatureFiles",
    "Fold",
    "make_ranking",
    "read_letor",
    "read_letor_folds",
    "read_qrels",
    "read_run",
    "write_letor",
    "write_run",
]
