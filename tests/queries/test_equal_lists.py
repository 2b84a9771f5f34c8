"""Lists that are equal under different ids, against a comparison of the sorted rows of all
lists."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, csr_matrix

import boostrank as br
from boostrank.queries import equal_lists
from boostrank.queries.equal_lists import MIN_LISTS, numbers_of_lists
from boostrank.queries.queries import Queries
from boostrank.training.query_features import WithQueryFeatures


def numbers_by_hand(X, labels, queries):
    """The number of the first list that has the same rows with the same labels."""
    rows = np.column_stack([np.nan_to_num(X, nan=-7.0), labels])
    lists = [
        tuple(sorted(map(tuple, rows[a:b])))
        for a, b in zip(queries.starts, queries.ends, strict=True)
    ]
    first = {one: i for i, one in reversed(list(enumerate(lists)))}
    return pd.factorize(np.array([first[one] for one in lists]))[0]


@pytest.fixture
def lists():
    """Lists of few values, some of them equal, equal up to the sequence of their rows, or up to a
    label."""
    random = np.random.default_rng(0)
    sizes = random.integers(1, 5, 60)
    queries, n = Queries.from_sizes(np.tile(sizes, 3)), sizes.sum()
    X = random.integers(-1, 3, (n, 4)).astype(np.float32)
    X[X < 0] = np.nan
    labels = random.integers(0, 2, n).astype(float)
    permutation = random.permutation(n)
    permutation = permutation[
        np.argsort(np.repeat(np.arange(60), sizes)[permutation], kind="stable")
    ]
    changed = np.where(random.random(n) < 0.1, 5.0, labels)
    return (
        np.vstack([X, X[permutation], X]),
        np.concatenate([labels, labels[permutation], changed]),
        queries,
    )


def to_frame(X):
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(b=pd.Categorical(frame["b"]), c=frame["c"].astype("Float32"))


def in_files(X, folder):
    np.save(folder / "a.npy", X[:70])
    np.save(folder / "b.npy", X[70:])
    return br.FeatureFiles([folder / "a.npy", folder / "b.npy"])


@pytest.mark.parametrize(
    "kind", ["array", "fortran", "matrix", "sparse", "frame", "blocks", "files", "lists"]
)
def test_numbers_are_those_of_sorted_rows(lists, kind, tmp_path):
    X, labels, queries = lists
    given = {
        "array": lambda: X,
        "fortran": lambda: np.asfortranarray(X.astype(np.float64)),
        "matrix": lambda: csr_matrix(X),
        "sparse": lambda: csr_array(X),
        "frame": lambda: to_frame(X),
        "blocks": lambda: [X[:30], X[30:31], X[31:]],
        "files": lambda: in_files(X, tmp_path),
        "lists": lambda: WithQueryFeatures(
            X, queries, br.QueryFeatures("rank").fit(X, qid=queries.qid)
        ),
    }[kind]()
    expected = numbers_by_hand(X, labels, queries)
    np.testing.assert_array_equal(numbers_of_lists(given, labels, queries), expected)
    # Copies, lists that are equal by chance, and lists with other labels are among them.
    assert 60 <= expected.max() + 1 < 120


def test_rows_are_compared_and_not_columns():
    X = np.arange(4.0 * MIN_LISTS).reshape(-1, 2)
    X[:4] = [[1, 2], [3, 4], [1, 4], [3, 2]]
    queries = Queries.from_sizes([2] * MIN_LISTS)
    assert len(np.unique(numbers_of_lists(X, np.zeros(len(X)), queries))) == MIN_LISTS


def test_few_kinds_of_documents_are_no_copies():
    for n_different in (1, MIN_LISTS - 1, MIN_LISTS):
        X = np.tile(np.arange(n_different), 30)[:, None].astype(float)
        queries = Queries.from_sizes([1] * len(X))
        found = len(np.unique(numbers_of_lists(X, np.zeros(len(X)), queries)))
        assert found == (n_different if n_different >= MIN_LISTS else len(X))


def test_columns_are_read_until_all_lists_differ(monkeypatch):
    hashed, compute = [], equal_lists._hash
    monkeypatch.setattr(
        equal_lists, "_hash", lambda values: hashed.append(len(values)) or compute(values)
    )
    X = np.random.default_rng(0).normal(size=(100, 50))
    X[:, 0] = 0
    numbers = numbers_of_lists(X, np.zeros(100), Queries.from_sizes([4] * 25))
    assert numbers.tolist() == list(range(25))
    # Of each of the two columns, and of the rows with them.
    assert hashed == [100] * 4
