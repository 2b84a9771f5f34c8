"""Is a loss NDCG consistent: a search for a label distribution on which its minimizer ranks worse than possible.

A surrogate is NDCG consistent if and only if, for every distribution of labels, the scores that minimize its expected
loss have the largest expected NDCG (Ravikumar, Tewari and Yang, AISTATS 2011, Lemma 3 and Theorem 6). One distribution
on which they do not is a proof of the contrary. That none is found among many is no proof of consistency; the proofs
are Theorem 9 for convex potentials, and the text of :mod:`boostrank.surrogates.profiled` for those without the query's
intercept: *profiling the intercept of a separable potential keeps it consistent*.

The search goes by a loss and its gradient. It does not assume that losses are linear in the targets, nor use a closed
form, nor believe what a surrogate says of its consistency; of its traits it takes whether the loss is convex, whether a
shift of the scores changes it, and the bounds of its targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from boostrank.dcg import DCG
from boostrank.segments import Floats
from boostrank.surrogates import Surrogate, get_surrogate
from boostrank.targets import CONSISTENT_NORMALIZATION, Normalize
from boostrank.theory.distributions import DistributionBatch, LabelDistribution
from boostrank.theory.minimizers import minimize_numerically, represent, within_bounds
from boostrank.theory.newton import SOLVED, ExpectedLoss
from boostrank.theory.search import candidates, highest_label, neighbours

# Scores closer than this part of their range count as tied, and smaller regrets could be errors of the minimizer: where
# its gradient vanishes up to SOLVED, and where only its loss is nearly least.
TIE, ROUGH_TIE = 1e-7, 1e-4
MIN_REGRET, MIN_ROUGH_REGRET = 100 * SOLVED, 1e-3
N_CLIMBS, N_CONFIRMED = 5, 10
# Neighbours of each parent, by how many distributions are drawn.
NEIGHBOURS_SHARE = 0.06
# What a gradient may differ by from differences of the loss, relatively.
GRADIENT_ERROR = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class ConsistencyReport:
    """What a search for a counterexample to NDCG consistency found; its ``repr`` says it in words.

    Attributes
    ----------
    surrogate : Surrogate
    normalize : str
    targets_dcg, metric : DCG
        What the targets are normalized by, and what regret is measured in.
    n_distributions : int
        Distributions examined.
    n_unsolved : int
        Distributions left out because no minimum was found.
    counterexample : LabelDistribution or None
        The one with the largest regret.
    minimizer, bayes : ndarray, shape (n_documents,), or None
        There, the scores of least expected loss, and the expected normalized gains of the metric.
    ndcg, best_ndcg, regret : float
        There, the expected NDCG of the minimizer, the largest possible, and the difference; 0 without counterexample.
    loss_gap : float
        How much higher the expected loss is, at least, for any scores that rank the documents as `bayes` does.
    """

    surrogate: Surrogate
    normalize: str
    targets_dcg: DCG
    metric: DCG
    n_distributions: int
    n_unsolved: int
    counterexample: LabelDistribution | None = None
    minimizer: Floats | None = None
    bayes: Floats | None = None
    ndcg: float = 0.0
    best_ndcg: float = 0.0
    regret: float = 0.0
    loss_gap: float = 0.0

    @property
    def consistent(self) -> bool:
        """Whether no counterexample was found."""
        return self.counterexample is None

    @property
    def declared(self) -> bool | None:
        """What surrogate and normalization claim (for a metric that is that of the targets); None if nothing."""
        declared = getattr(self.surrogate, "consistent", None)
        return None if declared is None else declared and self.normalize == CONSISTENT_NORMALIZATION

    def __repr__(self) -> str:
        lines = [f"{self.surrogate!r} with targets {self.normalize!r}"]
        if self.counterexample is None or self.minimizer is None or self.bayes is None:
            return "\n".join([*lines, f"no counterexample to consistency with {self._metric()}", self._among()])
        lines.append(f"not consistent with {self._metric()}: regret {self.regret:.4f}")
        lines.append(f"on a query of {self.counterexample.n_documents} documents that has the labels")
        for labels, probability in zip(self.counterexample.labels, self.counterexample.probabilities, strict=True):
            lines.append(f"  {' '.join(f'{label:g}' for label in labels)}   with probability {probability:.6g}")
        lines.append(f"minimizer       {_row(self.minimizer)}")
        lines.append(f"optimal E[G/Z]  {_row(self.bayes)}")
        lines.append(f"expected NDCG {self.ndcg:.4f} instead of {self.best_ndcg:.4f}")
        return "\n".join([*lines, self._among()])

    def _metric(self) -> str:
        name = str(self.metric).upper()
        return (
            name if self.metric == self.targets_dcg else f"{name}, with the targets of {str(self.targets_dcg).upper()}"
        )

    def _among(self) -> str:
        declared = {None: "nothing", True: "that it is consistent", False: "that it is not consistent"}[self.declared]
        text = f"{self.n_distributions} distributions searched; the loss declares {declared}"
        unsolved = f"\n{self.n_unsolved} more left out, because no minimum was found"
        return text + (unsolved if self.n_unsolved else "")


class _Examined(NamedTuple):
    """A batch, the minimizer of each of its distributions, and its regret, 0 where it is not known."""

    batch: DistributionBatch
    scores: Floats
    regrets: Floats
    n_solved: int
    n_unsolved: int


@dataclass(frozen=True)
class _Search:
    surrogate: Surrogate
    normalize: Normalize
    dcg: DCG
    metric: DCG

    def examine(self, batch: DistributionBatch, thorough: bool = False) -> _Examined:
        inside = within_bounds(self.surrogate, batch, batch.targets(self.normalize, self.dcg))
        if not inside.any():
            return _Examined(batch, np.zeros((0, batch.n_documents)), np.zeros(0), 0, 0)
        batch = batch.take(inside)
        solution = minimize_numerically(self.surrogate, batch, batch.targets(self.normalize, self.dcg), thorough)
        scores = _tied(solution.scores, np.where(solution.rough, ROUGH_TIE, TIE))
        regrets = batch.ndcg_regret(scores, self.metric)
        least = np.where(solution.rough, MIN_ROUGH_REGRET, MIN_REGRET)
        regrets = np.where(solution.solved & (regrets > least), regrets, 0.0)
        n_solved = int(solution.solved.sum())
        return _Examined(batch, scores, regrets, n_solved, batch.n_distributions - n_solved)

    def check_gradient(self, batch: DistributionBatch) -> None:
        """Refuse a surrogate whose gradient differs from differences of its loss, on most distributions."""
        batch = batch.take(within_bounds(self.surrogate, batch, batch.targets(self.normalize, self.dcg)))
        loss = ExpectedLoss(self.surrogate, batch, batch.targets(self.normalize, self.dcg))
        shape = (batch.n_distributions, batch.n_documents)
        scores, direction = np.random.default_rng(1).normal(size=(2, *shape))
        step = 1e-4 * direction
        rise, expected = loss(scores + step) - loss(scores - step), 2.0 * (loss.gradient(scores) * step).sum(axis=1)
        error = float(np.median(np.abs(rise - expected) / (loss.unit() * np.linalg.norm(2.0 * step, axis=1))))
        if not error <= GRADIENT_ERROR:
            raise ValueError(
                f"gradient_hessian() of {self.surrogate!r} does not give the gradient of its loss(): at random "
                f"scores, a small step changes the loss by another amount, with a relative error of {error:.2g}"
            )

    def loss_gap(self, distribution: LabelDistribution, scores: Floats) -> float:
        """How much the least expected loss rises when scores must rank documents optimally, apart from ties.

        That it does is a second, independent proof that the minimizer does not, whatever its accuracy.
        """
        batch = DistributionBatch.of([distribution])
        loss = ExpectedLoss(self.surrogate, batch, batch.targets(self.normalize, self.dcg))
        bayes = batch.bayes_scores(self.metric)[0]
        order = np.argsort(-bayes, kind="stable")
        n_counted = int(self.metric.cutoffs(batch.queries)[0])
        unit = np.eye(len(bayes))
        rows = np.array([unit[i] - unit[j] for i in order[:n_counted] for j in order if bayes[i] > bayes[j] + TIE])
        apart = 1e-3 * max(1.0, float(np.ptp(scores)))
        ordered, steps = np.empty_like(scores), np.empty_like(scores)
        ordered[order], steps[order] = np.sort(scores)[::-1], np.arange(len(scores))[::-1] - (len(scores) - 1) / 2.0
        least = min(_least_with(loss, rows, apart, ordered + size * steps) for size in (apart, 0.3, 1.0, 3.0))
        return least - float(loss(scores[None])[0])


def _least_with(loss: ExpectedLoss, rows: Floats, apart: float, start: Floats) -> float:
    """Least expected loss of scores with ``rows @ scores >= apart``, which `start` fulfils."""

    def value(scores: Floats) -> float:
        return float(loss(scores[None])[0])

    def gradient(scores: Floats) -> Floats:
        return loss.gradient(scores[None])[0]

    constraint = {"type": "ineq", "fun": lambda scores: rows @ scores - apart, "jac": lambda scores: rows}
    settings: dict[str, Any] = {"constraints": constraint, "options": {"ftol": 1e-14, "maxiter": 300}}
    found = optimize.minimize(value, start, jac=gradient, method="SLSQP", **settings)
    return min(value(start), float(found.fun) if np.isfinite(found.fun) else np.inf)


def check_consistency(
    surrogate: str | Surrogate,
    normalize: Normalize = "dcg",
    dcg: DCG | None = None,
    *,
    metric: DCG | None = None,
    distributions: Sequence[LabelDistribution] = (),
    n_distributions: int = 1600,
    random_state: Any = 0,
) -> ConsistencyReport:
    """Search for a label distribution on which minimizing the loss does not maximize expected NDCG.

    Distributions over 2 to 5 documents are drawn in four ways: uniform labels of many grades, of two grades, small
    labels with rare large ones, and pairs of outcomes between whose preferences the normalized gains nearly tie; the
    paper's counterexamples come first. On each, the expected loss is minimized numerically, and the regret of the
    minimizer is computed exactly. From the worst the search climbs on to neighbouring distributions. A counterexample
    is reported only if, in addition, every score vector in an optimal order has a higher expected loss.

    Parameters
    ----------
    surrogate : str or Surrogate
        By name, or an instance, for example of your own class. It needs a loss and its gradient, or if it is convex
        with kinks a subgradient.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        What the targets are; see :func:`boostrank.targets.make_targets`.
    dcg : DCG, optional
        Gain, discount and cutoff of the targets; the default is ``DCG()``.
    metric : DCG, optional
        What regret is measured in; that of the targets by default. Another shows what, say, a cutoff of the metric
        costs that the targets do not have.
    distributions : sequence of LabelDistribution, optional
        More distributions to examine, of any number of documents.
    n_distributions : int, default 1600
        About how many to draw.
    random_state : int, Generator or None

    Returns
    -------
    ConsistencyReport

    Raises
    ------
    ValueError
        If no distribution drawn has targets within the surrogate's bounds, its gradient is not that of its loss, or
        a setting is invalid.
    RuntimeError
        If the expected loss could not be minimized on any distribution.

    References
    ----------
    Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods", AISTATS 2011, Theorem 6 and
    Proposition 7.

    Examples
    --------
    >>> check_consistency("squared").consistent
    True
    >>> report = check_consistency("squared", normalize="none")
    >>> report.consistent, report.regret > 0.1
    (False, True)
    """
    if not isinstance(n_distributions, (int, np.integer)) or n_distributions < 1:
        raise ValueError(f"n_distributions must be an integer of at least 1; got {n_distributions!r}")
    targets_dcg = DCG() if dcg is None else dcg
    search = _Search(get_surrogate(surrogate), normalize, targets_dcg, targets_dcg if metric is None else metric)
    random, top = np.random.default_rng(random_state), min(highest_label(search.dcg), highest_label(search.metric))
    batches = [*_by_size(distributions), *candidates(int(n_distributions), search.metric, top, random)]
    _check_bounds(search, batches)
    examined = [search.examine(batch) for batch in batches]
    _check_solved(search, examined)
    n_neighbours = 1 + int(NEIGHBOURS_SHARE * n_distributions)
    for _ in range(N_CLIMBS):
        for parent in _worst_by_size(examined):
            examined.append(search.examine(neighbours(parent, n_neighbours, top, random)))
    return _report(search, examined)


def _worst_by_size(examined: list[_Examined]) -> list[LabelDistribution]:
    """For each number of documents with a positive regret, the distribution of the largest."""
    worst: dict[int, tuple[float, LabelDistribution]] = {}
    for batch, _, regrets, *_ in examined:
        regret = regrets.max(initial=0.0)
        if regret > worst.get(batch.n_documents, (0.0,))[0]:
            worst[batch.n_documents] = regret, batch[int(regrets.argmax())]
    return [distribution for _, distribution in worst.values()]


def _report(search: _Search, examined: list[_Examined]) -> ConsistencyReport:
    n_solved, n_unsolved = sum(each.n_solved for each in examined), sum(each.n_unsolved for each in examined)
    settings = (search.surrogate, search.normalize, search.dcg, search.metric)
    found = [(r, each, i) for each in examined for i, r in enumerate(each.regrets) if r > 0]
    for _, each, i in sorted(found, key=lambda one: -one[0])[:N_CONFIRMED]:
        one = DistributionBatch.of([each.batch[i]])
        ((scores,), (regret,)) = search.examine(one, thorough=True)[1:3]
        gap = search.loss_gap(one[0], scores) if regret > 0 else 0.0
        if gap > 0:
            bayes = one.bayes_scores(search.metric)
            best = float(one.expected_ndcg(bayes, search.metric)[0])
            shown = represent(search.surrogate, scores[None])[0]
            numbers = best - float(regret), best, float(regret), gap
            return ConsistencyReport(*settings, n_solved, n_unsolved, one[0], shown, bayes[0], *numbers)
    # What was taken for a minimum, and is none, decides nothing.
    return ConsistencyReport(*settings, n_solved - len(found), n_unsolved + len(found))


def _check_bounds(search: _Search, batches: list[DistributionBatch]) -> None:
    """Refuse a surrogate that has no distribution to examine, or not its own gradient on the first that it has."""
    for batch in batches:
        if within_bounds(search.surrogate, batch, batch.targets(search.normalize, search.dcg)).any():
            return search.check_gradient(batch)
    low, high = search.surrogate.target_bounds
    raise ValueError(
        f"{search.surrogate!r} needs targets in [{low:g}, {high:g}], and with normalize={search.normalize!r} no "
        "distribution drawn has such: use other targets or another surrogate"
    )


def _check_solved(search: _Search, examined: list[_Examined]) -> None:
    if not any(each.n_solved for each in examined):
        raise RuntimeError(
            f"no expected loss of {search.surrogate!r} with normalize={search.normalize!r} could be minimized: the "
            "loss may be unbounded below, or neither smooth nor convex"
        )


def _by_size(distributions: Sequence[LabelDistribution]) -> list[DistributionBatch]:
    sizes = sorted({distribution.n_documents for distribution in distributions})
    return [DistributionBatch.of([each for each in distributions if each.n_documents == size]) for size in sizes]


def _tied(scores: Floats, tolerance: Floats) -> Floats:
    """Scores with those made equal that are closer than `tolerance`, shape (n_distributions,), of their range."""
    order = np.argsort(scores, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    apart = np.diff(ordered, axis=1) > (tolerance * np.maximum(np.ptp(scores, axis=1), 0.01))[:, None]
    runs = np.concatenate([np.zeros((len(scores), 1), dtype=np.int64), apart.cumsum(axis=1)], axis=1)
    first = np.argmax(runs[:, :, None] == runs[:, None, :], axis=2)
    result = np.empty_like(scores)
    np.put_along_axis(result, order, np.take_along_axis(ordered, first, axis=1), axis=1)
    return result


def _row(values: Floats) -> str:
    return " ".join(f"{value:10.4g}" for value in values)
