"""Probabilities from scores: of being first in a list, of each rank, and of being relevant."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
