"""Learning from clicks: click logs, click models, simulated clicks."""

from boostrank.clicks.click_dcg import ClickDCG
from boostrank.clicks.click_labels import ClickLabels
from boostrank.clicks.click_log import ClickLog
from boostrank.clicks.click_models import Cascade, ClickModel, PositionBased, TrustBias, get_click_model
from boostrank.clicks.click_tables import from_table
from boostrank.clicks.click_targets import click_targets, session_targets
from boostrank.clicks.counterfactual import CounterfactualEstimate, evaluate
from boostrank.clicks.relevance_estimates import RelevanceEstimates, estimate_relevance
from boostrank.clicks.simulated_clicks import SimulatedClicks, simulate_clicks

__all__ = [
    "Cascade",
    "ClickDCG",
    "ClickLabels",
    "ClickLog",
    "ClickModel",
    "CounterfactualEstimate",
    "PositionBased",
    "RelevanceEstimates",
    "SimulatedClicks",
    "TrustBias",
    "click_targets",
    "estimate_relevance",
    "evaluate",
    "from_table",
    "get_click_model",
    "session_targets",
    "simulate_clicks",
]
