from .comparison import ComparisonDisplay as ComparisonDisplay
from .comparison import QueryDifferencesDisplay as QueryDifferencesDisplay
from .folds import FoldsDisplay as FoldsDisplay
from .objectives import TradeOffDisplay as TradeOffDisplay
from .predictions import NDCGCurveDisplay as NDCGCurveDisplay
from .predictions import PrecisionRecallDisplay as PrecisionRecallDisplay
from .rankers import ContributionDisplay as ContributionDisplay
from .rankers import TrainingCurveDisplay as TrainingCurveDisplay
