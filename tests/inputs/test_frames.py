"""DataFrames of pandas, polars and pyarrow that carry query ids."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import for_each

import boostrank as br
from boostrank.inputs.table import Table
from boostrank.queries.queries import find_qid, table_and_qid

INDEX = "index 'qid'"
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def test_find_qid_looks_in_the_argument_then_the_column_then_the_index():
    pandas = pd.DataFrame({"a": [1.0, 2.0], "qid": [7, 8]})
    kinds = [
        pandas,
        pl.DataFrame({"a": [1.0, 2.0], "qid": [7, 8]}),
        pa.table({"a": [1.0, 2.0], "qid": [7, 8]}),
    ]
    for X in kinds:
        for given, expected in ((None, [7, 8]), (["b", "a"], ["b", "a"])):
            features, qid = find_qid(X, given)
            assert list(getattr(features, "column_names", features.columns)) == ["a"]
            assert list(qid) == expected
            assert (
                len(getattr(X, "column_names", X.columns)) == 2
            )  # The caller's frame keeps its column.
    for index in (pandas.set_index("qid"), pandas.set_index(["qid", "a"]).assign(b=0.0)):
        assert list(find_qid(index, None)[1]) == [7, 8]
    for X in (
        pandas[["a"]],
        kinds[1][["a"]],
        np.ones((2, 1)),
        sp.eye_array(2, format="csr"),
        [[1.0], [2.0]],
    ):
        assert find_qid(X, None)[1] is None
    for qid in ([0.5, 1.0], [np.nan, 0.25]):
        for X, given in ((pandas.assign(qid=qid), None), (pandas[["a"]], qid)):
            with pytest.raises(
                ValueError, match=r"qid.* not whole.* Weights are given as sample_weight="
            ):
                find_qid(X, given)
    assert list(find_qid(pandas.assign(qid=[1.0, 2.0]), None)[1]) == [1, 2]


@for_each(
    ("first", "second"),
    itertools.combinations(["group", "qid", "column 'session'", "column 'qid'", INDEX], 2),
)
def test_sources_of_query_ids_must_not_contradict_each_other(first, second):
    def found(*ids):
        sources = dict(zip((first, second), ids, strict=True))
        X = pd.DataFrame(
            {"a": range(4), **{name[8:-1]: sources[name] for name in sources if "column" in name}}
        )
        X.index = pd.Index(sources.get(INDEX, range(4)), name="qid" if INDEX in sources else None)
        sizes = {name: sources[name] for name in sources if name == "group"}
        return table_and_qid(Table(X), sources.get("qid"), columns=["session"], sizes=sizes)

    features, qid = found([5, 5, 3, 5], ["a", "a", "b", "a"])
    assert (features.names, list(qid)) == (["a"], [5, 5, 3, 5])
    message = "contradict .* row 3 is in query 5 of row 0 .* query b of row 2"
    with pytest.raises(ValueError, match=f"{first}.* and .*{second}.* {message}"):
        found([5, 5, 3, 5], ["a", "a", "b", "b"])


def test_query_ids_of_the_features_are_compared_with_those_of_the_labels():
    """Features in another sequence than the clicks would be learned from clicks on other
    documents."""
    log = br.ClickLog([7, 8, 8], row=[0, 1], position=[1, 1], clicks=[1, 0])
    graph = br.PreferenceGraph.from_grades([1, 1, 0], [7, 8, 8])
    for y in (br.ClickLabels(log, 1.0), graph):
        for ids in ([7, 8, 8], [7.0, 8.0, 8.0], np.array([7, 8, 8], dtype=object)):
            X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "qid": ids})
            for same in (X, X.set_index("qid")):
                features, qid = find_qid(same, None, y)
                assert list(qid) == [7, 8, 8]
                assert list(features.columns) == ["a"]
        other = pd.DataFrame({"a": [1.0, 2.0, 3.0], "qid": [8, 7, 8]})
        for X, place in (
            (other, "column"),
            (pl.from_pandas(other), "column"),
            (other.set_index("qid"), "index"),
        ):
            with pytest.raises(
                ValueError,
                match=f"the {place} 'qid' of X: qid differs .* '8' in row 0, where .* '7'",
            ):
                find_qid(X, None, y)
        with pytest.raises(ValueError, match="qid has 2 values for the 3 rows of"):
            find_qid(other[:2], None, y)
        with pytest.raises(ValueError, match="qid: qid differs from the query ids of"):
            find_qid(None, [8, 7, 7], y)
        sizes = {"group": np.array([0, 1, 1])}
        assert table_and_qid(Table(None), None, y, sizes=sizes)[1].tolist() == [7, 8, 8]
        with pytest.raises(
            ValueError, match="y and group contradict each other: row 1 is in query 8 of row 1"
        ):
            table_and_qid(Table(None), None, y, sizes={"group": np.array([0, 0, 1])})


def test_labels_of_a_data_set_keep_their_nulls():
    y = pa.chunked_array([pa.array([2, None, 1]).dictionary_encode()])
    np.testing.assert_array_equal(
        br.Dataset(np.ones((3, 1)), y, [1, 1, 2]).take([0, 1]).y, [2.0, np.nan]
    )
