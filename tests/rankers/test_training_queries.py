"""The warning of a score of queries that the ranker was trained on with other documents."""

import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from rankers.small_rankers import small
from sklearn.model_selection import cross_val_score

import boostrank as br

DATA, OTHERS = (br.make_ranking(100, random_state=seed) for seed in (0, 1))
#: A share of the documents of each query.
TRAIN = np.arange(len(DATA.y)) % 5 > 0
FRAME = pd.DataFrame(DATA.X)


def both_scores(ranker):
    return ranker.score, functools.partial(br.make_scorer("ndcg@10"), ranker)


@pytest.mark.parametrize(
    ("X", "qid"),
    [(DATA.X, DATA.qid + 1), (DATA.X, DATA.qid.astype(str)), (FRAME, DATA.qid)],
    ids=["integers", "strings", "frame"],
)
def test_a_score_of_queries_that_were_cut_apart_warns(ranker_class, X, qid):
    ranker = small(ranker_class)
    for estimator in (ranker, br.BaggedRanker(ranker, 2, random_state=0)):
        estimator.fit(X[TRAIN], DATA.y[TRAIN], qid[TRAIN])
        for score in both_scores(estimator):
            with pytest.warns(
                UserWarning,
                match="trained on other documents of 100 of the 100 scored queries, such",
            ):
                score(X[~TRAIN], DATA.y[~TRAIN], qid[~TRAIN])


def test_scikit_learn_cuts_queries_apart_where_it_is_told_no_groups(ranker_class):
    with pytest.warns(UserWarning, match=r"cut queries apart: use cv=QueryKFold\(5\)"):
        cross_val_score(small(ranker_class), FRAME.assign(qid=DATA.qid), DATA.y, cv=3)


@pytest.mark.filterwarnings("error")
def test_other_scores_do_not_warn(ranker_class):
    # Two data sets that both number their queries from 0.
    ranker = small(ranker_class).fit(*DATA)
    bag = br.BaggedRanker(small(ranker_class), 2, random_state=0).fit(*DATA)
    for score in (*both_scores(ranker), *both_scores(bag)):
        score(*OTHERS)
        score(*DATA)
    of_frame = small(ranker_class).fit(FRAME, DATA.y, DATA.qid)
    of_frame.score(pd.DataFrame(OTHERS.X), OTHERS.y, OTHERS.qid)
    # Whole queries, of those of the training or of others.
    whole = DATA.qid < 60
    for X, qid in ((DATA.X, DATA.qid + 7), (FRAME, DATA.qid)):
        ranker.fit(X[whole], DATA.y[whole], qid[whole])
        for rows in (whole, ~whole, DATA.qid < 30):
            ranker.score(X[rows], DATA.y[rows], qid[rows])
    # A pickle does not know the queries of the training.
    pickle.loads(pickle.dumps(ranker)).score(DATA.X[TRAIN], DATA.y[TRAIN], DATA.qid[TRAIN] + 7)
    cross_val_score(
        ranker, FRAME.assign(qid=DATA.qid), DATA.y, cv=br.QueryKFold(3), groups=DATA.qid
    )
