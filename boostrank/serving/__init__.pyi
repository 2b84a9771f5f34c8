from .evaluators import evaluate as evaluate
from .exporters import TRUSTED_TYPES as TRUSTED_TYPES
from .exporters import export as export
from .feature_sets import feature_set as feature_set
