"""The trees of a model, free of the boosting library and of the search engine."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.interface import Backend
from boostrank.backends.libraries import Booster
from boostrank.inputs.arrays import Floats

#: Levels of splits that a tree may have. The JSON parsers of the engines refuse documents that are
#: nested 1,000 levels deep, and each level of splits nests two; others build trees by recursion.
MAX_DEPTH = 300
#: The largest finite number of float32.
LARGEST = float(np.finfo(np.float32).max)
#: The largest number that LightGBM takes for 0.
ZERO = float(np.float32(1e-35))
#: Half of the distance of 1 to the next number of float32, by which additions of numbers below 2
#: may be wrong.
UNIT = 2.0**-24


class Split(NamedTuple):
    """A node with two children: rows whose value, in float32, is less than the threshold go left.

    Attributes
    ----------
    feature : int
    threshold : float
        A finite number of float32.
    default_left : bool
        Whether rows without a value go left.
    left, right : int
        Indices of the children, which are greater than that of the split.
    """

    feature: int
    threshold: float
    default_left: bool
    left: int
    right: int


#: The nodes of a tree: splits, and the outputs of leaves. The first one is the root.
Tree = list[Split | float]


class Forest(NamedTuple):
    """The sum of trees.

    Attributes
    ----------
    trees : list of Tree
        At least one.
    knows_missing : bool or None
        Whether the training data had missing values, so that the directions of rows without a value
        have a meaning; None if the model does not show it.
    """

    trees: list[Tree]
    knows_missing: bool | None

    @classmethod
    def of_booster(cls, library: Backend, booster: Booster) -> Self:
        """Read the trees of a model; the base score is part of the leaves of the first tree.

        Raises
        ------
        ImportError
            If treelite is not installed.
        ValueError
            For categorical splits, trees that are too deep, and models of which treelite would lose
            a part.
        """
        text = library.to_treelite(booster).dump_as_json(pretty_print=False)
        # treelite leaves out the value of infinite thresholds, which separate missing values from
        # all others. Neither library makes negative ones.
        model = json.loads(text.replace('"threshold":,', '"threshold":Infinity,'))
        _refuse_categories(library, booster, model["trees"])
        trees = [_read_tree(tree["nodes"]) for tree in model["trees"]] or [Tree([0.0])]
        forest = cls(trees, False).plus(library.base_score(booster))
        if forest.treats_missing_as_zero:
            return forest
        directions = {split.default_left for split in forest.splits}
        if model["threshold_type"] != "float32" or len(directions) > 1:
            return forest._replace(knows_missing=True)
        # XGBoost sends missing values the same way in all splits if the training had none, and it
        # may if it had some.
        return forest._replace(knows_missing=library.had_missing_values(booster))

    @property
    def splits(self) -> list[Split]:
        """The splits of all trees."""
        return [node for tree in self.trees for node in tree if isinstance(node, Split)]

    @property
    def features(self) -> list[int]:
        """The features of the splits; without a split the first one, because engines want one."""
        return sorted({split.feature for split in self.splits}) or [0]

    @property
    def treats_missing_as_zero(self) -> bool:
        """Whether rows without a value go where 0 goes, at every split."""
        return all(split.default_left == (split.threshold > 0) for split in self.splits)

    def with_missing_as_zero(self) -> Self:
        """The same trees, in which rows without a value go where 0 goes."""

        def turned(node: Split | float) -> Split | float:
            if not isinstance(node, Split):
                return node
            return node._replace(default_left=node.threshold > 0)

        return self._replace(trees=[list(map(turned, tree)) for tree in self.trees])

    def plus(self, constant: float) -> Self:
        """The trees with a constant that is added to every score."""
        tree, *others = self.trees
        first: Tree = [node if isinstance(node, Split) else node + constant for node in tree]
        return self._replace(trees=[first, *others])

    def least_shift(self) -> float:
        """The least number of 0 or more with which no score is below 0, in sums of float32 too."""
        errors = UNIT * (len(self.trees) + 2)
        # The constant itself makes the sums larger, and so their rounding.
        return max(0.0, errors * self.size - self.lowest) * (1 + 2 * errors)

    @property
    def lowest(self) -> float:
        """The sum of the least outputs of the trees, below which no score is."""
        return sum(min(_leaves(tree)) for tree in self.trees)

    @property
    def size(self) -> float:
        """The sum of the largest absolute outputs of the trees, which no absolute score exceeds."""
        return sum(max(map(abs, _leaves(tree))) for tree in self.trees)


def rows_at_splits(tree: Tree, n_features: int) -> NDArray[np.float32]:
    """Rows that reach each split of a tree.

    They are next to its threshold, on both sides, and without a value of its feature. The first row
    has no value at all. Other values are 0 where the way to the split allows it.

    Examples
    --------
    >>> tree = [Split(0, 3.0, True, 1, 2), Split(1, 0.5, False, 3, 4), 1.0, 2.0, 3.0]
    >>> rows = rows_at_splits(tree, 2)[1:].tolist()
    >>> rows[:3], rows[3:]
    ([[2.999999761581421, 0.0], [3.0, 0.0], [nan, 0.0]],
     [[0.0, 0.4999999701976776], [0.0, 0.5], [0.0, nan]])
    """
    rows = [np.full(n_features, np.nan, np.float32)]
    ways = {0: np.zeros(n_features, np.float32)}
    for i, node in enumerate(tree):
        if not isinstance(node, Split):
            continue
        # A threshold that stands for infinity has only missing values on its right.
        below = np.nextafter(np.float32(node.threshold), -LARGEST)
        at = np.nan if node.threshold >= LARGEST else node.threshold
        values = (np.nan,) if np.isnan(at) else (below, at, np.nan)
        row = ways[i]
        rows += [_with_value(row, node.feature, value) for value in values]
        value = row[node.feature]
        if value < node.threshold or (np.isnan(value) and node.default_left):
            ways[node.left] = row
            ways[node.right] = _with_value(row, node.feature, at)
        else:
            ways[node.left] = _with_value(row, node.feature, below)
            ways[node.right] = row
    return np.array(rows)


def _with_value(row: Floats, feature: int, value: float) -> Floats:
    row = row.copy()
    row[feature] = value
    return row


def as_thresholds(limits: Floats) -> Floats:
    """The thresholds `t` such that ``x < t`` if and only if ``x <= limit`` in LightGBM.

    Both `t` and `x` are float32. LightGBM predicts as if numbers from -1e-35 to 1e-35 were 0.
    Infinity itself is no number of JSON; with the largest finite number instead of it, only this
    number is on the wrong side.

    Examples
    --------
    >>> as_thresholds(np.array([0.5, 0.1, 1e300])).tolist()
    [0.5000000596046448, 0.10000000149011612, 3.4028234663852886e+38]
    """
    around_zero = np.where(limits < 0, np.nextafter(-ZERO, -1.0), ZERO)
    limits = np.where(np.abs(limits) > ZERO, limits, around_zero)
    with np.errstate(over="ignore"):
        below = limits.astype(np.float32)
        below = np.where(below > limits, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    return np.clip(above.astype(np.float64), -LARGEST, LARGEST)


def _leaves(tree: Tree) -> list[float]:
    return [node for node in tree if not isinstance(node, Split)]


def _refuse_categories(library: Backend, booster: Booster, trees: list[dict[str, Any]]) -> None:
    """Raise ValueError for a model that splits by categories, with the names of the features."""
    nodes = [node for tree in trees for node in tree["nodes"] if "leaf_value" not in node]
    kinds = {node["split_feature_id"]: node["node_type"] for node in nodes}
    features = sorted(i for i, kind in kinds.items() if kind != "numerical_test_node")
    if features:
        names = library.feature_names(booster)
        shown = [str(i) if names is None else repr(names[i]) for i in features]
        noun = "feature" if len(features) == 1 else "features"
        raise ValueError(
            f"the model splits by categories of the {noun} {', '.join(shown)}: train on a column "
            "of 0 and 1 for each category (pandas.get_dummies), or leave them out"
        )


def _read_tree(nodes: list[dict[str, Any]]) -> Tree:
    """The tree of treelite's nodes, the first of which is the root; children follow parents."""
    by_id = {node["node_id"]: node for node in nodes}
    limits = np.array([node.get("threshold", 0.0) for node in nodes])
    # XGBoost compares with "<", as trees do here, and LightGBM with "<=".
    is_less = [node.get("comparison_op") == "<" for node in nodes]
    clipped = np.clip(limits, -LARGEST, LARGEST)
    thresholds = np.where(is_less, clipped, as_thresholds(limits)).tolist()
    threshold_by_id = dict(zip(by_id, thresholds, strict=True))
    # The nodes level by level, each with its level; children are added at the end.
    sequence = [(nodes[0], 0)]
    tree = Tree()
    for node, level in sequence:
        if level > MAX_DEPTH:
            raise ValueError(
                f"engines read no trees of more than {MAX_DEPTH} levels: train with a smaller "
                "max_depth"
            )
        if "leaf_value" in node:
            tree.append(float(node["leaf_value"]))
            continue
        feature = node["split_feature_id"]
        threshold = threshold_by_id[node["node_id"]]
        left = len(sequence)
        tree.append(Split(feature, threshold, node["default_left"], left, left + 1))
        sequence += [(by_id[node[side]], level + 1) for side in ("left_child", "right_child")]
    return tree
