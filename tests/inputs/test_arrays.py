"""Arrays from arguments: no conversion changes or merges values, and none copies a file that is
mapped."""

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from boostrank.inputs.arrays import as_array
from boostrank.training.arguments import TrainingArguments
from boostrank.training.data import training_data

NAN = float("nan")


@for_each("values", [["a", None], [2**63, 2**63 + 1, 5], ["a", "a\0"], (1, "1"), [0.25, 1]])
@for_each("nested", [False, True])
def test_each_element_of_a_sequence_keeps_its_value(values, nested):
    array = as_array([[value] for value in values] if nested else values, "qid")
    assert array.shape == (len(values),)
    assert array.tolist() == list(values)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1, 2], np.int64),
        ([0.5, 1], np.float64),
        ([True, False], bool),
        (pd.Series([1, 2], dtype="int8"), np.int8),
    ],
)
def test_numbers_that_numpy_converts_exactly_have_its_type(values, dtype):
    assert as_array(values, "y").dtype == dtype


@pytest.mark.parametrize("missing", [None, NAN, pd.NA])
def test_missing_texts_of_all_types_are_missing_ids(missing):
    of_numpy = np.array(["a", missing, "b"], dtype=np.dtypes.StringDType(na_object=missing))
    # "str" of pandas 2 makes texts of missing values.
    kinds = ["string", "string[pyarrow]", *(["str"] if pd.__version__ >= "3" else [])]
    of_pandas = [pd.array(["a", missing, "b"], dtype=kind) for kind in kinds]
    for ids in (of_numpy, *of_pandas, *map(pd.Series, of_pandas), ["a", missing, "b"]):
        with pytest.raises(ValueError, match=r"qid must not be missing; qid\[1\] is"):
            br.ndcg_score([1, 2, 0], [0, 1, 2], ids)
    assert as_array(np.array(["a", "é" * 9], dtype=np.dtypes.StringDType()), "qid").tolist() == [
        "a",
        "é" * 9,
    ]


def test_a_column_becomes_one_dimensional_and_other_shapes_stay():
    assert as_array(np.ones((3, 1)), "y").shape == (3,)
    assert as_array(pd.DataFrame({"y": [1, 2]}), "y").shape == (2,)
    assert as_array(np.ones((3, 2)), "y").shape == (3, 2)
    assert as_array(5, "y").shape == ()
    assert as_array([], "y").shape == (0,)


def test_a_memory_map_is_not_copied(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    arguments = TrainingArguments(mapped, [1, 0, 2], [0, 0, 1])
    data, _ = training_data("ranker", arguments, takes_infinity=True)
    assert np.shares_memory(data.X, mapped)


def test_an_object_that_is_no_array_is_named():
    graph = br.PreferenceGraph([0, 0], [0], [1])
    with pytest.raises(ValueError, match="y_true must be an array; got PreferenceGraph"):
        as_array(graph, "y_true")
    for call in (br.ndcg_score, br.reconcile):
        with pytest.raises(ValueError, match=r"needs relevance labels.*measure is 'agreement'"):
            call(graph, [0.0, 1.0], [0, 0])
