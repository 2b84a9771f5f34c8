from .contributions import ContributionDisplay as ContributionDisplay
from .curves import NDCGCurveDisplay as NDCGCurveDisplay
from .curves import PropensityDisplay as PropensityDisplay
from .curves import TrainingCurveDisplay as TrainingCurveDisplay
from .differences import ComparisonDisplay as ComparisonDisplay
from .differences import QueryDifferencesDisplay as QueryDifferencesDisplay
from .folds import LearningCurveDisplay as LearningCurveDisplay
from .groups import QueryGroupDisplay as QueryGroupDisplay
