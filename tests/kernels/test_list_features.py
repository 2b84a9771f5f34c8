"""Features of documents relative to their list: compiled and with NumPy, they are those of a slow
loop over lists."""

import numpy as np
import pytest
from scipy.stats import rankdata

from boostrank.kernels.list_features import compute
from boostrank.queries import threads
from boostrank.queries.segments import Segments
from boostrank.queries.threads import use_threads

# Ranks of up to 64 values are counted, and those of more are sorted.
SIZES = [1, 2, 3, 5, 1, 63, 64, 65, 66, 130, 4, 1500]
QUERIES = Segments.from_sizes(SIZES)
COLUMNS = {
    "normal": lambda random, n: random.normal(size=n),
    "ties": lambda random, n: random.integers(-2, 3, n),
    "missing": lambda random, n: np.where(random.random(n) < 0.5, np.nan, random.integers(0, 9, n)),
    "all missing": lambda random, n: np.full(n, np.nan),
    "infinite": lambda random, n: random.choice([np.inf, -np.inf, np.nan, 0.0, 1.0, 2.5], n),
    "huge": lambda random, n: random.choice([1e308, -1e308, 1.7e308, 3.0], n),
    "tiny": lambda random, n: random.normal(size=n) * 1e-300,
    "constant": lambda random, n: np.full(n, 0.1),
    "zeros": lambda random, n: random.choice([0.0, -0.0, 1e-30], n),
    "one other": lambda random, n: np.where(np.arange(n) == n // 2, 1e12, 1.0),
    # Their 32 bits from the first one in which a zero differs are equal.
    "times": lambda random, n: np.where(
        random.random(n) < 0.1, 0.0, 1.7e9 + random.integers(0, 300, n)
    ),
}
FEATURES = [
    (kind, i) for i in reversed(range(len(COLUMNS))) for kind in ("rank", "standardize", "minmax")
][:-1]
LAYOUTS = (
    np.ascontiguousarray,
    np.asfortranarray,
    lambda X: np.repeat(np.repeat(X, 2, axis=1), 2, axis=0)[::2, ::2],
)


def slow_feature(values, kind):
    """A feature of the values of one list."""
    result, is_finite = values.astype(np.float64), np.isfinite(values)
    if kind == "rank":
        is_number = ~np.isnan(values)
        result[is_number] = rankdata(values[is_number]) / is_number.sum()
    elif is_finite.any():
        # The sum of huge values is finite, and the square of tiny ones is not 0.
        finite = values[is_finite].astype(np.longdouble)
        center, width = (
            (finite.min(), np.ptp(finite)) if kind == "minmax" else (finite.mean(), finite.std())
        )
        result[is_finite] = (finite - center) / width if finite.min() < finite.max() else 0.0
    return result


@pytest.fixture(scope="module", name="X")
def _columns():
    random = np.random.default_rng(0)
    return np.column_stack([draw(random, sum(SIZES)) for draw in COLUMNS.values()])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS, ids=["C", "Fortran", "strided"])
def test_features_are_those_of_a_slow_loop(implementation, X, dtype, layout, monkeypatch):
    with np.errstate(over="ignore"):
        X = layout(X.astype(dtype))
    found = compute(X, FEATURES, QUERIES)
    # They do not depend on blocks and the number of threads.
    monkeypatch.setattr(threads, "MIN_SECONDS", 0.0)
    monkeypatch.setattr("boostrank.kernels.library.COMPILED_BLOCK_ROWS", 70)
    monkeypatch.setattr("boostrank.kernels.library.BLOCK_ROWS", 70)
    for n_jobs in (1, 4):
        with use_threads(n_jobs):
            np.testing.assert_array_equal(compute(X, FEATURES, QUERIES), found)
    assert (found.dtype, found.shape) == (np.float32, (len(X), len(FEATURES)))
    for values, (kind, i) in zip(found.T, FEATURES, strict=True):
        expected = np.concatenate(
            [slow_feature(rows, kind) for rows in np.split(X[:, i], QUERIES.starts[1:])]
        )
        np.testing.assert_allclose(
            values, expected, rtol=2e-6, atol=2e-6, err_msg=f"{kind} {list(COLUMNS)[i]}"
        )


@pytest.mark.parametrize("n", [11, 1100])
def test_the_nearest_numbers_have_ranks_of_their_own(implementation, n):
    values = [
        -np.inf,
        -1e308,
        -5e-324,
        -0.0,
        0.0,
        5e-324,
        1e-323,
        1.0,
        np.nextafter(1, 2),
        1e308,
        np.inf,
    ]
    X = np.random.default_rng(0).permutation(np.resize(values, n))[:, None]
    ranks = compute(X, [("rank", 0)], Segments.from_sizes([n])).ravel()
    np.testing.assert_array_equal(ranks, (rankdata(X.ravel()) / n).astype(np.float32))
    # The range of these has no inverse.
    for kind in ("standardize", "minmax"):
        assert not compute(
            X[np.abs(X[:, 0]) < 1e-300], [(kind, 0)], Segments.from_sizes([n // 11 * 5])
        ).any()
