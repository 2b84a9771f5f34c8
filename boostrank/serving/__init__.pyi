from .evaluators import evaluate as evaluate
from .feature_sets import feature_set as feature_set
