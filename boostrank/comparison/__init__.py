"""Comparison of rankers on the same folds, and of runs, by paired tests over queries."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
