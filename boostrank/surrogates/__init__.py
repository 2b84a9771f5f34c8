"""Surrogate losses of NDCG, by name and as classes.

========================== ============================= ====== =============== ====================
name                       instance                      convex consistent      Hessian
========================== ============================= ====== =============== ====================
``squared``                :class:`Squared`              yes    yes             exact
``poisson``                :class:`Poisson`              yes    yes             exact
``logistic``               :class:`Logistic`             yes    for u in [0, 1] exact
``softmax``                ``Power(0, max_step=1)``      yes    yes             majorant
``power``                  ``Power(0.25, max_step=1)``   yes    yes             majorant
``centered-squared``       ``Profiled(Squared())``       yes    yes             majorant
``centered-logistic``      ``Profiled(Logistic())``      yes    for u in [0, 1] majorant
``pnorm``                  :class:`PNorm`                yes    yes             majorant
``cosine``                 :class:`Cosine`               no     yes             majorant
``normalized-pnorm``       :class:`NormalizedPNorm`      no     yes             majorant
``pairwise-logistic``      :class:`PairwiseLogistic`     yes    yes             majorant
``pairwise-exponential``   ``Power(1)``                  yes    yes             majorant
``pairwise-squared``       :class:`PairwiseSquared`      yes    yes             majorant
``pairwise-squared-hinge`` :class:`PairwiseSquaredHinge` yes    yes             majorant
``consistent-lambdarank``  :class:`ConsistentLambdaRank` yes    yes             majorant
========================== ============================= ====== =============== ====================

:class:`Power` with other exponents gives the other members of its family. Members with a negative exponent are not
convex. Its `max_step` limits Newton steps, which would be long for relevant documents with a low rank where the
exponent is small: on held-out queries, softmax without a limit has less NDCG (benchmarks/defaults.py). "consistent"
means that the minimizer of the expected loss sorts like the expected targets ``E[u]``. The weights of
``consistent-lambdarank`` depend on the scores: it is convex for fixed weights, and no single loss has its gradient.

To add a surrogate, write its class in a file of this folder, and a line in the table of ``registry.py``, as
CONTRIBUTING.md shows. Rankers, commands and tests use all surrogates in :data:`SURROGATES`. :func:`check` tests the
laws that every surrogate obeys. The compiled library, if it is there, computes the losses without pairs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
