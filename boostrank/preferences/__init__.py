"""Labels that are preferences: graphs, how to read them, losses of their edges, and rankings from them alone."""

from boostrank.preferences.aggregation import Aggregation, aggregate
from boostrank.preferences.graph import Conflicts, PreferenceGraph
from boostrank.preferences.losses import EDGE_LOSSES, EdgeLoss
from boostrank.preferences.reading import from_judgments, from_pairs, read_preferences, write_preferences

__all__ = [
    "EDGE_LOSSES",
    "Aggregation",
    "Conflicts",
    "EdgeLoss",
    "PreferenceGraph",
    "aggregate",
    "from_judgments",
    "from_pairs",
    "read_preferences",
    "write_preferences",
]
