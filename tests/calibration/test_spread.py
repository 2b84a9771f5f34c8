"""The spread of scores over the members of a bag."""

import numpy as np
import pytest

import boostrank as br

DATA = br.make_ranking(n_queries=30, random_state=0)
PLAIN = {"n_estimators": 10, "learning_rate": 0.1, "n_jobs": 1}


@pytest.fixture(scope="module")
def bag():
    return br.BaggedRanker(br.LightGBMRanker(**PLAIN), 3, random_state=0).fit(*DATA)


def test_the_spread_is_the_deviation_of_centred_scores(bag):
    X, _, qid = DATA
    rows = np.random.default_rng(0).permutation(len(qid))
    spread = br.calibration.score_spread(bag, X[rows], qid=qid[rows])
    expected = np.empty(len(qid))
    for one in np.unique(qid):
        own = qid[rows] == one
        scores = np.array([member.predict(X[rows][own]) for member in bag.estimators_])
        expected[own] = (scores - scores.mean(axis=1, keepdims=True)).std(axis=0, ddof=1)
    assert spread == pytest.approx(expected)


def test_what_has_no_spread_is_an_error(bag, tmp_path):
    X, _, qid = DATA
    bag.save_model(tmp_path / "bag.txt")
    loaded = br.BaggedRanker(br.LightGBMRanker()).load_model(tmp_path / "bag.txt")
    with pytest.raises(ValueError, match="two members or more; the bag has 0"):
        br.calibration.score_spread(loaded, X, qid=qid)
    with pytest.raises(TypeError, match="must be a BaggedRanker; got LightGBMRanker"):
        br.calibration.score_spread(bag.estimators_[0], X, qid=qid)
    with pytest.raises(ValueError, match="score_spread got no qid"):
        br.calibration.score_spread(bag, X)
