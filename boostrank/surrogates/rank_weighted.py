"""Logistic pairs with weights of the current ranks: LambdaMART with a consistent gradient.

    L_w(s, u) = sum_{i, j} w_ij [u_i log(1 + exp(s_j - s_i)) + u_j log(1 + exp(s_i - s_j))]

The sum is over the pairs of documents of a query, each pair once. The weights ``w_ij = w_ji >= 0`` are those of
LightGBM's LambdaMART without their factor ``|u_i - u_j|``. They depend on the ranks ``r`` and on the scores ``s`` of
the current model, but not on the targets ``u``:

    w_ij = |d(r_i) - d(r_j)| / (0.01 + |s_i - s_j|),      d(r) = 1 / log2(1 + r),

for pairs with a document in the first `truncation` ranks, and 0 for other pairs. Equal scores leave the ranks open.
Then the numerator is its mean over all rankings that agree with the scores, with equal probabilities; rankings without
a document of the pair in the first `truncation` ranks count as 0. The module
:mod:`boostrank.surrogates.ranked_pairs` computes it in closed form. In every boosting round, the gradient is that of
``L_w`` with the weights of the current scores. The weights are not differentiated. In the following,
``sigma(x) = 1 / (1 + exp(-x))``.

Consistency
-----------
**For fixed weights.** ``L_w`` is linear in the targets, so that its expectation is ``L_w(s, v)`` with ``v = E[u]``. It
is a sum of convex functions of differences of scores. Let all ``v_i`` be positive. With ``x = s_i - s_j``, the term of
a pair is ``w_ij f_ij(x)`` with

    f_ij(x) = v_i log(1 + exp(-x)) + v_j log(1 + exp(x)),
    f_ij'(x) = (v_i + v_j) (sigma(x) - v_i / (v_i + v_j)),      f_ij''(x) = (v_i + v_j) sigma(x) (1 - sigma(x)) > 0.

So ``f_ij`` is strictly convex, and least where ``sigma(x) = v_i / (v_i + v_j)``, which is ``x = log v_i - log v_j``.
With ``s* = log v``, all pairs are at their minimum at the same time. So ``s*`` minimizes the expected loss for all
weights. Let the weights connect the documents: any two documents are joined by a chain of pairs of positive weight.
Then other minimizers differ from ``s*`` by a constant, because each pair of positive weight must be at its minimum.
Hence, if all ``v_i`` are positive, the minimizer sorts like ``E[u]``, and the loss with the targets of
``normalize="dcg"`` is NDCG consistent for all weights that do not depend on the targets and connect the documents. The
weights above connect them. A document with the largest score is on rank 1 in some of the rankings that agree with the
scores. Since ``d`` strictly decreases, the weight of this document and any other one is positive.

**Documents that are never relevant.** If ``v_j = 0 < v_i``, then ``f_ij(x) = v_i log(1 + exp(-x))`` decreases to its
infimum 0 for ``x`` to infinity, and if ``v_i = v_j = 0``, it is 0. The infimum of the expected loss is the sum of the
infima of all pairs. It is approached with ``s_i = log v_i`` for documents with positive ``v_i``, and ``s_j`` to minus
infinity for the others. Conversely, along scores that approach the infimum, each pair of positive weight approaches
its own. So a document with ``v_j = 0`` falls below every document with positive ``v_i`` that it is paired with, and two
documents with positive targets that are paired approach their difference ``log v_i - log v_j``. If a document with a
positive target is among the first `truncation` ranks, in one of the rankings if there are several, it is paired with
all others. Then the documents with positive targets are connected by such pairs, every other document is paired with
one of them, and in this limit the scores sort like ``E[u]``, as with softmax. Otherwise the weights of these scores
leave the sequence of the others open: with `truncation` 1, ``v = (0, 0.2, 0.8)`` and the first document on rank 1,
``s = (0, 2 t, t)`` approaches the infimum too. Boosting leaves such scores, because the first documents then lose
score, and those with positive targets gain.

**For weights of the current scores.** Now the weights are a function ``w(s)`` of the scores, and boosting follows the
field ``F(s)``, the expected gradient of ``L_w`` with the weights ``w = w(s)`` at ``s``. In general, it is not the
gradient of any function. With ``x_ij = s_i - s_j`` and ``x*_ij = log v_i - log v_j``,

    F_i(s) = sum_j w_ij(s) f_ij'(x_ij),
    <F(s), s - s*> = sum_{i, j} w_ij(s) f_ij'(x_ij) (x_ij - x*_ij),

where the second sum has each pair once, because ``f_ij'(x_ij) = -f_ji'(x_ji)``. Since ``f_ij'`` strictly increases and
is 0 at ``x*_ij``, no term is negative, and a term is 0 only if ``w_ij(s) = 0`` or ``x_ij = x*_ij``. If the weights
``w(s)`` connect the documents, the sum is positive unless ``s`` is ``s*`` plus a constant. So ``F(s) = 0`` only where
``s`` is ``s*`` plus a constant: wherever the reweighted iteration stops, the scores sort like ``E[u]``.

**Convergence of Newton steps from all starts.** Boosting does not follow ``-F``: it divides by Hessians, which differ
between documents. Then ``||s - s*||`` may increase. The span of ``e = s - s*``, which is ``V(s) = max_i e_i - min_i
e_i``, does not. Let all ``v_i`` be positive, and let ``D_i(s)`` be any numbers that are positive and bounded, from
below and from above, where differences of scores are bounded.

*Theorem.* Along ``ds_i/dt = -D_i(s) F_i(s)``, the span never increases, and converges to 0.

*Proof.* ``f_ij'(x_ij)`` has the sign of ``x_ij - x*_ij = e_i - e_j``. So every pair of a document with the largest
``e_i`` pushes it down or not at all, and every pair of a document with the smallest ``e_i`` pushes it up or not at all.
Hence ``V`` does not increase, and differences of scores are bounded. Let ``t`` be a document with the largest score,
which is paired with all others. If ``V >= a > 0``, then ``e_t`` differs by at least ``a / 2`` from the largest or from
the smallest ``e_i``, and the pair with ``t`` moves every document there at a rate of at least some ``c(a) > 0``: the
numerators of the weights depend only on which documents have smaller, equal or larger scores than which others, and
there are finitely many such orders, so that all weights of pairs with ``t`` are at least some ``w > 0``; and ``f_ij'``
is at least ``f_ij'(x*_ij + a / 2)`` in size. If ``e_t`` is at least ``a / 2`` below the largest, that is the rate of
all documents with the largest ``e_i``. So ``V`` decreases at a rate of at least ``c(a)`` as long as it is at least
``a``, and ``a`` was any positive number. That the weights jump where scores become equal does not matter, because the
bounds hold for the weights of all orders, and so for the means of those at a jump and on its sides (solutions in the
sense of Filippov).

*Discrete steps.* ``f_ij''`` is at most ``(v_i + v_j) / 4``. So ``|f_ij'(x_ij)| <= (v_i + v_j) |e_i - e_j| / 4``, and
with ``C_i(s) = sum_j w_ij(s) (v_i + v_j) / 4``, ``F_i(s)`` is at most ``C_i (e_i - min e)`` and at least ``-C_i (max e
- e_i)``. Let the steps be ``s_i - h_i F_i(s)`` with ``0 < h_i C_i(s) <= q < 1``. A new ``e_i`` is then at least ``(1 -
q) e_i + q min e`` and at most ``(1 - q) e_i + q max e``, which is within the old limits, so that the span does not
increase. It decreases: a new ``e_i`` is the largest old one only if ``e_i`` is that, and no pair moves it. If ``e_t``
is not the largest, the pair with ``t`` moves all of these; otherwise it moves all documents with the smallest ``e_i``.
With ``h_i`` bounded from below, the decrease has a positive bound for each ``a``, as above, and ``V`` converges to 0.
For Newton steps ``h_i = eta / H_i`` with the exact diagonal ``H_i = sum_j w_ij f_ij''(x_ij)``, the condition is ``eta
<= q H_i / C_i``. At equal scores ``H_i = C_i``; it is stricter where scores are far apart, and a penalty ``r``, ``h_i =
eta / (H_i + r)``, weakens it: ``eta <= q r / C_i`` is always enough. The majorant ``2 H_i`` allows twice the rate.

*Documents that are never relevant.* Let ``v_j = 0`` for some documents, and positive for others, let all pairs have
positive weights, and let the ``D_i`` of the positive documents stay bounded. The positive ``v_i`` have ``e_i`` as
before. Every pair of a document with ``v_j = 0`` and a positive one pushes the former down and the latter up, and two
documents with ``v = 0`` do not push each other. So the scores of documents with ``v_j = 0`` always decrease, and the
smallest ``e_i`` of the others never decreases. The push on a positive document decreases exponentially with its
distance to the documents with ``v_j = 0``, while the pair with the smallest ``e_i`` pushes the largest down with a
weight that decreases like the inverse of the distance only. So the span ``V`` of the positive documents stays bounded.
If a document with ``v_j = 0`` stayed within a bounded distance of them, all rates would be bounded from below, and it
would fall without a limit, a contradiction. So these distances grow to infinity, the pushes up vanish, and then ``V``
converges to 0 by the proof above.

**Regret.** A small field means a small regret. Let no pair be truncated, ``d_ij = |d(r_i) - d(r_j)|``, and call a pair
wrong if ``v_i > v_j`` and ``s_i <= s_j``. First, the expected NDCG of ``s`` is below the largest one by at most the sum
of ``(v_i - v_j) d_ij`` over wrong pairs. By integration over thresholds of ``v``, it is enough to show it for ``v`` of
0 and 1: if ``n`` documents have 1, the regret is ``sum_{r <= n} d(r)`` minus their discounts; match those of them that
are below rank ``n`` with the others that are above, in any way; the regret is the sum of ``d_ij`` over these pairs,
which are wrong. Second, ``|f_ij'(x_ij)| >= (v_i - v_j) / 2`` for a wrong pair, because ``x_ij <= 0``, and it is 0 at
``x*_ij > 0``. Divided weights have ``d_ij / (0.01 + |x_ij|)``, and ``|x_ij - x*_ij| = |x_ij| + |x*_ij|``. Since no term
of ``<F(s), s - s*>`` is negative, and the sum of ``F`` is 0,

    regret(s) <= 2 max(1, 0.01 / g) <F(s), s - s*> <= max(1, 0.01 / g) V(s) ||F(s)||_1,

where ``g`` is the smallest positive ``|x*_ij|``, if not all scores are equal. For weights that are not divided, the
inequality of Cauchy and Schwarz and ``x*_ij >= v_i - v_j`` (which are at most 1) give ``regret(s)^2 <= 2 <F(s), s - s*>
sum_{wrong} d_ij``.

**Steps.** The Hessian of the term of a pair is ``w_ij f_ij''(x_ij)`` times ``[[1, -1], [-1, 1]]``, whose eigenvalues
are 0 and 2. So twice the diagonal of the Hessian is a majorant ``D``. Newton steps ``-g_i / D_i`` that are clipped to
``[-1/2, 1/2]`` never increase ``L_w`` for the weights of the step. Proof: since the third derivative of ``f_ij`` is at
most ``f_ij''`` in size, a change of ``x`` by ``t`` with ``|t| <= 1`` adds at most ``f_ij' t + (e - 2) f_ij'' t^2``
(Bach, "Self-concordant analysis for logistic regression", 2010). So steps ``-c_i g_i / D_i`` with ``0 <= c_i <= 1`` add
at most the sum of ``-c_i g_i^2 / D_i + (e - 2) c_i^2 g_i^2 / D_i``, where no term is positive. Without the limit, a
step can be too long where scores are far from ``log E[u]``, because the curvature decreases like ``exp(-|x|)``. Trees
limit steps, because a leaf sums gradients and Hessians over documents of many queries, and by the learning rate.

LambdaMART
----------
LambdaMART (Burges, "From RankNet to LambdaRank to LambdaMART", 2010), as LightGBM and XGBoost compute it
(:mod:`boostrank.surrogates.lambdamart`), has the same weights ``w_ij``, but the factor ``|u_i - u_j|`` of a pair, only
the term of the document with the larger label, and the factor ``c = log2(1 + S) / S`` of each query, where ``S`` is the
sum of the sizes of the slopes of its pairs. Its expected field has

    -F_i(s) = sum_j w_ij E[c ((u_i - u_j)^+ sigma(-x_ij) - (u_j - u_i)^+ sigma(x_ij))].

A pair is balanced where ``exp(x_ij)`` is ``E[c (u_i - u_j)^+] / E[c (u_j - u_i)^+]``. If there are more than two
documents, these ratios are in general not those of any scores: pairs contradict each other, and the weights decide.
Where two scores become equal, it is decided which document is ahead.

**Undivided weights.** There are distributions of labels for which no zero of the field sorts like ``E[u]``: one is the
labels 2, 1, 1 with the probability 0.38, and 0, 3, 2 with 0.62.

**Division by distance repairs the order at ties.** Let ``c = 1``, as with ``lambdarank_normalization=False`` of
XGBoost. Where ``x_ij = 0``, the pair pushes ``i`` up by ``w_ij E[u_i - u_j] / 2``, which has the sign of ``v_i - v_j``:
the differences of targets are averaged, as in NDCG. With the division, ``w_ij`` is large there. *Theorem.* Let the
weights be divided by ``|x_ij|``, without the 0.01, and let the ``v_i`` differ. Scores that sort like ``v`` then keep
this order at all times as long as they are bounded, and no two of them become equal. *Proof.* While the order is that
of ``v``, the numerators ``d_ij`` of the weights are constants. Since ``sigma(x)`` differs from 1/2 by at most ``|x| /
4``, ``-F_i`` is ``sum_j d_ij (v_i - v_j) / (2 |x_ij|)`` and a remainder that is bounded by a constant. So ``-F = -grad
P + b`` with ``P(s) = -sum_{i, j} d_ij |v_i - v_j| log |x_ij| / 2`` and ``||b|| <= B``, and the rate of ``P`` is at most
``-||grad P|| (||grad P|| - B)``. Let ``h`` be the distance of two documents that follow each other. In the sum of
``dP/ds_i`` over the documents above this gap, the pairs within them cancel out, and the others have the same sign. So
``||grad P||`` is at least a constant divided by ``h``. Hence ``P`` decreases where a distance is small. For bounded
scores, ``P`` is large only where a distance is small. So ``P`` stays bounded, and distances stay positive. And from
equal scores, whose weights are equal and not divided, ``-F_i`` is proportional to ``v_i`` minus the mean of ``v``, so
that boosting starts with the order of ``v``. With the 0.01 of the libraries, this holds as far as the push of a pair at
its tie, ``50 d_ij |v_i - v_j|``, exceeds those of the other documents. It does not exclude other zeros: the labels 0,
1, 3, 5 with the probability 0.17 and 2, 2, 1, 0 with 0.83 have one with the wrong order of the last two documents.

**The factor of the query replaces the mean by the majority.** Let the weights be divided, and ``x_ij`` tend to 0, for a
single pair with ``w_ij`` tending to infinity. In outcomes with ``u_i != u_j``, ``S`` is ``w_ij |u_i - u_j|`` and a
bounded remainder, so that ``c w_ij |u_i - u_j|`` is ``log2(w_ij)`` and a bounded remainder, whatever ``u_i - u_j`` is.
Hence the pair pushes document ``i`` up by

    (P(u_i > u_j) - P(u_j > u_i)) log2(w_ij) / 2 + O(1),

and other pairs push by O(1). So a tie is decided by the question which document is better in more than half of the
queries, and not by the difference of ``E[u]``, on which NDCG depends. Majorities may even be cyclic. XGBoost's
``rank:pairwise`` counts queries too, since its pairs have no ``|u_i - u_j|``. With two documents, nothing else acts:
document 0 always has the label 3, and document 1 has 4 with the probability 0.62, and 0 otherwise. Document 1 is better
in 62% of the queries, but ``E[u]`` is 0.604 and 0.479. LightGBM's ``lambdarank`` and XGBoost's ``rank:ndcg`` and
``rank:pairwise``, with default parameters, rank document 1 first, with the expected NDCG 0.860 instead of 0.906, and
more data change nothing; without the factor, and with all consistent losses, document 0 is first
(examples/why_lambdamart_fails.py).

**Here** ``u_i - u_j`` is replaced by both targets, ``u_i`` in favour of document ``i`` and ``u_j`` in favour of
document ``j``, whose ratio ``E[u_i] / E[u_j]`` is that of the scores ``log E[u]``, and the factor of a query is 1.

What is known
-------------
With equal weights, the loss is :class:`~boostrank.surrogates.PairwiseLogistic`, and that of RankNet (Burges et al.,
"Learning to rank using gradient descent", ICML 2005) with the target probability ``u_i / (u_i + u_j)`` and the pair
weight ``u_i + u_j``. That ``log v`` balances all pairs at the same time is a property of the model of Bradley and Terry
("Rank analysis of incomplete block designs", Biometrika 1952), whose negative log-likelihood is ``L_w`` if ``w_ij u_i``
counts how often ``i`` won against ``j``. Weights ``|d(r_i) - d(r_j)|`` of the current ranks are those of LambdaRank.
LambdaLoss (Wang et al., "The LambdaLoss framework for ranking metric optimization", CIKM 2018) derives the weights of
LambdaRank, which depend on the labels, from a mixture model over rankings. Duchi, Mackey and Jordan ("On the
consistency of ranking algorithms", ICML 2010) show that pairwise losses are not consistent for preferences in general;
here each document has one target, so that preferences cannot contradict each other. Buffoni, Calauzenes, Gallinari and
Usunier ("Learning scoring functions with order-preserving losses and standardized supervision", ICML 2011) show that
losses that preserve order are consistent if the labels are replaced by weights that fit the metric, and test a pairwise
loss for NDCG; their weights do not depend on the scores (:mod:`boostrank.surrogates.pairs`). Marcuzzi, Lucchese and
Orlando ("LambdaRank gradients are incoherent", CIKM 2023) observe that a document may get a smaller push than one with
a smaller label, and change the pairs; they do not ask for the limit. Of the latter two we have read the abstracts only.

We know of no publication that combines weights of the current ranks and scores, without labels, with pairs that one
vector of scores balances; that shows that the reweighted iteration has no other zero, and that it converges from all
starts with any positive scaling of the documents; or that explains wrong limits of LambdaMART by the factor of the
query.

What is open
------------
Trees do not give each document a score of its own: documents of several queries share one. The field of a shared score
is the sum of those of its documents, and pairs of different queries may then contradict each other. Nothing above holds
for that. With weights that are not divided, and queries that connect the scores, a zero exists: for centred shared
scores that are far from 0, the product of the scores and the field is positive, because the term of a pair grows with
its distance if both ``v`` are positive, so that Brouwer's theorem applies (Kakutani's, where weights jump). When the
iteration may cycle is open. In the experiment of examples/why_lambdamart_fails.py, it did in one of 500 random
problems. There, what division by distance is for can be seen too: the scores at which it ends have nearly the NDCG of
the best ranking of the shared scores (0.002 less), and those of undivided weights, or of softmax, have not (0.015 and
0.014 less), because near ties, which decide the ranking, count most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_count, check_flag
from boostrank.queries import compiled
from boostrank.queries.compiled.documents import pair_derivatives
from boostrank.queries.dcg import DCG
from boostrank.queries.segments import Segments, ranges
from boostrank.surrogates.base import HessianKind, Surrogate
from boostrank.surrogates.ranked_pairs import MIN_DISTANCE, TieGroups


@dataclass(frozen=True, eq=False)
class WeightedPairs(Surrogate):
    """Logistic pairs weighted by both targets, with fixed weights, for the documents of one data set.

    :meth:`ConsistentLambdaRank.at` returns it. It computes the pairs of documents one after the other, for tests and
    for theory; boosting would need several times as long.

    Parameters
    ----------
    first, second : ndarray of int64, shape (n_pairs,)
        Row numbers of the documents of each pair, which belong to the same query.
    weight : ndarray, shape (n_pairs,)
        Weight of each pair, not negative.

    Examples
    --------
    >>> pairs, queries = WeightedPairs(np.array([0]), np.array([1]), np.array([2.0])), Segments.from_sizes([2])
    >>> pairs.gradient_hessian(np.zeros(2), np.array([1.0, 0.0]), queries)[0].tolist()
    [-1.0, 1.0]
    """

    first: Ints
    second: Ints
    weight: Floats

    shift_invariant: ClassVar[bool] = True
    hessian: ClassVar[HessianKind] = "majorant"

    def factors(self, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        """Factors of ``log(1 + exp(s_j - s_i))`` and of ``log(1 + exp(s_i - s_j))`` for each pair ``i, j``."""
        return self.weight * targets[self.first], self.weight * targets[self.second]

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        difference = scores[self.first] - scores[self.second]
        for_first, for_second = self.factors(targets, queries)
        return self.sums(
            for_first * np.logaddexp(0.0, -difference) + for_second * np.logaddexp(0.0, difference), queries
        )

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        difference, n = scores[self.first] - scores[self.second], len(scores)
        first_wins, second_wins = (np.exp(-np.logaddexp(0.0, sign * difference)) for sign in (-1.0, 1.0))
        for_first, for_second = self.factors(targets, queries)
        slope = for_second * first_wins - for_first * second_wins
        curvature = (for_first + for_second) * first_wins * second_wins
        gradient: Any = np.bincount(self.first, slope, n) - np.bincount(self.second, slope, n)
        hessian: Any = np.bincount(self.first, curvature, n) + np.bincount(self.second, curvature, n)
        return gradient, hessian * (2.0 if self.hessian == "majorant" else 1.0)

    def queries_of_pairs(self, queries: Segments) -> Ints:
        """Number of the query of each pair."""
        return queries.repeat(np.arange(queries.n_segments))[self.first]

    def sums(self, values: Floats, queries: Segments) -> Floats:
        """Sum over the pairs of each query."""
        # The result is of integers if there are no pairs.
        return np.bincount(self.queries_of_pairs(queries), values, queries.n_segments).astype(np.float64, copy=False)


@dataclass(frozen=True)
class ConsistentLambdaRank(Surrogate):
    """Logistic pairs weighted by both targets, and by the current ranks and scores: LambdaMART made consistent.

    With the weights ``w_ij`` of the current scores and ``sigma_ij = 1 / (1 + exp(s_j - s_i))``, the gradient is
    ``sum_j w_ij (u_j sigma_ij - u_i sigma_ji)``, and the exact diagonal of the Hessian is
    ``sum_j w_ij (u_i + u_j) sigma_ij sigma_ji``. Twice this diagonal is a majorant, and the Hessian returned. The text
    of the module :mod:`boostrank.surrogates.rank_weighted` has the formula of the loss and of the weights, and proves
    that the minimizer is ``log E[u]`` plus a constant for all weights, and that boosting with weights of the current
    scores has no other fixed point.

    Since the weights depend on the scores, there is one loss for each choice of weights (:meth:`at`), and no single
    loss with this gradient. :meth:`loss` has the weights of the scores it is given. It may increase from one round to
    the next although all scores improve.

    The weights of documents with equal scores are means over all rankings that agree with the scores. So they do not
    depend on the sequence of the rows, in which data are often sorted by label, and apart from rounding, permuting the
    documents of a query permutes its gradient and Hessian. If all scores of a query are equal, all pairs have the same
    weight, and it is not divided by the distance, as in LightGBM.

    Gradient and Hessian of a query of m documents take O(m min(m, truncation)) time, apart from sorting. With only g
    different scores, they take O(m + g min(g, truncation)).

    Parameters
    ----------
    truncation : int or None, default 30
        Only pairs with a document among the first `truncation` ranks count, as with ``lambdarank_truncation_level`` of
        LightGBM. None counts all pairs.
    divide_by_distance : bool, default True
        Whether the weight of a pair is divided by ``0.01 + |s_i - s_j|``, as with ``lambdarank_norm`` of LightGBM.

    Raises
    ------
    ValueError
        If a setting is invalid.

    Examples
    --------
    >>> surrogate, queries = ConsistentLambdaRank(divide_by_distance=False), Segments.from_sizes([2])
    >>> gradient, hessian = surrogate.gradient_hessian(np.array([1.0, 0.0]), np.array([0.3, 0.7]), queries)
    >>> gradient.round(4).tolist(), hessian.round(4).tolist()
    ([0.1591, -0.1591], [0.1451, 0.1451])
    >>> surrogate.minimizer(np.array([[0.2, 0.8]])).round(4).tolist()
    [[-0.6931, 0.6931]]
    """

    truncation: int | None = 30
    divide_by_distance: bool = True

    consistent: ClassVar[bool] = True
    linear_in_targets: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    reweighted: ClassVar[bool] = True
    hessian = "majorant"

    def __post_init__(self) -> None:
        check_count("truncation", self.truncation, optional=True)
        check_flag("divide_by_distance", self.divide_by_distance)

    def minimizer(self, expected: Floats) -> Floats | None:
        with np.errstate(divide="ignore"):
            return self.representative(np.log(expected))

    def loss(self, scores: Floats, targets: Floats, queries: Segments) -> Floats:
        return self.at(scores, queries).loss(scores, targets, queries)

    def gradient_hessian(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        if not compiled.is_available():
            return self._with_numpy(scores, targets, queries)
        longest, ranking = int(queries.sizes.max()), queries.sort(scores, stable=False)
        truncation = longest if self.truncation is None else self.truncation
        settings = DCG().discounts(longest), truncation, self.divide_by_distance, MIN_DISTANCE
        gradient, diagonal = pair_derivatives("rank_weighted", scores, targets, queries, *settings, ranking=ranking)
        return gradient, 2.0 * diagonal

    def _with_numpy(self, scores: Floats, targets: Floats, queries: Segments) -> tuple[Floats, Floats]:
        groups = TieGroups.of(scores, queries, self.truncation, self.divide_by_distance)
        n, u = groups.members.sizes, targets[groups.order]
        mass, half = groups.members.sum(u), groups.own / 2.0
        # For a document with the target u, the gradient is a term of its group minus u times another one, and the
        # diagonal of the Hessian is a third term plus u times a fourth. At first, they are those of the pairs of two
        # documents of one group. A document is in no pair with itself; in the gradient, such a pair cancels out.
        terms = np.stack([half * mass, half * n, half / 2.0 * mass, half / 2.0 * (n - 2.0)])
        for one, other, difference, weight in groups.pairs():
            with np.errstate(over="ignore"):
                other_wins = 1.0 / (np.exp(difference) + 1.0)
            to_one = weight * other_wins
            to_other = weight - to_one
            curvature = to_other * other_wins
            for term, of_one, of_other, sums in (
                (terms[0], to_other, to_one, mass),
                (terms[1], to_one, to_other, n),
                (terms[2], curvature, curvature, mass),
                (terms[3], curvature, curvature, n),
            ):
                term += np.bincount(one, of_one * sums[other], len(n))
                term += np.bincount(other, of_other * sums[one], len(n))
        gain, loss, others, own = (groups.members.repeat(term) for term in terms)
        gradient, hessian = np.empty_like(u), np.empty_like(u)
        gradient[groups.order] = gain - u * loss
        hessian[groups.order] = 2.0 * (others + u * own)
        return gradient, hessian

    def at(self, scores: Floats, queries: Segments) -> WeightedPairs:
        groups = TieGroups.of(scores, queries, self.truncation, self.divide_by_distance)
        counts, starts = groups.members.sizes, groups.members.starts
        several = np.flatnonzero(counts > 1)
        blocks = [(several, several, groups.own[several])]
        blocks += [(first, second, weight) for first, second, _, weight in groups.pairs()]
        one, other, weight = (np.concatenate(arrays) for arrays in zip(*blocks, strict=True))
        # All pairs of a document of one group and a document of the other, by their positions in the ranking.
        sizes = counts[one] * counts[other]
        position = ranges(0, sizes)
        at_first, at_second = np.divmod(position, np.repeat(counts[other], sizes))
        at_first += np.repeat(starts[one], sizes)
        at_second += np.repeat(starts[other], sizes)
        weight = np.repeat(weight, sizes)
        chosen = (at_first < at_second) & (weight > 0.0)
        return WeightedPairs(groups.order[at_first[chosen]], groups.order[at_second[chosen]], weight[chosen])
