"""Every measure against brute force on any data, and round trips of every file format on any content."""

import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import boostrank as br
from boostrank import metrics
from boostrank.preferences import read_preferences, write_preferences
from hostile import brute_force
from hostile.entry_points import FUNCTIONS, RANKERS, SETTINGS, tiny
from hostile.ids import DIFFERENT
from hostile.outcomes import check_message

FEW = settings(max_examples=12)
#: Explanations of a failure take minutes where files are written.
FILES = settings(max_examples=40, phases=[Phase.explicit, Phase.generate])
EXTREMES = st.sampled_from([0.0, 5e-324, 1e308, 1.7e308, 1.0])
KS = [None, 1, 2, 5, 0.5]
TIES = ["average", "stable", "best", "worst"]
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
#: Rows of a label, a score and the number of a query; few different ones, so that there are ties and empty queries.
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 2, 3, 0.5]), st.sampled_from([0.0, 1.0, -1.0, 1e300, 5e-324]), st.integers(0, 2)),
    min_size=1,
    max_size=5,
)


def columns(rows):
    return [list(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "kendall_tau"])
@given(rows=ROWS, k=st.sampled_from(KS), ties=st.sampled_from(TIES), data=st.data())
@FEW
def test_measures(name, rows, k, ties, data):
    labels, scores, codes = columns(rows)
    options = {**SETTINGS[name]}
    if name in brute_force.PAIRED:
        k, ties = None, "average" if name == "auc" else ties
    elif name in brute_force.WHOLE:
        k, ties = None, "worst" if name == "iprec" and ties == "average" else ties
    else:
        options["k"] = k
    if name.startswith("linear "):
        options["gain"] = "linear"
    if name != "auc":
        options["ties"] = ties
    expected = brute_force.per_query(name, labels, scores, codes, k, ties)
    function = FUNCTIONS[name.removeprefix("linear ")]
    if all(map(math.isnan, expected)):
        with pytest.raises(ValueError, match="no query is left"):
            function(labels, scores, codes, empty="skip", **options)
        return
    values = function(labels, scores, codes, empty="skip", per_query=True, **options)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(expected), max_size=len(expected)))
    for empty in ("skip", "zero"):
        mean = function(labels, scores, codes, empty=empty, sample_weight=weights, **options)
        assert mean == pytest.approx(brute_force.mean(expected, weights, empty), rel=1e-9, abs=1e-12)


@given(rows=ROWS)
@FEW
def test_kendall_tau(rows):
    labels, scores, codes = columns(rows)
    expected = brute_force.per_query("kendall_tau", labels, scores, codes)
    if all(map(math.isnan, expected)):
        with pytest.raises(ValueError, match="no query is left"):
            metrics.kendall_tau_score(labels, scores, codes)
    else:
        values = metrics.kendall_tau_score(labels, scores, codes, per_query=True)
        np.testing.assert_allclose(values, expected, atol=1e-12)


@given(
    rows=st.lists(st.tuples(EXTREMES | NUMBERS.map(abs), EXTREMES | NUMBERS, st.integers(0, 1)), min_size=1, max_size=4)
)
@settings(max_examples=40)
def test_linear_ndcg_of_any_floats(rows):
    labels, scores, codes = columns(rows)
    values = br.ndcg_score(labels, scores, codes, gain="linear", per_query=True, empty="zero")
    expected = np.nan_to_num(brute_force.per_query("linear ndcg", labels, scores, codes))
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-12)


IDS = st.one_of(
    st.integers(),
    st.text(max_size=3),
    st.binary(max_size=2),
    st.booleans(),
    NUMBERS,
    st.fractions(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.uuids(),
)


@given(ids=st.lists(IDS, min_size=1, max_size=4) | st.sampled_from(list(DIFFERENT.values())), data=st.data())
@settings(max_examples=40)
def test_any_ids_mean_what_equality_says(ids, data):
    given_ids = data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=6))
    sizes = {id_: given_ids.count(id_) for id_ in given_ids}
    values = metrics.precision_score([1] * len(given_ids), [0] * len(given_ids), given_ids, k=6, per_query=True)
    np.testing.assert_allclose(values, [size / 6 for size in sizes.values()])


LETOR_IDS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.from_regex(r"[^\s:#\x00-\x20\x7f-\x9f]{1,4}", fullmatch=True).filter(
        lambda text: not any(map(str.isspace, text))
    ),
    st.from_regex(r"[+-]?0?[0-9]{1,2}", fullmatch=True),
)


@pytest.mark.slow
@given(data=st.data(), n_columns=st.integers(1, 3), zero_based=st.booleans(), sparse=st.booleans(), text=st.booleans())
@FILES
def test_letor_files_are_read_back(data, n_columns, zero_based, sparse, text):
    n_rows = data.draw(st.integers(1, 4))
    numbers = st.floats() | st.sampled_from([0.0, -0.0, 1.0])
    X = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=n_columns, max_size=n_columns), min_size=n_rows, max_size=n_rows))
    )
    y = data.draw(st.lists(numbers, min_size=n_rows, max_size=n_rows))
    ids = data.draw(
        st.lists(LETOR_IDS.filter(lambda id_: isinstance(id_, str) == text), min_size=n_rows, max_size=n_rows)
    )
    comments = data.draw(st.lists(st.from_regex(r"[a-z#:0-9]{0,5}", fullmatch=True), min_size=n_rows, max_size=n_rows))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.txt")
        try:
            br.write_letor(path, csr_matrix(X) if sparse else X, y, ids, comments=comments, zero_based=zero_based)
        except ValueError as error:
            # Text that would be read back as another id may be refused.
            check_message(error, "qid")
            return
        read = br.read_letor(path, n_features=n_columns, zero_based=zero_based, comments=True)
    X_read, y_read, qid, notes = read
    X_read = X_read.toarray() if hasattr(X_read, "toarray") else X_read
    np.testing.assert_array_equal(X_read, X)
    np.testing.assert_array_equal(y_read, y)
    assert [str(value) for value in qid.tolist()] == [str(value) for value in ids]
    assert notes == comments


DOCUMENTS = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4, unique=True),
    st.lists(st.text(st.characters(exclude_categories=["C"]), max_size=3), min_size=4, max_size=4, unique=True),
    st.lists(NUMBERS, min_size=4, max_size=4, unique=True),
    st.none(),
)
EDGE = st.sampled_from([(0, 1), (1, 0), (2, 3), (3, 2)])


@given(
    documents=DOCUMENTS,
    edges=st.lists(st.tuples(EDGE, st.floats(0, 1e308)), max_size=4),
    qid=st.sampled_from([[1, 1, 2, 2], ["a", "a", " a", " a"], ["7", "7", "07", "07"], [0.5, 0.5, 2.0, 2.0]]),
)
@FILES
def test_preference_files_are_read_back(documents, edges, qid):
    pairs, weights = ([edge for edge, _ in edges], [weight for _, weight in edges])
    graph = br.PreferenceGraph(qid, [pair[0] for pair in pairs], [pair[1] for pair in pairs], weights)
    ids = None if documents is None else np.array(documents, dtype=object if isinstance(documents[0], str) else None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pairs.csv")
        try:
            write_preferences(graph, path, ids)
        except ValueError as error:
            check_message(error, "documents")
            return
        again = read_preferences(path, qid, ids)
    assert again.winner.tolist() == graph.winner.tolist()
    assert again.loser.tolist() == graph.loser.tolist()
    assert again.weights.tolist() == graph.weights.tolist()


@pytest.mark.parametrize("suffix", [".txt", ".json", ".ubj"])
@pytest.mark.parametrize("ranker", RANKERS)
@given(
    objective=st.sampled_from(["softmax", "squared", "pairwise-exponential", "cosine"]),
    rounds=st.integers(1, 4),
    seed=st.integers(0, 3),
    queries=st.integers(5, 9),
    missing=st.booleans(),
)
@settings(max_examples=4)
def test_models_are_read_back(ranker, suffix, objective, rounds, seed, queries, missing):
    X, y, qid = br.make_ranking(n_queries=queries, n_documents=6, random_state=seed)
    X = np.where(np.abs(X) > 1.5, np.nan, X) if missing else X
    model = tiny(RANKERS[ranker], objective=objective, n_estimators=rounds, random_state=seed).fit(X, y, qid)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"model{suffix}")
        model.save_model(path)
        again = RANKERS[ranker]().load_model(path)
        second = Path(folder, f"again{suffix}")
        again.save_model(second)
        assert second.read_bytes() == path.read_bytes()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.best_iteration_ == rounds
    assert again.n_features_in_ == X.shape[1]
