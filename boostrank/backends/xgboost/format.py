"""Check the structure of XGBoost's model files, which XGBoost itself does not check.

XGBoost reads and follows the indices of a file as they are: a wrong one is a crash, or a loop without an end.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boostrank.backends.tree_structure import NO_CHILD, check_forest, refuse_where
from boostrank.backends.ubjson import MAX_DEPTH, read_ubjson
from boostrank.inputs.arrays import Bools, Ints

#: XGBoost's mark of a node that pruning has deleted, in place of its feature.
DELETED = 2**31 - 1
#: XGBoost's limit of the number of categories.
MAX_CATEGORY = 2**24
_STATISTICS = ("loss_changes", "sum_hessian", "base_weights", "split_conditions", "default_left")
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

Object = dict[str, Any]


def check_xgboost(content: bytes) -> bytes:
    """Raise ValueError if a model in XGBoost's JSON or UBJSON format is damaged or is no ranker.

    Lengths agree, indices of features, nodes and categories are within bounds, and nodes form trees. Returns the
    content in the form in which XGBoost recognizes its format: without space after the first bracket.
    """
    is_json = re.match(rb'\{[ \t\r\n]*"', content) is not None
    if is_json:
        content = b"{" + content[1:].lstrip()
    model = _read_json(content) if is_json else read_ubjson(content)
    learner = _object(model, "learner", "the model")
    sizes = _object(learner, "learner_model_param", "the learner")
    n_scores = max(_count(sizes, "num_class", "0"), _count(sizes, "num_target", "1"))
    if n_scores > 1:
        raise ValueError(f"it is no ranker: it gives {n_scores} scores a row")
    n_features = _count(sizes, "num_feature")
    if not re.fullmatch(r"\[?[-+0-9.eE]{1,40}\]?", str(sizes.get("base_score", ""))):
        raise ValueError("base_score is not one number")
    for name in ("feature_names", "feature_types"):
        texts = learner.get(name, [])
        if not (isinstance(texts, list) and all(isinstance(text, str) for text in texts)):
            raise ValueError(f"{name} is not a list of texts")
        if len(texts) not in (0, n_features):
            raise ValueError(f"num_feature is {n_features}, but {name} has {len(texts)}")
    booster = _object(learner, "gradient_booster", "the learner")
    kind = booster.get("name")
    if kind == "gblinear":
        n_weights = _length(_object(booster, "model", "the booster").get("weights"), "weights")
        if n_weights != n_features + 1:
            raise ValueError(f"there are {n_weights} weights for {n_features} features")
    elif kind == "gbtree":
        _check_trees(_object(booster, "model", "the booster"), n_features)
    elif kind == "dart":
        trees = _object(_object(booster, "gbtree", "the booster"), "model", "the booster")
        if _length(booster.get("weight_drop"), "weight_drop") != _check_trees(trees, n_features):
            raise ValueError("weight_drop does not have one weight per tree")
    else:
        raise ValueError(f"it has an unknown booster, {str(kind)[:40]!r}")
    return content


def _read_json(content: bytes) -> Any:
    """Decode JSON. Brackets are counted first: a parser that is recursive can overflow the stack."""
    brackets = np.frombuffer(_TEXT.sub(b"", content).translate(None, _NOT_BRACKETS), np.uint8)
    # In the codes of closing brackets bit 2 is set; in those of opening ones it is not.
    if np.cumsum(np.where(brackets & 4, -1, 1)).max(initial=0) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")

    def without_repetition(pairs: list[tuple[str, Any]]) -> Object:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"{max(names, key=names.count)[:40]!r} occurs twice in an object")
        return found

    return json.loads(content.decode(), object_pairs_hook=without_repetition)


def _check_trees(model: Object, n_features: int) -> int:
    """Check the trees of a model; return their number."""
    _check_categories(model.get("cats", {}), n_features)
    trees, sizes = model.get("trees"), _object(model, "gbtree_model_param", "the booster")
    if not isinstance(trees, list) or not all(isinstance(tree, dict) for tree in trees):
        raise ValueError("trees is not a list of trees")
    n_trees = len(trees)
    groups = _integers(model.get("tree_info"), "tree_info")
    if _count(sizes, "num_trees") != n_trees or len(groups) != n_trees or groups.any():
        raise ValueError(f"num_trees and tree_info disagree with the number of trees, {n_trees}")
    if _count(sizes, "num_parallel_tree", "1") < 1:
        raise ValueError("num_parallel_tree is 0")
    if "iteration_indptr" in model:
        indptr = _integers(model["iteration_indptr"], "iteration_indptr")
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != n_trees or (np.diff(indptr) < 1).any():
            raise ValueError("iteration_indptr disagrees with the number of trees")
    ids = [tree.get("id") for tree in trees]
    if ids != list(range(n_trees)):
        raise ValueError("the trees are not numbered in sequence")
    if n_trees:
        _check_nodes(trees, n_features)
    return n_trees


def _check_nodes(trees: list[Object], n_features: int) -> None:
    """Check the nodes of all trees together."""
    sizes = np.array([_check_lengths(tree, f"tree {i}") for i, tree in enumerate(trees)])
    left, right, parents, features = (
        _column(trees, name) for name in ("left_children", "right_children", "parents", "split_indices")
    )
    of_node = np.repeat(np.arange(len(trees)), sizes)
    starts = np.cumsum(sizes) - sizes
    is_root = np.zeros(len(of_node), dtype=bool)
    is_root[starts] = True
    is_deleted = (features == DELETED) & _column(trees, "default_left").astype(bool) & ~is_root
    is_leaf = left == NO_CHILD
    refuse_where(is_deleted & ~is_leaf, of_node, "a deleted node has children")
    refuse_where((features < 0) | (features > DELETED), of_node, "the feature of a node is out of range")
    refuse_where(~is_leaf & (features >= n_features), of_node, "the feature of a split does not exist")
    refuse_where(~is_root & ((parents < 0) | (parents >= sizes[of_node])), of_node, "a parent does not exist")
    check_forest(left, right, sizes, ~is_deleted)
    inner = np.flatnonzero(~is_leaf)
    for children in (left, right):
        node = inner - starts[of_node[inner]]
        differs = parents[children[inner] + starts[of_node[inner]]] != node
        refuse_where(differs, of_node[inner], "a child has another parent")
    for i, tree in enumerate(trees):
        part = slice(starts[i], starts[i] + sizes[i])
        if "split_type" in tree:
            _check_split_types(tree, int(sizes[i]), is_leaf[part], f"tree {i}")


def _check_lengths(tree: Object, where: str) -> int:
    """Check that all values of nodes are there; return the number of nodes."""
    sizes = _object(tree, "tree_param", where)
    n_nodes = _count(sizes, "num_nodes")
    if n_nodes < 1 or _count(sizes, "size_leaf_vector", "1") > 1:
        raise ValueError(f"{where} has no nodes, or several values per leaf")
    for name in ("left_children", "right_children", "parents", "split_indices", *_STATISTICS):
        found = _length(tree.get(name), f"{name} of {where}")
        if found != n_nodes:
            raise ValueError(f"{where} has {n_nodes} nodes, but {name} has {found} values")
    return n_nodes


def _check_split_types(tree: Object, n_nodes: int, is_leaf: Bools, where: str) -> None:
    """Check the categories of the categorical splits of a tree."""
    kinds = _integers(tree["split_type"], f"split_type of {where}")
    names = ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    nodes, starts, sizes, categories = (_integers(tree.get(name), f"{name} of {where}") for name in names)
    if len(kinds) != n_nodes or ((kinds != 0) & (kinds != 1)).any() or kinds[is_leaf].any():
        raise ValueError(f"{where}: split_type does not have 0 or 1 for each split, and 0 for each leaf")
    if not np.array_equal(np.flatnonzero(kinds), nodes) or not len(nodes) == len(starts) == len(sizes):
        raise ValueError(f"{where}: the nodes, segments or sizes of categories disagree with split_type")
    if ((starts < 0) | (starts > len(categories)) | (sizes < 1) | (sizes > len(categories) - starts)).any():
        raise ValueError(f"{where}: a set of categories does not exist")
    if ((categories < 0) | (categories >= MAX_CATEGORY)).any():
        raise ValueError(f"{where}: a category is out of range")


def _check_categories(cats: Any, n_features: int) -> None:
    """Check the names of categories that XGBoost stores beside the trees."""
    if not isinstance(cats, dict):
        raise ValueError("cats is not an object")
    if not cats:
        return
    columns = cats.get("enc")
    if not isinstance(columns, list) or not all(isinstance(column, dict) for column in columns):
        raise ValueError("cats has no list of features")
    bounds, order = (_integers(cats.get(name), f"{name} of cats") for name in ("feature_segments", "sorted_idx"))
    counts = np.array([_count_categories(column) for column in columns], dtype=np.int64)
    if len(columns) not in (0, n_features):
        raise ValueError(f"cats has {len(columns)} features of {n_features}")
    if len(bounds) and not np.array_equal(bounds, np.concatenate([[0], np.cumsum(counts)])):
        raise ValueError("feature_segments of cats disagrees with the number of categories")
    if counts.any() and not len(bounds):
        raise ValueError("cats has no feature_segments")
    # It numbers the categories of each feature from 0.
    starts, n_own = (np.repeat(values, counts) for values in (np.cumsum(counts) - counts, counts))
    if len(order) and not (
        len(order) == len(starts)
        and ((order >= 0) & (order < n_own)).all()
        and np.array_equal(np.sort(order + starts), np.arange(len(starts)))
    ):
        raise ValueError("sorted_idx of cats is not a permutation of the categories of each feature")


def _count_categories(column: Object) -> int:
    """Number of categories of a feature."""
    values = _integers(column.get("values"), "values of cats")
    if "offsets" not in column:
        return len(values)
    offsets = _integers(column["offsets"], "offsets of cats")
    if not len(offsets):
        return 0
    if offsets[0] != 0 or offsets[-1] != len(values) or (np.diff(offsets) < 0).any():
        raise ValueError("offsets of cats disagrees with its values")
    return len(offsets) - 1


def _object(parent: Any, name: str, where: str) -> Object:
    found = parent.get(name) if isinstance(parent, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"{where} has no {name}")
    return found


def _count(sizes: Object, name: str, default: str | None = None) -> int:
    text = sizes.get(name, default)
    if not (isinstance(text, str) and re.fullmatch("[0-9]{1,10}", text)) or int(text) >= 2**31:
        raise ValueError(f"{name} is {str(text)[:40]!r}")
    return int(text)


def _length(values: Any, name: str) -> int:
    if not isinstance(values, (list, np.ndarray)):
        raise ValueError(f"there is no array {name}")
    return len(values)


def _integers(values: Any, name: str) -> Ints:
    """A typed or untyped array of integers as int64."""
    _length(values, name)
    array: NDArray[Any] = np.asarray(values) if len(values) else np.zeros(0, np.int64)
    if array.ndim != 1 or (array.dtype.kind not in "biu") or array.dtype == np.uint64:
        raise ValueError(f"{name} are not integers")
    return array.astype(np.int64)


def _column(trees: list[Object], name: str) -> Ints:
    """The values of all nodes of all trees."""
    return np.concatenate([_integers(tree[name], f"{name} of tree {i}") for i, tree in enumerate(trees)])
