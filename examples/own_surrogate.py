"""Bring your own convex potential, check it, and train it with and without the query's intercept on both backends."""

from dataclasses import dataclass

import numpy as np

import boostrank as br
from boostrank.surrogates import Profiled, Separable


@dataclass(frozen=True)
class Hyperbola(Separable):
    """Potential w(s) = sqrt(1 + s^2): strictly convex, so NDCG consistent; slopes in (-1, 1) fit gains in [0, 1)."""

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
        # Derivatives, Hessian, traits and consistency by numbers; an error names the first law that is broken.
        br.surrogates.check(surrogate)
        for ranker in (br.LightGBMRanker(surrogate, k=10), br.XGBoostRanker(surrogate, k=10)):
            ranker.fit(X[train], y[train], qid[train])
            print(f"{surrogate!r:60} {type(ranker).__name__:15} {ranker.score(X[test], y[test], qid[test]):.4f}")


if __name__ == "__main__":
    main()
