"""Many small cases in one test, because pytest needs more time for a test of its own than such a
case takes."""

import functools
import inspect

import pytest

#: How many failed cases the message of a failure names.
MAX_NAMED = 20


def for_each(names, values, ids=None):
    """Check all cases in one test, with the arguments of `pytest.mark.parametrize`.

    All cases run, also after one that fails. The error is that of the first failure, with a note
    that names the cases that failed. Fixtures are set up once for all cases, so a test that writes
    files or patches modules needs `parametrize`, and so does a test that skips some cases or marks
    them."""
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = list(values)
    if not values:
        raise ValueError(f"there are no cases of {names}")
    cases = [
        dict(zip(names, value if len(names) > 1 else [value], strict=True)) for value in values
    ]
    labels = list(map(ids, values) if callable(ids) else ids or [""] * len(cases))
    labels = [
        label or "-".join(getattr(value, "__name__", str(value)) for value in case.values())
        for label, case in zip(labels, cases, strict=True)
    ]

    def decorate(test):
        signature = inspect.signature(test)
        fixtures = [
            parameter for name, parameter in signature.parameters.items() if name not in names
        ]
        if len(fixtures) + len(names) != len(signature.parameters):
            raise TypeError(f"{test.__name__} does not take {names}")

        @functools.wraps(test)
        def check_all(*args, **fixtures):
            failed, errors = [], []
            for label, case in zip(labels, cases, strict=True):
                try:
                    test(*args, **case, **fixtures)
                except pytest.skip.Exception as skipped:
                    raise AssertionError(f"a case may not skip: {skipped}") from None
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(label)
                    errors.append(error)
            if errors:
                errors[0].add_note(
                    f"Failed cases ({len(failed)} of {len(cases)}): {failed[:MAX_NAMED]}"
                )
                raise errors[0]

        check_all.__signature__ = signature.replace(parameters=fixtures)
        return check_all

    return decorate
