"""Why a model ranks as it does: explanations of single documents, and importances of features."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
