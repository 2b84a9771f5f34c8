"""Measures of subtopics: NIST's ndeval, definitions in plain Python, and qrels with several iterations."""

import math
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from cases import for_each

from boostrank import evaluate_run, get_measure
from boostrank.metrics import MEASURES, named_measures
from boostrank.runs.novelty import SubtopicMeasure

# Names of ir_measures, with those of ndeval.
NDEVAL = {
    "ERR_IA@5": "ERR-IA@5",
    "ERR_IA@20": "ERR-IA@20",
    "nERR_IA@1": "nERR-IA@1",
    "nERR_IA@10": "nERR-IA@10",
    "alpha_DCG@2": "alpha-DCG@2",
    "alpha_DCG@20": "alpha-DCG@20",
    "alpha_nDCG@1": "alpha-nDCG@1",
    "alpha_nDCG@5": "alpha-nDCG@5",
    "alpha_nDCG@20": "alpha-nDCG@20",
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "AP_IA": "MAP-IA",
    "P_IA@1": "P-IA@1",
    "P_IA@10": "P-IA@10",
    "STREC@1": "strec@1",
    "StRecall@10": "strec@10",
}
COLUMNS = ["query_id", "iteration", "doc_id", "relevance"]


def qrels_of(*judgments):
    return pd.DataFrame(judgments, columns=COLUMNS)


def with_settings(name, **settings):
    """The measure with those of the settings that it has."""
    (measure,) = named_measures(name, "runs").values()
    return get_measure(measure, **{key: value for key, value in settings.items() if hasattr(measure, key)})


def random_tables(seed, n_ids=30, scores=None):
    """Judgments for subtopics and a run, with documents that were not judged, and relevant ones not retrieved."""
    random = np.random.default_rng(seed)
    judgments, run = [], {}
    for query in range(random.integers(1, 6)):
        for subtopic in range(random.integers(2, 7)):
            chosen = random.choice(n_ids, random.integers(1, 12), replace=False)
            grades = random.integers(-2, 4, len(chosen)) if random.random() < 0.9 else np.zeros(len(chosen), dtype=int)
            judgments += [
                (f"q{query}", f"s{subtopic}", f"d{i}", grade) for i, grade in zip(chosen, grades, strict=True)
            ]
        chosen = random.choice(n_ids, random.integers(1, n_ids), replace=False)
        values = random.permutation(len(chosen)) if scores is None else random.integers(0, scores, len(chosen))
        run[f"q{query}"] = {f"d{i}": float(value) for i, value in zip(chosen, values, strict=True)}
    random.shuffle(judgments)
    return qrels_of(*judgments), run


def many_random_tables(n_tables, **settings):
    """The queries of many random tables in one table of judgments and one run, so that one call evaluates them all."""
    tables, runs = [], {}
    for seed in range(n_tables):
        qrels, run = random_tables(seed, **settings)
        tables.append(qrels.assign(query_id=f"{seed:02}" + qrels["query_id"]))
        runs |= {f"{seed:02}{query}": documents for query, documents in run.items()}
    return pd.concat(tables), runs


@pytest.mark.parametrize(("threshold", "alpha", "beta"), [(1, 0.5, 0.5), (2, 0.25, 0.8)])
def test_values_are_those_of_ndeval(threshold, alpha, beta):
    pyndeval = pytest.importorskip("pyndeval")
    qrels, run = many_random_tables(20)
    measures = {name: with_settings(name, threshold=threshold, alpha=alpha, beta=beta) for name in NDEVAL}
    found = evaluate_run(qrels, run, measures, queries="judged", per_query=True)
    assert len(found) > 50
    judgments = list(qrels.itertuples(index=False, name=None))
    documents = [(query, document, score) for query in run for document, score in run[query].items()]
    ndeval = pyndeval.RelevanceEvaluator(judgments, list(NDEVAL.values()), threshold, alpha, beta).evaluate(documents)
    # ndeval has NaN where no document is relevant.
    expected = [[np.nan_to_num(ndeval[query][name]) for name in NDEVAL.values()] for query in found.index]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def test_ndeval_does_not_divide_at_cutoff_1():
    """The sums of ndeval at rank 1 are not divided by the number of subtopics; here they are."""
    pyndeval = pytest.importorskip("pyndeval")
    judgments = [("q", "1", "a", 1), ("q", "2", "b", 1)]
    values = evaluate_run(qrels_of(*judgments), {"q": {"a": 1.0}}, ["ERR_IA@1", "alpha_DCG@1"])
    ndeval = pyndeval.ndeval(judgments, [("q", "a", 1.0)], ["ERR-IA@1", "alpha-DCG@1"])
    assert ndeval == {"q": {"ERR-IA@1": 1.0, "alpha-DCG@1": 1.0}}
    assert values == {"ERR_IA@1": 0.5, "alpha_DCG@1": 0.5}


# Definitions, for one query. `covered` has the set of subtopics of each document of a ranking.
def novelty_sum(covered, discount, alpha, depth):
    total, seen = 0.0, {}
    for rank, subtopics in enumerate(covered[:depth], 1):
        for subtopic in subtopics:
            total += (1 - alpha) ** seen.get(subtopic, 0) * discount(rank)
            seen[subtopic] = seen.get(subtopic, 0) + 1
    return total


def greedy_ranking(relevant, alpha):
    """Documents by their gain, given those before; of equal gains the largest id is first."""
    left, seen, ranking = sorted(relevant, reverse=True), {}, []

    def gain(document):
        return sum((1 - alpha) ** seen.get(subtopic, 0) for subtopic in relevant[document])

    while left:
        best = max(left, key=lambda document: round(gain(document), 9))
        left.remove(best)
        ranking.append(best)
        for subtopic in relevant[best]:
            seen[subtopic] = seen.get(subtopic, 0) + 1
    return ranking


def by_definition(name, relevant, ranking, k, alpha, beta):
    """The value of a measure for one query; `relevant` has the subtopics of each document."""
    subtopics = set().union(*relevant.values())
    if not subtopics:
        return 0.0
    covered = [relevant.get(document, set()) for document in ranking]
    depth = len(covered) if k is None else k
    if name == "subtopic_recall":
        return len(set().union(*covered[:depth])) / len(subtopics)
    if name == "precision_ia":
        return np.mean([sum(one in each for each in covered[:depth]) / k for one in subtopics])
    if name == "map_ia":
        values = []
        for one in subtopics:
            hits = [rank for rank, each in enumerate(covered, 1) if one in each]
            n_relevant = sum(one in each for each in relevant.values())
            values.append(sum(i / rank for i, rank in enumerate(hits, 1) if rank <= depth) / n_relevant)
        return np.mean(values)
    discount = {
        "alpha_dcg": lambda rank: 1 / math.log2(1 + rank),
        "err_ia": lambda rank: 1 / rank,
        "nrbp": lambda rank: beta ** (rank - 1),
    }[name.replace("_ndcg", "_dcg").replace("nerr", "err").replace("nnrbp", "nrbp")]
    if name in ("alpha_ndcg", "nerr_ia", "nnrbp"):
        ideal = [relevant[document] for document in greedy_ranking(relevant, alpha)]
        divisor = novelty_sum(ideal, discount, alpha, 10**9 if k is None else k)
    else:
        # Without a cutoff the sum over all ranks, of which 100 are enough, because alpha is then 0.6.
        divisor = novelty_sum([subtopics] * (100 if k is None else k), discount, alpha, 10**9)
    return novelty_sum(covered, discount, alpha, depth) / divisor


@for_each("measure", [each for each in MEASURES.values() if issubclass(each, SubtopicMeasure)])
@for_each(("k", "alpha"), [(1, 0.5), (3, 0.3), (30, 1.0), (None, 0.6)])
def test_definitions(measure, k, alpha):
    if k is None and measure.needs_cutoff:
        k = 100
    beta, threshold = 0.7, 2
    measure = with_settings(measure.name, k=k, alpha=alpha, beta=beta, threshold=threshold)
    # Most documents have equal scores, and are ranked by decreasing id.
    qrels, run = many_random_tables(3, scores=4)
    found = evaluate_run(qrels, run, {"value": measure}, queries="judged", per_query=True)["value"]
    covered = {query: {} for query in found.index}
    for query, subtopic, document, relevance in qrels.itertuples(index=False):
        subtopics = covered[query].setdefault(document, set())
        if relevance >= threshold:
            subtopics.add(subtopic)
    for query, value in found.items():
        ranking = sorted(sorted(run[query], reverse=True), key=lambda document: -run[query][document])
        expected = by_definition(measure.name, covered[query], ranking, k, alpha, beta)
        assert value == pytest.approx(expected, abs=1e-12)


def test_a_gain_that_is_a_little_larger_is_first():
    """Document a has 11 subtopics and b, whose larger id would be first of equal gains, has 10 others."""
    judgments = [("q", str(i), "a" if i < 11 else "b", 1) for i in range(21)]
    run = {"q": {"a": 2.0, "b": 1.0}}
    values = evaluate_run(qrels_of(*judgments), run, ["alpha_nDCG@1", "alpha_nDCG@2"])
    assert values == pytest.approx({"alpha_nDCG@1": 1.0, "alpha_nDCG@2": 1.0}, abs=1e-15)


def test_the_sequence_of_judgments_changes_nothing():
    """Gains are equal if they differ by the sequence in which their terms are added: 0.7 + 0.49 + 0.343."""
    random = np.random.default_rng(0)
    names = ["alpha_nDCG(alpha=0.3)", "alpha_nDCG(alpha=0.9)"]
    judgments, run = [], {}
    for query in map(str, range(30)):
        covers = random.random((40, 9)) < 0.4
        judgments += [(query, str(j), f"d{i:02}", 1) for i, j in zip(*np.nonzero(covers), strict=True)]
        run[query] = {f"d{i:02}": float(score) for i, score in enumerate(random.permutation(40))}
    one, other = (
        evaluate_run(qrels_of(*rows), run, names, per_query=True).loc[list(run)]
        for rows in (judgments, judgments[::-1])
    )
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    assert (one[names[0]] < 1).all()


def test_the_greedy_ranking_is_not_always_the_best():
    """The greedy ranking is d, then e or f; but e and f, which have all subtopics, are better up to rank 2."""
    covered = {"d": "1234", "e": "125", "f": "346"}
    judgments = [("q", subtopic, document, 1) for document, subtopics in covered.items() for subtopic in subtopics]
    run = {"q": {"e": 3.0, "f": 2.0, "d": 1.0}}
    value = evaluate_run(qrels_of(*judgments), run, "alpha_nDCG(alpha=1)@3")
    second, third = 1 / math.log2(3), 1 / 2
    assert value["alpha_nDCG(alpha=1)@3"] == pytest.approx((3 + 3 * second) / (4 + second + third))
    flat = evaluate_run(qrels_of(*judgments), run, {"v": get_measure("nnrbp", alpha=1.0, beta=0.9, k=2)})["v"]
    assert flat == pytest.approx((3 + 3 * 0.9) / (4 + 0.9))
    assert flat > 1


class TestSeveralIterations:
    qrels = qrels_of(("q", "1", "a", 1), ("q", "2", "a", 3), ("q", "2", "b", 2), ("q", "1", "c", 0))
    run: ClassVar = {"q": {"b": 2.0, "a": 1.0}}

    def test_a_list_with_other_measures_is_refused(self):
        with pytest.raises(ValueError, match=r"the document 'a' of the query 'q' for several .*pass subtopics='max'"):
            evaluate_run(self.qrels, self.run, ["alpha_nDCG@5", "nDCG@5"])

    def test_or_takes_the_largest_relevance(self):
        largest = {"q": {"a": 3, "b": 2, "c": 0}}
        found = evaluate_run(self.qrels, self.run, ["alpha_nDCG@5", "nDCG@5", "AP"], subtopics="max")
        expected = evaluate_run(largest, self.run, ["nDCG@5", "AP"])
        assert {name: found[name] for name in expected} == expected
        assert found["alpha_nDCG@5"] == evaluate_run(self.qrels, self.run, "alpha_nDCG@5")["alpha_nDCG@5"]

    def test_a_single_subtopic_is_named_in_a_warning(self):
        with pytest.warns(UserWarning, match=r"all judgments of qrels have the iteration '0'.*column 'iteration'"):
            value = evaluate_run({"q": {"a": 1}}, {"q": {"b": 2.0, "a": 1.0}}, "ERR_IA@5")["ERR_IA@5"]
        assert value == pytest.approx(1 / 2 / sum(0.5**i / (i + 1) for i in range(5)))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluate_run({"q": {"a": 1}}, {"q": {"a": 1.0}}, "AP")

    def test_queries_without_relevant_documents_follow_the_measure(self):
        qrels = pd.concat([self.qrels, qrels_of(("r", "1", "a", 0), ("r", "2", "a", -1))])
        run = {**self.run, "r": {"a": 1.0}}
        mean = {empty: {"v": get_measure("subtopic_recall", empty=empty)} for empty in ("zero", "one", "skip", "raise")}
        for empty, value in (("zero", 0.5), ("one", 1.0), ("skip", 1.0)):
            assert evaluate_run(qrels, run, mean[empty]) == {"v": value}
        with pytest.raises(ValueError, match=r"query 'r' has no document that is relevant for a subtopic"):
            evaluate_run(qrels, run, mean["raise"])


def test_measures_with_other_settings_share_nothing_that_differs():
    """Pairs and ideal rankings are computed once for measures of the same threshold, alpha and cutoff only."""
    measures = [
        get_measure(name, threshold=threshold, alpha=alpha, k=k)
        for name in ("alpha_ndcg", "nerr_ia")
        for threshold in (1, 3)
        for alpha in (0.25, 0.9)
        for k in (2, 9)
    ]
    qrels, run = random_tables(4)
    together = evaluate_run(qrels, run, {str(i): measure for i, measure in enumerate(measures)}, queries="judged")
    alone = [evaluate_run(qrels, run, {"v": measure}, queries="judged")["v"] for measure in measures]
    assert list(together.values()) == alone
    assert len({round(value, 9) for value in alone}) >= 12


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"measures": "alpha_DCG"}, r"alpha_DCG is not defined for runs: the cutoff must be .* such as 10; got None"),
        ({"measures": "alpha_nDCG@5", "ties": "average"}, r"ties of alpha_ndcg@5 must be one of stable; got 'average'"),
        ({"measures": "alpha_nDCG(alpha=1.5)@5"}, r"alpha must be a finite number .* of at most 1; got 1\.5"),
        ({"measures": "alpha_ndcg@0.5"}, r"k must be None or an integer of at least 1; got 0\.5"),
        ({"measures": "AP", "subtopics": "mean"}, r"subtopics must be one of refuse, max; got 'mean'"),
    ],
)
def test_invalid_settings_are_refused(settings, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate_run(TestSeveralIterations.qrels, TestSeveralIterations.run, **settings)


def test_ties_may_keep_the_sequence_of_the_run():
    qrels, run = qrels_of(("q", "1", "a", 1), ("q", "2", "b", 0)), {"q": {"a": 1.0, "b": 1.0}}
    assert evaluate_run(qrels, run, "ERR_IA@1", ties="stable") == {"ERR_IA@1": 1.0}
    assert evaluate_run(qrels, run, "ERR_IA@1") == {"ERR_IA@1": 0.0}
