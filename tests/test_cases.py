"""The helper that checks many cases in one test."""

import pytest
from cases import MAX_NAMED, for_each


def test_all_cases_run_with_their_values_and_the_fixtures():
    seen = []

    @for_each("a", [1, 2])
    @for_each(("b", "c"), [(3, 4), pytest.param(5, 6, id="last")])
    def check(a, b, c, fixture):
        seen.append((a, b, c, fixture))

    check(fixture="f")
    assert seen == [(1, 3, 4, "f"), (1, 5, 6, "f"), (2, 3, 4, "f"), (2, 5, 6, "f")]


@pytest.mark.parametrize(
    ("ids", "names"),
    [(None, ["2", "2 (3)"]), (repr, ["2", "2 (3)"]), (["a", "b", "c", "d"], ["b", "d"]), (None, ["two", "2"])],
)
def test_the_error_is_that_of_the_first_failure_and_names_all_failed_cases(ids, names):
    values = [1, pytest.param(2, id="two") if "two" in names else 2, 3, 2]

    @for_each("number", values, ids=ids)
    def check(number):
        assert number != 2, "two"

    with pytest.raises(AssertionError, match="two") as raised:
        check()
    assert raised.value.__notes__ == [f"Failed cases (2 of 4): {names}"]


@pytest.mark.parametrize(("stop", "message"), [(pytest.fail, "reason"), (pytest.skip, "may not skip: reason")])
def test_calls_of_fail_count_and_a_case_may_not_skip(stop, message):
    @for_each("number", range(MAX_NAMED + 5))
    def check(number):
        stop("reason")

    with pytest.raises((pytest.fail.Exception, AssertionError), match=message) as raised:
        check()
    assert raised.value.__notes__[0].endswith(f"'{MAX_NAMED - 1}'] and 5 more")


@pytest.mark.parametrize(
    ("names", "values", "message"),
    [("a", [], "no cases"), ("a", [pytest.param(1, marks=pytest.mark.slow)], "no marks"), ("b", [1], "does not take")],
)
def test_what_parametrize_alone_can_do_is_an_error(names, values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        for_each(names, values)(lambda a: None)
