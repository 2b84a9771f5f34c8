"""Measures of labels that are real numbers: correlations of scores with labels, and spreads."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
