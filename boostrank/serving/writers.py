"""A forest as the document of a search engine: formats, numbers and names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from boostrank.serving.forest import LARGEST, ZERO, Forest, Split, Tree, fold

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


def write_elasticsearch(forest: Forest, target: Target) -> str:
    """The body of the request that creates a model in the plugins of Elasticsearch and OpenSearch.

    The trees are in the format of XGBoost's dumps, but have only the fields that the plugins take.
    """
    trees = _xgboost_trees(forest, target.features, lambda value: repr(float(np.float32(value))))
    model = f'{{"type": "model/xgboost+json", "definition": {trees}}}'
    return f'{{"model": {{"name": {json.dumps(target.name)}, "model": {model}}}}}\n'


def write_vespa(forest: Forest, target: Target) -> str:
    """The file of an XGBoost model in an application package of Vespa."""
    return f"{_xgboost_trees(forest, target.features, repr)}\n"


def write_solr(forest: Forest, target: Target) -> str:
    """The model of the class MultipleAdditiveTreesModel for Solr's model store.

    Solr compares with ``<=``, and adds 1e-6 to each threshold in float32. If a threshold cannot be hit so, its feature
    gets a normalizer that multiplies it by a power of two, which is exact, such that all can.

    Raises
    ------
    ValueError
        If there is no such power of two.
    """
    splits = forest.splits
    names, features, limits = [json.dumps(name) for name in target.features], [], {}
    for i in sorted({split.feature for split in splits}):
        thresholds = np.array(sorted({split.threshold for split in splits if split.feature == i}))
        power, numbers = _solr_numbers(thresholds, target.features[i])
        limits.update({(i, threshold): text for threshold, text in zip(thresholds.tolist(), numbers, strict=True)})
        parameters = f'{{"avg": "0.0", "std": "{2.0**-power}"}}'
        norm = f', "norm": {{"class": "{_SOLR}.norm.StandardNormalizer", "params": {parameters}}}' if power else ""
        features.append(f'{{"name": {names[i]}{norm}}}')
    has_directions = not forest.treats_missing_as_zero

    def write_split(split: Split, _: int, left: str, right: str) -> str:
        missing = f', "missing": "{"left" if split.default_left else "right"}"' if has_directions else ""
        test = f'"feature": {names[split.feature]}, "threshold": "{limits[split.feature, split.threshold]}"{missing}'
        return f'{{{test}, "left": {left}, "right": {right}}}'

    roots = [
        fold(tree, lambda value, _: f'{{"value": "{float(np.float32(value))}"}}', write_split) for tree in forest.trees
    ]
    trees = ",\n".join(f'{{"weight": "1", "root": {root}}}' for root in roots)
    # A model must have a feature, also if it has no split.
    listed = ", ".join(features) or f'{{"name": {names[0]}}}'
    store = "" if target.store is None else f', "store": {json.dumps(target.store)}'
    null = '"isNullSameAsZero": false, ' if has_directions else ""
    return (
        f'{{"class": "{_SOLR}.model.MultipleAdditiveTreesModel", "name": {json.dumps(target.name)}{store}, '
        f'"features": [{listed}],\n"params": {{{null}"trees": [\n{trees}\n]}}}}\n'
    )


#: Formats by name.
FORMATS: dict[str, Callable[[Forest, Target], str]] = {
    "elasticsearch": write_elasticsearch,
    "opensearch": write_elasticsearch,
    "solr": write_solr,
    "vespa": write_vespa,
}


def _xgboost_trees(forest: Forest, features: Sequence[str], leaf_text: Callable[[float], str]) -> str:
    """The array of the trees as nested nodes, one tree a line.

    Numbers of float32 are written with the digits of float64: parsers of both types read the same number.
    """
    names = [json.dumps(name) for name in features]

    def write_tree(tree: Tree) -> str:
        depths = {0: 0}

        def write_leaf(value: float, i: int) -> str:
            return f'{{"nodeid": {i}, "leaf": {leaf_text(value)}}}'

        def write_split(split: Split, i: int, left: str, right: str) -> str:
            return (
                f'{{"nodeid": {i}, "depth": {depths[i]}, "split": {names[split.feature]}, '
                f'"split_condition": {split.threshold!r}, "yes": {split.left}, "no": {split.right}, '
                f'"missing": {split.left if split.default_left else split.right}, "children": [{left}, {right}]}}'
            )

        for i, node in enumerate(tree):
            if isinstance(node, Split):
                depths[node.left] = depths[node.right] = depths[i] + 1
        return fold(tree, write_leaf, write_split)

    trees = ",\n".join(map(write_tree, forest.trees))
    return f"[\n{trees}\n]"


def _solr_numbers(thresholds: NDArray[np.float64], feature: str) -> tuple[int, list[str]]:
    """The exponent of the power of two by which the feature is multiplied, and the texts of the thresholds.

    Around 0, numbers plus 1e-6 are multiples of 2**-43 in float32. Limits that separate 0 from other numbers become the
    next of these below, so that only numbers between -2**-43 and 1e-35 are taken for 0.
    """
    largest = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
    limits, is_near = largest.astype(np.float64), np.isin(largest, _AROUND_ZERO)
    sizes = np.abs(limits[~is_near])
    # Beyond 32, adding 1e-6 changes nothing.
    for power in (0, max(0, int(np.ceil(np.log2(32 / sizes.min())))) if len(sizes) else 0):
        scaled = limits * 2.0**power
        if np.abs(scaled).max() > LARGEST:
            break
        below = (scaled - SOLR_SLACK).astype(np.float32)
        tried = np.array([np.nextafter(below, np.float32(-np.inf)), below, np.nextafter(below, np.float32(np.inf))])
        reached = np.where(tried + SOLR_SLACK <= scaled, tried + SOLR_SLACK, -np.inf)
        best = reached.argmax(axis=0)
        if (is_near | (reached.max(axis=0) == scaled)).all():
            return power, [repr(float(number)) for number in tried[best, np.arange(len(limits))]]
    raise ValueError(
        f"Solr adds 1e-6 to thresholds, which changes those of {feature!r}, from {sizes.min():g} to {sizes.max():g}: "
        "multiply this feature by a large number before fit and in Solr, or take its logarithm"
    )
