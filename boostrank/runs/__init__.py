"""Runs, which are rankings of retrieved documents, and their measures by relevance judgments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
