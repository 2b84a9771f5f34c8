"""Names of ir_measures: what they stand for, and faulty ones."""

import pytest

from boostrank.metrics import evaluate, get_measure, named_measures


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@10", get_measure("ndcg@10", gain="linear")),
        ("nDCG", get_measure("ndcg", gain="linear")),
        ("nDCG(dcg='exp-log2')@10", get_measure("ndcg@10")),
        ('nDCG(dcg="log2")@10', get_measure("ndcg@10", gain="linear")),
        ("P@5", get_measure("precision@5")),
        ("P(rel=2)@5", get_measure("precision@5", threshold=2)),
        ("Precision(rel=2)@5", get_measure("precision@5", threshold=2)),
        ("R@100", get_measure("recall@100")),
        ("AP", get_measure("map")),
        ("MAP(rel=2)", get_measure("map", threshold=2)),
        ("AP(rel=2)@100", get_measure("map@100", threshold=2)),
        ("RR", get_measure("mrr")),
        ("MRR@10", get_measure("mrr@10")),
        ("nDCG(judged_only=True)@5", get_measure("ndcg@5", gain="linear", judged_only=True)),
        ("P(rel=2, judged_only=True)@5", get_measure("precision@5", threshold=2, judged_only=True)),
        ("P(judged_only=False)@5", get_measure("precision@5")),
        ("Judged@10", get_measure("judged@10")),
        ("ERR@20", get_measure("err@20", max_grade=4)),
        ("RBP(rel=1)", get_measure("rbp")),
        ("RBP(p=0.5, rel=2)@10", get_measure("rbp@10", p=0.5, threshold=2)),
    ],
)
def test_name_stands_for_measure(name, measure):
    assert get_measure(name) == measure
    assert named_measures(name) == {name: measure}


def test_settings_can_be_added():
    assert get_measure("nDCG@10", ties="stable") == get_measure("ndcg@10", gain="linear", ties="stable")


def test_both_conventions_can_be_compared():
    values = evaluate([2, 1, 0], [1.0, 2.0, 3.0], [7, 7, 7], ["ndcg@10", "nDCG@10"])
    assert list(values) == ["ndcg@10", "nDCG@10"]
    assert values["ndcg@10"] < values["nDCG@10"]


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nDCG@0", "must be like 'nDCG@10'"),
        ("nDCG@", "must be like 'nDCG@10'"),
        ("nDCG@0.5", "must be like 'nDCG@10'"),
        ("P@5(rel=2)", "must be like 'nDCG@10'"),
        ("P(2)@5", "must be like .rel=2."),
        ("P(1)+(2)@5", "must be like .rel=2."),
        ("P(**{})@5", "must be like .rel=2."),
        ("P(rel=x)@5", "must be like .rel=2."),
        ("P(rel=)@5", "must be like .rel=2."),
        ("P(level=2)@5", "the parameter 'level', which is not known; known are rel"),
        ("AP(judged_only=1)", "judged_only must be True or False; got 1"),
        ("ERR(judged_only=True)", "the parameter 'judged_only', which is not known"),
        ("ERR(rel=2)@5", "known are none"),
        ("nDCG(dcg='log')@5", "dcg must be one of log2, exp-log2"),
        ("RBP(p=0.9)", "write RBP.rel=1."),
        ("P(rel=-1)@5", "threshold must be a finite number above 0"),
        ("Bpref", "measure must be a Measure"),
    ],
)
def test_faulty_name_is_refused(name, fault):
    with pytest.raises(ValueError, match=fault):
        get_measure(name)
