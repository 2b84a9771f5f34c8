"""`export`: versions of engines, sizes, and the proof that finds wrong directions and thresholds
without any row."""

import contextlib
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import boostrank as br
from boostrank.serving import evaluate, exporters
from boostrank.serving.documents import WRITERS, fewest_digits
from boostrank.serving.evaluators import CHANGES
from boostrank.serving.forest import LARGEST, Forest, Split, rows_at_splits

NAMES = ["price", "bm25(title)", "age", "clicks", "stock"]
SETTINGS = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
READS = {
    "zero": "takes absent features for 0",
    "right": "sends absent features right at every split",
    "node": "",
}


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=30, n_features=5, random_state=0)
    return X.astype(np.float32), y, qid


@pytest.fixture(scope="module")
def with_missing(data):
    return np.where(
        np.random.default_rng(0).random(data[0].shape) < 0.3, np.float32(np.nan), data[0]
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.json"


def scores(engine, path, X, version=None):
    return evaluate(engine, path.read_text(), dict(zip(NAMES, X.T, strict=False)), version=version)


def warns(message):
    return pytest.warns(UserWarning, match=message) if message else contextlib.nullcontext()


@pytest.mark.parametrize(
    ("engine", "version", "reads"),
    [
        *[
            ("elasticsearch", "8.9.2", "zero"),
            ("elasticsearch", "8.11.4", "node"),
            ("elastic", "8.12.0", "node"),
        ],
        *[("opensearch", version, "right") for version in ("3.2", "3.7.1")],
        *[
            ("opensearch", "2.19.5", "zero"),
            ("opensearch", "3.10", "node"),
            ("vespa", "8.0", "node"),
        ],
        *[("solr", "9.1.1", "zero"), ("solr", "10.0", "node")],
    ],
)
def test_the_version_decides_what_absent_features_count_as(
    engine, version, reads, data, with_missing, path
):
    X, y, qid = data
    with_zeros, settings = (
        np.nan_to_num(with_missing),
        {"format": engine, "features": NAMES, "version": version},
    )
    trained, plain = (
        br.LightGBMRanker(**SETTINGS).fit(values, y, qid) for values in (with_missing, with_zeros)
    )
    missing = with_missing if reads == "node" else with_zeros
    for ranker, expected, fits, training in (
        (trained, trained.predict(missing), reads == "node", "takes them for missing values"),
        (plain, plain.predict(with_zeros), reads != "right", "takes them for 0"),
    ):
        with warns(
            ""
            if fits
            else rf"{engine} {version} {READS[reads]}, but this model {training}. Use [389].\d+ or"
        ):
            ranker.export(path, **settings)
        # Documents with all features have the right scores in any case.
        np.testing.assert_allclose(scores(engine, path, X, version), ranker.predict(X), atol=1e-6)
        if reads != "right":
            np.testing.assert_allclose(
                scores(engine, path, with_missing, version), expected, atol=1e-6
            )
    for absent, possible in (("missing", reads == "node"), ("zero", reads != "right")):
        with (
            contextlib.nullcontext()
            if possible
            else pytest.raises(ValueError, match="absent must be left out; got ")
        ):
            trained.export(path, **settings, absent=absent)


def test_the_guide_has_all_versions_and_their_sources():
    text = (Path(__file__).parents[2] / "examples/guide/search_engines.md").read_text("utf-8")
    lines = text.replace(",", " ").replace("`", "").splitlines()
    for change in CHANGES:
        assert any(f" {change.since} " in line and change.source in line for line in lines), change


def test_xgboost_remembers_missing_values_whose_directions_agree(data, path):
    X, y, qid = data
    missing = np.where(y > 1, np.nan, X[:, 0])[:, None].astype(np.float32)
    ranker = br.XGBoostRanker(max_depth=1, **SETTINGS).fit(missing, y, qid)
    forest = Forest.of_booster(ranker._library, ranker.booster_)
    assert (
        len({split.default_left for split in forest.splits}),
        forest.treats_missing_as_zero,
    ) == (1, False)
    continued = br.XGBoostRanker(max_depth=1, **SETTINGS).fit(
        np.nan_to_num(missing), y, qid, init_model=ranker
    )
    bag = br.BaggedRanker(ranker, n_estimators=2).fit(missing, y, qid)
    for trained in (ranker, bag, continued, ranker.save_model(path) or br.load_model(path)):
        trained.export(path, "vespa", features=["price"])
        np.testing.assert_allclose(
            scores("vespa", path, missing), trained.predict(missing), atol=1e-6
        )
    # A model that was trained elsewhere does not show it.
    matrix = xgb.DMatrix(missing, y, qid=np.unique(qid, return_inverse=True)[1])
    xgb.train({"objective": "rank:ndcg", "max_depth": 1, "nthread": 1}, matrix, 3).save_model(path)
    with warns("does not show whether its training had missing values"):
        br.load_model(path).export(path, "vespa", features=["price"])


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_each_wrong_direction_threshold_or_leaf_is_found(
    engine, ranker_class, data, with_missing, path, monkeypatch
):
    ranker = ranker_class(**SETTINGS).fit(with_missing, *data[1:])
    forest, write = Forest.of_booster(ranker._library, ranker.booster_), WRITERS[engine]
    ranker.export(path, engine, features=NAMES, absent="missing")
    rng, mistakes = np.random.default_rng(0), []
    for tree, nodes in enumerate(forest.trees):
        for i in rng.choice(len(nodes), 4, replace=False):
            node = nodes[i]
            if not isinstance(node, Split):
                mistakes.append((tree, i, node + 1e-3))
                continue
            for end in (-np.inf, np.inf):
                threshold = float(np.nextafter(np.float32(node.threshold), np.float32(end)))
                mistakes.append((tree, i, node._replace(threshold=threshold)))
            # A feature that is absent already on the way to the node may not reach it.
            if all(
                isinstance(other, float) or other.feature != node.feature for other in nodes[:i]
            ):
                mistakes.append((tree, i, node._replace(default_left=not node.default_left)))
    for tree, i, node in mistakes:
        trees = [list(nodes) for nodes in forest.trees]
        trees[tree][i] = node
        wrong = forest._replace(trees=trees)
        monkeypatch.setitem(
            WRITERS,
            engine,
            lambda _, *names, wrong=wrong, **options: write(wrong, *names, **options),
        )
        with pytest.raises(
            ValueError, match=f"{engine} would give .* report this model as a fault"
        ):
            ranker.export(path, engine, features=NAMES, absent="missing")


def test_rows_at_splits_reach_what_only_absent_values_reach():
    # The threshold of the first split stands for infinity, so that its right side is that of absent
    # values.
    rows = rows_at_splits(
        [Split(0, LARGEST, False, 1, 2), 1.0, Split(1, -2.0, True, 3, 4), 2.0, 3.0], 2
    )
    below = np.nextafter(np.float32(-2), np.float32(-3))
    expected = [[np.nan] * 2, [np.nan, 0], [np.nan, below], [np.nan, -2], [np.nan, np.nan]]
    np.testing.assert_array_equal(rows, np.array(expected, dtype=np.float32))


def test_reasons_of_differences(data, with_missing, path):
    _, y, qid = data
    rng, infinity = np.random.default_rng(0), r" takes 3.*e\+38 of 'price' for infinity"
    # XGBoost has infinite thresholds, which separate missing values from all others.
    infinite = np.where(y > 0, np.nan, rng.choice([LARGEST, 1e30, 3.4e38, 1e-20], len(y)))
    for engine, ranker_class, column, cause in (
        # In rows with missing values of other features.
        (
            "solr",
            br.LightGBMRanker,
            np.where(y > 0, 0, -1e-20),
            "Solr takes numbers from -1.1e-13 to 1e-35 for 0",
        ),
        (
            "solr",
            br.XGBoostRanker,
            np.where(y > 0, LARGEST, rng.choice([np.nan, 3e38], len(y))),
            infinity,
        ),
        ("elasticsearch", br.XGBoostRanker, infinite, infinity),
        ("vespa", br.XGBoostRanker, infinite, infinity),
    ):
        X = np.column_stack([column, with_missing[:, 1:]]).astype(np.float32)
        with pytest.raises(ValueError, match=cause):
            ranker_class(**SETTINGS).fit(X, y, qid).export(
                path, engine, features=NAMES, absent="missing", check=X
            )


def test_a_frame_with_the_names_of_the_engine_is_a_check_of_a_model_without_names(data, path):
    ranker = br.LightGBMRanker(**SETTINGS).fit(*data)
    frame = pd.DataFrame(data[0], columns=NAMES)
    ranker.export(path, "vespa", features=NAMES, check=frame[NAMES[::-1]].assign(other=1.0))
    with warns("X has feature names"):
        ranker.export(path, "vespa", features=NAMES, check=frame.rename(columns={"price": "prize"}))


def test_numbers_have_the_fewest_digits_that_all_parsers_read_alike():
    values = np.random.default_rng(0).integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    values = [
        *values[np.isfinite(values)].tolist(),
        *np.float32([LARGEST, -LARGEST, 1e-45, 0, 0.1, 1 / 3]).tolist(),
    ]
    for value in values:
        for number in (fewest_digits(value), fewest_digits(value, below=True)):
            assert np.float32(repr(number)) == np.float32(number) == value
        assert fewest_digits(value, below=True) <= value
    texts = [
        [repr(fewest_digits(value)) for value in values],
        [str(np.float32(value)) for value in values],
    ]
    n_digits = [
        sum(len(Decimal(text).normalize().as_tuple().digits) for text in column) for column in texts
    ]
    assert n_digits[0] <= 1.01 * n_digits[1]


def test_sizes(data, path, monkeypatch):
    ranker = br.LightGBMRanker(**SETTINGS).fit(*data)
    for engine in WRITERS:
        ranker.export(path, engine, features=NAMES, absent="zero")
        assert path.read_text() == json.dumps(json.loads(path.read_text()), separators=(",", ":"))
    monkeypatch.setattr(exporters, "ZOOKEEPER_BYTES", 2000)
    monkeypatch.setattr(exporters, "CACHE_BYTES", 2000)
    with warns(r"the model has [\d,]+ bytes, .* ZooKeeper of at most 2,000 .*: give resource"):
        ranker.export(path, "solr", features=NAMES)
    ranker.export(path, "solr", features=NAMES, resource="models/m.json")
    with warns(r"compiled model takes about [\d,]+ bytes, and the plugin keeps at most 2,000"):
        ranker.export(path, "elasticsearch", features=NAMES)
