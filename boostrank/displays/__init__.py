"""Plots in the style of scikit-learn's displays.

Each class method ``from_...`` computes values and draws them; the values are attributes, and ``plot`` draws them again.
matplotlib is imported when something is drawn.
"""

from boostrank.displays.breakdown_display import DCGBreakdownDisplay
from boostrank.displays.calibration_display import GainCalibrationDisplay
from boostrank.displays.candidates_display import CandidatesDisplay
from boostrank.displays.comparison_display import ComparisonDisplay
from boostrank.displays.contribution_display import ContributionDisplay
from boostrank.displays.importance_display import FeatureImportanceDisplay
from boostrank.displays.learning_display import LearningCurveDisplay
from boostrank.displays.ndcg_curve_display import NDCGCurveDisplay
from boostrank.displays.propensity_display import PropensityDisplay
from boostrank.displays.query_group_display import QueryGroupDisplay
from boostrank.displays.style import import_pyplot
from boostrank.displays.tie_display import TieRangeDisplay
from boostrank.displays.training_display import TrainingCurveDisplay
from boostrank.displays.validation_display import ValidationCurveDisplay

__all__ = [
    "CandidatesDisplay",
    "ComparisonDisplay",
    "ContributionDisplay",
    "DCGBreakdownDisplay",
    "FeatureImportanceDisplay",
    "GainCalibrationDisplay",
    "LearningCurveDisplay",
    "NDCGCurveDisplay",
    "PropensityDisplay",
    "QueryGroupDisplay",
    "TieRangeDisplay",
    "TrainingCurveDisplay",
    "ValidationCurveDisplay",
    "import_pyplot",
]
