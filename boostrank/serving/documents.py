"""The documents of models that search engines read, with as few digits as give the same numbers.

The functions that write documents take the forest; the names of its features in the engine, by
their index in the model; the name of the model; and arguments of their format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from boostrank.inputs.arrays import Floats
from boostrank.serving.evaluators import SOLR
from boostrank.serving.forest import LARGEST, ZERO, Forest, Split, Tree
from boostrank.serving.requests import example_query

#: What Solr adds to each threshold when it reads a model, in float32.
SOLR_SLACK = np.float32(1e-6)
#: The distance of 0 to the next numbers that thresholds with this slack can have, if there is no
#: normalizer.
SOLR_ZERO = 2.0**-43
#: Beyond these numbers, normalizers may give infinity.
SOLR_LARGEST = 2.0**64
# The largest numbers on the left of thresholds that separate 0 from other numbers.
_AROUND_ZERO = np.array(
    [np.nextafter(np.float32(-ZERO), np.float32(-1)), -1e-45, 0, ZERO], dtype=np.float32
)


def write_plugin(forest: Forest, features: Sequence[str], name: str) -> str:
    """The body of the request that creates a model in the plugins of Elasticsearch and OpenSearch.

    The trees are in the format of XGBoost's dumps, but have only the fields that the plugins take.
    """
    trees = _xgboost_trees(forest, features, is_vespa=False)
    model = {"type": "model/xgboost+json", "definition": trees}
    return _to_text({"model": {"name": name, "model": model}})


def write_vespa(forest: Forest, features: Sequence[str], name: str) -> str:
    """The file of an XGBoost model in an application package of Vespa, without a name in it.

    Vespa rounds the thresholds and leaves of large models to float32, and keeps those of small ones
    in float64.
    """
    return _to_text(_xgboost_trees(forest, features, is_vespa=True))


def write_elastic(
    forest: Forest,
    features: Sequence[str],
    name: str,
    queries: Mapping[str, object],
    has_field_names: bool = False,
) -> str:
    """The body of the request that creates a trained model of Elastic's own learning to rank.

    `queries` are those that compute features, by name; the others get an example. Versions before
    8.15 need the names of the features as input too.
    """
    used = [features[i] for i in forest.features]
    extractors = []
    for feature in used:
        query = queries.get(feature, example_query(feature))
        extractors.append({"query_extractor": {"feature_name": feature, "query": query}})
    ensemble = {
        "feature_names": used,
        "trained_models": [{"tree": _elastic_tree(tree, features)} for tree in forest.trees],
        "aggregate_output": {"weighted_sum": {}},
        "target_type": "regression",
    }
    document = {
        "model_id": name,
        "input": {"field_names": used},
        "inference_config": {"learning_to_rank": {"feature_extractors": extractors}},
        "definition": {"trained_model": {"ensemble": ensemble}},
    }
    if not has_field_names:
        del document["input"]
    return _to_text(document)


def _elastic_tree(tree: Tree, features: Sequence[str]) -> dict[str, Any]:
    """A tree of Elastic, which numbers the features of its splits."""
    used = sorted({node.feature for node in tree if isinstance(node, Split)})
    nodes: list[dict[str, Any]] = []
    for node in tree:
        if not isinstance(node, Split):
            nodes.append({"leaf_value": node})
            continue
        split = {
            "split_feature": used.index(node.feature),
            "decision_type": "lt",
            "threshold": fewest_digits(node.threshold, below=True),
            "default_left": node.default_left,
            "left_child": node.left,
            "right_child": node.right,
        }
        nodes.append(split)
    return {
        "feature_names": [features[i] for i in used],
        "tree_structure": nodes,
        "target_type": "regression",
    }


def write_solr(forest: Forest, features: Sequence[str], name: str, store: str | None = None) -> str:
    """The model of the class MultipleAdditiveTreesModel for Solr's model store.

    All its numbers are texts. Solr compares with ``<=``, and adds 1e-6 to each threshold in
    float32. If a threshold cannot be hit so, its feature gets a normalizer that multiplies it by a
    power of two, which is exact, such that all can.

    Raises
    ------
    ValueError
        If there is no such power of two.
    """
    inputs = []
    texts: dict[tuple[int, float], str] = {}
    for i in forest.features:
        thresholds = sorted({split.threshold for split in forest.splits if split.feature == i})
        power, numbers = _solr_numbers(np.array(thresholds), features[i])
        for threshold, number in zip(thresholds, numbers, strict=True):
            texts[i, threshold] = number
        feature: dict[str, Any] = {"name": features[i]}
        if power:
            scale = {"avg": "0.0", "std": str(2.0**-power)}
            feature["norm"] = {"class": f"{SOLR}.norm.StandardNormalizer", "params": scale}
        inputs.append(feature)
    has_directions = not forest.treats_missing_as_zero

    def nested(tree: Tree, i: int) -> dict[str, Any]:
        node = tree[i]
        if not isinstance(node, Split):
            return {"value": str(fewest_digits(node))}
        split = {
            "feature": features[node.feature],
            "threshold": texts[node.feature, node.threshold],
            "missing": "left" if node.default_left else "right",
            "left": nested(tree, node.left),
            "right": nested(tree, node.right),
        }
        if not has_directions:
            del split["missing"]
        return split

    trees = [{"weight": "1", "root": nested(tree, 0)} for tree in forest.trees]
    params = {"isNullSameAsZero": False, "trees": trees}
    if not has_directions:
        del params["isNullSameAsZero"]
    model = _solr_model("MultipleAdditiveTreesModel", name, store)
    return _to_text({**model, "features": inputs, "params": params})


def write_solr_wrapper(name: str, store: str | None, resource: str) -> str:
    """The model of Solr's class DefaultWrapperModel, which reads the real one from a file."""
    model = _solr_model("DefaultWrapperModel", name, store)
    return _to_text({**model, "params": {"resource": resource}})


#: The functions that write documents, by format.
WRITERS: dict[str, Callable[..., str]] = {
    "elasticsearch": write_plugin,
    "opensearch": write_plugin,
    "elastic": write_elastic,
    "solr": write_solr,
    "vespa": write_vespa,
}


def fewest_digits(value: float, *, below: bool = False) -> float:
    """A number with few digits that all parsers round to the float32 number next to `value`.

    Some parsers round to float64 before, so that numbers which are nearly in the middle of two of
    float32 do not count. With `below`, it is not above the float32 number either, so that float64
    has no other one of float32 between them.

    Examples
    --------
    >>> fewest_digits(1 / 3), fewest_digits(0.1), fewest_digits(0.2), fewest_digits(0.7, below=True)
    (0.33333334, 0.1, 0.2, 0.699999988)
    """
    exact = float(np.float32(value))
    for digits in range(6, 18):
        number = float(f"{exact:.{digits}g}")
        farther = np.float32(1.01 * number - 0.01 * exact)
        if farther == exact and (number <= exact or not below):
            break
    return number


def _to_text(document: object) -> str:
    return json.dumps(document, separators=(",", ":"))


def _solr_model(class_name: str, name: str, store: str | None) -> dict[str, str]:
    model = {"class": f"{SOLR}.model.{class_name}", "name": name}
    if store is not None:
        model["store"] = store
    return model


def _xgboost_trees(forest: Forest, features: Sequence[str], is_vespa: bool) -> list[Any]:
    """The trees as nested nodes. Vespa needs no depth, and may compare in float64."""

    def nested(tree: Tree, i: int, depth: int) -> dict[str, Any]:
        node = tree[i]
        if not isinstance(node, Split):
            return {"nodeid": i, "leaf": fewest_digits(node)}
        split = {
            "nodeid": i,
            "depth": depth,
            "split": features[node.feature],
            "split_condition": fewest_digits(node.threshold, below=is_vespa),
            "yes": node.left,
            "no": node.right,
            "missing": node.left if node.default_left else node.right,
            "children": [nested(tree, child, depth + 1) for child in (node.left, node.right)],
        }
        if is_vespa:
            del split["depth"]
        return split

    return [nested(tree, 0, 0) for tree in forest.trees]


def _solr_numbers(thresholds: Floats, feature: str) -> tuple[int, list[str]]:
    """The exponent of the power of two that multiplies the feature, and the texts of thresholds.

    Around 0, numbers plus 1e-6 are multiples of 2**-43 in float32. Limits that separate 0 from
    other numbers become the next of these below, so that only numbers between -2**-43 and 1e-35 are
    taken for 0.
    """
    largest = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
    # All numbers are to the left of infinity, if multiplying does not make them infinite.
    is_infinite = thresholds >= LARGEST
    is_near = np.isin(largest, _AROUND_ZERO)
    limits = np.where(is_infinite, SOLR_LARGEST, largest.astype(np.float64))
    sizes = np.abs(limits[~is_near])
    powers = [0]
    if len(sizes):
        # Beyond 32, adding 1e-6 changes nothing.
        exponent = int(np.ceil(np.log2(32 / sizes.min())))
        powers.append(max(0, exponent))
    for power in powers:
        scaled = limits * 2.0**power
        if np.abs(scaled).max(initial=0) > LARGEST:
            break
        middle = (scaled - SOLR_SLACK).astype(np.float32)
        below = np.nextafter(middle, np.float32(-np.inf))
        above = np.nextafter(middle, np.float32(np.inf))
        tried = np.array([below, middle, above])
        reached = np.where(tried + SOLR_SLACK <= scaled, tried + SOLR_SLACK, -np.inf)
        nearest = tried[reached.argmax(axis=0), np.arange(len(limits))]
        nearest = np.where(is_infinite, LARGEST, nearest)
        if (is_near | (reached.max(axis=0) == scaled)).all():
            return power, [str(fewest_digits(number)) for number in nearest.tolist()]
    raise ValueError(
        f"Solr adds 1e-6 to thresholds, which changes those of {feature!r}, from {sizes.min():g} "
        f"to {sizes.max():g}: multiply this feature by a large number before fit and in Solr, or "
        "take its logarithm"
    )
