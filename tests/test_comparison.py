"""The paired test, the folds, and the comparison of rankers."""

import io
import itertools

import numpy as np
import pytest
from rich.console import Console
from scipy import stats

import boostrank as br
from boostrank.cli import reports
from boostrank.comparison import Comparison
from boostrank.displays import ComparisonDisplay


def test_few_queries_are_tested_exactly():
    random = np.random.default_rng(0)
    left, right = random.normal(size=9) + 0.5, random.normal(size=9)
    differences = left - right
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product([-1, 1], repeat=9)]
    expected = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)
    seen = br.permutation_test(left, right)
    assert seen.p_value == pytest.approx(expected, abs=1e-15)
    assert seen.difference == pytest.approx(differences.mean())
    assert (seen.wins, seen.losses) == ((differences > 0).sum(), (differences < 0).sum())


def test_many_queries_agree_with_scipy():
    random = np.random.default_rng(1)
    left, right = random.normal(size=300) + 0.1, random.normal(size=300)
    seen = br.permutation_test(left, right, n_permutations=20_000)
    expected = stats.permutation_test(
        (left - right,), np.mean, permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(2)
    ).pvalue
    assert seen.p_value == pytest.approx(expected, abs=0.01)
    assert br.permutation_test(left, right, n_permutations=20_000) == seen
    assert br.permutation_test(right, left, n_permutations=20_000).p_value == seen.p_value


def test_the_test_holds_its_level():
    random = np.random.default_rng(3)
    rejected = [
        br.permutation_test(*random.normal(size=(2, 40)), n_permutations=500, random_state=i).p_value <= 0.1
        for i in range(400)
    ]
    assert 0.06 < np.mean(rejected) < 0.14


def test_ties_and_skipped_queries():
    assert br.permutation_test([1.0, 0.5], [1.0, 0.5]).p_value == 1.0
    seen = br.permutation_test([0.5, np.nan, 1.0], [0.25, np.nan, 1.0])
    assert (seen.wins, seen.ties, seen.losses) == (1, 1, 0)
    for left, right, message in (([1], [1, 2], "paired"), ([np.nan, 1], [1, 1], "one side"), ([], [], "no query")):
        with pytest.raises(ValueError, match=message):
            br.permutation_test(left, right)


@pytest.fixture(scope="module")
def comparison():
    data = br.Dataset(*br.make_ranking(n_queries=60, random_state=0))
    folds = br.query_folds(data, 3)
    rankers = {
        name: br.LightGBMRanker(name, n_estimators=10, random_state=0, n_jobs=1) for name in ("softmax", "squared")
    }
    return data, folds, rankers, br.compare(rankers, folds, cutoffs=[1, 10])


def test_folds_partition_the_queries():
    data = br.Dataset(*br.make_ranking(n_queries=31, random_state=0))
    folds = br.query_folds(data, 5)
    tested = np.concatenate([np.unique(fold.test.qid) for fold in folds])
    assert sorted(tested) == list(range(31))
    for fold in folds:
        parts = [set(part.qid) for part in (fold.train, fold.validation, fold.test)]
        assert len(set.union(*parts)) == sum(map(len, parts)) == 31
    with pytest.raises(ValueError, match="at least 3"):
        br.query_folds(data, 2)


def test_table_equals_a_hand_written_loop(comparison):
    _, folds, rankers, result = comparison
    values = {}
    for name, ranker in rankers.items():
        fitted = [ranker.fit(*fold.train) for fold in folds[:1]]
        assert fitted
        values[name] = np.concatenate(
            [
                br.ndcg_score(
                    fold.test.y, ranker.fit(*fold.train).predict(fold.test.X), fold.test.qid, k=10, per_query=True
                )
                for fold in folds
            ]
        )
    row = result.table.set_index(["ranker", "metric"]).loc[("squared", "ndcg@10")]
    assert row["mean"] == pytest.approx(values["squared"].mean(), abs=1e-12)
    test = br.permutation_test(values["squared"], values["softmax"])
    assert row["difference"] == pytest.approx(test.difference, abs=1e-12)
    assert row["p_value"] == test.p_value
    interval = br.significance.bootstrap_interval(values["squared"], values["softmax"])
    assert (row["low"], row["high"]) == pytest.approx(interval, abs=1e-12)
    assert row["effect"] == pytest.approx(br.significance.effect_size(values["squared"], values["softmax"]), abs=1e-9)
    assert row["Fold1"] == pytest.approx(values["squared"][:20].mean(), abs=1e-12)
    assert result.baseline == "softmax"


def test_p_values_are_adjusted_within_each_metric(comparison):
    _, folds, rankers, _ = comparison
    more = rankers | {"small": br.LightGBMRanker(n_estimators=2, n_jobs=1, random_state=0)}
    table = br.compare(more, folds, baseline="squared", cutoffs=[1, 10]).table
    for _, rows in table.groupby("metric"):
        np.testing.assert_array_equal(rows["p_holm"], br.significance.holm(rows["p_value"]))
        compared = rows["ranker"] != "squared"
        tests = rows[["p_value", "p_holm", "low", "high", "effect"]]
        assert tests[compared].notna().all(axis=None)
        assert tests[~compared].isna().all(axis=None)
        assert (rows["low"] <= rows["difference"])[compared].all()
        assert (rows["difference"] <= rows["high"])[compared].all()


def test_tables_show_adjusted_p_values_and_fit_a_terminal(comparison, tmp_path):
    table = comparison[3].table.copy()
    table["ranker"] = table["ranker"].map({"softmax": "lightgbm lambdarank", "squared": "lightgbm centered-logistic"})
    table[["wins", "ties", "losses"]] = 12345
    table.loc[table["p_holm"].notna(), "p_holm"] = 0.0123
    wide = Comparison(table, comparison[3].per_query, "lightgbm lambdarank")
    console = Console(width=80, file=io.StringIO())
    for part in reports.comparison_tables(wide):
        console.print(part)
    out = console.file.getvalue()
    for text in ("lightgbm centered-logistic", "(Holm)", "0.012", "12345/12345/12345", "rounds"):
        assert text in out
    assert "…" not in out
    assert "| p (Holm) |" in reports.markdown_table(wide)
    assert "| 0.012 |" in reports.markdown_table(wide)
    for suffix in ("csv", "json"):
        reports.write_table(wide, tmp_path / f"t.{suffix}")
        text = (tmp_path / f"t.{suffix}").read_text()
        assert all(column in text for column in ("p_value", "p_holm", "low", "high", "effect"))


def test_missing_validation_is_carved_from_training_queries(comparison):
    _, folds, rankers, _ = comparison
    bare = [fold._replace(validation=None) for fold in folds]
    stopping = {"a": br.LightGBMRanker(n_estimators=50, early_stopping_rounds=3, n_jobs=1)}
    seen = []
    result = br.compare(stopping, bare, cutoffs=[5], progress=lambda fold, name: seen.append((fold, name)))
    assert (result.per_query["rounds"] < 50).all()
    assert seen == [(fold.name, "a") for fold in folds]
    with pytest.raises(ValueError, match="baseline"):
        br.compare(rankers, folds, baseline="c")


def test_display_shows_every_ranker(comparison):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    display = ComparisonDisplay.from_comparison(comparison[3], "ndcg@10")
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert {label.split()[0] for label in labels} == {"softmax", "squared"}
    assert "NDCG@10" in display.ax_.get_xlabel()
    row = display.table.set_index("ranker").loc["squared"]
    expected = comparison[3].table.set_index(["ranker", "metric"]).loc[("squared", "ndcg@10"), "difference"]
    assert row["difference"] == pytest.approx(expected, abs=1e-12)
    matplotlib.pyplot.close(display.figure_)
