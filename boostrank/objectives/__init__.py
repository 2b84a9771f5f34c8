"""Several objectives in one model, such as clicks, orders and margins: labels and measures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
