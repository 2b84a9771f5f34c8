"""Distinguishability of two rankers by discount and cutoff: against plain loops, and the claims of
the paper."""

import numpy as np
import pytest
from oracles import one_query

import boostrank as br
from boostrank import theory
from boostrank.ndcg import long_lists
from boostrank.theory import RankedData


def rankers(n_queries=60, seed=0):
    X, y, qid, bayes = br.make_ranking(
        n_queries=n_queries, n_documents=(1, 30), random_state=seed, return_bayes=True
    )
    return y, bayes + 0.05 * X[:, 8], bayes + 0.15 * X[:, 9], qid


def population(size=100_000):
    """Data of one query: scores of both rankers are noisy qualities, and labels are drawn given the
    quality."""
    random = np.random.default_rng(7)
    quality, noise = random.random(size), random.random((2, size))
    y = np.array([0, 1, 3])[random.binomial(2, 0.6 * quality)]
    return RankedData(y, quality + 0.5 * noise[0], quality + 2.0 * noise[1], np.zeros(size))


GRADED = population()


def test_resampled_lists_take_documents_of_one_query():
    y, first, second, qid = rankers(seed=2)
    order = np.random.default_rng(0).permutation(len(y))
    data = RankedData(y[order], first[order], second[order], qid[order])
    lists = data.draw(300, 40, np.random.default_rng(1))
    rows = {(b, c): (a, q) for a, b, c, q in zip(y, first, second, qid, strict=True)}
    for labels, one, other in zip(*lists, strict=True):
        found = [rows[pair] for pair in zip(one, other, strict=True)]
        assert len({query for _, query in found}) == 1
        assert [label for label, _ in found] == labels.tolist()
    assert len({labels.tobytes() for labels in lists[1]}) > 50


@pytest.mark.slow
def test_the_table_is_that_of_a_plain_loop():
    lengths, n_lists, ks = [3, 9, 20], 8, [None, 2, ("power", 0.5)]
    table = theory.distinguishability(GRADED, lengths, ks=ks, n_lists=n_lists, random_state=5)
    lists = GRADED.draw(n_lists, 20, np.random.default_rng(5))
    rows = table.set_index(["discount", "k", "n"])
    for names, (discount, cutoff) in long_lists.discounted_cutoffs(
        long_lists.DISCOUNTS, ks
    ).items():
        orders = {}
        for n in reversed(lengths):
            k = int(np.ceil(n**0.5)) if cutoff == ("power", 0.5) else cutoff
            settings = {"k": k, "discount": discount}
            differences = [
                np.subtract(
                    *(
                        br.ndcg_score(y[:n], s[:n], one_query(y[:n]), **settings)
                        for s in (one, other)
                    )
                )
                for y, one, other in zip(*lists, strict=True)
            ]
            row, order = rows.loc[(*names, n)], np.sign(np.round(differences, 12))
            orders[n] = order
            first, second = (order > 0).mean(), (order < 0).mean()
            assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-12)
            assert row["sd"] == pytest.approx(np.std(differences, ddof=1))
            assert (row["first_wins"], row["second_wins"], row["correct"]) == (first, second, first)
            same = np.mean(
                [
                    len(set(seen)) == 1 and seen[0] != 0
                    for seen in zip(*orders.values(), strict=True)
                ]
            )
            assert np.isnan(row["settled"]) if n == 20 else row["settled"] == pytest.approx(same)


def test_data_are_resampled_by_query_and_document():
    y, first, second, qid = rankers(n_queries=200, seed=4)
    data = RankedData(y, first, second, qid)
    assert data.better_ranker() == 1
    assert RankedData(y, second, first, qid).better_ranker() == -1
    table = theory.distinguishability(data, [5, 50], discounts=["log2"], ks=[None], n_lists=400)
    # Many of the short lists are ties.
    assert (table["correct"] > table["second_wins"]).all()
    assert table["correct"].iloc[1] > 0.6 > table["correct"].iloc[0]
    same = theory.distinguishability(RankedData(y, first, first, qid), [5, 10], n_lists=50)
    # Where the longest lists tie, there is no final order, so no order counts as settled.
    assert (same["settled"].dropna() == 0).all()
    assert (same["difference"] == 0).all()
    assert same["correct"].isna().all()
