"""`QueryKFold`, `split_queries` and `query_folds`: parts of the data that keep queries whole."""

import numpy as np
import pytest

import boostrank as br


def test_splits_keep_queries_whole(data):
    X, _, qid = data
    for shuffle in (False, True):
        folds = list(br.QueryKFold(4, shuffle=shuffle, random_state=0 if shuffle else None).split(X, groups=qid))
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(len(qid)))
        assert all(not set(qid[train]) & set(qid[test]) for train, test in folds)
    keep, hold_out = br.split_queries(qid, 0.25, random_state=0)
    assert len(set(qid[hold_out])) == 6
    assert not set(qid[keep]) & set(qid[hold_out])
    with pytest.raises(ValueError, match="at least two"):
        br.split_queries([1, 1], 0.5)
    with pytest.raises(ValueError, match=r"QueryKFold\.split got no qid"):
        next(br.QueryKFold(2).split(X))


def test_folds_partition_the_queries():
    data = br.Dataset(*br.make_ranking(n_queries=31, random_state=0))
    folds = br.query_folds(data, 5)
    tested = np.concatenate([np.unique(fold.test.qid) for fold in folds])
    assert sorted(tested) == list(range(31))
    for fold in folds:
        parts = [set(part.qid) for part in (fold.train, fold.validation, fold.test)]
        assert len(set.union(*parts)) == sum(map(len, parts)) == 31
