"""`reconcile`: every row against the definition of its convention, the parts of differences, and
the text."""

import sys

import numpy as np
import pytest
from cases import for_each

import boostrank as br
from boostrank.metrics import get_measure
from boostrank.runs import CONVENTIONS
from boostrank.runs.conventions import STEPS

CONVENTIONS_OF_NDCG = CONVENTIONS["ndcg"]
PARTS = [f"from_{step}" for step in STEPS["ndcg"]]


@pytest.fixture
def ragged():
    """Shuffled queries of 1 to 40 documents, tied scores, some queries without relevant
    documents."""
    random = np.random.default_rng(0)
    qid = random.permutation(np.repeat(np.arange(30), random.integers(1, 41, 30)))
    y = random.integers(0, 5, len(qid)) * (qid % 6 > 0)
    return y, random.integers(0, 6, len(qid)) / 4.0, qid


def test_each_part_is_one_change(ragged):
    y, scores, qid = ragged
    table = br.reconcile(y, scores, qid, k=3).table.set_index("metric")
    ours = br.ndcg_score(y, scores, qid, k=3)
    one = br.ndcg_score(y, scores, qid, k=3, empty="one")
    linear = br.ndcg_score(y, scores, qid, k=3, empty="one", gain="linear")
    worst = br.ndcg_score(y, scores, qid, k=3, empty="one", gain="linear", ties="worst")
    parts = table.loc["NDCG:top=3", ["from_empty", "from_gain", "from_ties"]].tolist()
    assert parts == pytest.approx([one - ours, linear - one, worst - linear], abs=1e-12)
    assert table.loc["NDCG:top=3", "value"] == worst
    same = ["from_labels", "from_discount", "from_k", "from_scores", "from_weights"]
    assert not table[same].to_numpy().any()


@for_each("measure", CONVENTIONS)
@for_each(
    "settings", [{}, {"k": 2, "empty": "one", "ties": "best"}, {"empty": "skip", "ties": "stable"}]
)
def test_parts_sum_to_the_difference(ragged, measure, settings):
    y, scores, qid = ragged
    settings = settings if measure == "ndcg" else {**settings, "threshold": 0.5}
    for largest in (4, 1):
        labels = np.minimum(y, largest)
        found = br.reconcile(labels, scores, qid, measure, **settings)
        parts = found.table[[f"from_{step}" for step in STEPS[measure]]]
        known = found.table["value"].notna()
        assert found.value == get_measure(measure, **settings)(labels, scores, qid)
        np.testing.assert_allclose(
            parts.sum(axis=1)[known], found.table["difference"][known], atol=1e-12
        )
        np.testing.assert_allclose(
            (found.table["value"] - found.table["difference"])[known], found.value, atol=1e-12
        )
        assert parts[~known].isna().all(axis=None)


def test_the_denominator_of_ours_is_replaced(ragged):
    y, scores, qid = ragged
    for denominator in ("all", "possible"):
        found = br.reconcile(np.minimum(y, 1), scores, qid, "map", k=2, denominator=denominator)
        table = found.table[found.table["k"] == 2]
        assert ((table["from_denominator"] != 0) == (table["denominator"] != denominator)).all()
        lightgbm = table[table["library"] == "LightGBM"].iloc[0]
        assert ("divided by min(R, k) " in lightgbm["because"]) == (denominator != "possible")
        text = {"all": "divided by R", "possible": "divided by min(R, k)"}
        assert f"relevant from 1, {text[denominator]}, ties averaged, empty 0" in found.head


def test_a_measure_may_be_a_name_or_an_object_with_settings(ragged):
    expected = br.reconcile(*ragged, "map", k=3, threshold=2)
    for same in ("AP(rel=2)@3", get_measure("map@3", threshold=2)):
        assert repr(br.reconcile(*ragged, same)) == repr(expected)
    assert br.reconcile(*ragged).settings == br.reconcile(*ragged, "ndcg").settings


@for_each(("library", "value"), [("XGBoost", 1 / 2), ("ranx", 1 / 3)])
def test_divisors_worked_by_hand(library, value):
    table = br.reconcile([1, 0, 1, 1], [0.4, 0.3, 0.2, 0.1], [0] * 4, "map@2").table
    assert table.loc[table["library"] == library, "value"].iloc[0] == pytest.approx(
        value, abs=1e-15
    )


def test_names_of_metrics_say_cutoff_and_threshold():
    def metrics(*args, **settings):
        return set(br.reconcile([0, 3], [1.0, 0.5], [0, 0], *args, **settings).table["metric"])

    of_map = {"MAP:top=5;border=1.5", "map_cut_5 (relevance_level=2)", "map@5-l2", "AP(rel=2)@5"}
    assert of_map < metrics("map@5", threshold=2)
    assert {"MRR:top=-1;border=2.5", "recip_rank (relevance_level=3)", "mrr-l3"} < metrics(
        "mrr", threshold=2.5
    )


@for_each(
    ("measure", "settings", "message"),
    [
        ("dcg", {}, "measure must be one of ndcg, map, mrr, such as 'ndcg@10'"),
        (lambda y, s, q: 0.0, {}, "measure must be one of ndcg, map, mrr"),
        ("map", {"k": 0.5}, r"k must be .*got 0\.5"),
        ("map", {"k": True}, "k must be .*got True"),
        ("ndcg", {"ties": "names"}, "ties must be .*got 'names'"),
        ("mrr", {"gain": "linear"}, "'mrr' has no setting 'gain'"),
    ],
)
def test_bad_settings_are_errors(measure, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        br.reconcile([0, 1], [0.1, 0.2], [0, 0], measure, **settings)


def test_without_differences_there_is_nothing_to_explain():
    found = br.reconcile([1, 0, 1], [0.9, 0.5, 0.1], [0, 0, 0], k=2)
    rounded = found.table["decimals"] == 5
    assert rounded.sum() == 1
    assert (found.table["because"][~rounded] == "").all()
    assert found.table["value"].tolist() == pytest.approx(
        [found.value] * len(CONVENTIONS_OF_NDCG), abs=1e-5
    )
    assert found.table["value"][rounded].tolist() == [round(found.value, 5)]
    assert (found.n_queries, found.n_empty, found.n_single) == (1, 0, 0)


def test_labels_that_are_not_whole_are_truncated_or_refused():
    y, scores, qid = [0.5, 2.5, 1.0, 0.0], [4, 3, 2, 1], [0, 0, 0, 0]
    table = br.reconcile(y, scores, qid, k=10, empty="raise").table.set_index("metric")
    floor = br.ndcg_score(np.floor(y), scores, qid, k=10)
    assert table.loc["ndcg_burges@10", "value"] == floor
    assert table.loc["ndcg_burges@10", "from_labels"] == pytest.approx(
        floor - br.ndcg_score(y, scores, qid), abs=1e-12
    )
    refused = table[table["value"].isna()]
    assert refused["library"].tolist() == [
        "LightGBM",
        *2 * ["XGBoost"],
        "pytrec_eval",
        *2 * ["ir_measures"],
    ]
    assert refused["because"].str.startswith("takes only labels that are whole numbers").all()
    assert refused[PARTS].isna().all(axis=None)
    # All truncated labels are 0, and ranx counts such a query as 0, whatever `empty` is.
    for empty in ("skip", "raise"):
        table = br.reconcile([0.5, 0], [1, 0], [0, 0], k=10, empty=empty).table.set_index("metric")
        assert table.loc["ndcg@10", "value"].tolist()[-1] == 0
        assert table.loc["ndcg_score(k=10)", "value"] == 1


def test_names_of_documents_order_ties_of_trec_eval():
    settings = {"k": 1, "gain": "linear"}
    for names, value in (
        ("ab", 1.0),
        ("ba", 0.0),
        (["9", "10"], 0.0),
        (["é", "f"], 0.0),
        ([9, 10], 0.0),
    ):
        table = br.reconcile([0, 1], [0.5, 0.5], [0, 0], documents=list(names), **settings).table
        assert table.loc[table["library"] == "pytrec_eval", "value"].item() == value
    # Another query may have a document of the same name.
    br.reconcile([0, 1, 1], [0.5, 0.5, 0.5], [0, 0, 1], documents=["b", "a", "a"])
    with pytest.raises(ValueError, match="documents has 1 values for the 2 rows of y_true"):
        br.reconcile([0, 1], [0.5, 0.5], [0, 0], documents=["a"])
    # Without names, row numbers are compared as texts: trec_eval puts "2" before "10".
    y = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    qid = [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    table = br.reconcile(y, np.zeros(11), qid, empty="skip", **settings).table
    assert table.loc[table["library"] == "pytrec_eval", "value"].item() == 0


def test_the_printed_text_gives_the_reasons(ragged):
    found = br.reconcile(*ragged, k=5)
    lines = repr(found).splitlines()
    assert lines[0].startswith(
        f"NDCG@5 = {found.value:.4f} (exp2 gain, log2 discount, ties averaged, empty 0): 30 "
    )
    assert lines[1].split() == ["library", "metric", "value", "diff", "because"]
    assert len(lines) == 3 + len(CONVENTIONS_OF_NDCG)
    lightgbm = found.table.iloc[1]
    assert lines[4].split()[:4] == [
        "LightGBM",
        "ndcg@5",
        f"{lightgbm['value']:.4f}",
        f"{lightgbm['difference']:+.4f}",
    ]
    assert lines[4].endswith(
        f"empty 1 {lightgbm['from_empty']:+.4f}; ties by row {lightgbm['from_ties']:+.4f}"
    )
    assert (
        "linear gain, rank^-0.5 discount,"
        in br.reconcile(*ragged, gain="linear", discount=("power", 0.5)).head
    )
    uncut = br.reconcile(*ragged, gain=np.sqrt, discount=lambda r: 1 / r)
    assert uncut.head.startswith(
        f"NDCG = {uncut.value:.4f} (sqrt gain, <lambda> discount, ties averaged, empty 0): "
    )
    refused = repr(br.reconcile([0.5, 1], [1, 0], [0, 0], k=10)).splitlines()[4].split(None, 4)
    assert refused == [
        "LightGBM",
        "ndcg@10",
        "-",
        "-",
        "takes only labels that are whole numbers from 0 to 30",
    ]


def test_no_library_is_needed(monkeypatch):
    boosting = ("lightgbm", "xgboost", "catboost")
    for name in (*boosting, "pytrec_eval", "ranx", "ir_measures"):
        monkeypatch.setitem(sys.modules, name, None)
    for measure, conventions in CONVENTIONS.items():
        assert len(br.reconcile([1, 0], [0, 1], [0, 0], measure).table) == len(conventions)
