"""Data sets of many queries: the record (X, y, qid), LETOR files, features in files, examples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
