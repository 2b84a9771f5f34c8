"""`boostrank.surrogates.check`: it passes all surrogates, and finds those that break a law."""

import re

import pytest
from broken_surrogates import (
    BoundsFromTheLargestGain,
    BoundsWithoutGains,
    ChangesArguments,
    EqualBounds,
    ExchangedBounds,
    FirstRowCounts,
    ForgottenBounds,
    GradientNotFinite,
    HalfHessian,
    HalfMajorant,
    InverseOfTheSign,
    MixesQueries,
    NotConvex,
    NotFinite,
    NotLinear,
    NotSeparable,
    NotShiftInvariant,
    OneLoss,
    RanksTiesByRow,
    SignError,
    SortsByPowers,
    SortsByRoots,
    TooHighConstant,
    TooLowBound,
    TooLowConstant,
    Unbounded,
    UnknownHessian,
    WrongConstant,
    WrongGradientOfLongQueries,
    WrongMinimizer,
    WrongSignOfDual,
)
from cases import for_each
from surrogate_samples import ALL

from boostrank.surrogates import Logistic, Squared, check


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ALL, ids=repr)
def test_surrogates_obey_the_laws(surrogate):
    check(surrogate)


class LikelyOnly(Logistic):
    """Targets are 1/2 or more, so that targets from 0 to 1 are not all within the bounds."""

    target_bounds = (0.5, 1.0)


def test_a_lower_bound_above_zero_is_within_the_laws():
    check(LikelyOnly())


def test_check_takes_instances_only():
    with pytest.raises(TypeError, match="instance of Surrogate"):
        check(Squared)


@for_each(
    ("surrogate", "complaint"),
    [
        (SignError(), "gradient is not the derivative"),
        (WrongGradientOfLongQueries(), "gradient is not the derivative"),
        (HalfHessian(), "Hessian is not the exact diagonal"),
        (HalfMajorant(), "Hessian is not a majorant"),
        (NotConvex(), "convex is True"),
        (NotShiftInvariant(), "shift_invariant is True"),
        (NotSeparable(), "separable is True"),
        (NotLinear(), "linear_in_targets is True"),
        (Unbounded(), r"target_bounds is \(0.0, 2.0\).*; lower the upper bound$"),
        (ForgottenBounds(), r"target_bounds is \(0.0, inf\).*; lower the upper bound$"),
        (TooLowBound(), r"target_bounds is \(-1.0, 1.0\).*; raise the lower bound$"),
        (WrongSignOfDual(), "dual is wrong: the least losses"),
        (InverseOfTheSign(), "the slope at inverse_slope"),
        (WrongConstant(), "best_constant gives 3"),
        (TooLowConstant(), "best_constant gives .* has a smaller total loss"),
        (TooHighConstant(), "best_constant gives .* has a smaller total loss"),
        (ChangesArguments(), "changes the arrays"),
        (OneLoss(), r"loss must have shape \(5,\); got \(\)"),
        (NotFinite(), "Hessian is not finite"),
        (GradientNotFinite(), "gradient is not finite"),
        (MixesQueries(), "loss, gradient or Hessian of a query depends on the other queries"),
        (FirstRowCounts(), "permuting the documents"),
        (RanksTiesByRow(), "permuting the documents"),
        (SortsByPowers(), "consistent is True, but for expected targets"),
        (SortsByRoots(), "consistent is True, but for expected targets"),
        (UnknownHessian(), "hessian must be 'exact' or 'majorant'; got 'diagonal'"),
        (ExchangedBounds(), "target_bounds must include normalized gains"),
        (BoundsWithoutGains(), "target_bounds must include normalized gains"),
        (EqualBounds(), "target_bounds must include normalized gains"),
        (BoundsFromTheLargestGain(), "target_bounds must include normalized gains"),
        (WrongMinimizer(), "minimizer gives .* but other scores"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_check_finds_what_breaks_a_law(surrogate, complaint):
    with pytest.raises(ValueError, match=rf"^{re.escape(repr(surrogate))}: (the |it )?{complaint}"):
        check(surrogate)


def complaint_of(surrogate, **random_state):
    with pytest.raises(ValueError, match="derivatives give") as caught:
        check(surrogate, **random_state)
    return str(caught.value)


def test_complaints_about_derivatives_give_the_largest_error():
    numbers = re.search(
        r"it is (\S+) where numeric derivatives give (\S+)$", complaint_of(WrongGradientOfLongQueries())
    )
    assert float(numbers[1]) == pytest.approx(1.01 * float(numbers[2]), rel=1e-3)


def test_the_random_state_decides_on_the_sample():
    complaints = [complaint_of(SignError(), random_state=seed) for seed in (0, 0, 1)]
    assert complaints[0] == complaints[1] == complaint_of(SignError())
    assert complaints[0] != complaints[2]
