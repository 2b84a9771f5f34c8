"""Theory of NDCG: consistency of losses, what clicks change, and NDCG on long lists.

- :mod:`boostrank.theory.consistency`: distributions of labels, minimizers of expected losses, the search for
  counterexamples to consistency, and regret bounds. Theorems about losses, their gradients and their Newton steps
  belong here.
- :mod:`boostrank.theory.click_feedback`: losses of clicks in place of labels.
- :mod:`boostrank.theory.long_lists`: limits of NDCG, and how consistently it distinguishes two rankers.

All public names are imported here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
