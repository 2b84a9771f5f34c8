"""Measures of user models: cwl_eval, definitions with a loop over ranks, lists without end, and settings."""

import logging
import math

import numpy as np
import pytest
from cases import for_each
from run_definitions import many_random_tables

from boostrank import evaluate_run, get_measure
from boostrank.metrics import MEASURES
from boostrank.runs.user_models import UserModelMeasure

CWL = [
    *(
        f"{name}({goal}max_rel={high})"
        for name in ("INST", "INSQ", "NERR11")
        for goal, high in (("", 3), ("T=2.5, ", 4))
    ),
    "INST(T=0.5, min_rel=1, max_rel=3)",
    # Sums of quarters are exact. cwl_eval adds gains, and may miss a goal that a sum of thirds reaches.
    "BPM(max_rel=4)@20",
    "BPM(T=2, min_rel=1, max_rel=5)@7",
    "SDCG(max_rel=3)@5",
    "SDCG(min_rel=1, max_rel=4)@50",
    "NERR8(max_rel=3)@10",
    "NERR8(min_rel=1, max_rel=3)@1",
    "NERR9(max_rel=4)@10",
    "NERR9(max_rel=3)@60",
    "NERR10(max_rel=3)",
    "NERR10(p=0.5, min_rel=1, max_rel=4)",
]
RELEVANCES = {"lowest": -1, "highest": 3, "tied": False}


def test_values_are_those_of_cwl_eval():
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    logging.getLogger("ir_measures.cwl_eval").setLevel("ERROR")
    qrels, run = many_random_tables(3, **RELEVANCES)
    found = evaluate_run(qrels, run, CWL, queries="common", per_query=True)
    names = {ir_measures.parse_measure(name): name for name in CWL}
    values = {
        (value.query_id, names[value.measure]): value.value
        for value in ir_measures.cwl_eval.iter_calc(list(names), qrels, run)
    }
    assert found.size > 150
    expected = [[values[query, name] for name in CWL] for query in found.index]
    np.testing.assert_allclose(found.to_numpy(), expected, rtol=0, atol=1e-12)


def continuation(name, rank, gain, total, goal, p):
    """Probability that the user goes on after a rank, given its gain and the sum of gains up to it."""
    if name in ("insq", "inst", "nerr11"):
        after = rank + 2 * goal - (total if name == "inst" else 0.0)
        return ((after - 1) / after) ** 2 * (1 - gain if name == "nerr11" else 1.0)
    if name == "bpm":
        return float(total < goal)
    if name == "sdcg":
        return math.log(rank + 1) / math.log(rank + 2)
    return (1 - gain) * {"nerr8": 1.0, "nerr9": rank / (rank + 1), "nerr10": p}[name]


def by_definition(name, gains, k, goal, p):
    """The mean gain of the documents that a user reads who stops at rank k; ranks after the last have no gain."""
    reading, n_read, collected, total = 1.0, 0.0, 0.0, 0.0
    for rank in range(1, k + 1):
        gain = gains[rank - 1] if rank <= len(gains) else 0.0
        total += gain
        n_read += reading
        collected += reading * gain
        reading *= continuation(name, rank, gain, total, goal, p)
    return collected / n_read


@for_each("measure", [each for each in MEASURES.values() if issubclass(each, UserModelMeasure)])
@for_each(("k", "goal", "p"), [(1, 0.5, 0.5), (4, 1.25, 0.9), (100, 3.0, 0.8)])
def test_definitions(measure, k, goal, p):
    settings = {"k": k, "max_grade": 4, "min_grade": 0.5}
    settings |= {"goal": goal} if hasattr(measure, "goal") else {}
    settings |= {"p": p} if hasattr(measure, "p") else {}
    qrels, run = many_random_tables(6, **RELEVANCES)
    found = evaluate_run(qrels, run, {"value": measure(**settings)}, queries="common", per_query=True)["value"]
    expected = []
    for query in found.index:
        ranking = sorted(run[query], key=run[query].get, reverse=True)
        gains = [max(qrels[query].get(document, 0) - 0.5, 0) / 3.5 for document in ranking]
        expected.append(by_definition(measure.name, gains, k, goal, p))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@for_each("name", ["inst", "insq", "nerr10", "nerr11"])
def test_lists_without_end(name):
    """The expected number of documents after 100,000 ranks is that of an integral."""
    n_ranks, gains, goal, p = 100_000, [0.0, 0.5, 0.0, 1.0, 0.25], 1.5, 0.95
    padded = np.append(gains, np.zeros(n_ranks - len(gains)))
    ranks, totals = np.arange(1, n_ranks + 1), np.cumsum(padded)
    after = ranks + 2 * goal - (totals if name == "inst" else 0.0)
    goes_on = {"nerr10": p * (1 - padded), "nerr11": (1 - padded) * ((after - 1) / after) ** 2}.get(
        name, ((after - 1) / after) ** 2
    )
    reading = np.append(1.0, np.cumprod(goes_on)[:-1])
    tail = 0.0 if name == "nerr10" else reading[-1] * (after[-1] - 1) ** 2 / (after[-1] - 0.5)
    expected = reading @ padded / (reading.sum() + tail)
    documents = "abcde"
    measure = get_measure(name, max_grade=4, **({"p": p} if name == "nerr10" else {"goal": goal}))
    qrels = {"q": {document: int(4 * gain) for document, gain in zip(documents, gains, strict=True)}}
    run = {"q": {document: -float(i) for i, document in enumerate(documents)}}
    assert evaluate_run(qrels, run, {"v": measure})["v"] == pytest.approx(expected, rel=1e-11)
    # Without a relevant document in the last ranks, more of them change nothing.
    longer = {"q": {**run["q"], **{f"x{i}": -float(i) for i in range(5, 50)}}}
    assert evaluate_run(qrels, longer, {"v": measure})["v"] == pytest.approx(expected, rel=1e-11)


def test_sums_of_gains_reach_a_goal_in_spite_of_rounding():
    """Ten gains of 1/10 are 1, although their sum in floating point is below."""
    qrels = {"q": {f"d{i:02}": 1 for i in range(11)}}
    run = {"q": {f"d{i:02}": -float(i) for i in range(10)} | {"x": -10.0, "d10": -11.0}}
    assert sum([0.1] * 10) < 1
    tenths = {"q": dict.fromkeys(qrels["q"], 0.1)}
    assert evaluate_run(tenths, run, {"v": get_measure("bpm@12", max_grade=1)}) == pytest.approx({"v": 0.1}, rel=1e-15)
    assert evaluate_run(qrels, run, "BPM(max_rel=10)@12")["BPM(max_rel=10)@12"] == pytest.approx(0.1, rel=1e-15)


def test_the_default_of_the_largest_grade_is_that_of_the_judgments():
    qrels, run = {"q": {"a": 1, "b": 2}, "r": {"a": 1}}, {"q": {"b": 1.0}, "r": {"a": 1.0}}
    values = evaluate_run(qrels, run, {"v": "sdcg@1"}, per_query=True)["v"]
    assert values.tolist() == [1.0, 0.5]
    assert evaluate_run({"q": {"a": 0.25, "b": 0.5}}, {"q": {"a": 1.0}}, {"v": "sdcg@1"}) == {"v": 0.5}
    assert evaluate_run({"q": {"a": 0}}, {"q": {"a": 1.0}}, {"v": "sdcg@1"}) == {"v": 0.0}


@pytest.mark.parametrize(("ties", "expected"), [("average", 0.5), ("best", 1.0), ("worst", 0.0), ("stable", 0.0)])
def test_ties_of_models_that_do_not_depend_on_gains(ties, expected):
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"b": 1.0, "a": 1.0}}
    assert evaluate_run(qrels, run, "SDCG(max_rel=1)@1", ties=ties) == {"SDCG(max_rel=1)@1": expected}


def test_a_tie_at_the_cutoff_is_averaged_over_permutations():
    qrels = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}
    run = {"q": {"a": 2.0, "b": 1.0, "c": 1.0, "d": 1.0}}
    weights = 1 / np.log2([2.0, 3.0, 4.0])
    expected = (weights[0] * 1 + (weights[1] + weights[2]) * (1 + 0 + 2) / 3 / 3) / weights.sum()
    value = evaluate_run(qrels, run, "SDCG(max_rel=3)@3", ties="average")["SDCG(max_rel=3)@3"]
    assert value == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("measure", "settings", "fault"),
    [
        ("inst", {"ties": "average"}, r"ties of inst must be one of stable; got 'average'"),
        ("INST(T=0.4, max_rel=3)", {}, r"goal must be a finite number of at least 0\.5; got 0\.4"),
        ("INSQ(T=0, max_rel=3)", {}, r"goal must be a finite number above 0; got 0"),
        ("NERR10(p=1, max_rel=3)", {}, r"p must be a finite number above 0 and below 1; got 1"),
        ("SDCG(max_rel=1)@5", {}, r"max_grade, at least the largest relevance, must be .* of at least 2; got 1"),
        ("SDCG(max_rel=3, min_rel=3)@5", {}, r"max_grade must be None or a finite number above 3; got 3"),
    ],
)
def test_invalid_settings_are_refused(measure, settings, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate_run({"q": {"a": 2}}, {"q": {"a": 1.0}}, measure, **settings)
