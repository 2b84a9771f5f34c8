"""Rankers with features in files: the models of arrays with the same features, and what is
refused."""

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.inputs import streams

pytestmark = pytest.mark.slow

SETTINGS = {"n_estimators": 4, "n_jobs": 1, "max_depth": 4}


@pytest.fixture(scope="module")
def rows():
    """Features with missing values and a feature of few integers, relevance, and ids of adjacent
    rows."""
    X, y, qid = br.make_ranking(n_queries=30, random_state=5)
    X = X.astype(np.float32)
    X[::7, 3] = np.nan
    X[:, 0] = np.abs(X[:, 0] * 3).round()
    return X, y, qid


@pytest.fixture(params=["LightGBMRanker", "XGBoostRanker", "XGBoostRanker with cache"])
def on_files(request, rows, tmp_path, monkeypatch):
    """A class of rankers, and the features in files that queries do not respect, read in blocks of
    150 rows."""
    name, *cached = request.param.split(" with ")
    monkeypatch.setattr(streams, "BLOCK_ELEMENTS", 150 * rows[0].shape[1])
    paths = []
    for number, part in enumerate(np.split(rows[0], [0, 1, 233, 234, 500])):
        paths.append(tmp_path / f"{number}.npy")
        np.save(paths[-1], part)
    cache = tmp_path / "cache"
    cache.mkdir()
    yield getattr(br, name), br.FeatureFiles(paths, cache=cache if cached else None)
    assert list(cache.iterdir()) == []


def require_equal(on_array, on_files, X, files):
    """Both rankers have the same trees, and the same predictions of all kinds from both kinds of
    features."""
    assert on_array.best_iteration_ == on_files.best_iteration_
    assert on_array.evals_result_ == on_files.evals_result_
    scores = on_array.predict(X)
    assert len(np.unique(scores)) > 10
    np.testing.assert_array_equal(on_files.predict(X), scores)
    np.testing.assert_array_equal(on_files.predict(files), scores)
    np.testing.assert_array_equal(on_files.apply(files), on_array.apply(X))
    np.testing.assert_array_equal(
        on_files.predict(files, pred_contrib=True), on_array.predict(X, pred_contrib=True)
    )
    np.testing.assert_array_equal(
        list(on_files.staged_predict(files))[-1], list(on_array.staged_predict(X))[-1]
    )


@pytest.mark.parametrize(
    ("native", "settings"),
    [
        (False, {"random_state": 0}),
        (
            True,
            {
                "validation_fraction": 0.3,
                "early_stopping_rounds": 3,
                "n_estimators": 30,
                "random_state": 0,
            },
        ),
    ],
    ids=["softmax", "early stopping"],
)
def test_the_model_is_that_of_an_array(native, settings, on_files, rows):
    ranker_class, files = on_files
    X, y, qid = rows
    of_library = "lambdarank" if ranker_class is br.LightGBMRanker else "rank:ndcg"
    objective = of_library if native else "softmax"
    on_array, from_files = (
        ranker_class(objective, **{**SETTINGS, **settings}).fit(each, y, qid) for each in (X, files)
    )
    require_equal(on_array, from_files, X, files)
    assert from_files.score(files, y, qid) == on_array.score(X, y, qid)


def test_validation_sets_weights_and_initial_scores(on_files, rows):
    ranker_class, files = on_files
    X, y, qid = rows
    validation, kept, random = qid < 10, qid >= 10, np.random.default_rng(0)
    extras = {
        "sample_weight": random.random(30)[qid][kept],
        "init_score": random.standard_normal(kept.sum()),
    }
    fits = []
    for train, held_out in ((X, X), (files, files), (files, X)):
        sets = {"part": (held_out[validation], y[validation], qid[validation])}
        fits.append(
            ranker_class("softmax", **SETTINGS).fit(
                train[kept], y[kept], qid[kept], eval_set=sets, **extras
            )
        )
    for fitted in fits[1:]:
        require_equal(fits[0], fitted, X, files)


def test_bags(on_files, rows):
    ranker_class, files = on_files
    X, y, qid = rows
    bag = br.BaggedRanker(ranker_class("softmax", **SETTINGS), n_estimators=2, random_state=0)
    np.testing.assert_array_equal(*(bag.fit(each, y, qid).predict(each) for each in (X, files)))


def test_categorical_features_are_checked_and_used(on_files, rows):
    ranker_class, files = on_files
    X, y, qid = rows

    def with_category(column):
        kinds = (
            {"categorical_feature": [column]}
            if ranker_class is br.LightGBMRanker
            else {"feature_types": {column: "c"}}
        )
        return ranker_class("softmax", **SETTINGS, **kinds)

    require_equal(with_category(0).fit(X, y, qid), with_category(0).fit(files, y, qid), X, files)
    with pytest.raises(ValueError, match="the feature 1 is categorical"):
        with_category(1).fit(files, y, qid)


def test_rows_of_a_query_that_are_apart_are_an_error(on_files, rows):
    ranker_class, files = on_files
    _, y, qid = rows
    mixed = qid.copy()
    mixed[600] = mixed[5]
    with pytest.raises(ValueError, match="the rows of a query must be adjacent in FeatureFiles"):
        ranker_class().fit(files, y, mixed)
    # Ids in any sequence are fine as long as the rows of a query are adjacent.
    ids = (qid, np.random.default_rng(0).permutation(30)[qid])
    np.testing.assert_array_equal(
        *(ranker_class("softmax", **SETTINGS).fit(files, y, q).predict(files) for q in ids)
    )


def test_lengths_and_features_that_do_not_fit_are_errors(on_files, rows):
    ranker_class, files = on_files
    X, y, qid = rows
    for given, labels, ids, message in (
        (files, y[:-1], qid, rf"y has {len(y) - 1} values for the {len(y)} rows of X"),
        (files[1:], y[1:], qid, rf"qid has {len(y)} values for the {len(y) - 1} rows of X"),
        (files[:0], y[:0], qid[:0], "non-empty"),
    ):
        with pytest.raises(ValueError, match=message):
            ranker_class().fit(given, labels, ids)
    fitted = ranker_class(**SETTINGS).fit(X[:, :-1], y, qid)
    with pytest.raises(ValueError, match="X has 10 features"):
        fitted.predict(files)
    assert ranker_class(**SETTINGS).fit(files, y, qid).predict(files[:0]).shape == (0,)


def test_what_would_keep_the_features_in_memory_is_refused(on_files, rows, tmp_path):
    ranker_class, files = on_files
    X, y, qid = rows
    model = ranker_class(**SETTINGS).fit(X, y, qid)
    with pytest.raises(ValueError, match=r"give init_score=init_model.predict\(X\)"):
        ranker_class(**SETTINGS).fit(files, y, qid, init_model=model)
    np.save(tmp_path / "x.npy", X)
    cached, ranker = br.FeatureFiles(tmp_path / "x.npy", cache=tmp_path), ranker_class("softmax")
    message = "LightGBM keeps the bins of the features in memory"
    if ranker_class is br.XGBoostRanker:
        ranker, message = ranker.set_params(tree_method="approx"), "only tree_method='hist'"
    with pytest.raises(ValueError, match=message):
        ranker.fit(cached, y, qid)


def test_names_of_parquet_columns_are_names_of_features(ranker_class, rows, tmp_path):
    X, y, qid = rows
    names = [f"price [{i}]" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    frame.assign(label=y).to_parquet(tmp_path / "x.parquet", row_group_size=100)
    files, turned = (
        br.FeatureFiles(tmp_path / "x.parquet", columns=columns) for columns in (names, names[::-1])
    )
    on_frame, from_files = (
        ranker_class("softmax", **SETTINGS).fit(each, y, qid) for each in (frame, files)
    )
    require_equal(on_frame, from_files, frame, files)
    assert list(from_files.feature_names_in_) == names
    for call in (
        from_files.predict,
        lambda X: from_files.fit(files, y, qid, eval_set=[(X, y, qid)]),
    ):
        with pytest.raises(ValueError, match="feature names"):
            call(turned)
