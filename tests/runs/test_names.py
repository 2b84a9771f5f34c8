"""Names of ir_measures: what they stand for, and faulty ones."""

import pytest
from cases import for_each

import boostrank as br
from boostrank.metrics import evaluate, get_measure, make_scorer
from boostrank.runs.evaluation import measures_of_runs

QRELS = {"q": {"a": 3, "b": 1, "c": 0}}
RUN = {"q": {"b": 3.0, "c": 2.0, "a": 1.0}}


@for_each(
    ("name", "measure"),
    [
        ("nDCG@10", get_measure("ndcg@10", gain="linear")),
        ("nDCG(dcg='exp-log2')@10", get_measure("ndcg@10")),
        ("P(rel=2)@5", get_measure("precision@5", threshold=2)),
        ("AP(rel=2)@100", get_measure("map@100", threshold=2)),
        ("IPrec@0.5", get_measure("iprec@0.5")),
        ("IPrec(rel=2)@.25", get_measure("iprec", recall=0.25, threshold=2)),
        ("NumRet(rel=2)", get_measure("numret", threshold=2)),
        ("NumRelRet", get_measure("numret", threshold=1)),
        ("ERR@20", get_measure("err@20", max_grade=4)),
        ("RBP(rel=1)", get_measure("rbp")),
        ("RBP(p=0.5, rel=2)@10", get_measure("rbp@10", p=0.5, threshold=2)),
        # Names of trec_eval.
        ("ndcg_cut_10", get_measure("ndcg@10", gain="linear")),
        ("recip_rank", get_measure("mrr")),
        ("iprec_at_recall_0.50", get_measure("iprec@0.5")),
        ("11pt_avg", get_measure("iprec")),
        ("gm_map", get_measure("gm_map")),
    ],
)
def test_name_stands_for_measure(name, measure):
    assert measures_of_runs(name) == {name: measure}


def test_objects_of_ir_measures_are_their_names():
    ir_measures = pytest.importorskip("ir_measures")
    objects = [ir_measures.nDCG @ 10, ir_measures.P(rel=2) @ 5, ir_measures.AP]
    assert measures_of_runs(objects) == measures_of_runs(["nDCG@10", "P(rel=2)@5", "AP"])
    assert get_measure(ir_measures.P @ 3) == get_measure("P@3")
    with pytest.raises(ValueError, match="for runs, with the label y as gain"):
        get_measure(ir_measures.nDCG @ 10)


@for_each(
    ("name", "fault"),
    [
        (
            "nDCG@10",
            "for runs, with the label y as gain; .* write 'ndcg(gain=linear)@10' .*, or 'ndcg@10'",
        ),
        ("nDCG(dcg='exp-log2')", "write 'ndcg(gain=exp2)' for the same"),
        ("ERR@5", "for runs, with max_grade=4; .* write 'err(max_grade=4)@5' .*, or 'err@5'"),
        ("NDCG@10", "did you mean 'ndcg', or, for runs, 'nDCG' of ir_measures"),
        ("Ndcg", "did you mean 'ndcg', or, for runs, 'nDCG' of ir_measures"),
        ("Err", "did you mean 'err', or, for runs, 'ERR' of ir_measures"),
    ],
)
def test_names_whose_value_would_be_another_are_only_for_runs(name, fault):
    data = [2, 1, 0], [1.0, 2.0, 3.0], [7, 7, 7]
    calls = [
        get_measure,
        make_scorer,
        lambda name: evaluate(*data, name),
        lambda name: evaluate(*data, {"a": name}),
    ]
    for call in [
        *calls,
        br.metrics.named_measures,
        br.lightgbm_metric,
        lambda name: br.reconcile(*data, name),
    ]:
        with pytest.raises(
            ValueError, match=fault.translate({ord(mark): f"\\{mark}" for mark in "()^"})
        ):
            call(name)


def test_names_of_both_conventions_have_their_own_values():
    names = ["ndcg@10", "nDCG(dcg='exp-log2')@10", "ndcg(gain=linear)@10", "nDCG@10"]
    ours, exp2, linear, theirs = br.evaluate_run(QRELS, RUN, names).values()
    assert ours == exp2 != linear == theirs


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("nDCG@0", "k must be"),
        # Other digits than those of ASCII.
        ("nDCG@٣", "must be like 'nDCG@10'"),
        ("ndcg@٣", "measure must be a Measure"),
        ("ndcg@１０", "measure must be a Measure"),
        ("IPrec@٠.٥", "must be like 'nDCG@10'"),
        ("P(rel=٢)@5", "must be like .* .rel=2."),
        ("P(2)@5", "must be like .* .rel=2."),
        ("P(rel=1, rel=2)@5", "each name once"),
        ("nDCG(dcg='log')@5", "dcg must be one of log2, exp-log2"),
        ("RBP(p=0.9)", "write RBP.rel=1."),
        ("Bpref@5", "the measure 'bpref' has no setting 'k'"),
    ],
)
def test_faulty_name_is_refused(name, fault):
    with pytest.raises((ValueError, TypeError), match=fault):
        measures_of_runs(name)
