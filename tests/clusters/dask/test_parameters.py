"""Parameters of the libraries on Dask: the models are those of one process, or there is an
error."""

import numpy as np
import pytest
from cluster_samples import even_sizes, place_on, small, small_local

import boostrank as br
from boostrank.backends.lightgbm import features as lightgbm_features


@pytest.fixture(scope="module")
def with_holes(data):
    X, y, qid = data
    return np.where(X == 1, -9, X), y, qid


@pytest.fixture(scope="module")
def rows(place, with_holes):
    return place(with_holes, even_sizes(len(with_holes[1]), 4))


CASES = [
    ("LightGBMRanker", {"feature_contri": {0: 0.0, 1: 0.5}, "max_bin_by_feature": {2: 3}}),
    (
        "XGBoostRanker",
        {
            "monotone_constraints": {0: 1, 1: -1},
            "missing": -9,
            "interaction_constraints": [[0, 2], [1, 3, 4]],
        },
    ),
    ("XGBoostRanker", {"feature_weights": [1, 0] * 5, "colsample_bytree": 0.4}),
    ("XGBoostRanker", {"feature_types": {3: "c"}, "tree_method": "approx"}),
]


@pytest.mark.parametrize(("name", "native"), CASES, ids=lambda value: str(value)[:60])
def test_models_are_those_of_one_process(name, native, rows, with_holes):
    ranker_class = getattr(br.dask, name)
    X, y, qid = with_holes
    if "feature_types" in native:
        X = np.abs(np.round(X))
        rows = [abs(rows[0].round()), *rows[1:]]
    local = small_local(ranker_class, **native).fit(X, y, qid)
    scores = small(ranker_class, **native).fit(*rows).predict(rows[0])
    np.testing.assert_allclose(scores.compute(), local.predict(X), atol=1e-5)
    assert not np.allclose(
        local.predict(X), small_local(ranker_class).fit(X, y, qid).predict(X), atol=1e-3
    )


WRONG = [
    ("LightGBMRanker", {"categorical_feature": [0]}, "integers.*; got -?[0-9]"),
    ("XGBoostRanker", {"feature_weights": {"price": 1}}, "no names"),
    (
        "XGBoostRanker",
        {"tree_method": "exact", "colsample_bynode": None},
        "doesn't support distributed training",
    ),
]


@pytest.mark.parametrize(("name", "native", "message"), WRONG, ids=lambda value: str(value)[:60])
def test_values_that_workers_cannot_use_are_errors(name, native, message, rows):
    with pytest.raises(ValueError, match=message):
        small(getattr(br.dask, name), **native).fit(*rows)


# The network of LightGBM


def test_more_documents_than_lightgbm_counts_are_refused(rows, monkeypatch):
    n_documents = rows[0].shape[0]
    monkeypatch.setattr(lightgbm_features, "MAX_ROWS", n_documents - 1)
    with pytest.raises(
        ValueError, match=rf"at most 2\^31 - 1 rows, and there are {n_documents:,} on all workers"
    ):
        small(br.dask.LightGBMRanker).fit(*rows)


def test_parameters_of_the_network_reach_lightgbm(client, with_holes):
    for _ in range(5):
        # Dask may bring all partitions to one worker while the machine is busy, and this worker
        # then trains alone.
        rows = place_on(client, with_holes, even_sizes(len(with_holes[1]), 4))
        ranker = small(br.dask.LightGBMRanker, tree_learner="voting").fit(*rows)
        lines = ranker.booster_.model_to_string().splitlines()
        if "[num_machines: 2]" in lines:
            break
    assert {"[tree_learner: voting]", "[num_machines: 2]"} <= set(lines)
    assert ranker.score(*rows) > 0.7
