"""Displays of labels: precision by recall, scores of each label, and pairs of labels."""

import numpy as np
import pytest
from artists import line

import boostrank as br
from boostrank.displays import LabelPairsDisplay, LabelScoresDisplay, PrecisionRecallDisplay


def test_precision_by_recall_is_the_measure_at_eleven_levels(ragged):
    labels, scores, qid = ragged
    weights = np.random.default_rng(0).random(40)
    both = {"tied": scores, "ideal": labels}
    display = PrecisionRecallDisplay.from_predictions(labels, both, qid, threshold=2, sample_weight=weights)
    expected = [
        br.get_measure("iprec", recall=tenths / 10, threshold=2)(labels, scores, qid, sample_weight=weights)
        for tenths in range(11)
    ]
    np.testing.assert_allclose(display.precision["tied"], expected, atol=1e-12)
    points = line(display.ax_, "tied").get_xydata()
    np.testing.assert_allclose(points, np.c_[np.arange(11) / 10, expected], atol=1e-12)
    # It is 1 in queries with relevant documents, and 0 in others.
    (share,) = set(display.precision["ideal"].round(12))
    assert share == pytest.approx(br.get_measure("mrr", threshold=2)(labels, labels, qid, sample_weight=weights))


def test_precision_of_runs_has_the_settings_of_runs():
    qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"x": 3.0, "a": 2.0, "b": 1.0}}
    plain = PrecisionRecallDisplay.from_runs(qrels, {"mine": run})
    assert plain.precision["mine"].tolist() == [1 / 2] * 6 + [0.0] * 5
    judged = PrecisionRecallDisplay.from_runs(qrels, {"mine": run, "other": run}, unjudged="remove")
    assert judged.precision["other"].tolist() == [1.0] * 6 + [0.0] * 5


def test_boxes_are_quantiles_of_scores_minus_the_mean_of_their_query(ragged):
    labels, scores, qid = ragged
    table = LabelScoresDisplay.from_predictions(labels, scores, qid).table
    centred = scores.copy()
    for query in np.unique(qid):
        centred[qid == query] -= scores[qid == query].mean()
    assert table.index.tolist() == [0, 1, 2, 3]
    for label, row in table.iterrows():
        mine = centred[labels == label]
        found = row[["whislo", "q1", "med", "q3", "whishi"]].to_numpy(dtype=float)
        np.testing.assert_allclose(found, np.quantile(mine, [0.05, 0.25, 0.5, 0.75, 0.95]), atol=1e-12)
        assert row["documents"] == len(mine)


def test_shares_of_pairs_are_counted_pair_by_pair(ragged):
    labels, scores, qid = ragged
    display = LabelPairsDisplay.from_predictions(labels, scores, qid)
    for larger in (1, 2, 3):
        for smaller in range(3):
            right = [
                (scores[i] > scores[j]) + (scores[i] == scores[j]) / 2
                for i in np.flatnonzero(labels == larger)
                for j in np.flatnonzero((labels == smaller) & (qid == qid[i]))
            ]
            share, pairs = display.shares.loc[larger, smaller], display.pairs.loc[larger, smaller]
            if smaller < larger:
                assert (share, pairs) == (pytest.approx(np.mean(right), abs=1e-12), len(right))
            else:
                assert np.isnan([share, pairs]).all()
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [f"{display.shares.iloc[i, j]:.2f}" for i in range(3) for j in range(i + 1)]
    apart = LabelPairsDisplay.from_predictions([0, 1, 2], [1.0, 2.0, 3.0], ["a", "a", "b"])
    assert np.isnan(apart.shares.loc[2]).all()
    assert apart.pairs.loc[2].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("show", [LabelScoresDisplay, LabelPairsDisplay])
@pytest.mark.parametrize("labels", [[1, 1, 1], np.arange(11)])
def test_too_few_or_too_many_labels_are_errors(show, labels):
    message = rf"{show.__name__} shows 2 to 10 different labels; y_true has {len(set(labels))}"
    with pytest.raises(ValueError, match=message):
        show.from_predictions(labels, np.arange(len(labels)), np.zeros(len(labels)))
