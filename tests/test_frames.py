"""DataFrames of pandas, polars and pyarrow that carry query ids."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from boostrank.frames import find_qid


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
