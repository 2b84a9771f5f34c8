from .comparison import Comparison as Comparison
from .paired import compare as compare
from .paired_runs import compare_runs as compare_runs
from .trainings import FinishedTraining as FinishedTraining
