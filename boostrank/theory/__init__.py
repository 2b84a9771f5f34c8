"""Theory of NDCG: consistency of losses, and NDCG on long lists.

- Consistency: distributions of labels, minimizers of expected losses, the search for
  counterexamples to consistency, and regret bounds.
- Documents that share scores: distributions of queries, and what losses lose there.
- Long lists (Wang et al., COLT 2013): limits of NDCG, suitable discounts, and how consistently NDCG
  distinguishes two rankers.

All public names are imported here. Theorems and proofs are pages of the guide, in its folder
theory.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
