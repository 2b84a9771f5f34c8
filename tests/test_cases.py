"""The helper that checks many cases in one test."""

import pytest
from cases import MAX_NAMED, for_each


def test_all_cases_run_with_their_values_and_the_fixtures():
    seen = []

    @for_each("a", [1, 2])
    @for_each(("b", "c"), [(3, 4), (5, 6)])
    def check(a, b, c, fixture):
        seen.append((a, b, c, fixture))

    check(fixture="f")
    assert seen == [(1, 3, 4, "f"), (1, 5, 6, "f"), (2, 3, 4, "f"), (2, 5, 6, "f")]


@pytest.mark.parametrize(
    ("ids", "names"), [(None, ["2", "9"]), (repr, ["2", "9"]), (["a", "b", "c", ""], ["b", "9"])]
)
def test_the_error_is_that_of_the_first_failure_and_names_all_failed_cases(ids, names):
    @for_each("number", [1, 2, 3, 9], ids=ids)
    def check(number):
        assert number not in (2, 9), f"value {number}"

    with pytest.raises(AssertionError, match="value 2") as raised:
        check()
    assert raised.value.__notes__ == [f"Failed cases (2 of 4): {names}"]


def test_calls_of_fail_count_and_a_case_may_not_skip():
    @for_each("number", range(MAX_NAMED + 5))
    def check(number, stop):
        stop("reason")

    with pytest.raises(pytest.fail.Exception, match="reason") as raised:
        check(stop=pytest.fail)
    assert raised.value.__notes__[0].endswith(f"'{MAX_NAMED - 1}']")
    with pytest.raises(AssertionError, match="may not skip: reason"):
        check(stop=pytest.skip)


@pytest.mark.parametrize(
    ("name", "values", "message"), [("a", [], "no cases"), ("b", [1], "does not take")]
)
def test_what_parametrize_alone_can_do_is_an_error(name, values, message):
    with pytest.raises((ValueError, TypeError), match=message):
        for_each(name, values)(lambda a: None)
