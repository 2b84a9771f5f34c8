"""`export`: versions of engines, sizes, and the proof that finds wrong directions and thresholds without any row."""

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
from boostrank.serving.documents import WRITERS, fewest_digits, fewest_digits_below
from boostrank.serving.evaluators import CHANGES
from boostrank.serving.forest import LARGEST, Forest, Split, rows_at_splits

RANKERS = [br.LightGBMRanker, br.XGBoostRanker]
NAMES = ["price", "bm25(title)", "age", "clicks", "stock"]
SETTINGS = {"n_estimators": 4, "n_jobs": 1, "random_state": 0}
VERSIONS = [
    ("elasticsearch", "8.9.2", "zero"),
    ("elasticsearch", "8.11.4", "node"),
    ("opensearch", "2.19.5", "zero"),
    ("opensearch", "3.2", "right"),
    ("opensearch", "3.7", "right"),
    ("opensearch", "3.10", "node"),
    ("elastic", "8.12.0", "node"),
    ("solr", "9.1.1", "zero"),
    ("solr", "10.0", "node"),
    ("vespa", "8.0", "node"),
]


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=30, n_features=5, random_state=0)
    return X.astype(np.float32), y, qid


@pytest.fixture(scope="module")
def with_missing(data):
    X = data[0].copy()
    X[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    return X


@pytest.mark.parametrize(("engine", "version", "reads"), VERSIONS)
def test_the_version_decides_what_absent_features_count_as(engine, version, reads, data, with_missing, tmp_path):
    X, y, qid = data
    path, with_zeros = tmp_path / "m.json", np.nan_to_num(with_missing)
    trained, plain = (br.LightGBMRanker(**SETTINGS).fit(values, y, qid) for values in (with_missing, with_zeros))
    settings = {"format": engine, "features": NAMES, "version": version}

    def scores(rows):
        return evaluate(engine, path.read_text(), dict(zip(NAMES, rows.T, strict=True)), version=version)

    does = {"zero": "takes absent features for 0", "right": "sends absent features right at every split"}
    text = rf"{engine} {version} {does.get(reads)}, but this model was trained with missing values. Use "
    with contextlib.nullcontext() if reads == "node" else pytest.warns(UserWarning, match=text):
        trained.export(path, **settings)
    if reads != "right":
        expected = trained.predict(with_missing if reads == "node" else with_zeros)
        np.testing.assert_allclose(scores(with_missing), expected, atol=1e-6)
    text = f"{engine} 3.*{does['right']}, but this model takes them for 0. Use 3.8 or newer, or give every document"
    with pytest.warns(UserWarning, match=text) if reads == "right" else contextlib.nullcontext():
        plain.export(path, **settings)
    if reads != "right":
        np.testing.assert_allclose(scores(with_missing), plain.predict(with_zeros), atol=1e-6)
    # What the engine cannot follow is refused if it is asked for; documents with all features are right in any case.
    for absent, ranker, follows in (("missing", trained, "node"), ("zero", trained, "zero")):
        possible = reads in (follows, "node")
        with contextlib.nullcontext() if possible else pytest.raises(ValueError, match="absent must be left out; got "):
            ranker.export(path, **settings, absent=absent)
    np.testing.assert_allclose(scores(X), plain.predict(X) if reads == "right" else trained.predict(X), atol=1e-6)


def test_the_guide_has_all_versions_and_their_sources():
    lines = (Path(__file__).parents[2] / "examples/guide/search_engines.md").read_text("utf-8").splitlines()
    for change in CHANGES:
        assert any(f" {change.since} " in line.replace(",", " ") and change.source in line.replace("`", "") for line in lines), change


def test_xgboost_remembers_missing_values_whose_directions_agree(data, tmp_path):
    X, y, qid = data
    missing, path = np.where(y > 1, np.nan, X[:, 0])[:, None].astype(np.float32), tmp_path / "m.json"
    ranker = br.XGBoostRanker(max_depth=1, **SETTINGS).fit(missing, y, qid)
    bag = br.BaggedRanker(ranker, n_estimators=2).fit(missing, y, qid)
    continued = br.XGBoostRanker(max_depth=1, **SETTINGS).fit(np.nan_to_num(missing), y, qid, init_model=ranker)
    for trained in (ranker, bag, continued, ranker.save_model(path) or br.load_model(path)):
        trained.export(path, "vespa", features=["price"])
        found = evaluate("vespa", path.read_text(), {"price": missing[:, 0]})
        np.testing.assert_allclose(found, trained.predict(missing), atol=1e-6)
    forest = Forest.of_booster(ranker._library, ranker.booster_)
    assert (len({split.default_left for split in forest.splits}), forest.treats_missing_as_zero) == (1, False)
    # A model that was trained elsewhere does not show it.
    parameters = {"objective": "rank:ndcg", "max_depth": 1, "nthread": 1}
    xgb.train(parameters, xgb.DMatrix(missing, y, qid=np.unique(qid, return_inverse=True)[1]), 3).save_model(path)
    with pytest.warns(UserWarning, match="does not show whether its training had missing values"):
        br.load_model(path).export(path, "vespa", features=["price"])


def changed(forest, numbers, node):
    """The forest with another node in place of the first split of a tree whose feature and threshold fit."""
    trees = [list(tree) for tree in forest.trees]
    tree, i = numbers
    trees[tree][i] = node
    return forest._replace(trees=trees)


@pytest.mark.parametrize("engine", WRITERS)
@pytest.mark.parametrize("ranker_class", RANKERS)
def test_each_wrong_direction_threshold_or_leaf_is_found_without_rows(
    engine, ranker_class, data, with_missing, tmp_path, monkeypatch
):
    _, y, qid = data
    ranker = ranker_class(**SETTINGS).fit(with_missing, y, qid)
    forest, write = Forest.of_booster(ranker._library, ranker.booster_), WRITERS[engine]
    rng = np.random.default_rng(0)
    mistakes = []
    for tree, nodes in enumerate(forest.trees):
        for i in rng.choice(len(nodes), 4, replace=False):
            node = nodes[i]
            if isinstance(node, Split):
                near = [float(np.nextafter(np.float32(node.threshold), np.float32(end))) for end in (-np.inf, np.inf)]
                mistakes += [((tree, i), node._replace(threshold=threshold)) for threshold in near]
                # A feature that is absent already on the way to the node cannot be sent the other way there.
                above = [split for split in nodes[:i] if isinstance(split, Split) and split.feature == node.feature]
                mistakes += [] if above else [((tree, i), node._replace(default_left=not node.default_left))]
            else:
                mistakes.append(((tree, i), node + 1e-3))
    settings = {"features": NAMES, "absent": "missing"}
    ranker.export(tmp_path / "m.json", engine, **settings)
    for place, node in mistakes:
        wrong = changed(forest, place, node)
        monkeypatch.setitem(WRITERS, engine, lambda _, *names, wrong=wrong, **options: write(wrong, *names, **options))
        with pytest.raises(ValueError, match=f"{engine} would give .* report this model as a fault"):
            ranker.export(tmp_path / "m.json", engine, **settings)


def test_rows_at_splits_reach_what_only_absent_values_reach():
    # The threshold of the first split stands for infinity, so that its right side is that of absent values.
    tree = [Split(0, LARGEST, False, 1, 2), 1.0, Split(1, -2.0, True, 3, 4), 2.0, 3.0]
    rows = rows_at_splits(tree, 2)
    assert np.isnan(rows[0]).all()
    expected = [[np.nan, 0], [np.nan, np.nextafter(np.float32(-2), np.float32(-3))], [np.nan, -2], [np.nan, np.nan]]
    np.testing.assert_array_equal(rows[1:], np.array(expected, dtype=np.float32))


def test_reasons_of_differences(data, with_missing, tmp_path):
    _, y, qid = data
    X, path = with_missing.copy(), tmp_path / "m.json"
    settings = {"features": NAMES, "absent": "missing"}
    # Numbers around 0 in rows with missing values.
    X[:, 0] = np.where(y > 0, 0, -1e-20)
    ranker = br.LightGBMRanker(**SETTINGS).fit(X, y, qid)
    with pytest.raises(
        ValueError, match=r"Solr takes numbers from -1.1e-13 to 1e-35 for 0, such as -9.99.*e-21 of 'pr"
    ):
        ranker.export(path, "solr", check=X, **settings)
    # XGBoost's infinite thresholds, which separate missing values from all others; and Solr's normalizers.
    rng = np.random.default_rng(0)
    others = rng.choice([LARGEST, 1e30, 3.4e38, 1e-20], len(X)), rng.choice([np.nan, 3e38], len(X))
    infinite = np.where(y > 0, np.nan, others[0]), np.where(y > 0, LARGEST, others[1])
    for engine, column in (("elasticsearch", infinite[0]), ("vespa", infinite[0]), ("solr", infinite[1])):
        X[:, 0] = column
        ranker = br.XGBoostRanker(**SETTINGS).fit(X, y, qid)
        with pytest.raises(ValueError, match=rf"{engine} takes 3.*e\+38 of 'price' for infinity"):
            ranker.export(path, engine, check=X, **settings)


def test_a_frame_with_the_names_of_the_engine_is_a_check_of_a_model_without_names(data, tmp_path):
    X, path = data[0], tmp_path / "m.json"
    ranker = br.LightGBMRanker(**SETTINGS).fit(*data)
    frame = pd.DataFrame(X, columns=NAMES)[NAMES[::-1]].assign(other=1.0)
    ranker.export(path, "vespa", features=NAMES, check=frame)
    wrong = frame.rename(columns={"price": "prize"})[["prize", *NAMES[1:]]]
    with pytest.warns(UserWarning, match="X has feature names"):
        ranker.export(path, "vespa", features=NAMES, check=wrong)


def test_numbers_have_the_fewest_digits_that_all_parsers_read_alike():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 2**32, 3000, dtype=np.uint32).view(np.float32)
    values = [*values[np.isfinite(values)].tolist(), *np.float32([LARGEST, -LARGEST, 1e-45, 0, 0.1, 1 / 3]).tolist()]
    for value in values:
        number, below = fewest_digits(value), fewest_digits_below(value)
        for text in (repr(number), repr(below)):
            assert np.float32(text) == np.float32(float(text)) == value
        assert below <= value
    texts = [[repr(fewest_digits(value)) for value in values], [str(np.float32(value)) for value in values]]
    n_digits = [sum(len(Decimal(text).normalize().as_tuple().digits) for text in column) for column in texts]
    assert n_digits[0] <= 1.01 * n_digits[1]


@pytest.mark.parametrize("engine", WRITERS)
def test_documents_are_compact(engine, data, tmp_path):
    path, ranker = tmp_path / "m.json", br.LightGBMRanker(**SETTINGS).fit(*data)
    ranker.export(path, engine, features=NAMES, absent="zero")
    text = path.read_text()
    assert text == json.dumps(json.loads(text), separators=(",", ":"))


def test_sizes_near_a_limit(data, tmp_path, monkeypatch):
    path, ranker = tmp_path / "m.json", br.LightGBMRanker(**SETTINGS).fit(*data)
    monkeypatch.setattr(exporters, "ZOOKEEPER_BYTES", 2000)
    monkeypatch.setattr(exporters, "CACHE_BYTES", 2000)
    with pytest.warns(
        UserWarning, match=r"the model has [\d,]+ bytes, .* ZooKeeper of at most 2,000 .*: give resource"
    ):
        ranker.export(path, "solr", features=NAMES)
    ranker.export(path, "solr", features=NAMES, resource="models/m.json")
    with pytest.warns(
        UserWarning, match=r"compiled model takes about [\d,]+ bytes, and the plugin keeps at most 2,000"
    ):
        ranker.export(path, "elasticsearch", features=NAMES)
