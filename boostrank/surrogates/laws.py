"""A numeric check of the laws that every surrogate obeys; run it on a surrogate of your own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import as_generator
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate, closed_form
from boostrank.surrogates.expected_losses import Distributions, ExpectedLoss, minimize
from boostrank.surrogates.separable import Separable

# Levels of the targets whose expected loss is minimized. Few and different levels find inconsistent losses soonest.
TARGET_LEVELS = [0.02, 0.3, 0.6, 0.95]
# Numbers of documents of the queries.
SIZES = [4, 1, 3, 2, 6]
# Standard deviations of the random scores.
SCORE_SIZES = [0.1, 1.0, 3.0]
# Step of numeric differentiation, and its largest relative error.
STEP, DERIVATIVE_TOLERANCE = 1e-5, 1e-4
# Largest difference of results that differ because of rounding, or because an iteration stops early.
ROUNDING_TOLERANCE = 1e-6
# At scores of this size, the loss must not decrease outward, apart from a slope of this size. Infinite target bounds
# are replaced by targets of this size.
DISTANT_SCORE, MAX_OUTWARD_DESCENT, DISTANT_TARGET = 1e6, 1e-3, 1e3
# Numbers of documents and of outcomes of the distributions of targets, and number of distributions of each kind.
DISTRIBUTIONS, N_DISTRIBUTIONS = [(2, 2), (3, 2), (3, 3), (4, 3)], 10
# Expected targets that differ by more than this, relative to the range of targets, must have different minimizing
# scores.
MIN_TARGET_GAP = 0.03
# Length of scores for which a loss that is least in the limit of infinite length is nearly least.
INFINITE_LENGTH = 1e6


class _Sample(NamedTuple):
    """Arguments of the methods of a surrogate."""

    scores: Floats
    targets: Floats
    queries: Segments


def check(surrogate: Surrogate, *, random_state: int = 0) -> None:
    """Check numerically, at random scores and targets, that a surrogate obeys the laws of surrogates.

    - The methods return arrays of the right shapes, with finite values.
    - The methods leave their arguments unchanged.
    - The gradient is the derivative of the loss.
    - The Hessian is the exact diagonal, or a majorant, as `hessian` says.
    - Queries do not depend on each other, and permuting the documents of a query permutes its gradient and Hessian, and
      does not change its loss, even if documents have equal scores.
    - `best_constant` has a smaller total loss than nearby constants.
    - If `convex`, `shift_invariant` or `separable` is True, the loss has this property, and if `linear_in_targets` is
      True, the gradient has it.
    - A separable loss is bounded below for targets within `target_bounds`.
    - If a :class:`~boostrank.surrogates.Separable` defines `inverse_slope` or `dual`, the slope at `inverse_slope` is
      the given one, and the loss is 0 where it is least.
    - If `consistent` is True, the minimizers of expected losses sort like the expected targets, for 40 random
      distributions of targets (Ravikumar, Tewari and Yang, AISTATS 2011, Theorem 6).
      :func:`boostrank.theory.check_consistency` searches much longer for a counterexample.
    - If `reweighted` is True, `at` gives the same results at the scores of the weights. The laws of derivatives and of
      minimizers hold for the loss with fixed weights. If it is convex, every zero of the expected gradient is the
      minimizer for the weights of these scores, and so sorts like the expected targets too.
    - If `minimizer` has a closed form, no other scores have a smaller expected loss.

    Parameters
    ----------
    surrogate : Surrogate
    random_state : int, default 0
        Seed of the scores, which are normal with the standard deviations 0.1, 1 and 3, and of the targets, which are
        within [0, 1] and within `target_bounds`.

    Raises
    ------
    TypeError
        If `surrogate` is not an instance of Surrogate.
    ValueError
        If the surrogate breaks a law. The message names the first law that is broken, with the numbers that show it.

    Examples
    --------
    >>> from boostrank.surrogates import Separable
    >>> class Quartic(Separable):
    ...     def potential(self, scores):
    ...         return scores**2 / 2 + scores**4 / 4
    ...     def slope_curvature(self, scores):
    ...         return scores + scores**3, 1.0 + scores**2
    >>> check(Quartic())
    Traceback (most recent call last):
    ValueError: Quartic(): the Hessian is not the exact diagonal: it is 1.0223 where numeric derivatives give 1.06691
    """
    if not isinstance(surrogate, Surrogate):
        raise TypeError(f"surrogate must be an instance of Surrogate; got {surrogate!r}")
    _check_traits(surrogate)
    random = as_generator(random_state)
    for size in SCORE_SIZES:
        sample = _sample(surrogate, size, random)
        _check_results(surrogate, sample)
        _check_queries(surrogate, sample)
        _check_derivatives(surrogate, sample)
        _check_permutation(surrogate, sample)
        _check_declarations(surrogate, sample)
        _check_best_constant(surrogate, sample)
    if surrogate.separable:
        _check_bounds(surrogate)
    if isinstance(surrogate, Separable):
        _check_dual(surrogate)
    _check_minimizers(surrogate, random)


def _sample(surrogate: Surrogate, size: float, random: np.random.Generator) -> _Sample:
    """Random scores of this size, and random targets within the bounds; the last query has the smallest target only."""
    low, high = finite_bounds(surrogate)
    n_documents = sum(SIZES)
    shares = random.random(n_documents) * random.integers(0, 2, n_documents)
    shares[-SIZES[-1] :] = 0.0
    return _Sample(size * random.normal(size=n_documents), low + (high - low) * shares, Segments.from_sizes(SIZES))


def _check_traits(surrogate: Surrogate) -> None:
    hessian, (low, high) = surrogate.hessian, finite_bounds(surrogate)
    _demand(hessian in ("exact", "majorant"), surrogate, f"hessian must be 'exact' or 'majorant'; got {hessian!r}")
    law = f"target_bounds must include normalized gains, which are from 0 to 1; got {surrogate.target_bounds!r}"
    _demand(low < high, surrogate, law)


def _check_results(surrogate: Surrogate, sample: _Sample) -> None:
    before, n_documents = np.array(sample[:2]), sample.queries.n_rows
    loss, (gradient, hessian) = surrogate.loss(*sample), surrogate.gradient_hessian(*sample)
    changed = not np.array_equal(before, sample[:2])
    _demand(not changed, surrogate, "it changes the arrays of scores or targets that it is given")
    sizes = {"loss": sample.queries.n_segments, "gradient": n_documents, "Hessian": n_documents}
    for (name, size), values in zip(sizes.items(), (loss, gradient, hessian), strict=True):
        shape = np.shape(values)
        _demand(shape == (size,), surrogate, f"the {name} must have shape {(size,)}; got {shape}")
        _demand(np.isfinite(values).all(), surrogate, f"the {name} is not finite")


def _check_queries(surrogate: Surrogate, sample: _Sample) -> None:
    scores, targets, queries = sample
    results = _results(surrogate, sample)
    law = "the loss, gradient or Hessian of a query depends on the other queries"
    for query in range(queries.n_segments):
        rows = queries.rows_of(np.array([query]))
        alone = _Sample(scores[rows], targets[rows], Segments.from_sizes([len(rows)]))
        _demand(_same(results[:, rows], _results(surrogate, alone)), surrogate, law)


def _check_derivatives(surrogate: Surrogate, sample: _Sample) -> None:
    fixed = surrogate.at(sample.scores, sample.queries)
    law = "at the scores that at() is given, its loss, gradient or Hessian differs"
    _demand(_same(_results(surrogate, sample), _results(fixed, sample)), surrogate, law)
    gradient, hessian = surrogate.gradient_hessian(*sample)
    slopes, matrix = _differentiate(surrogate, sample)
    _compare(surrogate, gradient, slopes, "the gradient is not the derivative of the loss")
    if surrogate.hessian == "exact":
        _compare(surrogate, hessian, np.diag(matrix), "the Hessian is not the exact diagonal")
    else:
        least = np.linalg.eigvalsh(np.diag(hessian) - matrix)[0]
        law = f"the Hessian is not a majorant: diag(Hessian) minus the true one has eigenvalue {least:g}"
        _demand(least >= -_tolerance(matrix), surrogate, law)
    if surrogate.convex:
        least = np.linalg.eigvalsh(matrix)[0]
        law = f"convex is True, but the matrix of second derivatives has the negative eigenvalue {least:g}"
        _demand(least >= -_tolerance(matrix), surrogate, law)


def _differentiate(surrogate: Surrogate, sample: _Sample) -> tuple[Floats, Floats]:
    """Derivatives of the loss, and the matrix of derivatives of the gradient, both from differences.

    Row i of the matrix has the derivatives of the gradients of all documents with respect to the score of document i.
    It is symmetric, because the gradient is the derivative of a loss.
    """
    scores, targets, queries = sample
    n = len(scores)
    copies = Segments.from_sizes(np.tile(queries.sizes, n))
    fixed = surrogate.at(np.tile(scores, n), copies)
    # There are n copies of all queries, which do not change the results of each other. In copy i, document i has moved.
    below, above = (
        _results(fixed, _Sample((scores + step * np.eye(n)).ravel(), np.tile(targets, n), copies))
        for step in (-STEP, STEP)
    )
    losses, gradients, _ = ((above - below) / (2.0 * STEP)).reshape(3, n, n)
    return np.diag(losses), gradients


def _check_permutation(surrogate: Surrogate, sample: _Sample) -> None:
    # The scores are random, so this permutation is random too.
    permutation = sample.queries.sort(sample.scores)
    law = "permuting the documents of a query changes its loss, or does not permute its derivatives"
    # Many scores have the same sign, and so are tied.
    for scores in (sample.scores, np.sign(sample.scores)):
        permuted = _Sample(scores[permutation], sample.targets[permutation], sample.queries)
        results = _results(surrogate, sample._replace(scores=scores))[:, permutation]
        _demand(_same(results, _results(surrogate, permuted)), surrogate, law)


def _check_declarations(surrogate: Surrogate, sample: _Sample) -> None:
    """Check that a surrogate that declares a trait has it."""
    scores, targets, queries = sample
    results = _results(surrogate, sample)
    if surrogate.shift_invariant:
        shifted = sample._replace(scores=scores + queries.repeat(queries.max(np.abs(scores))))
        law = "shift_invariant is True, but adding a constant to the scores of a query changes the results"
        _demand(_same(results, _results(surrogate, shifted)), surrogate, law)
    if surrogate.separable:
        alone = _results(surrogate, sample._replace(queries=_single(len(scores))))
        alone[0] = queries.repeat(queries.sum(alone[0]))
        law = "separable is True, but the loss of a query is not the sum of the losses of its documents"
        _demand(_same(results, alone), surrogate, law)
    if surrogate.linear_in_targets:
        # Any shares between 0 and 1 serve that differ between the documents.
        share = expit(scores)
        shares = share, 1.0 - share
        gradients = [_results(surrogate, sample._replace(targets=targets * factor))[1] for factor in shares]
        law = "linear_in_targets is True, but the gradients of two parts of the targets do not add up"
        _demand(_same(np.add(*gradients), results[1]), surrogate, law)


def _check_best_constant(surrogate: Surrogate, sample: _Sample) -> None:
    _, targets, queries = sample
    best = surrogate.best_constant(targets, queries, None)

    def total(constant: float) -> float:
        return float(surrogate.loss(np.full(len(targets), constant), targets, queries).sum())

    for other in (best - 0.1, best + 0.1):
        # 0 is the value for a loss that no constant minimizes.
        is_best = best == 0.0 or total(other) >= total(best) - ROUNDING_TOLERANCE
        _demand(is_best, surrogate, f"best_constant gives {best:g}, but {other:g} has a smaller total loss")


def _check_bounds(surrogate: Surrogate) -> None:
    """Check that a separable loss does not decrease at distant scores, for the smallest and the largest target."""
    low, high = surrogate.target_bounds
    for side, target, advice in (
        (1.0, min(high, DISTANT_TARGET), "lower the upper bound"),
        (-1.0, max(low, -DISTANT_TARGET), "raise the lower bound"),
    ):
        score = side * DISTANT_SCORE
        slope = surrogate.gradient_hessian(np.array([score]), np.array([target]), _single(1))[0][0]
        law = (
            f"target_bounds is {surrogate.target_bounds}, but for the target {target:g} the loss is not bounded below: "
            f"at the score {score:g} its slope is still {slope:g}; {advice}"
        )
        _demand(side * slope >= -MAX_OUTWARD_DESCENT, surrogate, law)


def _check_dual(surrogate: Separable) -> None:
    """Check that `inverse_slope` inverts the slope, and that a loss with a `dual` of its own is 0 where it is least."""
    low, high = finite_bounds(surrogate)
    targets = low + (high - low) * np.array(TARGET_LEVELS)
    scores = surrogate.inverse_slope(targets)
    slopes = surrogate.slope_curvature(scores)[0]
    law = f"the slope at inverse_slope({targets.tolist()}) is {slopes.round(6).tolist()}"
    _demand(_same(slopes, targets), surrogate, law)
    losses = surrogate.loss(scores, targets, _single(len(targets)))
    has_dual = type(surrogate).dual is not Separable.dual
    law = f"dual is wrong: the least losses of {targets.tolist()} are {losses.tolist()} instead of 0"
    _demand(not has_dual or _same(losses, np.zeros_like(losses)), surrogate, law)


def _check_minimizers(surrogate: Surrogate, random: np.random.Generator) -> None:
    """Check how minimizers of expected losses sort, and the closed form of `minimizer`."""
    for n_documents, n_outcomes in DISTRIBUTIONS:
        targets = _draw_targets(surrogate, n_documents, n_outcomes, random)
        expected, loss = targets.mean(), ExpectedLoss(surrogate, targets)
        formula = closed_form(surrogate, expected)
        if formula is None and not surrogate.consistent:
            return
        # The weights of a reweighted surrogate belong to random scores, and stay the same.
        loss = loss.at(random.normal(size=targets.shape))
        solution = minimize(loss, np.zeros(targets.shape))
        if surrogate.consistent:
            _check_consistency(surrogate, targets, solution.scores)
        if formula is not None:
            losses = loss(formula * (INFINITE_LENGTH if surrogate.least_at_infinite_length else 1.0))
            i = int(np.argmax(losses - solution.losses))
            law = (
                f"minimizer gives {formula[i].round(4).tolist()} for expected targets {expected[i].round(4).tolist()}, "
                f"with the expected loss {losses[i]:g}, but other scores have the expected loss {solution.losses[i]:g}"
            )
            _demand(losses[i] <= solution.losses[i] + ROUNDING_TOLERANCE, surrogate, law)


def _check_consistency(surrogate: Surrogate, targets: Distributions, scores: Floats) -> None:
    """Check that scores with the least expected loss sort like the expected targets."""
    expected = targets.mean()
    low, high = finite_bounds(surrogate)
    better = expected[:, :, None] - expected[:, None, :] > MIN_TARGET_GAP * (high - low)
    wrong = (better & (scores[:, :, None] <= scores[:, None, :])).any(axis=(1, 2))
    i = int(np.argmax(wrong))
    worst = targets.take(np.array([i]))
    law = (
        f"consistent is True, but for expected targets {expected[i].round(4).tolist()} the minimizer of the expected "
        f"loss is {scores[i].round(4).tolist()}, which does not sort like them; the targets are "
        f"{worst.values.round(4).tolist()} with the probabilities {worst.probabilities.round(4).tolist()}"
    )
    _demand(not wrong.any(), surrogate, law)


def _draw_targets(
    surrogate: Surrogate, n_documents: int, n_outcomes: int, random: np.random.Generator
) -> Distributions:
    """Draw distributions of targets of a few levels within the bounds."""
    low, high = finite_bounds(surrogate)
    outcomes = Segments.from_sizes([n_outcomes] * N_DISTRIBUTIONS)
    values = low + (high - low) * random.choice(TARGET_LEVELS, (outcomes.n_rows, n_documents))
    return Distributions(values, random.dirichlet(np.ones(n_outcomes), N_DISTRIBUTIONS).ravel(), outcomes)


def finite_bounds(surrogate: Surrogate) -> tuple[float, float]:
    """The part of the surrogate's target bounds that is in [0, 1]."""
    low, high = surrogate.target_bounds
    return max(low, 0.0), min(high, 1.0)


def _single(n_documents: int) -> Segments:
    """Each document as a query of its own."""
    return Segments.from_sizes([1] * n_documents)


def _results(surrogate: Surrogate, sample: _Sample) -> Floats:
    """Loss of the query, gradient and Hessian of each document, shape (3, n_documents)."""
    return np.array([sample.queries.repeat(surrogate.loss(*sample)), *surrogate.gradient_hessian(*sample)])


def _same(results: Floats, expected: Floats) -> bool:
    """Whether two arrays differ by rounding only, or by iterations that stop early."""
    return np.allclose(results, expected, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE)


def _compare(surrogate: Surrogate, values: Floats, expected: Floats, complaint: str) -> None:
    """Raise an error if values differ from numeric derivatives."""
    error = np.abs(values - expected)
    worst = int(np.argmax(error))
    law = f"{complaint}: it is {values[worst]:g} where numeric derivatives give {expected[worst]:g}"
    _demand(error[worst] <= _tolerance(expected), surrogate, law)


def _tolerance(derivatives: Floats) -> float:
    """Largest difference from these numeric derivatives that counts as a numeric error."""
    return DERIVATIVE_TOLERANCE * max(1.0, float(np.abs(derivatives).max()))


def _demand(holds: bool | np.bool_, surrogate: Surrogate, complaint: str) -> None:
    """Raise ValueError with a complaint about the surrogate unless a law holds."""
    if not holds:
        raise ValueError(f"{surrogate!r}: {complaint}")
