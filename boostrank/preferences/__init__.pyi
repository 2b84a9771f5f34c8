from .agreement import Agreement as Agreement
from .edge_losses import EDGE_LOSSES as EDGE_LOSSES
from .edge_losses import EdgeLoss as EdgeLoss
from .graph import PreferenceGraph as PreferenceGraph
from .graph import from_pairs as from_pairs
