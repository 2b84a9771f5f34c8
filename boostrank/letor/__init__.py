"""Read and write LETOR / SVMlight ranking files: ``label qid:ID index:value ... # comment``."""

from boostrank.letor.reading import Fold, Ranking, read_letor, read_letor_folds
from boostrank.letor.writing import write_letor

__all__ = ["Fold", "Ranking", "read_letor", "read_letor_folds", "write_letor"]
