"""A numeric check of the laws that every surrogate obeys; run it on a surrogate of your own."""

from __future__ import annotations

from typing import NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from boostrank.segments import Floats, Segments
from boostrank.surrogates.base import Surrogate, closed_form
from boostrank.surrogates.separable import Separable

# Numbers of documents of the queries.
SIZES = [4, 1, 3, 2, 6]
# Step of numeric differentiation, and its largest relative error.
STEP, DERIVATIVE_TOLERANCE = 1e-5, 1e-4
# Largest difference of results that differ because of rounding, or because an iteration stops early.
ROUNDING_TOLERANCE = 1e-6
# Expected targets that differ by more than this, relative to the largest target, must have different minimizing scores.
MIN_TARGET_GAP = 0.03
# Levels of the targets whose expected loss is minimized. Few and different levels find inconsistent losses soonest.
TARGET_LEVELS = [0.02, 0.3, 0.6, 0.95]
# Length of scores for which a loss that is least in the limit of infinite length is nearly least.
INFINITE_LENGTH = 1e6


class _Sample(NamedTuple):
    """Arguments of the methods of a surrogate."""

    scores: Floats
    targets: Floats
    queries: Segments


def check(surrogate: Surrogate, *, random_state: int = 0) -> None:
    """Check numerically, at random scores and targets, that a surrogate obeys the laws of surrogates.

    - The traits have valid values, and the methods return arrays of the right shapes, with finite values.
    - The methods leave their arguments unchanged.
    - The gradient is the derivative of the loss.
    - The Hessian is the exact diagonal, or a majorant, as `hessian` says.
    - Queries do not depend on each other, and permuting the documents of a query permutes its gradient and Hessian.
    - `best_constant` has a smaller total loss than nearby constants.
    - If `convex`, `shift_invariant` or `separable` is True, the loss has this property, and if `linear_in_targets` is
      True, the gradient has it.
    - A separable loss is bounded below for targets within `target_bounds`.
    - If a :class:`~boostrank.surrogates.Separable` defines `inverse_slope` or `dual`, the slope at `inverse_slope` is
      the given one, and the loss is 0 where it is least.
    - If `consistent` is True, the minimizers of expected losses sort like the expected targets, for 40 random
      distributions of targets (Ravikumar, Tewari and Yang, AISTATS 2011, Theorem 6).
      :func:`boostrank.theory.check_consistency` searches much longer for a counterexample.
    - If `minimizer` has a closed form, no other scores have a smaller expected loss.

    Parameters
    ----------
    surrogate : Surrogate
    random_state : int, default 0
        Seed of the scores and targets.

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
    random = np.random.default_rng(random_state)
    for size in (0.1, 1.0, 3.0):
        sample = _sample(surrogate, size, random)
        _check_results(surrogate, sample)
        _check_derivatives(surrogate, sample)
        for law in (_check_queries, _check_permutation, _check_shift):
            law(surrogate, sample, random)
    sample = _sample(surrogate, 1.0, random)
    _check_separability(surrogate, sample)
    _check_linearity(surrogate, sample, random)
    _check_best_constant(surrogate, _sample(surrogate, 1.0, random))
    _check_bounds(surrogate)
    if surrogate.consistent:
        _check_consistency(surrogate, random)
    _check_dual(surrogate)
    _check_minimizer(surrogate, random)


def _sample(surrogate: Surrogate, size: float, random: np.random.Generator) -> _Sample:
    """Random scores of this size, and random targets within the bounds; the last query has the smallest target only."""
    low, high = _finite_bounds(surrogate)
    n_documents = sum(SIZES)
    shares = random.random(n_documents) * random.integers(0, 2, n_documents)
    shares[-SIZES[-1] :] = 0.0
    return _Sample(size * random.normal(size=n_documents), low + (high - low) * shares, Segments.from_sizes(SIZES))


def _finite_bounds(surrogate: Surrogate) -> tuple[float, float]:
    """The part of the surrogate's target bounds that is in [0, 1]."""
    low, high = surrogate.target_bounds
    return max(low, 0.0), min(high, 1.0)


def _check_traits(surrogate: Surrogate) -> None:
    for name in (
        "consistent",
        "convex",
        "separable",
        "linear_in_targets",
        "shift_invariant",
        "least_at_infinite_length",
    ):
        if not isinstance(getattr(surrogate, name), bool):
            _fail(surrogate, f"{name} must be True or False; got {getattr(surrogate, name)!r}")
    if surrogate.hessian not in ("exact", "majorant"):
        _fail(surrogate, f"hessian must be 'exact' or 'majorant'; got {surrogate.hessian!r}")
    bounds = surrogate.target_bounds
    if not isinstance(bounds, tuple) or len(bounds) != 2 or not bounds[0] < bounds[1]:
        _fail(surrogate, f"target_bounds must be a tuple of two numbers, the smaller one first; got {bounds!r}")
    low, high = _finite_bounds(surrogate)
    if not low < high:
        _fail(surrogate, f"target_bounds must include normalized gains, which are from 0 to 1; got {bounds!r}")


def _check_results(surrogate: Surrogate, sample: _Sample) -> None:
    scores, targets, queries = sample
    before = scores.copy(), targets.copy()
    derivatives = surrogate.gradient_hessian(*sample)
    if not isinstance(derivatives, tuple) or len(derivatives) != 2:
        _fail(surrogate, f"gradient_hessian must return a tuple of two arrays; got {type(derivatives).__name__}")
    results = {"loss": surrogate.loss(*sample), "gradient": derivatives[0], "Hessian": derivatives[1]}
    if not all(np.array_equal(old, new) for old, new in zip(before, (scores, targets), strict=True)):
        _fail(surrogate, "it changes the arrays of scores or targets that it is given")
    for name, values in results.items():
        shape = (queries.n_segments,) if name == "loss" else scores.shape
        if np.shape(values) != shape:
            _fail(surrogate, f"the {name} must have shape {shape}; got {np.shape(values)}")
        if not np.isfinite(values).all():
            _fail(surrogate, f"the {name} is not finite")


def _check_derivatives(surrogate: Surrogate, sample: _Sample) -> None:
    gradient, hessian = surrogate.gradient_hessian(*sample)
    expected, matrices = _differentiate(surrogate, sample)
    _compare(surrogate, gradient, expected, "the gradient is not the derivative of the loss")
    diagonals = np.concatenate([np.diag(matrix) for matrix in matrices])
    if surrogate.hessian == "exact":
        _compare(surrogate, hessian, diagonals, "the Hessian is not the exact diagonal")
    parts = np.split(hessian, sample.queries.ends[:-1])
    for matrix, part in zip(matrices, parts, strict=True):
        tolerance = DERIVATIVE_TOLERANCE * max(1.0, np.abs(matrix).max())
        if surrogate.hessian == "majorant" and np.linalg.eigvalsh(np.diag(part) - matrix)[0] < -tolerance:
            _fail(
                surrogate,
                f"the Hessian is not a majorant: diag({part.round(6).tolist()}) minus the Hessian matrix of the query, "
                f"{matrix.round(6).tolist()}, has a negative eigenvalue",
            )
        if surrogate.convex and np.linalg.eigvalsh(matrix)[0] < -tolerance:
            least = np.linalg.eigvalsh(matrix)[0]
            _fail(surrogate, f"convex is True, but the Hessian of a query has the negative eigenvalue {least:g}")


def _differentiate(surrogate: Surrogate, sample: _Sample) -> tuple[Floats, list[NDArray[np.float64]]]:
    """Gradient from differences of the loss, and the Hessian matrix of each query from differences of the gradient.

    The scores of the documents at the same position in all queries change together, because the losses of different
    queries do not depend on each other.
    """
    scores, targets, queries = sample
    gradient, columns = np.empty_like(scores), np.zeros((int(queries.sizes.max()), len(scores)))
    for position in range(len(columns)):
        moved = queries.positions == position
        step = np.where(moved, STEP, 0.0)
        losses = [surrogate.loss(scores + sign * step, targets, queries) for sign in (1.0, -1.0)]
        gradients = [surrogate.gradient_hessian(scores + sign * step, targets, queries)[0] for sign in (1.0, -1.0)]
        gradient[moved] = queries.repeat(losses[0] - losses[1])[moved] / (2.0 * STEP)
        columns[position] = (gradients[0] - gradients[1]) / (2.0 * STEP)
    matrices = []
    for start, end in zip(queries.starts, queries.ends, strict=True):
        matrix = columns[: end - start, start:end]
        matrices.append((matrix + matrix.T) / 2.0)
    return gradient, matrices


def _check_queries(surrogate: Surrogate, sample: _Sample, random: np.random.Generator) -> None:
    scores, targets, queries = sample
    others = queries.repeat(np.arange(queries.n_segments) != 2)
    changed = np.where(others, scores, scores + random.normal(size=len(scores)))
    for one, other in _results(surrogate, sample, _Sample(changed, targets, queries)):
        if not np.allclose(one[others], other[others], atol=ROUNDING_TOLERANCE):
            _fail(surrogate, "the scores of one query change the gradient or Hessian of another")


def _check_permutation(surrogate: Surrogate, sample: _Sample, random: np.random.Generator) -> None:
    scores, targets, queries = sample
    permutation = queries.sort(random.random(len(scores)))
    permuted = _Sample(scores[permutation], targets[permutation], queries)
    for one, other in _results(surrogate, sample, permuted):
        if not np.allclose(one[permutation], other, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE):
            _fail(surrogate, "permuting the documents of a query does not permute its gradient and Hessian")


def _check_shift(surrogate: Surrogate, sample: _Sample, random: np.random.Generator) -> None:
    if not surrogate.shift_invariant:
        return
    scores, targets, queries = sample
    shifted = _Sample(scores + queries.repeat(random.normal(size=queries.n_segments)), targets, queries)
    pairs = [*_results(surrogate, sample, shifted), (surrogate.loss(*sample), surrogate.loss(*shifted))]
    if not all(np.allclose(one, other, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE) for one, other in pairs):
        _fail(surrogate, "shift_invariant is True, but adding a constant to the scores of a query changes the results")


def _check_separability(surrogate: Surrogate, sample: _Sample) -> None:
    if not surrogate.separable:
        return
    scores, targets, queries = sample
    alone = _Sample(scores, targets, Segments.from_sizes(np.ones(len(scores), dtype=np.int64)))
    same_losses = np.allclose(queries.sum(surrogate.loss(*alone)), surrogate.loss(*sample))
    if not same_losses or not all(np.allclose(one, other) for one, other in _results(surrogate, sample, alone)):
        _fail(surrogate, "separable is True, but the loss of a query is not the sum of the losses of its documents")


def _check_linearity(surrogate: Surrogate, sample: _Sample, random: np.random.Generator) -> None:
    if not surrogate.linear_in_targets:
        return
    scores, targets, queries = sample
    share = random.random(len(targets))
    parts = [surrogate.gradient_hessian(scores, targets * part, queries)[0] for part in (share, 1.0 - share)]
    whole = surrogate.gradient_hessian(scores, targets, queries)[0]
    if not np.allclose(sum(parts), whole, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE):
        _fail(surrogate, "linear_in_targets is True, but the gradients of two parts of the targets do not add up")


def _check_best_constant(surrogate: Surrogate, sample: _Sample) -> None:
    _, targets, queries = sample
    best = surrogate.best_constant(targets, queries, None)

    def total(constant: float) -> float:
        return float(surrogate.loss(np.full(len(targets), constant), targets, queries).sum())

    for other in (best - 0.1, best + 0.1):
        # 0 is the value for a loss that no constant minimizes.
        if best != 0.0 and total(other) < total(best) - ROUNDING_TOLERANCE:
            _fail(surrogate, f"best_constant gives {best:g}, but {other:g} has a smaller total loss")


def _check_bounds(surrogate: Surrogate) -> None:
    """Check that a separable loss does not decrease at distant scores, for the smallest and the largest target."""
    if not surrogate.separable:
        return
    low, high = surrogate.target_bounds
    one = Segments.from_sizes([1])
    advices = "lower the upper bound", "raise the lower bound"
    for advice, target, score in zip(advices, (min(high, 1e3), max(low, -1e3)), (1e6, -1e6), strict=True):
        slope = surrogate.gradient_hessian(np.array([score]), np.array([target]), one)[0][0]
        if slope * np.sign(score) < -1e-3:
            _fail(
                surrogate,
                f"target_bounds is {surrogate.target_bounds}, but for the target {target:g} the loss is not bounded "
                f"below: at the score {score:g} its slope is still {slope:g}; {advice}",
            )


def _check_minimizer(surrogate: Surrogate, random: np.random.Generator) -> None:
    for n_documents, n_outcomes in [(2, 2), (4, 3)] * 3:
        expectation = _draw_expectation(surrogate, n_documents, n_outcomes, random)
        scores = closed_form(surrogate, expectation.targets_mean[None])
        if scores is None:
            return
        scores = scores[0] * (INFINITE_LENGTH if surrogate.least_at_infinite_length else 1.0)
        loss, least = (expectation.loss_gradient(each)[0] for each in (scores, expectation.minimize()))
        if loss > least + ROUNDING_TOLERANCE:
            _fail(
                surrogate,
                f"minimizer gives {scores.round(4).tolist()} for expected targets "
                f"{expectation.targets_mean.round(4).tolist()}, with the expected loss {loss:g}, but other scores have "
                f"the expected loss {least:g}",
            )


def _check_dual(surrogate: Surrogate) -> None:
    """Check that `inverse_slope` inverts the slope, and that a loss with a `dual` of its own is 0 where it is least."""
    if not isinstance(surrogate, Separable):
        return
    low, high = _finite_bounds(surrogate)
    targets = low + (high - low) * np.array(TARGET_LEVELS)
    scores = surrogate.inverse_slope(targets)
    slopes = surrogate.slope_curvature(scores)[0]
    if not np.allclose(slopes, targets, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE):
        _fail(surrogate, f"the slope at inverse_slope({targets.tolist()}) is {slopes.round(6).tolist()}")
    if type(surrogate).dual is Separable.dual:
        return
    losses = surrogate.loss(scores, targets, Segments.from_sizes(np.ones(len(targets), dtype=np.int64)))
    if not np.allclose(losses, 0.0, atol=ROUNDING_TOLERANCE):
        _fail(surrogate, f"dual is wrong: the least losses of {targets.tolist()} are {losses.tolist()} instead of 0")


def _check_consistency(surrogate: Surrogate, random: np.random.Generator) -> None:
    low, high = _finite_bounds(surrogate)
    for n_documents, n_outcomes in [(2, 2), (3, 2), (3, 3), (4, 3)] * 10:
        expectation = _draw_expectation(surrogate, n_documents, n_outcomes, random)
        expected, scores = expectation.targets_mean, expectation.minimize()
        better = expected[:, None] - expected[None, :] > MIN_TARGET_GAP * (high - low)
        wrong = better & (scores[:, None] - scores[None, :] <= 1e-4 * np.ptp(scores))
        if wrong.any():
            _fail(
                surrogate,
                f"consistent is True, but for expected targets {expected.round(4).tolist()} the minimizer of the "
                f"expected loss is {scores.round(4).tolist()}, which does not sort like them; the targets are "
                f"{expectation.targets.round(4).tolist()} with the probabilities "
                f"{expectation.probabilities.round(4).tolist()}",
            )


class _Expectation(NamedTuple):
    """A surrogate and a distribution of the targets of one query.

    `targets` has shape (n_outcomes, n_documents), `probabilities` has shape (n_outcomes,).
    """

    surrogate: Surrogate
    targets: Floats
    probabilities: Floats

    @property
    def targets_mean(self) -> Floats:
        return self.probabilities @ self.targets

    def loss_gradient(self, scores: Floats) -> tuple[float, Floats]:
        n_outcomes, n_documents = self.targets.shape
        outcomes = Segments.from_sizes(np.full(n_outcomes, n_documents))
        tiled = np.tile(scores, n_outcomes)
        loss = self.probabilities @ self.surrogate.loss(tiled, self.targets.ravel(), outcomes)
        gradient = self.surrogate.gradient_hessian(tiled, self.targets.ravel(), outcomes)[0]
        return float(loss), self.probabilities @ gradient.reshape(self.targets.shape)

    def minimize(self) -> Floats:
        return np.asarray(minimize(self.loss_gradient, np.zeros(self.targets.shape[1]), jac=True, method="BFGS").x)


def _draw_expectation(
    surrogate: Surrogate, n_documents: int, n_outcomes: int, random: np.random.Generator
) -> _Expectation:
    low, high = _finite_bounds(surrogate)
    targets = low + (high - low) * random.choice(TARGET_LEVELS, (n_outcomes, n_documents))
    return _Expectation(surrogate, targets, random.dirichlet(np.ones(n_outcomes)))


def _results(surrogate: Surrogate, one: _Sample, other: _Sample) -> list[tuple[Floats, Floats]]:
    """The pair of gradients, and the pair of Hessians, of two samples."""
    return list(zip(surrogate.gradient_hessian(*one), surrogate.gradient_hessian(*other), strict=True))


def _compare(surrogate: Surrogate, values: Floats, expected: Floats, complaint: str) -> None:
    """Raise an error if values differ from numeric derivatives."""
    error = np.abs(values - expected)
    if error.max() > DERIVATIVE_TOLERANCE * max(1.0, np.abs(expected).max()):
        worst = int(np.argmax(error))
        _fail(surrogate, f"{complaint}: it is {values[worst]:g} where numeric derivatives give {expected[worst]:g}")


def _fail(surrogate: Surrogate, complaint: str) -> NoReturn:
    raise ValueError(f"{surrogate!r}: {complaint}")
