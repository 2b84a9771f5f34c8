"""`export`: names, missing values, the least score, thresholds, and what is refused."""

import contextlib
import itertools
import json
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError

import boostrank as br
from boostrank.serving import evaluate
from boostrank.serving.documents import WRITERS
from boostrank.serving.forest import LARGEST, MAX_DEPTH, Forest, Split

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
NAMES = ["price", "bm25(title)", "closeness(field,embedding)", "age", "clicks"]
HOSTILE = ["a,b", 'say "price"', "back\\slash", "naïve €", "</script>\n"]
SETTINGS = {"n_estimators": 5, "n_jobs": 1, "random_state": 0}
# Versions that follow the directions of missing values; later ones of Elastic add a constant to
# scores.
VERSIONS = {
    "elasticsearch": "8.11",
    "opensearch": "3.8",
    "elastic": "8.15",
    "solr": "9.2",
    "vespa": "8.700",
}


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=30, n_features=5, random_state=0)
    return X.astype(np.float32), y, qid


@pytest.fixture(scope="module")
def rankers(data):
    return {ranker_class: ranker_class(**SETTINGS).fit(*data) for ranker_class in RANKERS}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.json"


def scores(engine, path, X, names=NAMES):
    """The scores of the engine, from the file."""
    features = dict(zip(names, X.T, strict=True))
    return evaluate(engine, path.read_text(encoding="utf-8"), features, version=VERSIONS[engine])


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("ranker_class", RANKERS)
def test_names(engine, ranker_class, rankers, data, path):
    X, ranker, names = data[0], rankers[ranker_class], NAMES if engine == "vespa" else HOSTILE
    for features in (X, X.astype(np.float64), csr_matrix(X), X.tolist()):
        ranker.export(path, engine, features=names, check=features, version=VERSIONS[engine])
        np.testing.assert_allclose(scores(engine, path, X, names), ranker.predict(X), atol=1e-5)
    if engine != "vespa":
        frame = pd.DataFrame(X, columns=[f"own {i}" for i in range(5)]).assign(qid=data[2])
        ranker_class(**SETTINGS).fit(frame, data[1]).export(
            path, engine, check=frame, version=VERSIONS[engine]
        )
        np.testing.assert_allclose(
            scores(engine, path, X, list(frame)[:5]), ranker.predict(X), atol=1e-5
        )
    check = pytest.importorskip("polars").DataFrame(X[:, ::-1], schema=names[::-1])
    ranker.export(path, engine, features=names, check=check, version=VERSIONS[engine])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"format": "slor"}, r"format must be one of .*did you mean 'solr'"),
        (
            {"features": None},
            "features must be different names of the features, as elasticsearch takes them; got "
            "none",
        ),
        (
            {"features": NAMES[:4]},
            r"features must be 5 names, one of each column of X; got \['price', ",
        ),
        ({"features": [*NAMES[:4], "age"]}, r"features must be different names .*; got \['age'\]"),
        ({"format": "vespa", "features": ["a-b", *NAMES[1:]]}, "'a-b'"),
        (
            {"format": "vespa", "name": "shop"},
            "name must be left out: vespa takes none; got 'shop'",
        ),
        ({"store": "shoes"}, "store must be left out: elasticsearch takes none; got 'shoes'"),
        (
            {"format": "vespa", "resource": "m.json"},
            "resource must be left out: vespa takes none; got 'm.json'",
        ),
        (
            {"version": "1.5.9-es8.14.3"},
            r"version must be a text such as '5.0', .*; got '1.5.9-es8.14.3'",
        ),
        (
            {"format": "elastic", "version": "8.9"},
            r"version must be a text such as '8.12', .* not older",
        ),
        ({"name": "a/b"}, "name must be a text without '/', .*'a/b'"),
        (
            {"format": "elastic", "name": "Shop"},
            "model_id, the name, must have at most 64 characters: a-z",
        ),
        ({"absent": "nan"}, "absent must be one of missing, zero"),
        (
            {"format": "opensearch", "version": "3.3", "absent": "zero"},
            "right at every split, but this model takes",
        ),
        (
            {"path": "no/m.txt", "format": "vespa"},
            "path must be a path that ends with .json, .*; got 'no/m.txt'",
        ),
        ({"shift": 0.5}, "shift must be one of min; got 0.5"),
    ],
)
def test_settings_without_a_meaning(settings, message, rankers, path):
    with pytest.raises(ValueError, match=message):
        rankers[br.LightGBMRanker].export(
            **{"path": path, "format": "elasticsearch", "features": NAMES, **settings}
        )
    assert not path.exists()


def test_without_treelite(rankers, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(NotFittedError):
        br.XGBoostRanker().export(path, "solr")
    with pytest.raises(ImportError, match="pip install treelite"):
        rankers[br.XGBoostRanker].export(path, "solr", features=NAMES)


@pytest.mark.parametrize("ranker_class", [br.LightGBMRanker, br.XGBoostRanker])
def test_features_with_categories_are_named(ranker_class, data, path):
    X, y, qid = data
    frame = pd.DataFrame(X[:, :2], columns=["price", "age"])
    frame["shop"] = pd.Categorical(np.where(y > 1, "b", "a"))
    ranker = ranker_class(n_estimators=2).fit(frame, y, qid)
    with pytest.raises(ValueError, match=r"categories.* of the features? 'shop': train on"):
        ranker.export(path, "vespa")


@pytest.mark.parametrize(
    ("ranker_class", "native", "message"),
    [
        (br.LightGBMRanker, {"linear_tree": True}, "linear_tree"),
        (br.LightGBMRanker, {"zero_as_missing": True}, "zero_as_missing"),
        (
            br.LightGBMRanker,
            {"categorical_feature": [1]},
            "categories of the feature 1.*get_dummies",
        ),
        (
            br.XGBoostRanker,
            {"feature_types": {1: "c"}},
            "treelite takes no categories.*get_dummies",
        ),
        (br.XGBoostRanker, {"missing": 0}, "takes 0 as a missing value"),
    ],
)
def test_models_that_no_engine_can_represent(ranker_class, native, message, data, path):
    X, y, qid = data
    ranker = ranker_class(**SETTINGS, **native).fit(np.column_stack([X[:, 0], y]), y, qid)
    with pytest.raises(ValueError, match=message):
        ranker.export(path, "vespa", features=["a", "b"])


class Chain:
    """A library with a model of one tree, whose left child is a split again and again."""

    def __init__(self, depth):
        test = {
            "split_feature_id": 0,
            "default_left": True,
            "node_type": "numerical_test_node",
            "comparison_op": "<",
        }
        nodes = [
            {**test, "threshold": -i, "left_child": 2 * i + 2, "right_child": 2 * i + 1}
            for i in range(depth)
        ]
        tree = [{"node_id": 2 * i, **node} for i, node in enumerate(nodes)]
        tree += [{"node_id": 2 * i + 1, "leaf_value": i} for i in range(depth)]
        tree.append({"node_id": 2 * depth, "leaf_value": depth})
        text = json.dumps({"threshold_type": "float32", "trees": [{"nodes": tree}]})
        self.to_treelite = lambda _: SimpleNamespace(dump_as_json=lambda pretty_print: text)
        self.base_score = lambda _: 0.0
        self.had_missing_values = lambda _: False


def test_deep_trees():
    forest = Forest.of_booster(Chain(MAX_DEPTH), None)
    X = np.arange(5, -MAX_DEPTH - 5, -1.0)
    expected = (X[:, None] < -np.arange(MAX_DEPTH)).sum(axis=1)
    for engine, write in WRITERS.items():
        text = write(forest, ["x"], "deep", **({"queries": {}} if engine == "elastic" else {}))
        np.testing.assert_array_equal(evaluate(engine, text, {"x": X}), expected)
    with pytest.raises(ValueError, match=f"more than {MAX_DEPTH} levels"):
        Forest.of_booster(Chain(MAX_DEPTH + 1), None)


def test_solr_gets_a_normalizer_where_its_addition_changes_thresholds():
    thresholds = [-0.9999999, -1e-9, 1e-12, 0.1, 5.0, 31.9, LARGEST]
    trees = [[Split(0, float(np.float32(t)), t > 0, 1, 2), 1.0, 0.0] for t in thresholds]
    text = WRITERS["solr"](Forest(trees, False), ["x", "unused"], "m")
    (feature,) = json.loads(text)["features"]
    assert np.log2(float(feature["norm"]["params"]["std"])) % 1 == 0
    at = np.float32(thresholds[:-1])
    x = np.concatenate(
        [at, np.nextafter(at, np.float32(-np.inf)), np.nextafter(at, np.float32(np.inf)), [0]]
    )
    expected = (x[:, None] < np.float32(thresholds)).sum(axis=1)
    np.testing.assert_array_equal(evaluate("solr", text, {"x": x}), expected)
    trees += [[Split(0, float(np.float32(1e37)), True, 1, 2), 1.0, 0.0]]
    with pytest.raises(
        ValueError, match=r"those of 'x', from 1e-12 to 1e\+37: multiply this feature"
    ):
        WRITERS["solr"](Forest(trees, False), ["x"], "m")


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("ranker_class", RANKERS)
def test_missing_values_without_a_version(engine, ranker_class, data, path):
    X, y, qid = data
    missing = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.float32(np.nan), X)
    message = (
        f"{engine} .* takes absent features for 0.* this model takes them for missing values. "
        f"Use {VERSIONS[engine]}"
    )
    silent = contextlib.nullcontext()
    with silent if engine in ("vespa", "elastic") else pytest.warns(UserWarning, match=message):
        ranker_class(**SETTINGS).fit(missing, y, qid).export(
            path, engine, features=NAMES, check=missing
        )
    plain = ranker_class(**SETTINGS).fit(np.nan_to_num(missing), y, qid)
    message = (
        r"opensearch 3.2 to before 3.8 sends absent features right at every split, but .* takes "
        r"them for 0"
    )
    with pytest.warns(UserWarning, match=message) if engine == "opensearch" else silent:
        plain.export(path, engine, features=NAMES, check=np.nan_to_num(missing))
    before = path.read_text()
    assert "isNullSameAsZero" not in before
    if ranker_class is br.XGBoostRanker:
        with pytest.raises(ValueError, match=r"knows no missing values: nan of '.*'; see absent"):
            plain.export(path, engine, features=NAMES, check=missing, version=VERSIONS[engine])
        assert path.read_text() == before


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("ranker_class", RANKERS)
def test_the_least_shift_makes_no_score_negative(engine, ranker_class, data, path):
    X, y, qid = data
    ranker = ranker_class(n_estimators=20, max_depth=2, n_jobs=1).fit(X[:, :2], y, qid)
    ranker.export(
        path, engine, features=NAMES[:2], shift="min", check=X[:, :2], version=VERSIONS[engine]
    )
    # All cells of the grid of the thresholds.
    forest = Forest.of_booster(ranker._library, ranker.booster_)
    values = [
        [-1e9, *sorted({split.threshold for split in forest.splits if split.feature == i})]
        for i in (0, 1)
    ]
    grid = np.array(list(itertools.product(*values)), dtype=np.float32)
    found, expected = scores(engine, path, grid, NAMES[:2]), ranker.predict(grid)
    lowest = sum(min(node for node in tree if not isinstance(node, Split)) for tree in forest.trees)
    assert lowest <= expected.min() < 0 <= found.min()
    np.testing.assert_allclose(found - expected, -lowest, atol=1e-5)


def test_check_refuses_float64_that_float32_does_not_have(data, path):
    X, y, qid = data
    # Seconds since 1970: numbers of float32 are 128 apart.
    X = np.column_stack([X[:, :4].astype(np.float64), 1.7e9 + 10 * y])
    ranker = br.LightGBMRanker(**SETTINGS).fit(X, y, qid)
    with pytest.raises(
        ValueError, match=r"float32, which has no 17000000\d0.0 of 'clicks': train on float32"
    ):
        ranker.export(path, "solr", features=NAMES, check=X)
    assert not path.exists()
