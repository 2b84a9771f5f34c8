"""Names of ranx and of families of trec_eval mean our measures, or the error names these."""

import numpy as np
import pytest

import boostrank as br

QRELS = {"a": {"x": 1, "y": 0, "z": 2, "w": 1}, "b": {"x": 0, "y": 1}}
RUN = {"a": {"x": 3.0, "y": 2.0, "z": 1.0}, "b": {"x": 1.0, "y": 0.5}}
LABELS, SCORES, QID = [1, 0, 2, 1, 0, 1], [3.0, 2.0, 1.0, 0.5, 1.0, 0.5], list("aaaabb")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("hit_rate@1", "success@1"),
        ("hit_rate", "success"),
        ("f1@2", "f@2"),
        ("r-precision", "rprec"),
        ("dcg_burges@2", "dcg(gain=exp2)@2"),
        ("ndcg_burges@2", "ndcg(gain=exp2)@2"),
    ],
)
def test_a_name_of_ranx_is_our_measure(theirs, ours):
    assert br.get_measure(theirs) == br.get_measure(ours)
    expected = br.evaluate(LABELS, SCORES, QID, [ours])[ours]
    assert br.evaluate(LABELS, SCORES, QID, [theirs]) == {theirs: expected}
    expected = br.evaluate_run(QRELS, RUN, [ours])[ours]
    assert br.evaluate_run(QRELS, RUN, [theirs]) == {theirs: expected}


def test_a_measure_that_is_defined_in_another_way_is_an_error_that_says_how():
    for evaluate in (
        lambda: br.evaluate(LABELS, SCORES, QID, ["rbp.95@3"]),
        lambda: br.evaluate_run(QRELS, RUN, ["rbp.95@3"]),
    ):
        with pytest.raises(ValueError, match=r"grade as its gain.*write 'rbp\(p=0.95\)@3'"):
            evaluate()
    same = br.get_measure("dcg@3", gain="linear", discount=lambda ranks: 0.05 * 0.95 ** (ranks - 1))
    expected = np.mean([0.05 * (1 + 2 * 0.95**2), 0.05 * 0.95])
    assert same(LABELS, SCORES, QID) == pytest.approx(expected)


def test_a_number_of_hits_is_an_error_with_our_measure():
    for evaluate in (
        lambda: br.evaluate(LABELS, SCORES, QID, ["hits@5"]),
        lambda: br.evaluate_run(QRELS, RUN, ["hits@5"]),
    ):
        with pytest.raises(ValueError, match=r"hits of ranx is a number.*precision@5' times 5"):
            evaluate()


def test_families_of_trec_eval_are_several_measures():
    levels = [f"iprec_at_recall_{tenths / 10:.2f}" for tenths in range(11)]
    assert list(br.evaluate_run(QRELS, RUN, ["iprec_at_recall"])) == levels
    values = br.evaluate_run(QRELS, RUN, ["map", "ndcg_cut"])
    cutoffs = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    assert list(values) == ["map", *(f"ndcg_cut_{k}" for k in cutoffs)]
    assert values["ndcg_cut_5"] == br.evaluate_run(QRELS, RUN, ["nDCG@5"])["nDCG@5"]
    values = br.evaluate_run(QRELS, RUN, ["P.1,3", "map_cut.2"])
    assert list(values) == ["P_1", "P_3", "map_cut_2"]
    for family in ("ndcg_cut", "iprec_at_recall", "map_cut"):
        with pytest.raises(ValueError, match=r"several measures of trec_eval.*name one of them"):
            br.evaluate(LABELS, SCORES, QID, [family])


def test_capped_recall_divides_by_what_is_possible():
    labels, scores, qid = [1, 0, 1, 1, 1], [5, 4, 3, 2, 1], np.zeros(5)
    recall = br.get_measure("recall@2", denominator="possible")
    assert recall(labels, scores, qid) == pytest.approx(1 / 2)
    assert br.get_measure("recall@2")(labels, scores, qid) == pytest.approx(1 / 4)
    assert recall([1, 0, 0, 0, 0], scores, qid) == 1
    assert br.get_measure("recall(denominator=possible)@20") == br.get_measure(
        "recall@20", denominator="possible"
    )
    assert br.get_measure("recall(denominator=possible)@9")(labels, scores, qid) == 1
    values = br.evaluate_run(QRELS, RUN, ["recall(denominator=possible)@1", "recall@1"])
    assert list(values.values()) == pytest.approx([1 / 2, 1 / 6])
