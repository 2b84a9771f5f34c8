"""Surrogate losses of NDCG, by name and as classes.

:data:`SURROGATES` has all losses with their names and default settings, :func:`get_surrogate` looks
one up, and :func:`is_consistent` says whether it is consistent with NDCG. The classes have
settings: :class:`Power` with other exponents gives the other members of its family. :func:`check`
tests the laws that every surrogate obeys. The pages theory of the guide have the proofs.

A loss is a class in a file of this folder and a line in ``registry.py``, as .github/CONTRIBUTING.md
shows. Rankers, commands and tests use all losses in :data:`SURROGATES`. The compiled library, if it
is there, computes the losses without pairs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
