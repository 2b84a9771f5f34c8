from .edge_losses import EDGE_LOSSES as EDGE_LOSSES
from .edge_losses import Aggregation as Aggregation
from .edge_losses import EdgeLoss as EdgeLoss
from .edge_losses import aggregate as aggregate
from .graph import Conflicts as Conflicts
from .graph import PreferenceGraph as PreferenceGraph
from .graph import from_pairs as from_pairs
