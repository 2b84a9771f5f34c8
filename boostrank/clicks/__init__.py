"""Learning from clicks: click logs, click models, simulated clicks, propensities, relevance and gains from clicks."""

from typing import TYPE_CHECKING

from boostrank.clicks.click_targets import click_targets, session_targets
from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.clicks.click_labels import ClickLabels
    from boostrank.clicks.click_log import ClickLog
    from boostrank.clicks.click_models import Cascade, ClickModel, PositionBased, TrustBias, get_click_model
    from boostrank.clicks.click_tables import from_table
    from boostrank.clicks.counterfactual import CounterfactualEstimate, evaluate
    from boostrank.clicks.document_clicks import DocumentClicks
    from boostrank.clicks.expectation_maximization import em_propensities
    from boostrank.clicks.harvesting import harvest_propensities
    from boostrank.clicks.propensities import Propensities
    from boostrank.clicks.regression_em import regression_em_propensities
    from boostrank.clicks.relevance_estimates import RelevanceEstimates, estimate_relevance
    from boostrank.clicks.simulated_clicks import SimulatedClicks, simulate_clicks
    from boostrank.clicks.swaps import swap_propensities
    from boostrank.clicks.trust_estimates import TrustBiasEstimate, estimate_trust_bias
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "click_labels": ("ClickLabels",),
            "click_log": ("ClickLog",),
            "click_models": ("Cascade", "ClickModel", "PositionBased", "TrustBias", "get_click_model"),
            "click_tables": ("from_table",),
            "counterfactual": ("CounterfactualEstimate", "evaluate"),
            "document_clicks": ("DocumentClicks",),
            "expectation_maximization": ("em_propensities",),
            "harvesting": ("harvest_propensities",),
            "propensities": ("Propensities",),
            "regression_em": ("regression_em_propensities",),
            "relevance_estimates": ("RelevanceEstimates", "estimate_relevance"),
            "simulated_clicks": ("SimulatedClicks", "simulate_clicks"),
            "swaps": ("swap_propensities",),
            "trust_estimates": ("TrustBiasEstimate", "estimate_trust_bias"),
        },
    )

__all__ = [
    "Cascade",
    "ClickLabels",
    "ClickLog",
    "ClickModel",
    "CounterfactualEstimate",
    "DocumentClicks",
    "PositionBased",
    "Propensities",
    "RelevanceEstimates",
    "SimulatedClicks",
    "TrustBias",
    "TrustBiasEstimate",
    "click_targets",
    "em_propensities",
    "estimate_relevance",
    "estimate_trust_bias",
    "evaluate",
    "from_table",
    "get_click_model",
    "harvest_propensities",
    "regression_em_propensities",
    "session_targets",
    "simulate_clicks",
    "swap_propensities",
]
