"""Frames and Series of values by query: paired by their ids, and errors for other queries."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.significance import confidence_interval, effect_size, permutation_test

ALL = (permutation_test, effect_size, confidence_interval)


def frames():
    """NDCG@10 by query of two features of the same data, and of the second one in other rows."""
    X, y, qid = br.make_ranking(n_queries=40, random_state=0)
    rows = np.random.default_rng(0).permutation(len(y))
    ours = br.evaluate(y, X[:, 0], qid, "ndcg@10", per_query=True)
    theirs = br.evaluate(y, X[:, 1], qid, "ndcg@10", per_query=True)
    shuffled = br.evaluate(y[rows], X[rows, 1], qid[rows], "ndcg@10", per_query=True)
    return ours, theirs, shuffled


@pytest.mark.parametrize("function", ALL)
def test_frames_and_series_are_paired_by_query(function):
    ours, theirs, shuffled = frames()
    shuffled = shuffled.sample(frac=1, random_state=1)
    assert list(shuffled.index) != list(ours.index)
    expected = function(ours["ndcg@10"].to_numpy(), theirs["ndcg@10"].to_numpy())
    assert function(ours, shuffled) == pytest.approx(expected)
    assert function(ours["ndcg@10"], shuffled["ndcg@10"].rename("other")) == pytest.approx(expected)
    assert function(ours, shuffled["ndcg@10"]) == pytest.approx(expected)
    # Arrays have no ids.
    assert function(ours, theirs.to_numpy().ravel()) == pytest.approx(expected)


@pytest.mark.parametrize("function", ALL)
def test_weights_and_groups_are_paired_by_query(function):
    ours, theirs, _ = frames()
    weights = pd.Series(np.arange(40) % 5 + 1.0, index=ours.index)
    groups = pd.Series(np.arange(40) // 4, index=ours.index)
    expected = function(ours, theirs, sample_weight=weights.to_numpy(), groups=groups.to_numpy())
    mixed = weights.sample(frac=1, random_state=2), groups.sample(frac=1, random_state=3)
    assert function(ours, theirs, sample_weight=mixed[0], groups=mixed[1]) == pytest.approx(
        expected
    )
    with pytest.raises(ValueError, match="values and groups must be of the same queries"):
        function(ours, theirs, groups=groups[1:])


@pytest.mark.parametrize("function", ALL)
def test_other_queries_and_measures_are_errors(function):
    ours, theirs, _ = frames()
    renamed = theirs.rename(index={0: "zero"})
    several = ours.assign(mrr=0.5)
    for left, right, message in (
        (ours, theirs[1:], "same queries; the index of values alone has 0, 1 queries are"),
        (
            ours[2:],
            theirs,
            "same queries; the index of baseline alone has 0, 0 queries are",
        ),
        (ours, renamed, "same queries"),
        (ours, pd.concat([theirs, theirs[:1]]), "baseline must have one row for each query; got 0"),
        (several, theirs, r"values must be the values of one measure; .*'mrr'\]: name one of them"),
        (ours, several, r"baseline must be the values of one measure"),
        (ours, theirs.rename(columns={"ndcg@10": "map"}), "same measure; .*'ndcg@10' and 'map'"),
    ):
        with pytest.raises(ValueError, match=message):
            function(left, right)
    # Two of the same sequence of ids, with one id twice, are paired as they are.
    twice = pd.concat([ours, ours[:1]]), pd.concat([theirs, theirs[:1]])
    arrays = (frame["ndcg@10"].to_numpy() for frame in twice)
    assert function(*twice) == pytest.approx(function(*arrays))
