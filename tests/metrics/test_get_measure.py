"""Measures as values: names, settings, texts, binding, scorers, evaluation, functions of users."""

import pickle
from importlib.metadata import EntryPoint, EntryPoints

import numpy as np
import pandas as pd
import pytest
from cases import for_each
from measure_definitions import FOR_ARRAYS

import boostrank as br
from boostrank.inputs import extensions
from boostrank.metrics import MEASURES, get_measure, make_scorer, named_measures
from boostrank.metrics.base import QueryMeasure
from boostrank.metrics.names import base_name
from boostrank.preferences import PreferenceGraph
from boostrank.queries.queries import Queries

QUERY_MEASURES = [name for name, kind in MEASURES.items() if issubclass(kind, QueryMeasure)]
Y, SCORES, QID = [0, 1, 2, 1, 0], [0.3, 0.2, 0.1, 0.1, 0.2], ["a", "a", "a", "b", "b"]


@for_each("name", QUERY_MEASURES)
def test_names_give_the_text_and_the_value_of_a_measure(name):
    measure = get_measure(name)
    name = {"spread": "spread@0.1"}.get(name, name)
    text = "rbp(p=0.8)" if name == "rbp" else name
    assert (str(measure), repr(measure)) == (text, f"get_measure({name!r})")
    assert (
        measure
        == get_measure(measure)
        == pickle.loads(pickle.dumps(measure))
        == get_measure(str(measure))
    )
    assert hash(measure) == hash(get_measure(name))
    other = get_measure(name, empty="one")
    assert other != measure == get_measure(other, empty=measure.empty)
    assert type(measure) is MEASURES[base_name(name)]
    if base_name(name) in FOR_ARRAYS:
        assert repr(make_scorer(other)) == f"make_scorer({name!r}, empty='one')"


@pytest.mark.parametrize(
    ("measure", "text"),
    [
        (get_measure("ndcg", k=0.5), "get_measure('ndcg@0.5')"),
        (get_measure("ndcg@0.5", ties="best"), "get_measure('ndcg@0.5', ties='best')"),
        (get_measure("ndcg", gain=np.arange(3.0), discount=["power", 0.5]), None),
        (get_measure("dcg@3", gain=[0, 0.5, 1]), "get_measure('dcg@3', gain=(0, 0.5, 1))"),
        (
            get_measure("err", max_grade=4, empty="skip"),
            "get_measure('err', empty='skip', max_grade=4)",
        ),
    ],
)
def test_repr_makes_the_same_measure(measure, text):
    assert text in (None, repr(measure))
    assert eval(repr(measure)) == measure


def test_tables_of_gains_are_settings_like_others():
    measure = get_measure("dcg", gain=np.arange(3.0))
    assert (
        measure
        == get_measure("dcg", gain=[0.0, 1.0, 2.0])
        != get_measure("dcg", gain=[0.0, 1.0, 3.0])
    )
    assert hash(measure) == hash(get_measure("dcg", gain=[0.0, 1.0, 2.0]))
    assert str(measure) == "dcg(gain=(0.0,1.0,2.0))"
    assert get_measure(str(measure)) == measure


def test_names_may_have_settings_and_say_those_other_than_the_default():
    linear = get_measure("ndcg@10", gain="linear")
    assert get_measure("ndcg(gain=linear)@10") == linear == get_measure("ndcg(gain='linear')", k=10)
    assert str(linear) == "ndcg(gain=linear)@10"
    assert str(get_measure("ndcg@10", gain=np.sqrt)) == "ndcg(gain=sqrt)@10"
    assert (
        str(get_measure("rbp@5", threshold=2, empty="skip", ties="best"))
        == "rbp(threshold=2,p=0.8)@5"
    )
    changed = get_measure("map", threshold=2, denominator="possible")
    assert str(changed) == "map(threshold=2,denominator=possible)"
    assert list(br.evaluate(Y, SCORES, QID, ["map", changed])) == ["map", str(changed)]
    discounted = {"discount": ("power", 0.5)}
    assert get_measure(str(get_measure("ndcg@3", **discounted))) == get_measure(
        "ndcg@3", **discounted
    )
    assert str(get_measure("click-dcg@3", **discounted)) == "click-dcg(discount=('power',0.5))@3"
    assert get_measure("err(max_grade=4, empty=skip)@5") == get_measure(
        "err", k=5, max_grade=4, empty="skip"
    )
    assert list(br.evaluate(Y, SCORES, QID, ["ndcg@10", "ndcg(gain=linear)@10"])) == [
        "ndcg@10",
        str(linear),
    ]


@for_each(
    ("name", "near"),
    [
        *(("ndgc", "ndcg"), ("ndgc@5", "ndcg@5"), ("acu@1e3", "auc")),
        *((name, None) for name in ("", "@10", 3, "lightgbm")),
    ],
)
def test_unknown_names_are_errors(name, near):
    end = rf" \(did you mean '{near}'\?\)" if near else ""
    expected = "measure must be a Measure, a function, a name in boostrank.metrics.MEASURES"
    pattern = rf"{expected}.*got {name!r}{end}$"
    with pytest.raises(ValueError, match=pattern):
        get_measure(name)


@for_each(
    ("call", "error", "message"),
    [
        (lambda: get_measure("ndcg@10", k=5), ValueError, "has k in its name; got k=5 too"),
        (
            lambda: get_measure("ndcg(gain=linear)", gain="exp2"),
            ValueError,
            "has gain in its name; got gain='exp2'",
        ),
        (
            lambda: get_measure("ndcg(linear)@5"),
            ValueError,
            r"must be like \(gain=linear\) .*; got 'ndcg\(linear\)@5'",
        ),
        (lambda: get_measure("ndcg(grain=linear)@5"), TypeError, "'ndcg' has no setting 'grain'"),
        (lambda: get_measure("p@5"), ValueError, r"got 'p@5'; did you mean 'P'\?"),
        (
            lambda: get_measure("lightgbm:mrr@5"),
            ValueError,
            "a measure of lightgbm must be ndcg or map",
        ),
        (lambda: make_scorer("auc", ties="best"), TypeError, "'auc' has no setting 'ties'"),
        (
            lambda: get_measure("ndcg").bind([1, 0], Queries.from_sizes([3])),
            ValueError,
            "labels has 2 values for",
        ),
        (
            lambda: get_measure("ndcg").bind([1, -1], Queries.from_sizes([2])),
            ValueError,
            "is negative",
        ),
        (
            lambda: get_measure("ndcg", empty="raise").bind([0], Queries.from_sizes([1])),
            ValueError,
            "query '0' has no",
        ),
        (
            lambda: get_measure("auc").bind([1, 1], Queries.from_sizes([2])),
            ValueError,
            "no query is left",
        ),
        (
            lambda: get_measure("ndcg").bind([1, 0], Queries.from_sizes([2]), [-1.0]),
            ValueError,
            "not negative",
        ),
    ],
)
def test_bad_settings_and_labels_are_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_preferences_are_for_agreement_only():
    graph = PreferenceGraph(["a", "b", "a", "b"], winner=[0, 3], loser=[2, 1])
    scores = np.array([0.2, 0.1, 0.1, 0.0])
    assert br.evaluate(graph, scores, measures="agreement") == {"agreement": 0.5}
    table = br.evaluate(graph, scores, measures=["agreement"], per_query=True)
    assert table["agreement"].to_dict() == {"a": 1.0, "b": 0.0}
    bound = get_measure("agreement").bind(graph.grouped, graph.queries, [3.0, 1.0])
    assert bound.mean(graph.queries.group(scores)) == 0.75
    for name in set(FOR_ARRAYS) - {"agreement"}:
        for call in (
            lambda measure: measure(graph, scores),
            lambda measure: measure.bind(graph.grouped, graph.queries),
        ):
            with pytest.raises(
                ValueError, match=rf"{name}.* needs relevance labels, .* measure is 'agr"
            ):
                call(get_measure(name))


def test_measures_of_runs_are_refused_where_there_are_arrays():
    measure = "numret"
    calls = [
        lambda: get_measure(measure)(Y, SCORES, QID),
        lambda: br.evaluate(Y, SCORES, QID, ["mrr", get_measure(measure, empty="skip")]),
        lambda: get_measure(measure).bind(Y, Queries.from_sizes([3, 2])),
        lambda: make_scorer(measure),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"numret .*: it depends on which documents"):
            call()


def test_evaluate_equals_the_functions():
    measures = ["ndcg@2", "map", get_measure("ndcg@2", gain="linear", empty="skip")]
    assert list(br.evaluate(Y, SCORES, QID, measures)) == ["ndcg@2", "map", "ndcg(gain=linear)@2"]
    with pytest.raises(ValueError, match="two measures are called 'ndcg@2'"):
        br.evaluate(Y, SCORES, QID, ["ndcg@2", get_measure("ndcg@2", empty="skip")])
    named = {"ndcg": measures[0], "map": measures[1], "linear": measures[2]}
    seen = br.evaluate(Y, SCORES, QID, named, sample_weight=[1, 3])
    linear = {"k": 2, "gain": "linear", "empty": "skip"}
    assert seen == {
        "ndcg": br.ndcg_score(Y, SCORES, QID, k=2, sample_weight=[1, 3]),
        "map": br.get_measure("map")(Y, SCORES, QID, sample_weight=[1, 3]),
        "linear": br.ndcg_score(Y, SCORES, QID, sample_weight=[1, 3], **linear),
    }
    table = br.evaluate(Y, SCORES, QID, named, per_query=True)
    assert table.index.equals(pd.Index(["a", "b"], name="qid"))
    assert table.index.name == "qid"
    assert (
        table["linear"].tolist() == br.ndcg_score(Y, SCORES, QID, per_query=True, **linear).tolist()
    )
    assert br.evaluate(Y, SCORES, QID) == {"ndcg@10": br.ndcg_score(Y, SCORES, QID, k=10)}
    assert list(named_measures(get_measure("mrr"))) == ["mrr"]


def share_at_the_top(y_true, y_score, qid, *, rank=1, per_query=False, sample_weight=None):
    """The relevance of the document at a rank."""
    frame = pd.DataFrame({"y": y_true, "s": y_score, "qid": qid})
    values = frame.groupby("qid", sort=False).apply(
        lambda rows: rows.sort_values("s")["y"].iloc[-rank]
    )
    return values.to_numpy() if per_query else np.average(values, weights=sample_weight)


def test_functions_of_users_are_measures():
    measure = get_measure(share_at_the_top, rank=2)
    assert (str(measure), repr(measure)) == (
        "share_at_the_top(rank=2)",
        "get_measure(share_at_the_top, rank=2)",
    )
    assert (
        measure
        == get_measure(get_measure(share_at_the_top), rank=2)
        == pickle.loads(pickle.dumps(measure))
    )
    assert measure(Y, SCORES, QID) == 1.0
    assert measure(Y, SCORES, QID, sample_weight=[1, 0]) == 1.0
    assert measure(Y, SCORES, QID, per_query=True).tolist() == [1, 1]
    assert get_measure(measure, rank=1)(Y, SCORES, QID, per_query=True).tolist() == [0, 0]
    queries = Queries.from_qid(["a", "b", "a"])
    bound = measure.bind(queries.group(np.array([1, 0, 3])), Queries.from_sizes([2, 1]))
    assert str(bound) == str(measure)
    assert bound.queries.sizes.tolist() == [2, 1]
    labels, pairs = np.array([1.0, 3.0, 0.0, 4.0]), Queries.from_sizes([2, 2])
    bound = get_measure(share_at_the_top).bind(labels, pairs, [1.0, 3.0])
    scores = np.array([0.1, 0.2, 0.4, 0.3])
    assert bound.mean(scores) == 0.75
    assert bound.per_query(scores).tolist() == [3.0, 0.0]
    assert br.evaluate(Y, SCORES, QID, [share_at_the_top]) == {"share_at_the_top": 0.0}
    expected = (
        r"must be a function \(y_true, y_score, qid, \*\*settings\) -> value; .* unexpected "
        r"keyword argument 'k'"
    )
    with pytest.raises(TypeError, match=expected):
        make_scorer(share_at_the_top, k=5)
    with pytest.raises(
        TypeError,
        match=r"\(y_true, y_score, qid, .*; <lambda>\(y, s\): too many positional arguments",
    ):
        get_measure(lambda y, s: 0.0)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lightgbm:ndcg@5", {"k": 5, "ties": "stable", "empty": "one"}),
        ("xgboost:ndcg", {"k": 32, "ties": "stable", "empty": "one"}),
        ("lightgbm:map", {"ties": "stable", "empty": "one", "denominator": "possible"}),
    ],
)
def test_measures_of_libraries_have_their_conventions(name, settings):
    measure = get_measure(name)
    assert {key: getattr(measure, key) for key in settings} == settings
    assert get_measure(name, k=2).k == 2


def test_misspelt_measures_are_errors_where_they_are_defined():
    for attribute, value in {"name": "my map@5", "domain": "array", "summary": "average"}.items():
        with pytest.raises(ValueError, match=f"{attribute} of Mine must be .*; got {value!r}"):
            type("Mine", (MEASURES["map"],), {attribute: value})


@pytest.mark.parametrize(
    "value",
    [
        "boostrank.metrics.ndgc",
        "boostrank.metrics.graded:NDGC",
        "boostrank.metrics.graded:ndcg_score",
        "boostrank.metrics.summaries:EMPTY",
    ],
)
def test_an_entry_point_without_its_measure_is_named(value, monkeypatch):
    points = EntryPoints([EntryPoint("mine", value, "boostrank.measures")])
    monkeypatch.setattr(extensions, "entry_points", lambda **query: points.select(**query))
    with pytest.raises(ImportError, match=f"the entry point mine={value} is no class of a measure"):
        get_measure("mine@5")
