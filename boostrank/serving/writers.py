"""A forest as the document of a search engine: formats, numbers and names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.serving.forest import LARGEST, ZERO, Forest, Split

#: What Solr adds to each threshold when it reads a model, in float32.
SOLR_SLACK = np.float32(1e-6)
#: The distance of 0 to the next numbers that thresholds with this slack can have, if there is no normalizer.
SOLR_ZERO = 2.0**-43
# The largest numbers on the left of thresholds that separate 0 from other numbers.
_AROUND_ZERO = np.array([np.nextafter(np.float32(-ZERO), np.float32(-1)), -1e-45, 0, ZERO], dtype=np.float32)
_SOLR = "org.apache.solr.ltr"


class Target(NamedTuple):
    """Names in the engine.

    Attributes
    ----------
    features : sequence of str
        Names of the features, by their index in the model.
    name : str
        Name of the model.
    store : str or None
        Name of Solr's feature store.
    """

    features: Sequence[str]
    name: str
    store: str | None


def write_plugin(forest: Forest, target: Target) -> str:
    """The body of the request that creates a model in the plugins of Elasticsearch and OpenSearch.

    The trees are in the format of XGBoost's dumps, but have only the fields that the plugins take.
    """
    trees = _xgboost_trees(forest, target.features, lambda value: float(np.float32(value)))
    return json.dumps({"model": {"name": target.name, "model": {"type": "model/xgboost+json", "definition": trees}}})


def write_vespa(forest: Forest, target: Target) -> str:
    """The file of an XGBoost model in an application package of Vespa, which adds up leaves in float64."""
    return json.dumps(_xgboost_trees(forest, target.features, float))


def write_solr(forest: Forest, target: Target) -> str:
    """The model of the class MultipleAdditiveTreesModel for Solr's model store; all its numbers are texts.

    Solr compares with ``<=``, and adds 1e-6 to each threshold in float32. If a threshold cannot be hit so, its feature
    gets a normalizer that multiplies it by a power of two, which is exact, such that all can.

    Raises
    ------
    ValueError
        If there is no such power of two.
    """
    used = sorted({split.feature for split in forest.splits})
    # A model must have a feature, also if it has no split.
    features: dict[int, dict[str, Any]] = {i: {"name": target.features[i]} for i in used or [0]}
    texts: dict[tuple[int, float], str] = {}
    for i, feature in features.items():
        thresholds = sorted({split.threshold for split in forest.splits if split.feature == i})
        power, numbers = _solr_numbers(np.array(thresholds), target.features[i])
        texts.update(zip([(i, threshold) for threshold in thresholds], numbers, strict=True))
        if power:
            parameters = {"avg": "0.0", "std": str(2.0**-power)}
            feature["norm"] = {"class": f"{_SOLR}.norm.StandardNormalizer", "params": parameters}
    has_directions = not forest.treats_missing_as_zero
    trees = []
    for tree in forest.trees:
        nodes: list[dict[str, Any]] = [{} for _ in tree]
        for node, found in zip(tree, nodes, strict=True):
            if isinstance(node, Split):
                found.update(feature=target.features[node.feature], threshold=texts[node.feature, node.threshold])
                found.update({"missing": "left" if node.default_left else "right"} if has_directions else {})
                found.update(left=nodes[node.left], right=nodes[node.right])
            else:
                found["value"] = str(float(np.float32(node)))
        trees.append({"weight": "1", "root": nodes[0]})
    store = {} if target.store is None else {"store": target.store}
    params = {"isNullSameAsZero": False, "trees": trees} if has_directions else {"trees": trees}
    document = {"class": f"{_SOLR}.model.MultipleAdditiveTreesModel", "name": target.name, **store}
    return json.dumps({**document, "features": list(features.values()), "params": params})


#: The functions that write documents, by format.
WRITERS = {"elasticsearch": write_plugin, "opensearch": write_plugin, "solr": write_solr, "vespa": write_vespa}


def _xgboost_trees(forest: Forest, features: Sequence[str], as_number: Callable[[float], float]) -> list[Any]:
    """The trees as nested nodes; numbers of float32 have the digits of float64, so that all parsers read the same."""
    trees = []
    for tree in forest.trees:
        nodes: list[dict[str, Any]] = [{"nodeid": i, "depth": 0} for i in range(len(tree))]
        for node, found in zip(tree, nodes, strict=True):
            if isinstance(node, Split):
                left, right = nodes[node.left], nodes[node.right]
                left["depth"] = right["depth"] = found["depth"] + 1
                found.update(split=features[node.feature], split_condition=node.threshold, yes=node.left, no=node.right)
                found.update(missing=node.left if node.default_left else node.right, children=[left, right])
            else:
                found["leaf"] = as_number(node)
        trees.append(nodes[0])
    return trees


def _solr_numbers(thresholds: NDArray[np.float64], feature: str) -> tuple[int, list[str]]:
    """The exponent of the power of two by which the feature is multiplied, and the texts of the thresholds.

    Around 0, numbers plus 1e-6 are multiples of 2**-43 in float32. Limits that separate 0 from other numbers become the
    next of these below, so that only numbers between -2**-43 and 1e-35 are taken for 0.
    """
    largest = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
    # All numbers are to the left of infinity, if multiplying does not make them infinite: those up to 2**64 are so.
    is_infinite, is_near = thresholds >= LARGEST, np.isin(largest, _AROUND_ZERO)
    limits = np.where(is_infinite, 2.0**64, largest.astype(np.float64))
    sizes = np.abs(limits[~is_near])
    # Beyond 32, adding 1e-6 changes nothing.
    for power in (0, max(0, int(np.ceil(np.log2(32 / sizes.min())))) if len(sizes) else 0):
        scaled = limits * 2.0**power
        if np.abs(scaled).max(initial=0) > LARGEST:
            break
        below = (scaled - SOLR_SLACK).astype(np.float32)
        tried = np.array([np.nextafter(below, np.float32(-np.inf)), below, np.nextafter(below, np.float32(np.inf))])
        reached = np.where(tried + SOLR_SLACK <= scaled, tried + SOLR_SLACK, -np.inf)
        found = np.where(is_infinite, LARGEST, tried[reached.argmax(axis=0), np.arange(len(limits))])
        if (is_near | (reached.max(axis=0) == scaled)).all():
            return power, [repr(number) for number in found.tolist()]
    raise ValueError(
        f"Solr adds 1e-6 to thresholds, which changes those of {feature!r}, from {sizes.min():g} to {sizes.max():g}: "
        "multiply this feature by a large number before fit and in Solr, or take its logarithm"
    )
