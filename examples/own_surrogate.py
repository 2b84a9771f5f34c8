"""A surrogate of your own: define a convex potential, check it, and train with it on both backends.

It is trained twice: as it is, and in the form whose value does not change when all scores of a query are shifted.
"""

from dataclasses import dataclass

import numpy as np

import boostrank as br
from boostrank.surrogates import Profiled, Separable


@dataclass(frozen=True)
class Hyperbola(Separable):
    """The potential w(s) = sqrt(1 + s^2), which is strictly convex: the surrogate is consistent with NDCG.

    Its slopes lie in (-1, 1), which suits normalized gains below 1.
    """

    target_bounds = (-1.0, 1.0)

    def potential(self, scores):
        """w(s)."""
        return np.hypot(1.0, scores)

    def slope_curvature(self, scores):
        """w'(s) and w''(s)."""
        length = np.hypot(1.0, scores)
        return scores / length, length**-3


def main():
    X, y, qid = br.make_ranking(n_queries=300, random_state=0)
    train, test = br.split_queries(qid, 0.3, random_state=0)
    for surrogate in (Hyperbola(), Profiled(Hyperbola())):
        # Tests derivatives, Hessian, traits and consistency numerically; an error says what is wrong.
        br.surrogates.check(surrogate)
        for ranker in (br.LightGBMRanker(surrogate, k=10), br.XGBoostRanker(surrogate, k=10)):
            ranker.fit(X[train], y[train], qid[train])
            print(f"{surrogate!r:60} {type(ranker).__name__:15} {ranker.score(X[test], y[test], qid[test]):.4f}")


if __name__ == "__main__":
    main()
