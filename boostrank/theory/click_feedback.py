r"""Losses of clicks in place of labels: when they are consistent, the cost of the unknown ideal DCG, and variances.

**The setting.** In a session of a query with features ``x``, the vector ``r`` of the binary relevances of the documents
is drawn from a distribution. The documents are shown, and clicks ``c`` follow by a click model. A learner sees ``c``,
makes targets ``t`` of it, and minimizes the expectation of ``loss(s, t)`` over sessions. Is the minimizer optimal for
``E[DCG]`` or ``E[NDCG]`` of the relevances?

**1. Corrected clicks are unbiased.** In the position-based model ``c_i = e_i r_i``, where the examination ``e_i`` has
the probability ``p_i > 0`` and does not depend on ``r``. So for ``t_i = c_i / p_i``,

    E[t_i | r] = r_i E[e_i] / p_i = r_i,      E[t_i] = E[r_i] = gamma_i.

With trust bias, ``E[c_i | r] = a_i r_i + b_i`` with ``a_i = p_i (eps+_i - eps-_i)`` and ``b_i = p_i eps-_i``, and ``t_i
= (c_i - b_i) / a_i`` has the expectation ``r_i`` given ``r``. It exists if ``a_i > 0``. No independence between the
documents is needed.

**2. Losses that are affine in the targets are unbiased too.** Let ``loss(s, t) = f_0(s) + sum_i t_i f_i(s) + psi(t)``.
Then ``E[loss(s, t)] = loss(s, E[t]) + E[psi(t)] - psi(E[t])``: apart from a term without ``s``, it is the loss at the
expected targets, and the gradients are equal. So the minimizer is that of ``loss(s, E[t])``. If the surrogate is
consistent, it sorts like ``E[t]``. All surrogates of :data:`boostrank.surrogates.SURROGATES` have this form, except
one: the gradient of ``centered-logistic`` is ``w'(s_j + c*(s, U)) - t_j`` with an intercept ``c*`` that is not affine
in ``U = sum_j t_j``. Its expected loss is not the loss at ``E[t]``. By the proof in
:mod:`boostrank.surrogates.profiled`, its minimizer still sorts like ``E[t]``, but only for targets with ``0 <= U <=
m``, and ``U`` of single sessions has no such bound. Use it with means over sessions.

**3. DCG.** Let the targets be unbiased and not normalized, ``E[t] = gamma``. *Then the loss is consistent with DCG if
and only if, for the distributions of targets that occur, the minimizer sorts like* ``E[t]``, because a ranking has the
largest ``E[DCG] = sum_i gamma_i d(rank_i)`` if it sorts like ``gamma``, and if discounts strictly decrease, only then.
Division by a positive number ``N(x)`` that depends on the query and its features, but not on the clicks of the session,
changes neither: ``E[t / N(x)] = gamma / N(x)`` sorts in the same way. Division by a function of the clicks may: with
``normalize="sum"``, ``E[t_i / sum_j t_j]`` may sort in another way than ``gamma``.

**4. NDCG.** With unbiased and unnormalized targets the minimizer sorts like ``gamma``, and it should sort like ``E[u] =
E[r / Z(r)]``. That is the same

- if ``Z(r)`` is the same number for all ``r`` that occur for these features: ``E[u] = gamma / Z``. For example always
  one relevant document, or labels that are a function of the features;
- if the relevances of a session are independent given the features (:mod:`boostrank.clicks.targets`, section 2);
- with the cutoff 1, where ``Z(r) = d(1)`` whenever there is a relevant document.

In general it is not the same, but the variation of ``Z`` bounds the regret in NDCG (section 7). The targets of
``normalize="sessions"`` are unbiased for ``u``. So with their means over sessions, the loss is consistent with NDCG for
every distribution of ``r``.

**5. Naive clicks.** The targets ``c / Z(c)`` and ``c`` have expectations that sort like the clicks: for ``p = (1,
1/2)`` and ``gamma = (0.4, 0.6)``, the clicks are ``(0.4, 0.3)``. So a loss that is consistent on true labels is not
consistent on clicks. :func:`boostrank.theory.check_consistency` finds such examples by itself.

**6. Negative targets.** With trust bias and with ``normalize="sessions"``, the targets of single sessions may be
negative, although their expectations are not. The expected loss is as in section 2, but not the loss of a finite log:

======================================== =================================== ==========================================
surrogate                                convex with negative targets        bounded below with negative targets
======================================== =================================== ==========================================
squared, centered-squared, pnorm         yes: the targets enter as           yes
                                         ``- <s, t>`` only
cosine, normalized-pnorm                 no; they are not convex at all      yes: ``<s, t>`` is divided by a norm
poisson, logistic                        yes, as above                       no: a score decreases without limit
softmax                                  if the sum over the query is not    no
                                         negative: the Hessian is that of
                                         ``logsumexp``, times this sum
power, pairwise, consistent-lambdarank   no: a convex function is            no, except power with a negative exponent:
                                         multiplied by a negative target     there the loss of a document is bounded
======================================== =================================== ==========================================

In addition, majorants are proved for targets that are not negative, and some formulas leave documents with such targets
out. Therefore `target_bounds` of all surrogates begin at 0, and objectives refuse negative targets. So the rule is:
*take means over sessions first, then clip at 0*. The mean is negative with a probability that tends to 0 if the
expected target is positive, and :mod:`boostrank.clicks.relevance` bounds the bias of clipping.
:func:`boostrank.clicks.click_targets` returns means over sessions; only those of ``normalize="sessions"`` may be
negative.

**7. The NDCG regret of the DCG-optimal ranking, bounded by the variation of the ideal DCG.** Clicks give unbiased
estimates of gains ``G``, but not of ``G / Z``, because the ideal DCG ``Z`` of a session depends on relevances that are
not observed. A learner that ignores ``Z`` ranks by ``E[G]``. How much NDCG does that cost?

*Theorem.* Let ``s`` sort like ``E[G]``, and let ``Z`` be the ideal DCG@k. For every ``z > 0``, the regret of ``s`` in
expected NDCG@k is at most

    E[|1 - z Z|]        over the outcomes with Z > 0.

*Proof.* Let ``D(r)`` and ``D*(r)`` be the DCG of an outcome in the ranking by ``s`` and in the NDCG-optimal one.
Outcomes with ``Z = 0`` have no gains and add nothing; leave them out. Then

    regret = E[(D* - D) / Z] = E[(D* - D) (1/Z - z)] + z E[D* - D] <= E[|D* - D| |1/Z - z|],

because the ranking by ``E[G]`` has the largest expected DCG, so that ``E[D* - D] <= 0``. Both are between 0 and ``Z``.
So ``|D* - D| <= Z``, and ``Z |1/Z - z| = |1 - z Z|``. For tied scores, ``D`` is a mean over rankings, and the proof
holds with it.

*Consequences.* With ``z = 1 / E[Z | Z > 0]``, the bound is the mean absolute deviation of ``Z`` divided by its mean,
which is at most its coefficient of variation. It is 0 if ``Z`` is constant: then the ranking is NDCG-optimal. The bound
is convex and piecewise linear in ``z``, so that it is least at ``z = 1 / Z`` for one of the values of ``Z``. With
binary relevance, ``Z`` grows only like ``n / log n`` with the number ``n`` of relevant documents, and is constant for
``n >= k``: for NDCG@1 the bound is 0.

The bound holds for dependent relevances and for graded ones too. If *binary* relevances are independent given the
features, the regret is 0 although ``Z`` varies (:mod:`boostrank.clicks.targets`, section 2). With grades it may be
positive: let document 1 always have the gain 1, and document 2 the gain 2.2 or 0 with equal probability. Then ``E[G] =
(1, 1.1)``, but ``E[u] = (0.68, 0.39)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from boostrank.clicks.log import ClickLog
from boostrank.clicks.models import Cascade, ClickModel, get_click_model
from boostrank.clicks.targets import session_targets
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_choice
from boostrank.queries.dcg import DCG
from boostrank.queries.segments import Segments
from boostrank.queries.targets import make_targets
from boostrank.surrogates import Surrogate
from boostrank.surrogates.expected_losses import Distributions
from boostrank.theory.consistency.distributions import DistributionBatch, LabelDistribution

FeedbackNormalize = Literal["none", "dcg", "l2", "sum", "sessions"]
FEEDBACK_NORMALIZATIONS: tuple[str, ...] = get_args(FeedbackNormalize)
# Expected targets that are 0 may differ from it by this much, because they are sums of large numbers of both signs.
ROUNDING = 1e-12


@dataclass(frozen=True)
class ClickFeedback:
    """Targets that are made from the clicks of sessions, in place of :func:`boostrank.make_targets`.

    The documents of a label distribution are shown in their sequence: the first one at position 1. Labels are the
    binary relevances of a session. The text of the module :mod:`boostrank.theory.click_feedback` says when a
    loss of such targets is consistent.

    Parameters
    ----------
    model : str, ClickModel, or array-like of propensities, default "position-based"
        As in :func:`boostrank.clicks.get_click_model`.
    correct : bool, default True
        Whether targets are made from ``(click - b) / a``, see :meth:`boostrank.clicks.ClickModel.corrections`, or from
        the clicks themselves, as if they were labels.
    normalize : {"none", "dcg", "l2", "sum", "sessions"}, default "none"
        The first four are those of :func:`boostrank.make_targets`, applied to each session, with the linear
        gain of the corrected clicks. ``"sessions"`` are the means over all sessions of the targets of
        :func:`boostrank.clicks.session_targets`, which are unbiased.

    Raises
    ------
    ValueError
        If a setting is invalid, or if `normalize` is ``"sessions"`` without `correct`.

    Examples
    --------
    >>> from boostrank.theory import LabelDistribution
    >>> distribution = LabelDistribution([[1, 0], [0, 1]], [0.4, 0.6])
    >>> ClickFeedback([1.0, 0.5], correct=False).expected_targets(distribution).round(4).tolist()
    [0.4, 0.3]
    >>> ClickFeedback([1.0, 0.5]).expected_targets(distribution).round(4).tolist()
    [0.4, 0.6]
    """

    model: Any = "position-based"
    correct: bool = True
    normalize: FeedbackNormalize = "none"

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", get_click_model(self.model))
        check_choice("normalize", self.normalize, FEEDBACK_NORMALIZATIONS)
        if self.normalize == "sessions" and not self.correct:
            raise ValueError("normalize='sessions' needs correct=True: its targets are made from corrected clicks")
        if self.correct and isinstance(self.model, Cascade) and self.model.satisfaction == 1.0:
            raise ValueError(
                f"{self.model!r} has no unbiased correction of single sessions, because every click ends a session: "
                "check naive clicks of it, or use a satisfaction below 1"
            )

    def __repr__(self) -> str:
        return f"ClickFeedback({self.model!r}, correct={self.correct}, normalize={self.normalize!r})"

    def clicks(self, batch: DistributionBatch) -> DistributionBatch:
        """The distributions of the clicks of a session, as label distributions: each click is a label of 1.

        The outcomes of each distribution are all ``2^m`` vectors of clicks on its m documents.

        Raises
        ------
        ValueError
            If a label is neither 0 nor 1, or if the model has no propensity for a position.
        """
        relevant = batch.values
        if not np.isin(relevant, (0.0, 1.0)).all():
            raise ValueError(
                f"click feedback needs labels 0 and 1, the relevances of a session; got {relevant.max():g}"
            )
        n_distributions, n_documents = batch.shape
        patterns = _patterns(n_documents)
        given = np.stack([_click_probability(self.model, relevant, pattern) for pattern in patterns], axis=1)
        probabilities = batch.expect(given)
        sizes = np.full(n_distributions, len(patterns))
        labels = np.tile(patterns, (n_distributions, 1))
        return DistributionBatch(labels, probabilities.ravel(), Segments.from_sizes(sizes))

    def targets(self, batch: DistributionBatch, dcg: DCG) -> Distributions:
        """The distributions of the targets of a session; with the means of ``"sessions"`` those of one outcome each."""
        clicks = self.clicks(batch)
        n_distributions, n_documents = batch.shape
        values = np.tile(self._targets(n_documents, dcg), (n_distributions, 1))
        if self.normalize != "sessions":
            return replace(clicks, values=values)
        expected = clicks.expect(values)
        # Rounding may leave a target that is 0 slightly below it.
        expected[np.abs(expected) < ROUNDING] = 0.0
        single = Segments.from_sizes(np.ones(n_distributions, dtype=np.int64))
        return Distributions(expected, np.ones(n_distributions), single)

    def expected_targets(self, distribution: LabelDistribution, dcg: DCG | None = None) -> Floats:
        """Expectation of the targets over all sessions, shape (n_documents,).

        Parameters
        ----------
        distribution : LabelDistribution
            Relevances of a session, 0 and 1.
        dcg : DCG, optional
            Discount and cutoff; the default is ``DCG()``.
        """
        return self.targets(DistributionBatch.of([distribution]), DCG() if dcg is None else dcg).mean()[0]

    def is_consistent_with_ndcg(self, surrogate: Surrogate) -> bool:
        """Whether the minimizer with these targets is known to sort like ``E[u]`` for every distribution of relevances.

        That is so for a consistent surrogate with ``normalize="sessions"``.
        """
        return self.normalize == "sessions" and surrogate.consistent

    def _targets(self, m: int, dcg: DCG) -> Floats:
        """The targets of all vectors of clicks on m documents, shape (2^m, m)."""
        patterns = _patterns(m)
        row, session = np.tile(np.arange(m), len(patterns)), np.repeat(np.arange(len(patterns)), m)
        log = ClickLog(np.zeros(m), row, row + 1, patterns.ravel(), session=session)
        if self.normalize == "sessions":
            return session_targets(log, self.model, dcg=dcg).reshape(patterns.shape)
        values = log.clicks.astype(np.float64)
        if self.correct:
            a, b = self.model.corrections(log)
            values = (values - b) / a
        if self.normalize == "none":
            return values.reshape(patterns.shape)
        if values.min() < 0.0:
            raise ValueError(
                f"normalize={self.normalize!r} needs targets of 0 or more, but corrected clicks of {self.model!r} may "
                "be negative; use 'none' or 'sessions'"
            )
        linear = DCG(dcg.k, gain="linear", discount=dcg.discount)
        return make_targets(values, Segments.from_sizes(np.full(len(patterns), m)), linear, self.normalize).reshape(
            patterns.shape
        )


def _patterns(m: int) -> Floats:
    """All vectors of clicks on m documents, shape (2^m, m)."""
    return np.array(list(product((0.0, 1.0), repeat=m)))


def _click_probability(model: ClickModel, relevant: Floats, clicks: Floats) -> Floats:
    """Probability of one vector of clicks for given relevances of shape (n, m), shape (n,)."""
    m = relevant.shape[1]
    if not isinstance(model, Cascade):
        a, b = model.affine(m)
        probabilities = a * relevant + b
        return np.where(clicks > 0, probabilities, 1.0 - probabilities).prod(axis=1)
    goes_on = model.continuation * (1.0 - model.satisfaction * relevant)
    result = np.zeros(len(relevant))
    for last in range(m):
        # The user examines the documents up to `last`: their clicks are their relevances, and there are no others.
        agrees: Bools = (relevant[:, : last + 1] == clicks[: last + 1]).all(axis=1) & (not clicks[last + 1 :].any())
        ends = 1.0 - goes_on[:, last] if last < m - 1 else 1.0
        result += agrees * goes_on[:, :last].prod(axis=1) * ends
    return result
