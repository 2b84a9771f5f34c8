"""Model files without a seal whose structure is wrong are errors: no crash, and no loop without an end.

The cases were found by mutating valid files; each of them once crashed the backend or its loading, or made it hang.
"""

import json
import re
import struct

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import boostrank as br


@pytest.fixture(scope="module")
def data():
    X, y, qid = br.make_ranking(n_queries=8, random_state=0)
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["kind"] = pd.Categorical(np.array(list("abcdef"))[y.astype(int)])
    return X, frame, y, qid


def unsealed(ranker, path):
    ranker.save_model(path)
    content = path.read_bytes()
    return re.sub(rb"boostrank_sha256=.*\n", b"", content).replace(b"boostrank_sha256", b"a_name_of_no_seal")


@pytest.fixture(scope="module")
def lightgbm_texts(data, tmp_path_factory):
    X, frame, y, qid = data
    path = tmp_path_factory.mktemp("models") / "model.txt"
    options = {"n_estimators": 3, "num_leaves": 5, "min_child_samples": 3, "n_jobs": 1}
    rankers = {
        "numbers": br.LightGBMRanker(**options).fit(X, y, qid),
        "categories": br.LightGBMRanker(**options, min_data_per_group=1, cat_smooth=0).fit(frame, y, qid),
        "linear": br.LightGBMRanker(**options, linear_tree=True).fit(X, y, qid),
        "dart": br.LightGBMRanker(**options, boosting="dart").fit(X, y, qid),
    }
    return {name: unsealed(ranker, path).decode() for name, ranker in rankers.items()}


@pytest.fixture(scope="module")
def xgboost_models(data, tmp_path_factory):
    X, frame, y, qid = data
    path = tmp_path_factory.mktemp("models") / "model.json"
    options = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
    rankers = {
        "numbers": br.XGBoostRanker(**options).fit(X, y, qid),
        "categories": br.XGBoostRanker(**options).fit(frame, y, qid),
        "dart": br.XGBoostRanker(**options, booster="dart").fit(X, y, qid),
        "pruned": br.XGBoostRanker(**options, tree_method="exact", gamma=0.5).fit(X, y, qid),
        "forest": br.XGBoostRanker("rank:ndcg", **options, num_parallel_tree=2).fit(X, y, qid),
    }
    return {name: json.loads(unsealed(ranker, path)) for name, ranker in rankers.items()}


def load(ranker_class, content, path):
    path.write_bytes(content)
    return ranker_class().load_model(path)


def with_sizes(text):
    """The text with the sizes of its trees as they are."""
    start, end = text.index("\nTree=0") + 1, text.index("end of trees")
    trees = re.split(r"^(?=Tree=)", text[start:end], flags=re.MULTILINE)[1:]
    return re.sub(r"tree_sizes=.*", "tree_sizes=" + " ".join(str(len(tree)) for tree in trees), text, count=1)


def change(text, name, edit, tree=0):
    """The text with the values of one field of a tree, or of the head for -1, changed."""
    matches = list(re.finditer(rf"^{name}=(.*)$", text, re.MULTILINE))
    match = matches[max(tree, 0)]
    return with_sizes(f"{text[: match.start(1)]}{' '.join(edit(match[1].split(' ')))}{text[match.end(1) :]}")


def first(value):
    return lambda values: [value, *values[1:]]


LIGHTGBM_FAULTS = [
    ("numbers", "split_feature", first("10"), "the feature of a split does not exist"),
    ("numbers", "split_feature", first("-1"), "the feature of a split does not exist"),
    ("numbers", "left_child", first("0"), "tree 0: a child does not exist"),
    ("numbers", "left_child", first("4"), "a child does not exist"),
    ("numbers", "left_child", first("-6"), "a child does not exist"),
    ("numbers", "left_child", lambda v: [v[0], v[0], *v[2:]], "a node has two parents"),
    ("numbers", "left_child", first("2147483648"), "a child does not exist"),
    ("numbers", "left_child", first("x"), "not numbers"),
    ("numbers", "left_child", lambda v: v[1:], "needs 4 values of left_child, but has 3"),
    ("numbers", "num_leaves", lambda _: ["1000000"], "needs 1000000 values"),
    ("numbers", "num_leaves", lambda _: ["-1"], "has num_leaves=-1"),
    ("numbers", "num_leaves", lambda _: ["0"], "num_leaves=0"),
    ("numbers", "num_cat", lambda _: ["7"], "needs 8 values of cat_boundaries"),
    ("numbers", "decision_type", first("1"), "a set of categories does not exist"),
    ("numbers", "decision_type", first("14"), "unknown decision_type"),
    ("numbers", "threshold", first("true"), "threshold of tree 0 are not numbers"),
    ("numbers", "leaf_weight", first("abc"), "leaf_weight of tree 0 are not numbers"),
    ("numbers", "internal_value", first("{}"), "internal_value of tree 0 are not numbers"),
    ("numbers", "shrinkage", first("-"), "shrinkage of tree 0 are not numbers"),
    ("numbers", "objective", lambda _: [""], "the head has objective="),
    ("numbers", "max_feature_idx", lambda _: ["2147483646"], "max_feature_idx"),
    ("numbers", "num_class", lambda _: ["0"], "no ranker: it gives 1 scores"),
    ("numbers", "feature_infos", lambda v: v[1:], "feature_infos has 9"),
    ("categories", "cat_boundaries", lambda v: [*v[:-1], "1000000"], "cat_boundaries disagrees"),
    ("categories", "cat_boundaries", first("-5"), "cat_boundaries disagrees"),
    ("categories", "cat_threshold", lambda v: v[1:], "cat_boundaries disagrees"),
    ("categories", "cat_threshold", first("4294967296"), "cat_threshold is out of range"),
    ("categories", "threshold", lambda v: ["99"] * len(v), "a set of categories does not exist"),
    ("linear", "leaf_features", lambda _: ["99"], "a feature of a leaf|disagree"),
    ("linear", "num_features", first("1000000"), "disagree"),
    ("linear", "num_features", first("-1"), "disagree"),
    ("linear", "leaf_coeff", lambda _: ["1"], "disagree"),
]


@pytest.mark.parametrize(("model", "name", "edit", "message"), LIGHTGBM_FAULTS)
def test_lightgbm_files_of_wrong_structure_are_refused(lightgbm_texts, tmp_path, model, name, edit, message):
    text = lightgbm_texts[model]
    if name in ("leaf_features", "leaf_coeff", "num_features"):
        # A tree with linear models.
        tree = next(i for i, m in enumerate(re.findall(r"^leaf_coeff=(.*)$", text, re.MULTILINE)) if m.strip())
    else:
        tree = 0
    with pytest.raises(ValueError, match=rf"model\.txt.*cannot be loaded as a ranker of LightGBM: .*(?:{message})"):
        load(br.LightGBMRanker, change(text, name, edit, tree).encode(), tmp_path / "model.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r"tree_sizes=\d+", "tree_sizes=1", "tree_sizes disagrees"),
        (r"tree_sizes=(\d+) .*", r"tree_sizes=\1", "tree_sizes disagrees"),
        (r"num_cat=0\n", "num_cat\n", "has the line 'num_cat'"),
        (r"num_cat=0\n", "num_cat=0\nnum_cat=0\n", "has 'num_cat' twice"),
        (r"num_cat=0\n", "num_cat=0\r\n", "carriage return"),
        (r"num_cat=0\n", "num_cat=0\0\n", "zero byte"),
        (r"\[seed: .*\]", "[seed]", r"the line '\[seed\]' is no parameter"),
        (r"\nend of trees", "\nend", "no line 'end of trees'"),
    ],
)
def test_lightgbm_files_of_wrong_lines_are_refused(lightgbm_texts, tmp_path, old, new, message):
    text = re.sub(old, new, lightgbm_texts["numbers"], count=1)
    text = text if "sizes" in old or "trees" in old else with_sizes(text)
    with pytest.raises(ValueError, match=message):
        load(br.LightGBMRanker, text.encode(), tmp_path / "model.txt")


def test_a_cycle_apart_from_the_root_is_refused(lightgbm_texts, tmp_path):
    # The splits 2 and 3 are each other's children, and splits 0 and 1 hold too many leaves: each node has one parent.
    text = change(lightgbm_texts["numbers"], "left_child", lambda _: ["1", "-1", "3", "2"])
    text = change(text, "right_child", lambda _: ["-2", "-3", "-4", "-5"])
    with pytest.raises(ValueError, match="a node does not belong to the tree"):
        load(br.LightGBMRanker, text.encode(), tmp_path / "model.txt")


def trees_of(model):
    booster = model["learner"]["gradient_booster"]
    return booster.get("gbtree", booster)["model"]


def set_value(name, index, value):
    return lambda model: trees_of(model)["trees"][0][name].__setitem__(index, value)


def set_entry(path, value):
    def edit(model):
        part = model["learner"]
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    return edit


MODEL, TREE = ("gradient_booster", "model"), ("gradient_booster", "model", "trees", 0)
XGBOOST_FAULTS = [
    ("numbers", set_value("left_children", 0, 10**6), "a child does not exist"),
    ("numbers", set_value("left_children", 0, 0), "a child does not exist"),
    ("numbers", set_value("left_children", 0, -2), "a child does not exist"),
    ("numbers", set_value("left_children", 0, -1), "a node has one child only"),
    ("numbers", set_value("left_children", 0, 2), "a node has two parents"),
    ("numbers", set_value("left_children", 0, 2**40), "a child does not exist"),
    ("numbers", set_value("left_children", 0, 2**70), "not integers"),
    ("numbers", set_value("left_children", 0, 1.5), "not integers"),
    ("numbers", set_value("left_children", 0, None), "not integers"),
    ("numbers", set_value("split_indices", 0, 10), "the feature of a split does not exist"),
    ("numbers", set_value("split_indices", 0, -1), "out of range"),
    ("numbers", set_value("parents", 1, 10**6), "a parent does not exist"),
    ("numbers", set_value("parents", 1, 2), "a child has another parent"),
    ("numbers", set_entry((*TREE, "split_conditions"), [0.5]), "split_conditions has 1 values"),
    ("numbers", set_entry((*TREE, "sum_hessian"), None), "no array sum_hessian"),
    ("numbers", set_entry((*TREE, "tree_param", "num_nodes"), "1000000"), "has 1000000 nodes"),
    ("numbers", set_entry((*TREE, "tree_param", "num_nodes"), "0"), "no nodes"),
    ("numbers", set_entry((*TREE, "tree_param", "size_leaf_vector"), "5"), "several values per leaf"),
    ("numbers", set_entry((*TREE, "id"), 7), "not numbered in sequence"),
    ("numbers", set_entry((*MODEL, "tree_info"), [0, 0, 5]), "tree_info"),
    ("numbers", set_entry((*MODEL, "tree_info"), []), "tree_info"),
    ("numbers", set_entry((*MODEL, "iteration_indptr"), [0, 1, 2, 1000]), "iteration_indptr"),
    ("numbers", set_entry((*MODEL, "iteration_indptr"), [0, -1, 2, 3]), "iteration_indptr"),
    ("numbers", set_entry((*MODEL, "gbtree_model_param", "num_trees"), "1000000"), "num_trees"),
    ("numbers", set_entry((*MODEL, "gbtree_model_param", "num_parallel_tree"), "0"), "num_parallel_tree"),
    ("numbers", set_entry(("learner_model_param", "num_feature"), "1"), "the feature of a split does not exist"),
    ("numbers", set_entry(("learner_model_param", "num_target"), "2"), "no ranker: it gives 2 scores"),
    ("numbers", set_entry(("learner_model_param", "base_score"), "[0,0,0]"), "base_score"),
    ("numbers", set_entry(("gradient_booster", "name"), "gbforest"), "unknown booster, 'gbforest'"),
    ("categories", set_entry(("feature_names",), ["a"]), "feature_names has 1"),
    ("categories", set_value("categories_nodes", 0, 10**6), "disagree with split_type"),
    ("categories", set_value("categories_segments", 0, 10**6), "a set of categories does not exist"),
    ("categories", set_value("categories_segments", 0, -1), "a set of categories does not exist"),
    ("categories", set_value("categories_sizes", 0, 10**6), "a set of categories does not exist"),
    ("categories", set_value("categories", 0, 2**31 - 1), "a category is out of range"),
    ("categories", set_value("categories", 0, -1), "a category is out of range"),
    ("categories", set_value("split_type", 0, 7), "split_type"),
    ("categories", set_entry((*MODEL, "cats", "feature_segments"), [0, 0, 0, 0, 99]), "feature_segments"),
    ("categories", set_entry((*MODEL, "cats", "sorted_idx"), [10**6]), "sorted_idx"),
    ("categories", set_entry((*MODEL, "cats", "enc", 3, "offsets"), [0, 10**6]), "offsets"),
    ("dart", set_entry(("gradient_booster", "weight_drop"), [1.0]), "weight_drop"),
]


def as_ubjson(value, name=""):
    """A model in UBJSON, with arrays of integers and floats typed as XGBoost types them."""
    typed = {"categories_segments": "L", "categories_sizes": "L", "default_left": "U", "split_type": "U", "values": "i"}
    floats = ("base_weights", "loss_changes", "sum_hessian", "split_conditions", "weights")
    formats = {"d": ">f4", "l": ">i4", "L": ">i8", "U": ">u1", "i": ">i1"}
    if isinstance(value, dict):
        parts = [as_ubjson(key)[1:] + as_ubjson(part, key) for key, part in value.items()]
        return b"{" + b"".join(parts) + b"}"
    if isinstance(value, str):
        return b"SL" + struct.pack(">q", len(value.encode())) + value.encode()
    if isinstance(value, (int, float)):
        return b"L" + struct.pack(">q", value) if isinstance(value, int) else b"d" + struct.pack(">f", value)
    if value is None:
        return b"Z"
    length = struct.pack(">q", len(value))
    kind = typed.get(name, "d" if name in floats else "l")
    plain = (
        "trees",
        "enc",
        "tree_info",
        "iteration_indptr",
        "weight_drop",
        "version",
        "feature_names",
        "feature_types",
    )
    if name in plain or (any(isinstance(part, float) for part in value) and kind != "d") or None in value:
        return b"[#L" + length + b"".join(as_ubjson(part) for part in value)
    return b"[$" + kind.encode() + b"#L" + length + np.array(value).astype(formats[kind]).tobytes()


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
@pytest.mark.parametrize(("model", "edit", "message"), XGBOOST_FAULTS)
def test_xgboost_files_of_wrong_structure_are_refused(xgboost_models, tmp_path, suffix, model, edit, message):
    changed = json.loads(json.dumps(xgboost_models[model]))
    edit(changed)
    content = json.dumps(changed).encode() if suffix == ".json" else b""
    if suffix == ".ubj":
        try:
            content = as_ubjson(changed)
        except (OverflowError, struct.error):
            pytest.skip("UBJSON does not hold this number")
    pattern = rf"model\{suffix}.*cannot be loaded as a ranker of XGBoost"
    with pytest.raises(ValueError, match=pattern) as caught:
        load(br.XGBoostRanker, content, tmp_path / f"model{suffix}")
    assert suffix == ".ubj" or re.search(message, str(caught.value))


NESTED = {
    "json": b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "json objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
    "ubjson": b"{L" + struct.pack(">q", 1) + b"a" + b"[" * 200_000 + b"]" * 200_000 + b"}",
}


@pytest.mark.parametrize("name", NESTED)
def test_deeply_nested_files_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match="nested more than 32 levels"):
        load(br.XGBoostRanker, NESTED[name], tmp_path / "model")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"learner":1,"learner":2}', "'learner' occurs twice"),
        (b'{"learner":{}}', "the learner has no learner_model_param"),
        (b'{"learner":[]}', "the model has no learner"),
        (b'{"a":1}{}', "Extra data"),
        (b"{L\x7f" + b"\xff" * 7 + b"a}", "the length .* exceeds the file"),
        (b"{L" + b"\xff" * 8 + b"a}", "the length -1"),
        (b"{L\0\0\0\0\0\0\0\1a[$l#L\0\0\0\0\0\0\0\1}", "cut off"),
        (b"{L\0\0\0\0\0\0\0\1aQ}", "0x51"),
        (b"{L\0\0\0\0\0\0\0\1aT}T}", "2 bytes after the end"),
    ],
)
def test_files_that_are_no_models_of_xgboost_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        load(br.XGBoostRanker, content, tmp_path / "model")


def test_valid_models_of_every_kind_load_without_a_seal(lightgbm_texts, xgboost_models, data, tmp_path):
    X, frame = data[:2]
    for name, text in lightgbm_texts.items():
        ranker = load(br.LightGBMRanker, text.encode(), tmp_path / "model.txt")
        assert np.ptp(ranker.predict(frame if name == "categories" else X)) > 0
    for name, model in xgboost_models.items():
        scores = [
            load(br.XGBoostRanker, content, tmp_path / "model").predict(frame if name == "categories" else X)
            for content in (json.dumps(model).encode(), json.dumps(model, indent=1).encode(), as_ubjson(model))
        ]
        assert np.ptp(scores[0]) > 0
        np.testing.assert_array_equal(scores[1], scores[0])
        np.testing.assert_array_equal(scores[2], scores[0])


def test_linear_boosters_of_xgboost_load(data, tmp_path):
    X, _, y, qid = data
    dtrain = xgb.DMatrix(X, y, qid=qid)
    booster = xgb.train({"booster": "gblinear", "objective": "rank:pairwise"}, dtrain, 3)
    for suffix in ("json", "ubj"):
        booster.save_model(tmp_path / f"m.{suffix}")
        loaded = br.XGBoostRanker().load_model(tmp_path / f"m.{suffix}")
        np.testing.assert_allclose(loaded.predict(X), booster.predict(dtrain, output_margin=True), rtol=1e-6)
    model = json.loads((tmp_path / "m.json").read_bytes())
    model["learner"]["gradient_booster"]["model"]["weights"].pop()
    with pytest.raises(ValueError, match="there are 10 weights for 10 features"):
        load(br.XGBoostRanker, json.dumps(model).encode(), tmp_path / "m.json")
