"""Mean gain by score: bins, means and intervals are those of plain loops over documents and queries."""

import numpy as np
import pytest
from artists import error_bars, legend_texts
from scipy import stats

import boostrank as br
from boostrank import displays
from boostrank.core.targets import make_targets
from boostrank.displays.bins import equal_bins


def slow_bins(values, n_bins):
    """Bin of each value by the median of the ranks 0.5, 1.5, ... of its equals, empty bins left out."""
    ordered = sorted(values)
    ranks = {v: np.mean([i + 0.5 for i, w in enumerate(ordered) if w == v]) for v in set(ordered)}
    bins = [int(np.floor(ranks[v] * n_bins / len(ordered) + 1e-12)) for v in values]
    return [sorted(set(bins)).index(b) for b in bins]


@pytest.mark.parametrize("n_values", [1, 2, 5, 300])
@pytest.mark.parametrize("n_bins", [1, 3, 10])
def test_bins_have_equal_values_together_and_about_equal_sizes(n_values, n_bins):
    values = np.random.default_rng(n_values).integers(0, n_values, 200).astype(float)
    found = equal_bins(values, n_bins)
    assert found.tolist() == slow_bins(values, n_bins)
    if n_values == 300:
        assert np.ptp(np.bincount(found)) <= 6


def slow_calibration(gains, scores, qid, weights, n_bins):
    bins, rows = np.array(slow_bins(scores, n_bins)), []
    for b in range(bins.max() + 1):
        inside = bins == b
        total = weights[inside].sum()
        mean = (weights * gains)[inside].sum() / total
        residuals = []
        for query in np.unique(qid[inside]):
            part = inside & (qid == query)
            residuals.append(sum(w * (g - mean) for w, g in zip(weights[part], gains[part], strict=True)))
        n = len(residuals)
        error = np.sqrt(n / (n - 1) * np.square(residuals).sum()) / total
        margin = stats.t.ppf(0.975, n - 1) * error
        score = (weights * scores)[inside].sum() / total
        rows.append((score, mean, mean - margin, mean + margin, inside.sum(), n))
    return np.array(rows)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_and_intervals_are_those_of_a_plain_computation(ragged, within, weighted):
    labels, scores, qid = ragged
    scores = scores + 0.1 * labels + 0.01 * np.arange(len(scores)) % 7
    order = list(dict.fromkeys(qid))
    by_query = np.random.default_rng(1).uniform(0.5, 2, len(order)) if weighted else np.ones(len(order))
    settings = {"sample_weight": by_query} if weighted else {}
    make = displays.GainCalibrationDisplay.from_predictions
    display = make(labels, scores, qid, n_bins=4, k=5, within_queries=within, **settings)
    queries = br.metrics.base.Queries.from_qid(qid)
    gains = queries.ungroup(make_targets(queries.group(labels), queries, br.metrics.base.DCG(5)))
    if within:
        for query in order:
            rows = qid == query
            gains[rows] -= gains[rows].mean()
            scores[rows] -= scores[rows].mean()
    weights = np.array([by_query[order.index(one)] for one in qid])
    expected = slow_calibration(gains, scores, qid, weights, 4)
    found = [display.score, display.gain, display.low, display.high, display.n_documents, display.n_queries]
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)
    points, segments = error_bars(display.ax_)
    np.testing.assert_allclose(points, expected[:, :2], atol=1e-12)
    np.testing.assert_allclose([segment[:, 1] for segment in segments], expected[:, 2:4], atol=1e-12)
    subject = "score, minus the mean of its query" if within else "score"
    gain = "normalized gain,\nminus the mean of its query" if within else "normalized gain"
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == (subject, gain)
    assert not legend_texts(display.ax_)


def test_queries_of_weight_0_are_left_out(ragged):
    labels, scores, qid = ragged
    make = displays.GainCalibrationDisplay.from_predictions
    kept = qid % 2 == 0
    weights = (np.array(list(dict.fromkeys(qid))) % 2 == 0).astype(float)
    some, only = make(labels, scores, qid, sample_weight=weights), make(labels[kept], scores[kept], qid[kept])
    for name in ("score", "gain", "low", "high", "n_documents", "n_queries"):
        np.testing.assert_allclose(getattr(some, name), getattr(only, name), atol=1e-12)


def test_predictions_of_gains_have_a_diagonal(ragged):
    labels, _, qid = ragged
    make, settings = displays.GainCalibrationDisplay.from_predictions, {"normalize": "none", "gain": "linear"}
    display = make(labels, 2 * labels, qid, transform=lambda scores: scores / 2, **settings, name="perfect")
    np.testing.assert_allclose(display.gain, display.score)
    assert legend_texts(display.ax_) == ["gain = prediction", "mean of a bin, 95% interval"]
    ends = [display.score.min(), display.score.max()]
    np.testing.assert_allclose(display.ax_.get_lines()[-1].get_xydata(), np.transpose([ends, ends]))
    assert display.ax_.get_xlabel() == "gain predicted by the score"
    first, second = display.ax_.get_title().split("\n")
    assert first == "perfect"
    low, high = display.n_documents.min(), display.n_documents.max()
    assert second == f"mean gain by score, 95% intervals; {low} to {high} documents a bin"


def test_estimators_and_one_query(data, rankers):
    X, y, qid = data
    make = displays.GainCalibrationDisplay
    display = make.from_estimator(rankers["a"], X, y, qid, n_bins=3)
    other = make.from_predictions(y, rankers["a"].predict(X), qid, n_bins=3)
    np.testing.assert_array_equal(display.gain, other.gain)
    assert (display.name, other.name) == ("LightGBMRanker", None)
    assert make.from_estimator({"mine": rankers["a"]}, X, y, qid).name == "mine"
    one = make.from_predictions([1, 0, 2], [3, 2, 1], [7, 7, 7], n_bins=3)
    assert np.isnan(one.low).all()
    np.testing.assert_allclose(one.score, [1, 2, 3])
    assert one.ax_.get_title().endswith("; 1 document a bin")
    one.figure_.canvas.draw()


def test_bad_input_is_named(data, rankers):
    make = displays.GainCalibrationDisplay
    for settings, message in (
        ({"n_bins": 0}, "n_bins must be an integer"),
        ({"k": 0}, "k must be"),
        ({"normalize": "max"}, "normalize must be one of"),
        ({"transform": "exp"}, "transform must be a function"),
        ({"transform": lambda scores: scores[:1]}, "transform must return one finite number for each of the 2 scores"),
        ({"transform": lambda scores: scores / np.nan}, "2 numbers that are not finite"),
        ({"sample_weight": [-1.0]}, "sample_weight"),
    ):
        with pytest.raises(ValueError, match=message):
            make.from_predictions([0, 1], [1, 2], [7, 7], **settings)
    with pytest.raises(ValueError, match="GainCalibrationDisplay got no qid"):
        make.from_predictions([0, 1], [1, 2])
    with pytest.raises(ValueError, match="estimator must be one ranker"):
        make.from_estimator(rankers, *data)
