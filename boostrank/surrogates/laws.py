"""A numeric check of the laws that every surrogate obeys; run it on a surrogate of your own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import as_generator
from boostrank.queries.segments import Segments
from boostrank.surrogates.base import Surrogate

# Whether each law holds, and the complaint if it does not.
Laws = Iterator[tuple[bool, str]]

# Numbers of documents of the queries.
SIZES = [4, 1, 3, 2, 6]
# Standard deviations of the random scores.
SCORE_SIZES = [0.1, 1.0, 3.0]
# Step of numeric differentiation, and its largest relative error.
STEP = 1e-5
DERIVATIVE_TOLERANCE = 1e-4
# Largest difference of results that differ because of rounding, or because an iteration stops
# early.
ROUNDING_TOLERANCE = 1e-6
# At scores of this size, the loss must not decrease outward, apart from a slope of this size.
# Infinite target bounds are replaced by targets of this size.
DISTANT_SCORE = 1e6
MAX_OUTWARD_DESCENT = 1e-3
DISTANT_TARGET = 1e3


def check(surrogate: Surrogate, *, random_state: int = 0) -> None:
    """Check numerically, at random scores and targets, that a surrogate obeys all laws.

    - The methods return arrays of the right shapes, with finite values, and leave their arguments
      unchanged.
    - The gradient is the derivative of the loss.
    - The Hessian is the exact diagonal, or a majorant, as `hessian` says.
    - Queries do not depend on each other, and permuting the documents of a query permutes its
      gradient and Hessian, and does not change its loss, even if documents have equal scores.
    - If `convex`, `shift_invariant` or `separable` is True, the loss has this property, and if
      `linear_in_targets` is True, the gradient has it.
    - A separable loss is bounded below for targets within `target_bounds`.
    - The loss with the weights of :meth:`Surrogate.at` gives the same results at the scores of the
      weights. If `reweighted` is True, the laws of derivatives hold for it.

    Whether the surrogate is consistent, :func:`boostrank.theory.check_consistency` finds out. A
    formula for `minimizer` can be compared with the result of :func:`boostrank.theory.minimizer` by
    ``method="numeric"``.

    Parameters
    ----------
    surrogate : Surrogate
    random_state : int, default 0
        Seed of the scores, which are normal with the standard deviations 0.1, 1 and 3, and of the
        targets, which are within [0, 1] and within `target_bounds`.

    Raises
    ------
    TypeError
        If `surrogate` is not an instance of Surrogate.
    ValueError
        If the surrogate breaks a law. The message names the first law that is broken, with the
        numbers that show it.

    Examples
    --------
    >>> import boostrank as br
    >>> class Quartic(br.surrogates.Separable):
    ...     def potential(self, scores):
    ...         return scores**2 / 2 + scores**4 / 4
    ...     def slope_curvature(self, scores):
    ...         return scores + scores**3, 1.0 + scores**2
    ...
    >>> br.surrogates.check(Quartic())
    Traceback (most recent call last):
    ValueError: Quartic(): the Hessian is not the exact diagonal: it is 1.0223 where numeric
    derivatives give 1.06691
    """
    if not isinstance(surrogate, Surrogate):
        raise TypeError(f"surrogate must be an instance of Surrogate; got {surrogate!r}")
    for holds, complaint in _laws(surrogate, as_generator(random_state)):
        if not holds:
            raise ValueError(f"{surrogate!r}: {complaint}")


class Sample(NamedTuple):
    """A surrogate, and the scores and targets at which its laws are checked."""

    surrogate: Surrogate
    scores: Floats
    targets: Floats
    queries: Segments

    def gradient_hessian(self) -> tuple[Floats, Floats]:
        """Gradient and Hessian of each document."""
        return self.surrogate.gradient_hessian(self.scores, self.targets, self.queries)

    def results(self) -> Floats:
        """Loss of the query, gradient and Hessian of each document, shape (3, n_documents)."""
        gradient, hessian = self.gradient_hessian()
        loss = self.surrogate.loss(self.scores, self.targets, self.queries)
        return np.array([self.queries.repeat(loss), gradient, hessian])


def _laws(surrogate: Surrogate, random: np.random.Generator) -> Laws:
    """Whether each law holds, and the complaint if not; nothing is computed after a broken law."""
    low, high = np.clip(surrogate.target_bounds, 0.0, 1.0)
    queries = Segments.from_sizes(SIZES)
    n_documents = sum(SIZES)
    for size in SCORE_SIZES:
        shares = random.random(n_documents) * random.integers(0, 2, n_documents)
        # The last query has the smallest target only.
        shares[-SIZES[-1] :] = 0.0
        scores = size * random.normal(size=n_documents)
        sample = Sample(surrogate, scores, low + (high - low) * shares, queries)
        yield from _valid_results(sample)
        yield from _independent_queries(sample)
        yield from _derivatives(sample)
        yield from _permutation(sample)
        yield from _declarations(sample)
    if surrogate.separable:
        yield from _bounded_below(surrogate)


def _valid_results(sample: Sample) -> Laws:
    surrogate, scores, targets, queries = sample
    before = np.array([scores, targets])
    loss = surrogate.loss(scores, targets, queries)
    gradient, hessian = sample.gradient_hessian()
    law = "it changes the arrays of scores or targets that it is given"
    yield np.array_equal(before, [scores, targets]), law
    yield from _valid_array("loss", loss, queries.n_segments)
    yield from _valid_array("gradient", gradient, len(scores))
    yield from _valid_array("Hessian", hessian, len(scores))


def _valid_array(name: str, values: Floats, size: int) -> Laws:
    shape = np.shape(values)
    yield shape == (size,), f"the {name} must have shape {(size,)}; got {shape}"
    yield bool(np.isfinite(values).all()), f"the {name} is not finite"


def _independent_queries(sample: Sample) -> Laws:
    surrogate, scores, targets, queries = sample
    results = sample.results()
    for start, end in zip(queries.starts, queries.ends, strict=True):
        rows = slice(start, end)
        query = Segments.from_sizes([end - start])
        alone = Sample(surrogate, scores[rows], targets[rows], query).results()
        law = "the loss, gradient or Hessian of a query depends on the other queries"
        yield _same(results[:, rows], alone), law
    fixed = sample._replace(surrogate=surrogate.at(scores, queries))
    law = "at the scores that at() is given, its loss, gradient or Hessian differs"
    yield _same(results, fixed.results()), law


def _derivatives(sample: Sample) -> Laws:
    gradient, hessian = sample.gradient_hessian()
    slopes, matrix = _differentiate(sample)
    yield _compare("the gradient is not the derivative of the loss", gradient, slopes)
    if sample.surrogate.hessian == "exact":
        yield _compare("the Hessian is not the exact diagonal", hessian, np.diag(matrix))
    else:
        law = "the Hessian is not a majorant: diag(Hessian) minus the true one has eigenvalue"
        yield _positive(law, np.diag(hessian) - matrix, _tolerance(matrix))
    if sample.surrogate.convex:
        law = "convex is True, but the matrix of second derivatives has the negative eigenvalue"
        yield _positive(law, matrix, _tolerance(matrix))


def _differentiate(sample: Sample) -> tuple[Floats, Floats]:
    """Derivatives of the loss, and the matrix of those of the gradient, both from differences.

    Row i of the matrix has the derivatives of the gradients of all documents with respect to the
    score of document i. It is symmetric, because the gradient is the derivative of a loss.
    """
    surrogate, scores, targets, queries = sample
    n = len(scores)
    copies = Segments.from_sizes(np.tile(queries.sizes, n))
    fixed = surrogate.at(np.tile(scores, n), copies)
    # There are n copies of all queries, which do not change the results of each other. In copy i,
    # document i has moved.
    steps = STEP * np.eye(n)
    below = Sample(fixed, (scores - steps).ravel(), np.tile(targets, n), copies)
    above = below._replace(scores=(scores + steps).ravel())
    differences = (above.results() - below.results()) / (2.0 * STEP)
    losses, gradients, _ = differences.reshape(3, n, n)
    return np.diag(losses), gradients


def _permutation(sample: Sample) -> Laws:
    # The scores are random, so this permutation is random too.
    permutation = sample.queries.sort(sample.scores)
    # Many scores have the same sign, and so are tied.
    for scores in (sample.scores, np.sign(sample.scores)):
        results = sample._replace(scores=scores).results()
        permuted = sample._replace(
            scores=scores[permutation], targets=sample.targets[permutation]
        ).results()
        law = (
            "permuting the documents of a query changes its loss, or does not permute its "
            "derivatives"
        )
        yield _same(results[:, permutation], permuted), law


def _declarations(sample: Sample) -> Laws:
    surrogate, scores, targets, queries = sample
    results = sample.results()
    if surrogate.shift_invariant:
        shifts = queries.repeat(queries.max(np.abs(scores)))
        shifted = sample._replace(scores=scores + shifts)
        law = (
            "shift_invariant is True, but adding a constant to the scores of a query changes the "
            "results"
        )
        yield _same(results, shifted.results()), law
    if surrogate.separable:
        alone = sample._replace(queries=Segments(np.arange(len(scores) + 1))).results()
        alone[0] = queries.repeat(queries.sum(alone[0]))
        law = (
            "separable is True, but the loss of a query is not the sum of the losses of its "
            "documents"
        )
        yield _same(results, alone), law
    if surrogate.linear_in_targets:
        # Any shares between 0 and 1 serve that differ between the documents.
        share = expit(scores)
        first, _ = sample._replace(targets=targets * share).gradient_hessian()
        second, _ = sample._replace(targets=targets * (1.0 - share)).gradient_hessian()
        law = (
            "linear_in_targets is True, but the gradients of two parts of the targets do not add up"
        )
        yield _same(first + second, results[1]), law


def _bounded_below(surrogate: Surrogate) -> Laws:
    """Whether a separable loss does not decrease outward at distant scores, at both bounds."""
    query = Segments.from_sizes([1])
    for side, bound in zip((-1.0, 1.0), surrogate.target_bounds, strict=True):
        score = side * DISTANT_SCORE
        target = float(np.clip(bound, -DISTANT_TARGET, DISTANT_TARGET))
        gradient, _ = surrogate.gradient_hessian(np.array([score]), np.array([target]), query)
        slope = gradient[0]
        law = (
            f"the loss is not bounded below for the target {target:g}, which is within bounds: "
            f"its slope is still {slope:g} at the score {score:g}"
        )
        yield side * slope >= -MAX_OUTWARD_DESCENT, law


def _same(results: Floats, expected: Floats) -> bool:
    """Whether two arrays differ by rounding only, or by iterations that stop early."""
    return np.allclose(results, expected, rtol=ROUNDING_TOLERANCE, atol=ROUNDING_TOLERANCE)


def _compare(complaint: str, values: Floats, derivatives: Floats) -> tuple[bool, str]:
    """Whether values are those of numeric derivatives, and the complaint about the worst one."""
    error = np.abs(values - derivatives)
    worst = int(np.argmax(error))
    law = (
        f"{complaint}: it is {values[worst]:g} where numeric derivatives give "
        f"{derivatives[worst]:g}"
    )
    return bool(error[worst] <= _tolerance(derivatives)), law


def _positive(complaint: str, matrix: Floats, tolerance: float) -> tuple[bool, str]:
    """Whether a matrix is positive semidefinite, and the complaint with its smallest eigenvalue."""
    least = np.linalg.eigvalsh(matrix)[0]
    return bool(least >= -tolerance), f"{complaint} {least:g}"


def _tolerance(derivatives: Floats) -> float:
    """Largest difference from these numeric derivatives that counts as a numeric error."""
    return DERIVATIVE_TOLERANCE * max(1.0, float(np.abs(derivatives).max()))
