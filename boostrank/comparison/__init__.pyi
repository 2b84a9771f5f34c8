from .comparison import Comparison as Comparison
from .rankers import compare as compare
