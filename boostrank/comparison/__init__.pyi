from .comparison import Comparison as Comparison
from .rankers import compare as compare
from .runs import compare_runs as compare_runs
