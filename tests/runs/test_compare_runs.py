"""The comparison of runs: paired tests by hand, policies for queries, and texts."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from run_definitions import noisy_runs

import boostrank as br
from boostrank.significance import confidence_interval, effect_size, holm
from boostrank.text.tables import latex_table, markdown_table

MEASURES = ["nDCG@10", "P(rel=2)@5", "AP"]


@pytest.fixture(scope="module")
def tables():
    return noisy_runs({"bm25_base": 0.3, "dense": 1.0, "other 5%": 0.3})


@pytest.fixture(scope="module")
def comparison(tables):
    return br.compare_runs(*tables, MEASURES)


@pytest.mark.filterwarnings("ignore:P-values below")
def test_means_tests_and_intervals_are_those_of_the_values_of_queries(tables):
    qrels, runs = tables
    result = br.compare_runs(
        qrels, runs, MEASURES, n_permutations=2000, random_state=7, ties="worst"
    )
    values = {
        name: br.evaluate_run(qrels, run, MEASURES, per_query=True, ties="worst")
        for name, run in runs.items()
    }
    for name, rows in result.per_query.groupby("run"):
        pd.testing.assert_frame_equal(
            rows.set_index("query")[MEASURES], values[name], check_names=False
        )
    for row in result.table.itertuples():
        pair = [values[name][row.metric].to_numpy() for name in (row.run, "bm25_base")]
        assert row.mean == pytest.approx(pair[0].mean(), abs=1e-14)
        difference = pair[0] - pair[1]
        assert row.difference == pytest.approx(difference.mean(), abs=1e-11)
        assert [row.wins, row.ties, row.losses] == [
            (np.sign(difference) == sign).sum() for sign in (1, 0, -1)
        ]
        if row.run == "bm25_base":
            assert np.isnan([row.p_value, row.p_holm, row.low, row.high, row.effect]).all()
            continue
        expected = br.permutation_test(*pair, n_permutations=2000, random_state=7)
        assert (row.p_value, row.skewness) == (expected.p_value, expected.skewness)
        np.testing.assert_allclose(
            (row.low, row.high), confidence_interval(*pair), rtol=0, atol=1e-12
        )
        assert row.effect == effect_size(*pair)
    for _, rows in result.table.groupby("metric"):
        np.testing.assert_array_equal(rows["p_holm"], holm(rows["p_value"]))


@pytest.mark.filterwarnings("ignore:P-values below")
def test_variations_of_a_topic_are_tested_by_group(tables):
    qrels, runs = tables
    queries = br.evaluate_run(qrels, runs["dense"], "AP", per_query=True).index
    topics = {query: f"topic {i // 4}" for i, query in enumerate(queries)}
    for given in (topics, {int(query): topic for query, topic in topics.items()}):
        result = br.compare_runs(qrels, runs, MEASURES, groups=given)
        assert result.test == ("paired randomization test", "groups")
        assert list(result.per_query)[:4] == ["run", "query", "group", "relevant"]
        assert result.per_query["group"].tolist() == [
            topics[query] for query in result.per_query["query"]
        ]
        values = {name: rows.set_index("query") for name, rows in result.per_query.groupby("run")}
        groups = values["dense"]["group"]
        for row in result.table[result.table["run"] != "bm25_base"].itertuples():
            pair = [values[name][row.metric] for name in (row.run, "bm25_base")]
            expected = br.permutation_test(*pair, groups=groups)
            assert (row.p_value, row.wins, row.skewness) == (
                expected.p_value,
                expected.wins,
                expected.skewness,
            )
            assert (row.low, row.high) == confidence_interval(*pair, groups=groups)
            assert row.effect == effect_size(*pair, groups=groups)
    pd.testing.assert_series_equal(
        result.table["mean"], br.compare_runs(qrels, runs, MEASURES).table["mean"]
    )
    table = br.evaluate_run(qrels, runs["dense"], "AP", groups=topics)
    low, high = confidence_interval(values["dense"]["AP"], 0 * pair[0], groups=groups)
    assert table[["queries", "low", "high"]].to_numpy().tolist() == [
        [len(queries), pytest.approx(low), pytest.approx(high)]
    ]


def test_bad_groups_are_named(tables):
    qrels, runs = tables
    queries = br.evaluate_run(qrels, runs["dense"], "AP", per_query=True).index
    topics = {query: i // 2 for i, query in enumerate(queries)}
    missing = {query: topic for query, topic in topics.items() if topic != 1}
    for compute in (
        lambda groups: br.compare_runs(qrels, runs, "AP", groups=groups),
        lambda groups: br.evaluate_run(qrels, runs["dense"], "AP", groups=groups),
    ):
        for groups, message in (
            (missing, "groups must have a value for each query; it has none for"),
            ({**topics, "x": 1}, "groups must have only queries that the data have; .* 'x'"),
            (dict.fromkeys(topics, 1), "groups must be at least two; all"),
        ):
            with pytest.raises(ValueError, match=message):
                compute(groups)
        with pytest.raises(TypeError, match="groups must be a dict, a Series or a DataFrame"):
            compute(list(topics.values()))
    with pytest.raises(ValueError, match="groups are for intervals"):
        br.evaluate_run(qrels, runs["dense"], "AP", groups=topics, per_query=True)


class TestQueriesThatRunsMiss:
    qrels: ClassVar = {"1": {"a": 1}, "2": {"a": 1}, "3": {"a": 1}}
    runs: ClassVar = {
        "x": {"1": {"a": 1.0}, "2": {"a": 1.0}},
        "y": {"2": {"b": 1.0}, "3": {"a": 1.0}, "9": {"a": 1.0}},
    }

    def test_they_count_as_0_and_are_named_in_a_warning(self):
        message = (
            r"1 of 3 queries of qrels are not in the run x .* \('3'\); "
            r"1 of 3 queries .* not in the run y .* \('1'\); "
            r"1 of 3 queries of the run y have no judgments and are left out \('9'\); "
            r"pass queries='judged'"
        )
        with pytest.warns(UserWarning, match=message) as caught:
            result = br.compare_runs(self.qrels, self.runs, "RR")
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert result.per_query["query"].tolist() == ["1", "2", "3"] * 2
        assert result.per_query["RR"].tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 1.0]

    @pytest.mark.parametrize(
        ("queries", "means", "n"), [("judged", [2 / 3, 1 / 3], 3), ("common", [1.0, 0.0], 1)]
    )
    def test_a_stated_policy_has_no_warning(self, queries, means, n):
        result = br.compare_runs(self.qrels, self.runs, "RR", queries=queries)
        np.testing.assert_allclose(result.table["mean"], means)
        assert result.per_query["query"].nunique() == n


def test_texts_say_run_and_have_no_rounds(comparison):
    assert (comparison.kind, comparison.names) == ("run", ["bm25_base", "dense", "other 5%"])
    first = repr(comparison).split("\n\n")[0].splitlines()
    assert first[0] == "nDCG@10 (linear gain), compared with bm25_base"
    assert first[1].split() == ["run", "mean", "diff", "p", "(Holm)", "w/t/l"]
    assert first[4].split() == ["dense", *comparison.cells("dense", "nDCG@10")]
    better = "Significantly better than bm25_base: dense."
    assert " ".join(first[6:]) == comparison.conclusion("nDCG@10") == better
    assert repr(comparison).splitlines()[-1] == "The tests are over queries, not over trainings."


def test_every_special_character_is_escaped():
    text = "a&b%c$d#e_f{g}h~i^j\\k<l>m|n"
    seen = latex_table([["x"], [text]]).splitlines()[4]
    assert seen == (
        r"a\&b\%c\$d\#e\_f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k\textless{}l\textgreater{}m"
        r"\textbar{}n \\"
    )
    assert (
        markdown_table([["x", "y"], ["a|b\nc", "-1"]])
        == "| x | y |\n|---|---:|\n| a\\|b<br>c | -1 |\n"
    )


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"runs": {}}, TypeError, "runs must be a dict of one or more runs by name, .*; got {}"),
        (
            {"runs": {1: {"q": {"d": 1.0}}}},
            TypeError,
            "runs must be a dict of one or more runs by name",
        ),
        ({"runs": {"\ud800": {"q": {"d": 1.0}}}}, TypeError, "by name, a printable text"),
        (
            {"baseline": "x"},
            ValueError,
            "baseline must be one of bm25_base, dense, other 5%; got 'x'",
        ),
        ({"queries": "all"}, ValueError, "queries must be one of judged, common"),
        ({"measures": "auc"}, ValueError, "auc is not defined for runs"),
    ],
)
def test_bad_arguments_are_named(tables, changed, error, message):
    with pytest.raises(error, match=message):
        br.compare_runs(**{"qrels": tables[0], "runs": tables[1], "measures": "AP", **changed})


def test_errors_name_the_run(tables):
    qrels, runs = tables
    with pytest.raises(ValueError, match="the run broken: score of run must be finite"):
        br.compare_runs(qrels, {**runs, "broken": {"301": {"a": float("nan")}}})
