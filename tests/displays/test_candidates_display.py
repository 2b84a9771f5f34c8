"""Candidates of objective="auto": their differences and standard errors are those of `cv_results_`."""

import numpy as np
import pytest
from artists import legend_texts
from sklearn.exceptions import NotFittedError

import boostrank as br
from boostrank import displays


def test_intervals_and_names_are_those_of_the_results(chooser):
    display, results = displays.CandidatesDisplay.from_estimator(chooser), chooser.cv_results_
    order = np.argsort(results["difference"], kind="stable")
    for name in ("difference", "standard_error", "n_rounds", "mean_test_score", "dropped", "chosen"):
        assert display.table[name].tolist() == results[name][order].tolist()
    default = "default (consistent-lambdarank)"
    names = np.array([default, "softmax", "min_child_weight=1000000000.0, k=10", "lambdarank"])
    assert display.table["name"].tolist() == names[order].tolist()
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{row.name}  ({row.mean_test_score:.4f})" for row in display.table.itertuples(index=False)]
    drawn = {}
    for bars in display.ax_.containers:
        for x, y, segment in zip(*bars.lines[0].get_data(), bars.lines[2][0].get_segments(), strict=True):
            drawn[int(y)] = (x, *segment[:, 0])
    for i, row in enumerate(display.table.itertuples()):
        low, high = row.difference - row.standard_error, row.difference + row.standard_error
        np.testing.assert_allclose(drawn[i], (row.difference, low, high))
    assert "NDCG@10" in display.ax_.get_xlabel()


def test_the_legend_says_in_words_which_one_is_chosen(chooser):
    display = displays.CandidatesDisplay.from_estimator(chooser)
    assert chooser.cv_results_["dropped"].any()
    (chosen,) = display.table["name"][display.table["chosen"]]
    assert legend_texts(display.ax_) == [f"chosen: {chosen}", "not chosen", "dropped early"]
    display.table["dropped"] = False
    assert legend_texts(display.plot().ax_) == [f"chosen: {chosen}", "not chosen"]


def test_rankers_without_candidates(chooser, rankers, data):
    ranker = br.LightGBMRanker(n_estimators=2, ensemble="folds", cv=2, n_jobs=1).fit(*data)
    for one in (rankers["a"], ranker):
        with pytest.raises(ValueError, match="the ranker chose among no candidates"):
            displays.CandidatesDisplay.from_estimator(one)
    with pytest.raises(NotFittedError):
        displays.CandidatesDisplay.from_estimator(br.LightGBMRanker("auto"))
