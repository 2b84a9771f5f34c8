"""Labels that are preferences between documents: graphs, tables, files, losses, and rankings without features."""

from typing import TYPE_CHECKING

from boostrank.lazy_names import lazy_names

if TYPE_CHECKING:
    from boostrank.preferences.aggregation import Aggregation, aggregate
    from boostrank.preferences.edge_losses import EDGE_LOSSES, EdgeLoss
    from boostrank.preferences.graph import Conflicts, PreferenceGraph
    from boostrank.preferences.tables import from_judgments, from_pairs, read_preferences, write_preferences
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "aggregation": ("Aggregation", "aggregate"),
            "edge_losses": ("EDGE_LOSSES", "EdgeLoss"),
            "graph": ("Conflicts", "PreferenceGraph"),
            "tables": ("from_judgments", "from_pairs", "read_preferences", "write_preferences"),
        },
    )

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
