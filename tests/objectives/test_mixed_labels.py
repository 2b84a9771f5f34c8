"""Mixed labels, added scores and cutoffs: the numbers of the page theory/several_objectives."""

from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest

import boostrank as br

PAGE = Path(__file__).parents[2] / "examples" / "guide" / "theory" / "several_objectives.md"
LINEAR = br.DCG(gain="linear")
DISCOUNTS = br.DCG().discounts(3)
#: Discount of each document, for each ranking of three documents.
RANKINGS = np.array([DISCOUNTS[list(ranks)] for ranks in permutations(range(3))])
SHARES = np.linspace(0.0, 1.0, 41)
# Labels of clicks and orders in two outcomes of equal probability.
CLICKS = np.array([[0, 0, 1], [2, 2, 0]])
ORDERS = np.array([[1, 2, 0], [0, 0, 1]])


def normalized(labels):
    """Normalized gains of lists of three labels, shape (n_lists, 3)."""
    queries = br.Queries.from_sizes([3] * len(labels))
    return br.make_targets(np.ravel(labels), queries, LINEAR).reshape(-1, 3)


def regrets(mixed, first, second):
    """What the ranking by expected targets of mixed labels loses, for each share of the first
    objective in the mean of NDCGs.

    The arguments are expected targets, shape (n_queries, 3); those of `mixed` have no ties.
    """
    ranked = np.argmax(mixed @ RANKINGS.T, axis=1)
    of_first = first @ RANKINGS.T
    of_second = second @ RANKINGS.T
    means = SHARES[:, None, None] * of_first + (1.0 - SHARES[:, None, None]) * of_second
    rows = np.arange(len(mixed))
    return means.max(axis=2) - means[:, rows, ranked]


def test_the_example_is_the_worst_of_a_search():
    lists = np.array([labels for labels in product(range(3), repeat=3) if max(labels)])
    pairs = np.array(list(product(range(len(lists)), repeat=2)))
    first, second = (normalized(lists)[column] for column in pairs.T)
    mixed = normalized((lists[pairs[:, 0]] + lists[pairs[:, 1]]) / 2.0)
    best = (0.0, None)
    for number in range(len(pairs)):
        expected = [(values[number] + values[number:]) / 2.0 for values in (mixed, first, second)]
        # Documents whose expected targets are almost equal make no example.
        clear = (np.diff(np.sort(expected[0], axis=1), axis=1) > 0.03).all(axis=1)
        if not clear.any():
            continue
        least = regrets(*(values[clear] for values in expected)).min(axis=0)
        other = number + np.flatnonzero(clear)[np.argmax(least)]
        best = max(best, (least.max(), (number, other)), key=lambda found: found[0])
    of_clicks, of_orders = (lists[pairs[list(best[1]), column]] for column in (0, 1))
    np.testing.assert_array_equal(of_clicks, CLICKS)
    np.testing.assert_array_equal(of_orders, ORDERS)
    assert best[0] == pytest.approx(0.0848, abs=1e-4)


def test_mixed_labels_rank_the_best_document_of_both_objectives_last():
    clicks, orders, mixed = (
        normalized(labels).mean(axis=0) for labels in (CLICKS, ORDERS, (CLICKS + ORDERS) / 2.0)
    )
    page = PAGE.read_text(encoding="utf-8")
    shown = [
        "(" + ", ".join(f"{value:.2f}" for value in row) + ")" for row in (clicks, orders, mixed)
    ]
    assert f"| **{shown[0]}** | **{shown[1]}** | **{shown[2]}** |" in page
    assert clicks.argmax() == orders.argmax() == 2
    assert mixed.argmin() == 2
    lost = regrets(mixed[None], clicks[None], orders[None])
    assert [lost.min(), lost.max()] == pytest.approx([0.0848, 0.0967], abs=1e-4)
    assert [lost[0, 0], lost[-1, 0]] == pytest.approx([0.0848, 0.0967], abs=1e-4)
    # Softmax on the labels of both objectives has its minimizer in the best ranking.
    queries = br.Queries.from_sizes([3, 3])
    labels = br.MultipleLabels({"click": CLICKS.ravel(), "order": ORDERS.ravel()}, gain="linear")
    targets = labels.targets("softmax", queries, br.DCG())
    expected = targets.reshape(2, 3).mean(axis=0)
    np.testing.assert_allclose(expected, (clicks + orders) / 2.0)
    assert np.argmax(br.surrogates.SURROGATES["softmax"].minimizer(expected[None])[0]) == 2


def test_added_scores_of_softmax_sort_like_the_geometric_mean():
    first, second = np.array([[0.5, 0.1]]), np.array([[0.01, 0.2]])
    softmax = br.surrogates.SURROGATES["softmax"]
    added = (softmax.minimizer(first) + softmax.minimizer(second)) / 2.0
    assert added[0, 1] > added[0, 0]
    assert ((first + second) / 2.0).tolist() == [[0.255, pytest.approx(0.15)]]
    assert np.sqrt(first * second)[0].round(2).tolist() == [0.07, 0.14]


def test_other_cutoffs_have_another_best_ranking():
    labels = br.MultipleLabels({"a": [1, 0], "b": [0, 1]}, (0.4, 0.6), k={"a": 1})
    queries = br.Queries.from_sizes([2])
    targets = labels.targets("softmax", queries, br.DCG())
    assert targets.tolist() == [0.4, 0.6]
    measure = br.get_measure("weighted-ndcg")
    best, by_targets = (measure(labels, scores, [7, 7]) for scores in ([1, 0], targets))
    assert best - by_targets == pytest.approx(0.4 - 0.22, abs=0.005)
