"""The search for a label distribution on which the minimizer of a loss does not rank optimally.

One such distribution proves that a surrogate is not NDCG consistent (Ravikumar, Tewari and Yang,
AISTATS 2011, Lemma 3 and Theorem 6). A search that finds none proves nothing. It uses only the loss
and its gradient, and the traits `convex`, `shift_invariant`, `target_bounds` and `reweighted`;
neither closed forms of minimizers nor what a surrogate declares about its consistency.
Probabilities of drawn distributions are whole hundredths, so that a report can print a
counterexample exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import as_generator, check_count
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import Normalize
from boostrank.queries.segments import Segments
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.theory.distributions import PAPER_DISTRIBUTIONS, DistributionBatch, LabelDistribution
from boostrank.theory.expected_losses import SOLVED_TOLERANCE, Distributions, ExpectedLoss, minimize
from boostrank.theory.minimizers import minimize_numerically
from boostrank.theory.report import ConsistencyReport

# Scores that differ by at most this fraction of their range count as tied.
TIE_TOLERANCE = 1e-7
# Smaller regrets may be due to errors of the minimizer.
MIN_REGRET = 100 * SOLVED_TOLERANCE
# Number of times that the search examines distributions similar to those with the largest regret.
N_CLIMBS = 5
# Number of distributions, those with the largest regret, that are tried as counterexample until one
# is confirmed.
MAX_CONFIRMATIONS = 10
# Number of similar distributions, relative to the number of distributions drawn.
NEIGHBOURS_SHARE = 0.06
# Largest label of drawn distributions, unless a table of gains ends at a smaller one.
MAX_LABEL = 5
# Numbers of documents of drawn distributions.
SIZES = (2, 3, 4, 5)
# Differences, in hundredths, from the probability at which the expected normalized gains of two
# documents are equal.
NEAR_TIES = (1, 3, 6, 10)


class _Examined(NamedTuple):
    """Distributions, the scores that minimize their expected loss, and the regrets of these scores.

    A regret is 0 if it is not certain. `n_solved` is the number of distributions for which a
    minimum was found.
    """

    batch: DistributionBatch
    scores: Floats
    regrets: Floats
    n_solved: int


@dataclass(frozen=True)
class _Search:
    """A loss, and the NDCG for which it may be inconsistent."""

    surrogate: Surrogate
    normalize: Normalize
    dcg: DCG

    def targets(self, batch: DistributionBatch) -> Distributions:
        """The distributions of targets over which the loss is expected."""
        return batch.targets(self.normalize, self.dcg)

    def examine(self, batch: DistributionBatch, thorough: bool = False) -> _Examined:
        """Minimize the expected losses of distributions within bounds, and compute the regrets."""
        inside = self.targets(batch).within_bounds(self.surrogate)
        if not inside.any():
            return _Examined(batch, np.zeros((0, batch.shape[1])), np.zeros(0), 0)
        batch = batch.take(inside)
        solution = minimize_numerically(self.surrogate, self.targets(batch), thorough)
        scores = tied(solution.scores)
        regrets = batch.ndcg_regret(scores, self.dcg)
        regrets = np.where(solution.solved & (regrets > MIN_REGRET), regrets, 0.0)
        return _Examined(batch, scores, regrets, int(solution.solved.sum()))

    def confirm(self, distribution: LabelDistribution) -> tuple[Floats, float] | None:
        """Scores of least expected loss and their regret, found by a thorough search.

        The result is None if that does not confirm that the distribution is a counterexample.
        """
        examined = self.examine(DistributionBatch.of([distribution]), thorough=True)
        scores = examined.scores[0]
        regret = float(examined.regrets[0])
        if regret == 0 or not self.is_counterexample(distribution, scores):
            return None
        return self.surrogate.representative(scores[None])[0], regret

    def is_counterexample(self, distribution: LabelDistribution, scores: Floats) -> bool:
        """Whether no scores that rank optimally have an expected loss as small as that of `scores`.

        The loss is minimized once more, from scores that rank the documents optimally and without
        ties.
        """
        batch = DistributionBatch.of([distribution])
        loss = ExpectedLoss(self.surrogate, self.targets(batch)).at(scores[None])
        ranking = np.argsort(-batch.bayes_scores(self.dcg)[0], kind="stable")
        gap = max(1.0, float(np.ptp(scores)))
        optimal = np.empty_like(scores)
        optimal[ranking] = np.sort(scores)[::-1] + np.arange(len(scores))[::-1] * gap
        other = minimize(loss, optimal[None])
        is_optimal = batch.ndcg_regret(tied(other.scores), self.dcg)[0] <= MIN_REGRET
        return bool(other.losses[0] > loss(scores[None])[0] or not is_optimal)


def check_consistency(
    surrogate: str | Surrogate,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    n_distributions: int = 1600,
    random_state: int | np.random.Generator | None = 0,
) -> ConsistencyReport:
    """Search for a label distribution on which the minimizer of the loss does not maximize NDCG.

    Both the loss and NDCG are expected ones. The search examines the counterexamples of the paper,
    and random distributions over 2 to 5 documents of four kinds: with labels of many grades, with
    labels 0 and 1, with rare large labels, and with two outcomes that prefer different documents
    and whose expected normalized gains are nearly equal. For each distribution, it minimizes the
    expected loss numerically, and computes the regret of the minimizer. Then it examines
    distributions that are similar to those with the largest regret. A counterexample is reported
    only if the loss is larger where it is minimized once more, from scores that rank optimally, or
    if the scores found there do not rank optimally either.

    Parameters
    ----------
    surrogate : str or Surrogate
        A name or an instance, for example of your own class. It needs a loss and its gradient; if
        it is convex and not differentiable, a subgradient.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        Kind of targets; see :func:`boostrank.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets and of NDCG; the default is ``DCG()``.
    n_distributions : int, default 1600
        Number of random distributions to draw. Those of the paper, and those that are similar to
        the ones with the largest regret, are examined besides; the report has the number of each.
    random_state : int, Generator or None, default 0

    Returns
    -------
    ConsistencyReport
        Distributions are left out if their targets are not within the surrogate's `target_bounds`,
        or if no minimum of the expected loss is found. The loss may be unbounded below, or not
        differentiable, or its gradient may be wrong; :func:`boostrank.surrogates.check` says which.
        If more than a tenth are left out, finding no counterexample says nothing: then
        ``consistent`` is None.

    Raises
    ------
    ValueError
        If an argument is invalid.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011,
    Theorem 6 and Proposition 7.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.check_consistency("squared").consistent
    True
    >>> report = br.theory.check_consistency("squared", normalize="none")
    >>> report.consistent, report.regret > 0.1
    (False, True)
    """
    check_count("n_distributions", n_distributions)
    search = _Search(get_surrogate(surrogate), normalize, dcg or DCG())
    random = as_generator(random_state)
    top = max_label(search.dcg)
    of_paper = [
        distribution for distribution in PAPER_DISTRIBUTIONS if distribution.labels.max() <= top
    ]
    batches = []
    if of_paper:
        batches.append(DistributionBatch.of(of_paper))
    batches += _candidates(int(n_distributions), search.dcg, top, random)
    examined = [search.examine(batch) for batch in batches]
    n_neighbours = 1 + int(NEIGHBOURS_SHARE * n_distributions)
    for _ in range(N_CLIMBS):
        for worst in _worst_by_size(examined):
            neighbours = _neighbours(worst, n_neighbours, top, random)
            examined.append(search.examine(neighbours))
    n_similar = n_neighbours * (len(examined) - len(batches))
    counts = {
        "random": int(n_distributions),
        "of the paper": len(of_paper),
        "similar to the worst": n_similar,
    }
    return _report(search, examined, counts)


def _worst_by_size(examined: list[_Examined]) -> list[LabelDistribution]:
    """The distribution with the largest regret for each number of documents, if it is positive."""
    largest: dict[int, float] = {}
    worst: dict[int, LabelDistribution] = {}
    for batch, _, regrets, _ in examined:
        _, n_documents = batch.shape
        regret = regrets.max(initial=0.0)
        if regret > largest.get(n_documents, 0.0):
            largest[n_documents] = regret
            worst[n_documents] = batch[int(regrets.argmax())]
    return list(worst.values())


def _report(
    search: _Search, examined: list[_Examined], counts: dict[str, int]
) -> ConsistencyReport:
    """The report of the counterexample with the largest regret that is confirmed, or of none."""
    n_solved = sum(batch.n_solved for batch in examined)
    n_examined = sum(len(batch.scores) for batch in examined)
    report = ConsistencyReport(
        search.surrogate, search.normalize, search.dcg, counts, n_solved, n_examined - n_solved
    )
    candidates = [
        (regret, batch, i)
        for batch, _, regrets, _ in examined
        for i, regret in enumerate(regrets)
        if regret
    ]
    by_regret = sorted(candidates, key=lambda candidate: -candidate[0])
    for _, batch, i in by_regret[:MAX_CONFIRMATIONS]:
        confirmed = search.confirm(batch[i])
        if confirmed:
            minimizer, regret = confirmed
            return replace(report, counterexample=batch[i], minimizer=minimizer, regret=regret)
    # No regret was confirmed: the scores are not minimizers, so that their distributions count as
    # unsolved.
    n_solved -= len(candidates)
    return replace(report, n_distributions=n_solved, n_unsolved=n_examined - n_solved)


def tied(scores: Floats) -> Floats:
    """The scores, shape (n_distributions, n_documents), with small differences removed.

    Scores become equal that differ by at most `TIE_TOLERANCE` times the range of the scores.
    """
    permutation = np.argsort(scores, axis=1)
    increasing = np.take_along_axis(scores, permutation, axis=1)
    ranges = np.maximum(np.ptp(scores, axis=1, keepdims=True), 0.01)
    runs = np.zeros(scores.shape, dtype=np.int64)
    runs[:, 1:] = (np.diff(increasing, axis=1) > TIE_TOLERANCE * ranges).cumsum(axis=1)
    first = np.argmax(runs[:, :, None] == runs[:, None, :], axis=2)
    tied_scores = np.take_along_axis(increasing, first, axis=1)
    result = np.empty_like(scores)
    np.put_along_axis(result, permutation, tied_scores, axis=1)
    return result


def max_label(dcg: DCG) -> int:
    """The largest label of the distributions that are drawn for the gain of `dcg`."""
    if isinstance(dcg.gain, str) or callable(dcg.gain):
        return MAX_LABEL
    return min(MAX_LABEL, len(np.asarray(dcg.gain)) - 1)


def _candidates(
    n_distributions: int, dcg: DCG, top: int, random: np.random.Generator
) -> Iterator[DistributionBatch]:
    """Draw distributions of labels up to `top`, in one batch for each number of documents.

    The numbers of documents have equal shares, and so have the four kinds. What is left over goes
    to the first of them, and a number of documents without a share has no batch.
    """
    n_cells = 4 * len(SIZES)
    for i, m in enumerate(SIZES):
        # The remainder goes to the first kind with every number of documents, then to the second
        # kind, and so on.
        places = np.arange(4) * len(SIZES) + i
        counts = n_distributions // n_cells + (places < n_distributions % n_cells)
        grades = random.integers(0, top + 1, size=(counts[0], 3, m))
        binary = random.integers(0, min(top, 1) + 1, size=(counts[1], 3, m))
        batches = [
            _batch(labels, random.dirichlet(np.ones(3), size=len(labels)))
            for labels in (grades, binary)
            if len(labels)
        ]
        if counts[2]:
            batches.append(_rare_gains(counts[2], m, top, random))
        if counts[3]:
            batches.append(_near_ties(counts[3], m, top, dcg, random))
        if batches:
            yield DistributionBatch.concatenate(batches)


def _neighbours(
    distribution: LabelDistribution, n: int, top: int, random: np.random.Generator
) -> DistributionBatch:
    """Draw `n` distributions similar to a given one.

    The probabilities are changed at random, some labels are changed by 1, and a few labels are
    replaced by random ones up to `top`.
    """
    shape = (n, *distribution.labels.shape)
    steps = random.integers(-1, 2, size=shape) * (random.random(shape) < 0.3)
    largest = max(top, distribution.labels.max())
    moved = np.clip(distribution.labels + steps, 0, largest)
    is_replaced = random.random(shape) < 0.1
    labels = np.where(is_replaced, random.integers(0, top + 1, size=shape), moved)
    noise = np.exp(0.5 * random.normal(size=(n, len(distribution.labels))))
    weights = distribution.probabilities * noise
    return _batch(labels, weights / weights.sum(axis=1, keepdims=True))


def _rare_gains(n: int, m: int, top: int, random: np.random.Generator) -> DistributionBatch:
    """Draw `n` distributions with small labels in the usual outcome, and large in a rare one."""
    usual = random.integers(0, min(top, 2) + 1, size=(n, m))
    rare = random.integers(0, top + 1, size=(n, m))
    rare = np.where(random.random((n, m)) < 0.5, np.maximum(rare, top - 1), rare)
    probability = random.uniform(0.03, 0.4, size=n)
    probabilities = np.stack([probability, 1.0 - probability], axis=1)
    return _batch(np.stack([rare, usual], axis=1), probabilities)


def _near_ties(
    n: int, m: int, top: int, dcg: DCG, random: np.random.Generator
) -> DistributionBatch:
    """Draw `n` distributions with two outcomes that sort two documents in opposite ways.

    The probabilities are near those at which the expected normalized gains of the two documents are
    equal.
    """
    labels = random.integers(0, top + 1, size=(n, 2, m)).astype(np.float64)
    # In the first outcome document 0 has the larger label, in the second outcome document 1.
    labels[:, 0, :2] = -np.sort(-labels[:, 0, :2], axis=1)
    labels[:, 1, :2] = np.sort(labels[:, 1, :2], axis=1)
    batch = _batch(labels, np.full((n, 2), 0.5))
    targets = batch.targets("dcg", dcg).values.reshape(n, 2, m)
    for_first = targets[:, 0, 0] - targets[:, 0, 1]
    for_second = targets[:, 1, 1] - targets[:, 1, 0]
    total = for_first + for_second
    tie = np.divide(for_second, total, out=np.full(n, 0.5), where=total > 0)
    shift = random.choice(NEAR_TIES, size=n) * random.choice([-1, 1], size=n) / 100.0
    probability = np.clip(tie + shift, 0.01, 0.99)
    return _batch(labels, np.stack([probability, 1.0 - probability], axis=1))


def _batch(labels: Floats | Ints, probabilities: Floats) -> DistributionBatch:
    """Distributions with probabilities that are rounded to whole hundredths, of which the sum is 1.

    Each probability is at least one hundredth.
    """
    n, n_outcomes, m = labels.shape
    hundredths = np.maximum(1, np.round(100.0 * probabilities))
    hundredths[np.arange(n), hundredths.argmax(axis=1)] += 100 - hundredths.sum(axis=1)
    return DistributionBatch(
        values=labels.reshape(-1, m).astype(np.float64),
        probabilities=hundredths.ravel() / 100.0,
        outcomes=Segments.from_sizes([n_outcomes] * n),
    )
