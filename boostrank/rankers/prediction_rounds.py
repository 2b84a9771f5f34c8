"""The rounds of a prediction, in the notations of LightGBM and of XGBoost."""

from __future__ import annotations

from boostrank.inputs.checks import check_count, is_count


def rounds_to_use(
    n_rounds: int,
    num_iteration: int | None,
    start_iteration: int,
    iteration_range: tuple[int, int] | None,
) -> range:
    """The rounds of a prediction, in the notation of LightGBM or of XGBoost.

    Raises ValueError for rounds that a model of `n_rounds` does not have.
    """
    check_count("start_iteration", start_iteration, smallest=0)
    check_count("num_iteration", num_iteration, smallest=None, optional=True)
    first = start_iteration
    end = 0
    if num_iteration is not None and num_iteration > 0:
        end = start_iteration + num_iteration
    if iteration_range is not None:
        if num_iteration is not None or start_iteration != 0:
            raise ValueError(
                "give either iteration_range, or num_iteration and start_iteration, not both"
            )
        first, end = _checked_range(iteration_range, n_rounds)
    if first >= max(n_rounds, 1) or end > n_rounds:
        raise ValueError(
            f"the rounds from {first} to {end or 'the last'} go beyond the number of rounds of the "
            f"model, {n_rounds} (rounds after the best one are not kept)"
        )
    return range(first, end or n_rounds)


def _checked_range(iteration_range: tuple[int, int], n_rounds: int) -> tuple[int, int]:
    """The first round, and the one after the last or 0, in the notation of XGBoost."""
    is_pair = isinstance(iteration_range, (tuple, list)) and len(iteration_range) == 2
    if is_pair and all(map(is_count, iteration_range)):
        first, end = iteration_range
        if 0 <= first < (end or n_rounds):
            return first, end
    raise ValueError(
        "iteration_range must be (first, end) with 0 <= first < end, or end 0 for all rounds; got "
        f"{iteration_range!r}"
    )
