"""Many small cases in one test, because pytest needs more time for a test of its own than such a case takes."""

import functools
import inspect

import pytest

#: How many failed cases the message of a failure names.
MAX_NAMED = 20


def for_each(names, values, ids=None):
    """Check all cases in one test, with the arguments of `pytest.mark.parametrize`.

    All cases run, also after one that fails. The error is that of the first failure, with a note that names the cases
    that failed. Fixtures are set up once for all cases, so a test that writes files or patches modules needs
    `parametrize`, and so does a test that skips some cases or marks them.
    """
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    cases = named_cases(names, list(values), ids)

    def decorate(test):
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in names]
        if len(others) + len(names) != len(signature.parameters):
            raise TypeError(f"{test.__name__} does not take {names}")

        @functools.wraps(test)
        def check_all(*args, **fixtures):
            failures = {}
            for name, case in cases.items():
                try:
                    test(*args, **case, **fixtures)
                except pytest.skip.Exception as skipped:
                    failures[name] = AssertionError(f"a case may not skip: {skipped}")
                except (Exception, pytest.fail.Exception) as error:
                    failures[name] = error
            if failures:
                first = next(iter(failures.values()))
                more = f" and {len(failures) - MAX_NAMED} more" if len(failures) > MAX_NAMED else ""
                first.add_note(f"Failed cases ({len(failures)} of {len(cases)}): {[*failures][:MAX_NAMED]}{more}")
                raise first

        check_all.__signature__ = signature.replace(parameters=others)
        return check_all

    return decorate


def named_cases(names, values, ids):
    """The arguments of each case by the name of the case."""
    if not values:
        raise ValueError(f"there are no cases of {names}")
    ids = [ids(value) for value in values] if callable(ids) else list(ids) if ids is not None else [None] * len(values)
    cases = {}
    for given, value in zip(ids, values, strict=True):
        is_set = hasattr(value, "marks")  # of pytest.param
        if is_set and value.marks:
            raise ValueError("cases of one test have no marks of their own")
        parts = value.values if is_set else (value,) if len(names) == 1 else value
        name = given or (is_set and value.id) or "-".join(getattr(part, "__name__", str(part)) for part in parts)
        cases[name if name not in cases else f"{name} ({len(cases)})"] = dict(zip(names, parts, strict=True))
    return cases
