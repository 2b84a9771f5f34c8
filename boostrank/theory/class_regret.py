"""Regret of the minimizer of a loss where documents share scores.

Consistency says nothing about it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import as_generator, check_count
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import Normalize
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.theory.minimizers import check_within_bounds, minimize_numerically
from boostrank.theory.query_distributions import QueryBatch, QueryDistribution
from boostrank.theory.search import max_label, tied

# Largest label of drawn distributions, unless a table of gains ends at a smaller one.
MAX_LABEL = 4
# A regret above this is counted as large.
LARGE_REGRET = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class ClassRegrets:
    """Class regrets of a loss on random distributions of queries whose documents share scores.

    Attributes
    ----------
    distributions : list of QueryDistribution
    minimizers : ndarray, shape (n_distributions, n_kinds)
        Scores of least expected loss.
    regrets : ndarray, shape (n_distributions,)
        The largest expected NDCG of a scorer of the class minus that of the minimizer.
    n_unsolved : int
        Number of distributions for which no minimum was found. Their scores are those found last.
    """

    distributions: list[QueryDistribution]
    minimizers: Floats
    regrets: Floats
    n_unsolved: int

    def __repr__(self) -> str:
        share = (self.regrets > LARGE_REGRET).mean()
        lines = [
            f"class regret on {len(self.regrets)} random problems in which documents share scores:",
            f"{self.regrets.mean():.4f} in the mean, above {LARGE_REGRET} on {share:.0%}, "
            f"at most {self.regrets.max():.4f}",
        ]
        if self.n_unsolved:
            lines.append(f"no minimum was found for {self.n_unsolved} of these")
        return "\n".join(lines)


def class_regrets(
    surrogate: str | Surrogate,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    n_distributions: int = 150,
    copies: int = 1,
    realizable: bool = False,
    random_state: int | np.random.Generator | None = 0,
) -> ClassRegrets:
    """Class regret of a loss on random distributions of queries whose documents share scores.

    The class regret of a loss is the largest expected NDCG of a scorer of a class, minus that of
    the scorer of the class with the least expected loss. If the class has a score of its own for
    each document of each query, a loss is consistent if this is 0 for all distributions. Trees have
    not; here the scorers are all functions of a few kinds of documents. The page
    theory/class_regret of the guide has the definition, what is known, and the class regrets of all
    losses. If the weights of a loss depend on the scores, boosting can end at other scores than
    those found here: that of LambdaMART has 0.0022 to 0.0027 in place of 0.0014.

    Parameters
    ----------
    surrogate : str or Surrogate
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets; see :func:`boostrank.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets and of NDCG; the default is ``DCG()``.
    n_distributions : int, default 150
        Number of distributions to draw, by :meth:`QueryDistribution.random`.
    copies : int, default 1
        The largest number of documents of a kind in a query.
    realizable : bool, default False
        Whether one scorer of the class ranks all queries of a distribution perfectly.
    random_state : int, Generator or None, default 0

    Raises
    ------
    ValueError
        If an argument is invalid, or targets are outside of the surrogate's `target_bounds`.

    References
    ----------
    Long and Servedio, "Consistency versus realizable H-consistency for multiclass classification",
    ICML 2013. Mao, Mohri and Zhong, "H-consistency bounds for pairwise misranking loss surrogates",
    ICML 2023.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.class_regrets("softmax")
    class regret on 150 random problems in which documents share scores:
    0.0086 in the mean, above 0.005 on 33%, at most 0.0710
    >>> print(br.theory.class_regrets("softmax", realizable=True).regrets.mean().round(4))
    0.0009
    """
    check_count("n_distributions", n_distributions)
    surrogate = get_surrogate(surrogate)
    random = as_generator(random_state)
    dcg = dcg or DCG()
    top = min(MAX_LABEL, max_label(dcg))
    drawn = [
        QueryDistribution.random(
            max_label=top, copies=copies, realizable=realizable, random_state=random
        )
        for _ in range(n_distributions)
    ]
    batch = QueryBatch.of(drawn)
    targets = batch.targets(normalize, dcg)
    check_within_bounds(surrogate, targets, normalize)
    solution = minimize_numerically(surrogate, targets)
    largest = batch.expected_ndcg(batch.best_scores(dcg), dcg)
    reached = batch.expected_ndcg(tied(solution.scores), dcg)
    return ClassRegrets(
        drawn,
        minimizers=surrogate.representative(solution.scores),
        regrets=np.maximum(largest - reached, 0.0),
        n_unsolved=int((~solution.solved).sum()),
    )
