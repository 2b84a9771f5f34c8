from .evaluation import evaluate_run as evaluate_run
from .fusion import fuse as fuse
from .fusion import fusion_weights as fusion_weights
