"""The documents of models that search engines read, and the fewest digits in which they read the
same numbers.

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
    return _to_text(
        {"model": {"name": name, "model": {"type": "model/xgboost+json", "definition": trees}}}
    )


def write_vespa(forest: Forest, features: Sequence[str], name: str) -> str:
    """The file of an XGBoost model in an application package of Vespa, which has neither names nor
    stores.

    Vespa rounds the thresholds and leaves of large models to float32, and keeps those of small ones
    in float64.
    """
    return _to_text(_xgboost_trees(forest, features, is_vespa=True))


def write_elastic(
    forest: Forest,
    features: Sequence[str],
    name: str,
    queries: Mapping[str, Any],
    has_field_names: bool = False,
) -> str:
    """The body of the request that creates a trained model of Elastic's own learning to rank.

    `queries` are those that compute features, by name; the others get an example. Versions before
    8.15 need the names of the features as input too.
    """
    used = [features[i] for i in forest.features]
    examples = {feature: {"match": {feature: "{{keywords}}"}} for feature in used} | dict(queries)
    extractors = [
        {"query_extractor": {"feature_name": feature, "query": examples[feature]}}
        for feature in used
    ]
    regression, trees = {"target_type": "regression"}, []
    for tree in forest.trees:
        indices = sorted({node.feature for node in tree if isinstance(node, Split)})
        nodes = [_elastic_node(node, indices) for node in tree]
        trees.append(
            {
                "tree": {
                    "feature_names": [features[i] for i in indices],
                    "tree_structure": nodes,
                    **regression,
                }
            }
        )
    ensemble = {
        "feature_names": used,
        "trained_models": trees,
        "aggregate_output": {"weighted_sum": {}},
        **regression,
    }
    fields = {"model_id": name} | ({"input": {"field_names": used}} if has_field_names else {})
    config = {"learning_to_rank": {"feature_extractors": extractors}}
    return _to_text(
        {
            **fields,
            "inference_config": config,
            "definition": {"trained_model": {"ensemble": ensemble}},
        }
    )


def _elastic_node(node: Split | float, indices: Sequence[int]) -> dict[str, Any]:
    if not isinstance(node, Split):
        return {"leaf_value": node}
    feature, threshold = indices.index(node.feature), fewest_digits(node.threshold, below=True)
    test = {
        "split_feature": feature,
        "decision_type": "lt",
        "threshold": threshold,
        "default_left": node.default_left,
    }
    return {**test, "left_child": node.left, "right_child": node.right}


def write_solr(forest: Forest, features: Sequence[str], name: str, store: str | None = None) -> str:
    """The model of the class MultipleAdditiveTreesModel for Solr's model store; all its numbers are
    texts.

    Solr compares with ``<=``, and adds 1e-6 to each threshold in float32. If a threshold cannot be
    hit so, its feature gets a normalizer that multiplies it by a power of two, which is exact, such
    that all can.

    Raises
    ------
    ValueError
        If there is no such power of two.
    """
    inputs, texts = [], dict[tuple[int, float], str]()
    for i in forest.features:
        thresholds = sorted({split.threshold for split in forest.splits if split.feature == i})
        power, numbers = _solr_numbers(np.array(thresholds), features[i])
        texts.update(zip([(i, threshold) for threshold in thresholds], numbers, strict=True))
        norm = {
            "class": f"{SOLR}.norm.StandardNormalizer",
            "params": {"avg": "0.0", "std": str(2.0**-power)},
        }
        inputs.append({"name": features[i]} | ({"norm": norm} if power else {}))
    has_directions = not forest.treats_missing_as_zero

    def nested(tree: Tree, i: int) -> dict[str, Any]:
        node = tree[i]
        if not isinstance(node, Split):
            return {"value": str(fewest_digits(node))}
        split: dict[str, Any] = {
            "feature": features[node.feature],
            "threshold": texts[node.feature, node.threshold],
        }
        split |= {"missing": "left" if node.default_left else "right"} if has_directions else {}
        return {**split, "left": nested(tree, node.left), "right": nested(tree, node.right)}

    trees = [{"weight": "1", "root": nested(tree, 0)} for tree in forest.trees]
    params = {"isNullSameAsZero": False, "trees": trees} if has_directions else {"trees": trees}
    model = _solr_model("MultipleAdditiveTreesModel", name, store)
    return _to_text({**model, "features": inputs, "params": params})


def write_solr_wrapper(name: str, store: str | None, resource: str) -> str:
    """The model of the class DefaultWrapperModel for Solr's model store, which reads the real one
    from a file.
    """
    return _to_text(
        {**_solr_model("DefaultWrapperModel", name, store), "params": {"resource": resource}}
    )


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


def _to_text(document: Any) -> str:
    return json.dumps(document, separators=(",", ":"))


def _solr_model(class_name: str, name: str, store: str | None) -> dict[str, str]:
    return {"class": f"{SOLR}.model.{class_name}", "name": name} | (
        {} if store is None else {"store": store}
    )


def _xgboost_trees(forest: Forest, features: Sequence[str], is_vespa: bool) -> list[Any]:
    """The trees as nested nodes. Vespa needs no depth, and may compare in float64."""

    def nested(tree: Tree, i: int, depth: int) -> dict[str, Any]:
        node = tree[i]
        if not isinstance(node, Split):
            return {"nodeid": i, "leaf": fewest_digits(node)}
        yes, no = node.left, node.right
        fields = (
            {"nodeid": i}
            | ({} if is_vespa else {"depth": depth})
            | {"split": features[node.feature]}
        )
        split = {
            "split_condition": fewest_digits(node.threshold, below=is_vespa),
            "yes": yes,
            "no": no,
        }
        children = [nested(tree, child, depth + 1) for child in (yes, no)]
        return fields | split | {"missing": yes if node.default_left else no, "children": children}

    return [nested(tree, 0, 0) for tree in forest.trees]


def _solr_numbers(thresholds: Floats, feature: str) -> tuple[int, list[str]]:
    """The exponent of the power of two by which the feature is multiplied, and the texts of the
    thresholds.

    Around 0, numbers plus 1e-6 are multiples of 2**-43 in float32. Limits that separate 0 from
    other numbers become the next of these below, so that only numbers between -2**-43 and 1e-35 are
    taken for 0.
    """
    largest = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
    # All numbers are to the left of infinity, if multiplying does not make them infinite.
    is_infinite, is_near = thresholds >= LARGEST, np.isin(largest, _AROUND_ZERO)
    limits = np.where(is_infinite, SOLR_LARGEST, largest.astype(np.float64))
    sizes = np.abs(limits[~is_near])
    # Beyond 32, adding 1e-6 changes nothing.
    for power in (0, max(0, int(np.ceil(np.log2(32 / sizes.min())))) if len(sizes) else 0):
        scaled = limits * 2.0**power
        if np.abs(scaled).max(initial=0) > LARGEST:
            break
        below = (scaled - SOLR_SLACK).astype(np.float32)
        tried = np.array(
            [
                np.nextafter(below, np.float32(-np.inf)),
                below,
                np.nextafter(below, np.float32(np.inf)),
            ]
        )
        reached = np.where(tried + SOLR_SLACK <= scaled, tried + SOLR_SLACK, -np.inf)
        nearest = np.where(
            is_infinite, LARGEST, tried[reached.argmax(axis=0), np.arange(len(limits))]
        )
        if (is_near | (reached.max(axis=0) == scaled)).all():
            return power, [str(fewest_digits(number)) for number in nearest.tolist()]
    raise ValueError(
        f"Solr adds 1e-6 to thresholds, which changes those of {feature!r}, from {sizes.min():g} "
        f"to {sizes.max():g}: "
        "multiply this feature by a large number before fit and in Solr, or take its logarithm"
    )
