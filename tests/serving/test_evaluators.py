"""Scores of documents of search engines, against a slow walk through the trees, one row and one
number at a time."""

import json
import math
from functools import partial

import numpy as np
import pytest
from cases import for_each

from boostrank.serving import evaluate

SOLR = "org.apache.solr.ltr"
NAMES = ["bm25(title)", "closeness(field,embedding)", "price"]
NUMBERS = [0.0, 1e-45, 1e-35, -1e-35, 1e-6, -1e-6, 0.1, 0.5, -3.0, 7e30]


def leaf(value, number=1):
    return {"nodeid": number, "leaf": value}


def split(children, threshold=0.5, feature="price", missing=0, number=0):
    yes, no = (child["nodeid"] for child in children)
    shared = {
        "depth": 0,
        "split": feature,
        "split_condition": threshold,
        "missing": (yes, no)[missing],
    }
    return shared | {"nodeid": number, "yes": yes, "no": no, "children": children}


STUMP = split([leaf(1.5), leaf(-2.5, 2)])
SOLR_STUMP = {"feature": "price", "threshold": "2", "left": {"value": "4"}, "right": {"value": "8"}}
NO_NORM = {"class": f"{SOLR}.norm.StandardNormalizer", "params": {"avg": "1", "std": "0"}}


def random_tree(rng, n_levels, numbers):
    """A tree in the JSON of XGBoost, and the same one of Solr."""
    number = next(numbers)
    if n_levels == 0 or rng.random() < 0.2:
        value = float(rng.choice(NUMBERS))
        return leaf(value, number), {"value": repr(value)}
    children, (left, right) = zip(
        *(random_tree(rng, n_levels - 1, numbers) for _ in range(2)), strict=True
    )
    threshold, feature, missing = (
        float(rng.choice(NUMBERS)),
        str(rng.choice(NAMES)),
        int(rng.integers(2)),
    )
    of_solr = {
        "feature": feature,
        "threshold": repr(threshold),
        "missing": ("left", "right")[missing],
    }
    return split(list(children), threshold, feature, missing, number), of_solr | {
        "left": left,
        "right": right,
    }


def walk(node, row, number=np.float32, follows=True):
    while "leaf" not in node:
        value, threshold = number(row[node["split"]]), number(node["split_condition"])
        goes = (
            node["missing" if follows else "no"]
            if np.isnan(value)
            else node["yes" if value < threshold else "no"]
        )
        node = node["children"][goes != node["yes"]]
    return node["leaf"]


def walk_solr(node, row):
    while "feature" in node:
        value, threshold = row[node["feature"]], np.float32(node["threshold"]) + np.float32(1e-6)
        node = node[
            node["missing"] if np.isnan(value) else "left" if value <= threshold else "right"
        ]
    return np.float32(0.5) * np.float32(node["value"])


def elastic_nodes(tree):
    """The nodes of a tree in the JSON of XGBoost as those of Elastic, whose children are places in
    their list."""
    nodes, places = [], [tree]
    for node in places:
        if "leaf" in node:
            nodes.append({"leaf_value": node["leaf"]})
            continue
        left, missing = node["children"][0], node["missing"] == node["yes"]
        test = {
            "decision_type": "lt",
            "threshold": node["split_condition"],
            "default_left": missing,
        }
        test |= {
            "split_feature": NAMES.index(node["split"]),
            "left_child": len(places),
            "right_child": len(places) + 1,
        }
        assert left["nodeid"] == node["yes"]
        nodes.append(test)
        places += node["children"]
    return nodes


def elastic_document(trees, **fields):
    shared = {"feature_names": NAMES, "target_type": "regression"}
    models = [{"tree": {"tree_structure": elastic_nodes(tree), **shared}} for tree in trees]
    ensemble = {"trained_models": models, "aggregate_output": {"weighted_sum": {}}, **shared}
    extractors = [
        {"query_extractor": {"feature_name": name, "query": {"match_all": {}}}} for name in NAMES
    ]
    config = {"learning_to_rank": {"feature_extractors": extractors}}
    return {
        "inference_config": config,
        "definition": {"trained_model": {"ensemble": ensemble}},
        **fields,
    }


def solr_document(trees, **params):
    params = {"trees": [{"weight": "0.5", "root": tree} for tree in trees]} | params
    features = [{"name": name} for name in NAMES]
    features[0]["norm"] = {
        "class": f"{SOLR}.norm.StandardNormalizer",
        "params": {"avg": "1", "std": "0.5"},
    }
    return {
        "class": f"{SOLR}.model.MultipleAdditiveTreesModel",
        "name": "m",
        "features": features,
        "params": params,
    }


ELASTIC = elastic_document([STUMP])


@pytest.mark.parametrize("seed", range(6))
def test_scores_are_those_of_a_slow_walk(seed):
    rng = np.random.default_rng(seed)
    numbers = iter(range(1, 10**6))
    trees, solr_trees = map(
        list, zip(*(random_tree(rng, 5, numbers) for _ in range(6)), strict=True)
    )
    near = np.array([*NUMBERS, *(x + 1e-6 for x in NUMBERS)], dtype=np.float32)
    near = np.concatenate(
        [
            near,
            np.nextafter(near, -near - 1),
            np.nextafter(near, near + 1),
            [np.float32(np.nan)] * 9,
        ]
    )
    X = rng.choice(near, size=(40, len(NAMES)))
    features = dict(zip(NAMES, X.T, strict=True))
    rows = [dict(zip(NAMES, row, strict=True)) for row in X]
    with_zeros = [dict(zip(NAMES, row, strict=True)) for row in np.nan_to_num(X)]

    def scores(rows, dtype, trees=trees, walk=walk):
        return [float(sum((dtype(walk(tree, row)) for tree in trees), dtype(0))) for row in rows]

    body = json.dumps(
        {"model": {"name": "m", "model": {"type": "model/xgboost+json", "definition": trees}}}
    )
    assert evaluate("elasticsearch", body, features).tolist() == scores(rows, np.float32)
    # Versions before.
    assert evaluate("opensearch", body, features, version="3.1").tolist() == scores(
        with_zeros, np.float32
    )
    expected = scores(rows, np.float32, walk=partial(walk, follows=False))
    assert evaluate("opensearch", body, features, version="3.7").tolist() == expected
    expected = scores(rows, np.float64, walk=partial(walk, number=np.float64))
    assert evaluate("vespa", trees, features, version="8.600").tolist() == expected
    assert evaluate("vespa", trees, features).tolist() == scores(rows, np.float64)
    for null_is_zero, given in ((False, rows), (True, with_zeros)):
        document = solr_document(solr_trees, isNullSameAsZero=null_is_zero)
        given = [
            row | {NAMES[0]: (row[NAMES[0]] - np.float32(1)) / np.float32(0.5)} for row in given
        ]
        assert evaluate("solr", document, features).tolist() == scores(
            given, np.float32, solr_trees, walk_solr
        )


@pytest.mark.parametrize("seed", range(4))
def test_scores_of_elastic_are_those_of_a_slow_walk(seed):
    rng = np.random.default_rng(seed)
    numbers = iter(range(1, 10**6))
    trees = [random_tree(rng, 5, numbers)[0] for _ in range(6)]
    near = np.array([*NUMBERS, np.nan], dtype=np.float32)
    X = rng.choice(
        np.concatenate([near, np.nextafter(near, -near - 1), np.nextafter(near, near + 1)]),
        (40, len(NAMES)),
    )
    # float32 numbers are compared with thresholds of float64, and infinity counts as missing, too.
    rows = [
        dict(zip(NAMES, row.tolist(), strict=True))
        for row in np.vstack([X, np.full(len(NAMES), np.nan)])
    ]
    X = np.vstack([X, np.full(len(NAMES), np.inf)])
    # Java's sum of float64 with compensation has no other error than the last rounding.
    exact = np.array([math.fsum(walk(tree, row, number=float) for tree in trees) for row in rows])
    lowest = math.fsum(
        min(leaf["leaf_value"] for leaf in elastic_nodes(tree) if "leaf_value" in leaf)
        for tree in trees
    )
    assert lowest < 0
    features = dict(zip(NAMES, X.T, strict=True))
    for version, shift in (
        ("8.18", 0),
        ("8.19", -lowest),
        ("9.0.0", 0),
        ("9.0.1", -lowest),
        (None, -lowest),
    ):
        document = elastic_document(trees)
        found = evaluate("elastic", json.dumps(document), features, version=version)
        assert found.tolist() == (exact + shift).astype(np.float32).tolist(), version
    document = elastic_document(trees, input={"field_names": NAMES})
    assert (
        evaluate("elastic", document, features, version="8.12").tolist()
        == exact.astype(np.float32).tolist()
    )


def changed(old, new):
    """The document of Elastic with another text in place of one."""
    return json.loads(json.dumps(ELASTIC).replace(old, new))


@for_each(
    "engine, document, fault",
    [
        ("opensearch", [], "at least one tree"),
        (
            "opensearch",
            {"model": {"name": "m", "model": {"type": "a", "definition": [STUMP]}}},
            "type is 'a'",
        ),
        ("opensearch", [{"nodeid": 0, "split": "price"}], "a split has the fields nodeid, split"),
        ("opensearch", [leaf(1.0) | {"cover": 3.0}], "a leaf has the fields cover"),
        ("opensearch", [leaf(1e39)], "leaf must be within the range of float32"),
        (
            "opensearch",
            [STUMP | {"children": STUMP["children"][::-1]}],
            "must have the children yes and no",
        ),
        ("opensearch", [STUMP | {"missing": 7}], "one of them for missing"),
        (
            "elasticsearch",
            [dict(list(STUMP.items())[:2] + list(STUMP.items())[3:])],
            "a split has the fields .* split",
        ),
        ("opensearch", [STUMP | {"depth": "0"}], "node 0 must have"),
        ("vespa", [STUMP | {"split": "pprice"}], "needs the feature 'pprice'"),
        ("solr", solr_document([SOLR_STUMP | {"threshold": 2.0}]), "threshold must not be 2.0"),
        (
            "solr",
            solr_document([{"feature": "price"}]),
            "a split has the fields feature; it must have feature, left, ",
        ),
        (
            "solr",
            solr_document([SOLR_STUMP | {"right": {"value": "8", "left": {}}}]),
            "a leaf has the fields left, v",
        ),
        (
            "solr",
            solr_document([SOLR_STUMP | {"feature": "pprice"}]),
            "a tree with 'pprice' counts 0",
        ),
        (
            "solr",
            solr_document([SOLR_STUMP], isNullSameAsZero=False),
            "a split has the fields feature, left, right",
        ),
        (
            "solr",
            solr_document([SOLR_STUMP], isNullSameAsZero="false"),
            "must be true or false; got 'false'",
        ),
        (
            "solr",
            solr_document([SOLR_STUMP]) | {"class": "LinearModel"},
            "the class is 'LinearModel'",
        ),
        ("solr", solr_document([]) | {"features": []}, "at least one feature"),
        (
            "solr",
            solr_document([]) | {"features": [{"name": "price"}, {"name": "price"}]},
            "'price' is there twice",
        ),
        (
            "solr",
            solr_document([]) | {"features": [{"name": "price", "norm": NO_NORM}]},
            "std must be above 0; got 0",
        ),
        ("opensearch", [leaf(True)], "leaf must not be True"),
        ("elastic", elastic_document([]), "there must be a tree"),
        (
            "elastic",
            ELASTIC | {"definition": {}},
            r"this is no document of elastic, .* KeyError\('trained_model'\)",
        ),
        (
            "elastic",
            elastic_document([STUMP], input={"field_names": NAMES}),
            "the document has the fields .*input",
        ),
        (
            "elastic",
            ELASTIC | {"inference_config": {"regression": {}}},
            "inference_config has the fields regression",
        ),
        ("elastic", changed('"lt"', '"lte"'), "node 0 must have the decision_type 'lt'"),
        ("elastic", changed('"left_child": 1', '"left_child": 0'), "children that follow"),
        ("elastic", changed('"price", "query"', '"prize", "query"'), "has no extractor"),
    ],
)
def test_documents_that_engines_refuse_or_read_in_another_way_are_refused(engine, document, fault):
    with pytest.raises(ValueError, match=fault):
        evaluate(engine, document, dict.fromkeys(NAMES, (1.0,)))
    with pytest.raises(ValueError, match="columns of one length"):
        evaluate("opensearch", [STUMP], {"price": [1.0], "title": [1.0, 2.0]})


def test_vespa_gets_only_names_that_it_looks_up():
    of_arguments = [
        "attribute(a.b)",
        "foreach(terms, N,term(N).weight,true,max)",
        "distance(-1,0.5).x.0",
    ]
    for name in [
        "fieldMatch(title).proximity",
        "query(x_1)",
        'term("a, b").weight',
        "max",
        "ifx",
        *of_arguments,
    ]:
        assert evaluate("vespa", [STUMP | {"split": name}], {name: [1.0, np.nan]}).tolist() == [
            -2.5,
            1.5,
        ]
    of_arguments = ["a(1)b(2)", "a(b c)", "a(b,)", "a()", "a(b.)", "a(b-c)", "a.1.b"]
    of_arguments += ["a(max(b,c))", "a(3d)", "a($b)", "a(b)(c)"]
    for name in [
        "price-discount",
        "max(a,b)",
        "if",
        "a b",
        "isNan(x)",
        "x)",
        "g(x))",
        "ünï",
        '"x"',
        "",
        *of_arguments,
    ]:
        with pytest.raises(ValueError, match="is not the name of a rank feature"):
            evaluate("vespa", [STUMP | {"split": name}], {name: [1.0]})
