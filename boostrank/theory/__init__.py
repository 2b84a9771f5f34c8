"""Theory of NDCG: consistency of losses, what clicks change, and NDCG on long lists.

The parts are the packages :mod:`boostrank.theory.consistency` and :mod:`boostrank.theory.long_lists`, each about one
paper, and :mod:`boostrank.theory.click_feedback`. Their public names are imported here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
