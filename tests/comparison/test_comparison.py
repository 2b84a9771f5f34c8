"""The comparison of rankers: its table, its tests, and its texts."""

import copy
import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

import boostrank as br
from boostrank.comparison import Comparison
from boostrank.datasets import Fold
from boostrank.metrics import get_measure


@pytest.fixture(scope="module")
def comparison():
    data = br.Dataset(*br.make_ranking(n_queries=60, random_state=0))
    folds = br.query_folds(data, 3)
    rankers = {
        name: br.LightGBMRanker(name, n_estimators=10, random_state=0, n_jobs=1)
        for name in ("softmax", "squared")
    }
    return data, folds, rankers, br.compare(rankers, folds, measures=["ndcg@1", "ndcg@10"])


def test_table_equals_a_hand_written_loop(comparison):
    _, folds, rankers, result = comparison
    values = {name: [] for name in rankers}
    for (name, ranker), fold in itertools.product(rankers.items(), folds):
        X, y, qid = fold.test
        values[name].extend(
            br.ndcg_score(y, ranker.fit(*fold.train).predict(X), qid, k=10, per_query=True)
        )
    values = {name: np.array(of_ranker) for name, of_ranker in values.items()}
    row = result.table.set_index(["ranker", "metric"]).loc[("squared", "ndcg@10")]
    assert row["mean"] == pytest.approx(values["squared"].mean(), abs=1e-12)
    test = br.permutation_test(values["squared"], values["softmax"])
    assert row["difference"] == pytest.approx(test.difference, abs=1e-12)
    assert row["p_value"] == test.p_value
    assert row["Fold1"] == pytest.approx(values["squared"][:20].mean(), abs=1e-12)
    assert result.baseline == "softmax"


def test_query_features_are_those_of_the_lists_of_each_fold(comparison):
    settings = {"n_estimators": 30, "early_stopping_rounds": 3, "n_jobs": 1, "random_state": 0}
    ranker = br.LightGBMRanker(query_features="rank", **settings)
    pipeline = make_pipeline(br.QueryFeatures("rank"), br.LightGBMRanker(**settings))
    values = br.compare(
        {"ranker": ranker, "pipeline": pipeline}, comparison[1], measures="ndcg@10"
    ).per_query
    np.testing.assert_array_equal(*(rows["ndcg@10"] for _, rows in values.groupby("ranker")))


def test_missing_validation_is_taken_from_training_queries(comparison, ended):
    _, folds, rankers, _ = comparison
    bare = [fold._replace(validation=None) for fold in folds]
    stopping = {"a": br.LightGBMRanker(n_estimators=50, early_stopping_rounds=3, n_jobs=1)}
    result = br.compare(stopping, bare, measures=["ndcg@5"])
    assert (result.per_query["rounds"] < 50).all()
    rounds = result.per_query.groupby("fold")["rounds"].first()
    assert [(name, fold, rounds, is_saved) for name, fold, (_, rounds, _), is_saved in ended] == [
        ("a", fold.name, rounds[fold.name], False) for fold in folds
    ]
    # Rankers that do not stop early need none. All have the same training queries.
    alone = br.compare(rankers, bare, measures=["ndcg@1", "ndcg@10"]).per_query
    pd.testing.assert_frame_equal(alone, comparison[3].per_query)
    both = br.compare({**rankers, **stopping}, bare, measures="ndcg@10").per_query
    assert not both["ndcg@10"][both["ranker"] == "softmax"].equals(
        alone["ndcg@10"][alone["ranker"] == "softmax"]
    )
    with pytest.raises(ValueError, match="baseline"):
        br.compare(rankers, folds, baseline="c")
    with pytest.raises(
        TypeError, match=r"rankers must be a dict of one or more rankers by name, .* got \[Light"
    ):
        br.compare([br.LightGBMRanker()], folds)
    with pytest.raises(
        TypeError, match="provide an instance of scikit-learn estimator instead of a class"
    ):
        br.compare({"a": br.LightGBMRanker}, folds)


def test_rows_are_compared_on_the_folds_of_cross_validate(comparison):
    data, _, rankers, _ = comparison
    X, y, qid = data
    frame, pairs = (
        pd.DataFrame(X).rename(columns=str).assign(qid=qid),
        br.QueryKFold(3).split(X, groups=qid),
    )
    folds = [
        Fold(f"Fold{i}", data.take(a), None, data.take(b)) for i, (a, b) in enumerate(pairs, 1)
    ]
    expected = br.compare(rankers, folds=iter(folds), measures="ndcg@10").per_query
    for rows, cv in (
        ((X, y, qid), 3),
        ((frame, y), br.QueryKFold(3)),
        ((frame.set_index("qid"), y), 3),
    ):
        pd.testing.assert_frame_equal(
            br.compare(rankers, *rows, cv=cv, measures="ndcg@10").per_query, expected
        )
    # pandas 2 takes half characters for equal, and so draws these queries together.
    first = 0xD800 if pd.__version__ >= "3" else 0x100
    renamed = br.compare(
        rankers, X, y, [chr(first + i) for i in qid], cv=3, measures="ndcg@10"
    ).per_query
    pd.testing.assert_frame_equal(renamed.assign(query=expected["query"]), expected)
    assert len(set(br.compare(rankers, X, y, qid, measures="ndcg@10").per_query["fold"])) == 5


def test_a_ranker_with_validation_fraction_holds_out_training_queries(comparison):
    settings = {"n_estimators": 30, "early_stopping_rounds": 3, "validation_fraction": 0.5}
    ranker = br.LightGBMRanker("softmax", **settings, random_state=0, n_jobs=1)
    rounds = br.compare({"own": ranker}, comparison[1], measures="ndcg@10").table["rounds"][0]
    assert rounds == np.mean([ranker.fit(*fold.train).best_iteration_ for fold in comparison[1]])


def test_folds_and_rows_are_not_mixed(comparison):
    (X, y, qid), folds, rankers, _ = comparison
    one = qid == qid[0]
    for message, rows, settings in [
        ("compare needs either rows.*got NoneType without y$", (), {}),
        ("got ndarray without y$", (X,), {}),
        ("got Dataset without y$", (comparison[0],), {}),
        ("got int without y$", (3,), {}),
        ("got list, cv or repeats without y$", (folds,), {"cv": 3}),
        ("got list, y$", (folds, y), {}),
        ("got list, X, y, qid$", (X, y, qid), {"folds": folds}),
        ("compare got no qid", (X, y), {}),
        (r"y has \d+ values for the \d+ rows of X", (X, y[:-1], qid), {}),
        (f"cv tests the query '{qid[0]}' in several folds", (X, y, qid), {"cv": [(~one, one)] * 2}),
    ]:
        with pytest.raises(ValueError, match=message):
            br.compare(rankers, *rows, **settings)


def with_table(comparison, table):
    changed = copy.copy(comparison)
    changed.table, changed.baseline = table, table["ranker"][0]
    return changed


def test_texts_of_a_comparison_have_its_numbers(comparison):
    result = comparison[3]
    assert result.table["ranker"].tolist() == ["softmax", "squared"] * 2
    assert (result.names, result.measures) == (["softmax", "squared"], ["ndcg@1", "ndcg@10"])
    row = result.table.set_index(["ranker", "metric"]).loc[("squared", "ndcg@10")]
    mean, difference = f"{row['mean']:.4f}", f"{row['difference']:+.4f}"
    wins, p_value = f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}", ">0.5"
    assert row["p_holm"] > 0.5
    assert result.cells("squared", "ndcg@10") == [mean, difference, p_value, wins, "10"]
    first, second = repr(result).split("\n\n")
    assert first.startswith("ndcg@1, compared with softmax\nranker")
    lines = second.splitlines()
    assert lines[0] == "ndcg@10, compared with softmax"
    assert lines[4].split() == ["squared", mean, difference, p_value, wins, "10"]
    assert lines[5:] == [result.conclusion("ndcg@10")]
    markdown = result.to_markdown("differences").splitlines()
    assert markdown[0] == "| measure | ranker | mean | diff | p (Holm) | w/t/l | rounds |"
    assert markdown[5] == f"|  | squared | {mean} | {difference} | {p_value} | {wins} | 10 |"
    for p_holm, shown in ((0.0, "<0.001"), (0.5, "0.500")):
        changed = with_table(
            result, result.table.assign(p_holm=result.table["p_holm"] * 0 + p_holm)
        )
        assert changed.cells("squared", "ndcg@10")[2] == shown
    changed = with_table(result, result.table.assign(seconds=[0.5, 1.2] * 2))
    head, _, first, second, *lines = changed.to_text(times=True).splitlines()[1:]
    assert [line.split()[-1] for line in (head, first, second)] == ["time", "1.0", "2.4"]
    assert lines[0] == result.conclusion("ndcg@1")
    gain = result.rows_of("ndcg@1")["difference"]["squared"]
    assert lines[1] == f"Best: squared, ndcg@1 {gain:+.4f} to softmax, in 2.4 times its time."
    lower = with_table(changed, changed.table.assign(mean=[1.0, 0.5] * 2))
    assert lower.best("ndcg@10") == "Best: softmax."


def test_tables_say_once_what_significance_is_about():
    """Two measures of three runs: no warning, and a note for all of them."""
    difference = np.array([0.0] * 4 + [0.01] * 10 + [0.5])
    values = np.concatenate([0 * difference, difference, 2 * difference])
    columns = {"ranker": np.repeat(["base", "a", "b"], 15), "query": np.tile(np.arange(15), 3)}
    result = Comparison(
        pd.DataFrame({**columns, "map": values, "mrr": values}), ["map", "mrr"], "base"
    )
    given = "The tests are over queries, not over trainings. P-values below 0.05 of fewer than 100"
    for text in (
        repr(result),
        result._repr_html_(),
        result.to_markdown("pairs"),
        result.to_latex(),
    ):
        assert " ".join(text.split()).count(given) == text.count("P-values") == 1
    alone = Comparison(result.per_query.assign(map=0.5), ["map"], "base")
    assert alone.caveats() == ""
    assert "tests are over" not in repr(alone) + alone.to_markdown()


def test_conclusions_say_which_differences_are_significant(comparison):
    names, nan = ["base", "a", "b-c", "d"], float("nan")

    def text(p_values, differences, n=4):
        columns = {
            "ranker": names[:n],
            "metric": "map",
            "p_holm": [nan, *p_values],
            "difference": [0.0, *differences],
        }
        return with_table(comparison[3], pd.DataFrame(columns)).conclusion("map")

    assert text([0.05, 0.2, 1.0], [1, -1, 0]) == "No ranker differs significantly from base."
    better_and_worse = "Significantly better than base: a, d. Significantly worse than base: b-c."
    assert text([0.049, 0.01, 0.0], [1, -1, 2]) == better_and_worse
    assert text([0.0, 1.0, 0.05], [-1, 1, 1]) == "Significantly worse than base: a."
    assert text([0.06], [1], n=2) == "a does not differ significantly from base."
    assert text([], [], n=1) == ""


def test_any_measures_are_compared(comparison):
    _, folds, rankers, _ = comparison
    measures = {"linear": get_measure("ndcg@5", gain="linear", empty="skip"), "map": "map"}
    measures["first"] = lambda y, scores, qid, per_query=True: np.arange(len(set(qid)), dtype=float)
    result = br.compare({"softmax": rankers["softmax"]}, folds, measures=measures)
    assert result.measures == ["linear", "map", "first"]
    fold = folds[1]
    scores = rankers["softmax"].fit(*fold.train).predict(fold.test.X)
    seen = result.per_query[result.per_query["fold"] == fold.name]
    np.testing.assert_array_equal(
        seen["linear"], measures["linear"](fold.test.y, scores, fold.test.qid, per_query=True)
    )
    assert seen["query"].tolist() == list(dict.fromkeys(fold.test.qid.tolist()))
    np.testing.assert_array_equal(seen["first"], np.arange(20))
    with pytest.raises(ValueError, match="two measures are called 'ndcg@5'"):
        br.compare(rankers, folds, measures=["ndcg@5", get_measure("ndcg@5", empty="skip")])
