"""The definition of NDCG for measures and surrogates: gains, discounts, targets, and labels.

With gain ``G``, discount ``d`` and the ideal DCG ``Z`` of the labels ``y``,

    NDCG(s) = sum_i u_i d(rank_i(s)),      u_i = G(y_i) / Z(y),

where the *normalized gains* ``u`` do not depend on the scores ``s``. With a cutoff ``k``, the
discount is 0 for ranks greater than ``k``, and ``Z`` is replaced by ``Z_k``, the ideal DCG@k.
Measures and surrogates are defined by ``u``.
"""
