"""DataFrames of pandas, polars and pyarrow that carry query ids."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import boostrank as br
from boostrank.inputs.frames import find_qid


def test_find_qid_looks_in_the_argument_then_the_column_then_the_index():
    pandas = pd.DataFrame({"a": [1.0, 2.0], "qid": [7, 8]})
    kinds = [pandas, pl.DataFrame({"a": [1.0, 2.0], "qid": [7, 8]}), pa.table({"a": [1.0, 2.0], "qid": [7, 8]})]
    for X in kinds:
        for given, expected in ((None, [7, 8]), ([1, 1], [1, 1])):
            features, qid = find_qid(X, given)
            assert list(getattr(features, "column_names", features.columns)) == ["a"]
            assert list(qid) == expected
            assert len(getattr(X, "column_names", X.columns)) == 2  # The caller's frame keeps its column.
    for index in (pandas.set_index("qid"), pandas.set_index(["qid", "a"]).assign(b=0.0)):
        assert list(find_qid(index, None)[1]) == [7, 8]
    for X in (pandas[["a"]], kinds[1][["a"]], np.ones((2, 1)), sp.eye_array(2, format="csr"), [[1.0], [2.0]]):
        assert find_qid(X, None)[1] is None
    for qid in ([0.5, 1.0], [np.nan, 0.25]):
        with pytest.raises(ValueError, match="not whole"):
            find_qid(pandas.assign(qid=qid), None)
    assert list(find_qid(pandas.assign(qid=[1.0, 2.0]), None)[1]) == [1, 2]


def test_query_ids_of_the_features_are_compared_with_those_of_the_labels():
    """Features in another sequence than the clicks would be learned from clicks on other documents."""
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
        for X, place in ((other, "column"), (pl.from_pandas(other), "column"), (other.set_index("qid"), "index")):
            with pytest.raises(ValueError, match=f"the {place} 'qid' of X: qid differs .* '8' in row 0, where .* '7'"):
                find_qid(X, None, y)
        with pytest.raises(ValueError, match=r"qid differs .* it has shape \(2,\)"):
            find_qid(other[:2], None, y)
        # Ids that are given are used, and the estimator compares them with those of the labels.
        assert find_qid(other, [7, 8, 8], y)[1] == [7, 8, 8]
