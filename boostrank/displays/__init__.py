"""Plots in the style of scikit-learn's displays.

Each class method ``from_...`` computes values and draws them; the values are attributes, and
``plot`` draws them again. matplotlib is imported when something is drawn.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
