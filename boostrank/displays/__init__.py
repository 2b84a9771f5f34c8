"""Pictures, in scikit-learn's style: computed values as attributes, and `plot`; matplotlib is imported on use."""

from boostrank.displays.breakdown import DCGBreakdownDisplay
from boostrank.displays.comparison import ComparisonDisplay
from boostrank.displays.conventions import DiscountDisplay, GainDisplay
from boostrank.displays.curve import NDCGCurveDisplay
from boostrank.displays.style import import_pyplot
from boostrank.displays.ties import TieSpreadDisplay
from boostrank.displays.training import TrainingCurveDisplay

__all__ = [
    "ComparisonDisplay",
    "DCGBreakdownDisplay",
    "DiscountDisplay",
    "GainDisplay",
    "NDCGCurveDisplay",
    "TieSpreadDisplay",
    "TrainingCurveDisplay",
    "import_pyplot",
]
