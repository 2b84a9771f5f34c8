"""DCG and targets: gains, discounts, cutoffs, ideals, ties and normalizations, by definition, over
all orders."""

import math

import numpy as np
import pytest
from cases import for_each
from hypothesis import given
from hypothesis import strategies as st
from oracles import DISCOUNTS, dcg_of_order, ideal_dcg, normalized_gains, orders_by, slices

from boostrank.ndcg.dcg import DCG, LEVEL_SAMPLE_SIZE, MAX_COUNTED_LEVELS, count_levels
from boostrank.ndcg.targets import NORMALIZATIONS, make_targets
from boostrank.queries.queries import Queries

CUTOFFS = [None, 1, 2, 4, 100]
RAGGED = st.lists(st.integers(1, 5), min_size=1, max_size=5)


def ragged(sizes, seed=0, levels=4):
    """Labels, of which some queries have only zeros, and scores with ties."""
    random = np.random.default_rng([seed, *sizes])
    n = sum(sizes)
    return random.integers(0, levels, n) * random.integers(0, 2, n), random.integers(
        0, 3, n
    ).astype(float)


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        ("exp2", [0.0, 1.0, 3.0, 31.0]),
        ("linear", [0.0, 1.0, 2.0, 5.0]),
        ("log", [0.0, 1.0, math.log2(3.0), math.log2(6.0)]),
        ([0, 0.5, 3, 3, 3, 9], [0.0, 0.5, 3.0, 9.0]),
        (np.arange(6.0) ** 2, [0.0, 1.0, 4.0, 25.0]),
        (np.sqrt, [0.0, 1.0, math.sqrt(2.0), math.sqrt(5.0)]),
    ],
    ids=["exp2", "linear", "log", "table", "array", "callable"],
)
def test_gains(gain, expected):
    assert DCG(gain=gain).gains([0, 1, 2, 5]).tolist() == pytest.approx(expected)
    assert DCG().gains([0.5, 1.5]).tolist() == pytest.approx([2**0.5 - 1, 2**1.5 - 1])


@pytest.mark.parametrize("discount", DISCOUNTS, ids=str)
def test_discounts(discount):
    expected = [DISCOUNTS[discount](rank) for rank in range(1, 21)]
    assert DCG(discount=discount).discounts(20).tolist() == pytest.approx(expected)


def test_discount_by_function():
    assert DCG(discount=lambda ranks: np.maximum(3.0 - ranks, 0.0)).discounts(4).tolist() == [
        2.0,
        1.0,
        0.0,
        0.0,
    ]
    # All values of this array are one number in memory.
    equal = DCG(discount=lambda ranks: np.broadcast_to(1.0, ranks.shape))
    assert equal.of_ranking(
        np.array([1.0, 2.0]), np.array([0.0, 1.0]), Queries.from_sizes([2])
    ).tolist() == [3.0]


@pytest.mark.parametrize(
    ("k", "size", "expected"),
    [
        (None, 7, 7),
        (np.int64(3), 7, 3),
        (10, 7, 7),
        (0.1, 30, 3),
        (1.0, 7, 7),
        (0.5, 7, 4),
        (0.01, 1, 1),
        (np.float32(0.5), 4, 2),
    ],
)
def test_cutoffs(k, size, expected):
    assert DCG(k=k).cutoffs(Queries.from_sizes([size])).tolist() == [expected]


@for_each("percent", range(1, 101))
def test_fractions_of_a_hundred_documents_are_exact(percent):
    assert DCG(k=percent / 100).cutoffs(Queries.from_sizes([100, 200])).tolist() == [
        percent,
        2 * percent,
    ]


@for_each("k", CUTOFFS)
@for_each("discount", DISCOUNTS, ids=str)
def test_the_ideal_is_the_best_of_all_permutations(discount, k):
    sizes = [6, 1, 4, 5]
    labels, _ = ragged(sizes)
    dcg, queries = DCG(k=k, discount=discount), Queries.from_sizes(sizes)
    gains = dcg.gains(labels)
    expected = [ideal_dcg(gains[part].tolist(), discount, k) for part in slices(sizes)]
    np.testing.assert_allclose(dcg.ideal(gains, queries), expected, atol=1e-12)


@for_each("k", [None, 1, 5, 0.25, 100])
@for_each("levels", [MAX_COUNTED_LEVELS - 1, MAX_COUNTED_LEVELS, MAX_COUNTED_LEVELS + 1, 40])
def test_the_ideal_has_the_cutoff_for_few_and_for_many_different_gains(levels, k):
    """With few gains the ideal DCG is computed from counts, with many by sorting; both must know
    the cutoff."""
    sizes = [levels, 1, 30, 12]
    gains = (
        np.concatenate(
            [np.arange(levels), np.random.default_rng(0).integers(0, levels, sum(sizes) - levels)]
        )
        + 0.5
    )
    dcg, queries = DCG(k=k, gain="linear"), Queries.from_sizes(sizes)
    assert (count_levels(gains, queries) is None) == (levels > MAX_COUNTED_LEVELS)
    expected = []
    for part, cutoff in zip(slices(sizes), dcg.cutoffs(queries), strict=True):
        best = np.argsort(-gains[part], kind="stable").tolist()
        expected.append(dcg_of_order(gains[part], best, cutoff=int(cutoff)))
    np.testing.assert_allclose(dcg.ideal(gains, queries), expected, rtol=1e-12)


def test_a_gain_that_the_sample_of_gains_misses_counts_in_the_ideal():
    gains = np.zeros(3 * LEVEL_SAMPLE_SIZE)
    gains[1] = 7.0
    assert DCG(k=2).ideal(gains, Queries.from_sizes([len(gains)])).tolist() == [7.0]


@pytest.mark.parametrize("k", [*CUTOFFS, 0.5])
@given(sizes=RAGGED)
def test_ndcg_is_the_sum_of_normalized_gains_times_the_discounts_of_ranks(sizes, k):
    labels, _ = ragged(sizes)
    scores = np.random.default_rng(1).normal(size=sum(sizes))
    dcg, queries = DCG(k=k), Queries.from_sizes(sizes)
    gains = dcg.gains(labels)
    u, ranks, cutoffs = (
        dcg.normalized_gains(gains, queries),
        queries.ranks(scores),
        dcg.cutoffs(queries),
    )
    ndcg = dcg.ndcg(gains, scores, queries)
    for query, part in enumerate(slices(sizes)):
        shown = [
            (u[i], ranks[i]) for i in range(part.start, part.stop) if ranks[i] <= cutoffs[query]
        ]
        identity = sum(value / math.log2(1 + rank) for value, rank in shown)
        assert (
            identity == pytest.approx(ndcg[query], abs=1e-12)
            if any(labels[part])
            else np.isnan(ndcg[query])
        )


@for_each("discount", ["log2", ("exponential", 2.0)], ids=str)
@for_each("k", CUTOFFS)
@for_each(
    ("ties", "choose"),
    [("average", np.mean), ("best", max), ("worst", min), ("stable", lambda values: values[0])],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ties_over_all_permutations_of_tied_documents(ties, choose, k, discount):
    sizes = [5, 1, 6, 2, 4, 6]
    labels, scores = ragged(sizes)
    scores[:5] = 0.0
    dcg, queries = DCG(k=k, discount=discount), Queries.from_sizes(sizes)
    gains = dcg.gains(labels)
    result = dcg.of_ranking(gains, scores, queries, ties=ties)
    for value, part in zip(result, slices(sizes), strict=True):
        values = [
            dcg_of_order(gains[part], order, discount, k)
            for order in orders_by(scores[part].tolist())
        ]
        assert value == pytest.approx(choose(values), abs=1e-12)


def test_str_names_the_metric():
    settings = (None, "exp2"), (10, "exp2"), (0.5, "linear"), (5, "log")
    assert [str(DCG(k, gain)) for k, gain in settings] == [
        "ndcg",
        "ndcg@10",
        "ndcg(gain=linear)@0.5",
        "ndcg(gain=log)@5",
    ]


@pytest.mark.parametrize(
    ("gain", "label", "fault"),
    [
        ("exp2", np.nan, "= nan is not finite"),
        ("exp2", -1, "= -1 is negative"),
        ("exp2", 2000, "= 2000 overflows.*gain='linear'"),
        *(([0, 1, 5], label, ".* is not an integer from 0 to 2") for label in (0.5, 3, 2.0001)),
    ],
)
def test_bad_labels_are_errors_that_name_the_document(gain, label, fault):
    with pytest.raises(ValueError, match=rf"relevance\[1\] {fault}"):
        DCG(gain=gain).gains([0, label])


def test_a_discount_that_increases_late_is_an_error_where_it_matters():
    dcg = DCG(discount=lambda ranks: np.where(ranks < 3, 1 / ranks, ranks))
    assert dcg.ideal(np.ones(2), Queries.from_sizes([2])).tolist() == [1.5]
    with pytest.raises(ValueError, match="must not increase"):
        dcg.ideal(np.ones(3), Queries.from_sizes([3]))


def test_a_sum_of_gains_that_overflows_is_an_error():
    gains, queries = np.full(4, 1e308), Queries.from_sizes([4])
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="the sum of the discounted gains of a query over"),
    ):
        DCG().of_ranking(gains, np.arange(4.0), queries)


def test_ndcg_of_ideal_rankings_is_exactly_one():
    random = np.random.default_rng(0)
    for levels in (3, 40):
        queries, gains = Queries.from_sizes([37] * 50), random.integers(0, levels, 37 * 50) * 0.1
        assert (DCG().ndcg(gains, gains, queries) == 1.0).all()
        assert (DCG().ndcg(gains, -gains, queries) < 1.0).all()


@pytest.mark.parametrize("difference", [1e-2, 1e-4, 1e-8, 1e-12])
def test_ndcg_just_below_one_is_not_rounded(difference):
    # The document of rank 1 is worth slightly less than that of rank 2.
    gains, queries = np.array([1.0 - difference, 1.0]), Queries.from_sizes([2])
    second = 1.0 / math.log2(3)
    lost = difference * (1.0 - second) / (1.0 + (1.0 - difference) * second)
    for value in (
        1.0 - DCG().ndcg(gains, np.array([1.0, 0.0]), queries)[0],
        1.0 - DCG().normalized_gains(gains, queries) @ [1.0, second],
    ):
        assert value == pytest.approx(lost, rel=1e-2, abs=0.0)


def exponential(y):
    return [2.0**label - 1 for label in y]


def divided(values, norm):
    return [value / norm if norm > 0 else 0.0 for value in values]


FORMULAS = {
    "dcg": lambda y: normalized_gains(y),
    "none": exponential,
    "l2": lambda y: divided(exponential(y), math.sqrt(sum(g**2 for g in exponential(y)))),
    "sum": lambda y: divided(exponential(y), sum(exponential(y))),
    "softmax": lambda y: divided(
        [math.exp(label) for label in y], sum(math.exp(label) for label in y)
    ),
}


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=5), highest=st.sampled_from([0, 1, 4])
)
def test_targets_by_formula(normalize, sizes, highest):
    labels = np.random.default_rng(sizes).integers(0, highest + 1, sum(sizes))
    expected = np.concatenate([FORMULAS[normalize](labels[part]) for part in slices(sizes)])
    targets = make_targets(labels, Queries.from_sizes(sizes), normalize=normalize)
    np.testing.assert_allclose(targets, expected, rtol=1e-12, atol=1e-15)
    assert targets.dtype == np.float64


@for_each("discount", DISCOUNTS, ids=str)
@for_each("k", [None, 1, 2])
@for_each("gain", ["exp2", "linear", "log"])
def test_normalized_gains_use_gain_discount_and_cutoff(gain, k, discount):
    labels, queries = [3, 0, 1, 1, 0, 2], Queries.from_sizes([4, 2])
    expected = [normalized_gains(part, discount, k, gain) for part in (labels[:4], labels[4:])]
    targets = make_targets(labels, queries, DCG(k=k, gain=gain, discount=discount))
    np.testing.assert_allclose(targets, np.concatenate(expected), rtol=1e-12)


@pytest.mark.parametrize("normalize", ["dcg", "l2", "sum"])
def test_targets_of_the_largest_labels_are_finite_and_right(normalize):
    labels, queries = [1000.0, 1000.0, 999.0], Queries.from_sizes([3])
    small = make_targets([60.0, 60.0, 59.0], queries, normalize=normalize)
    np.testing.assert_allclose(
        make_targets(labels, queries, normalize=normalize), small, rtol=1e-12
    )
