"""Check the structure of LightGBM's model files, which LightGBM itself does not check.

LightGBM reads and follows the indices of a file as they are: a wrong one is a crash, or a loop without an end.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from boostrank.backends.tree_structure import NO_CHILD, check_forest, refuse_where
from boostrank.core.segments import ranges
from boostrank.inputs.arrays import Ints

# Fields of a tree, with the number of their values if the tree has more than one leaf. LightGBM ignores fields after
# the 22nd, so there are no others.
_PER_SPLIT = ("split_feature", "threshold", "left_child", "right_child")
_PER_SPLIT_OPTIONAL = ("split_gain", "decision_type", "internal_value", "internal_weight", "internal_count")
_PER_LEAF_OPTIONAL = ("leaf_weight", "leaf_count")
_LINEAR = ("leaf_const", "num_features", "leaf_features", "leaf_coeff")
_CATEGORICAL = ("cat_boundaries", "cat_threshold")
_SINGLE = ("num_leaves", "num_cat", "leaf_value", "is_linear", "shrinkage")
FIELDS = {*_PER_SPLIT, *_PER_SPLIT_OPTIONAL, *_PER_LEAF_OPTIONAL, *_LINEAR, *_CATEGORICAL, *_SINGLE}
_INTEGERS = re.compile(r" *(?:-?[0-9]{1,18}(?: +|$))*")
_NUMBER = r"-?(?:[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|inf|nan)"
_NUMBERS = re.compile(rf" *(?:{_NUMBER}(?: +|$))*")
_OBJECTIVE = re.compile(rf"[a-z_0-9]+(?: (?:[a-z_0-9]+(?::{_NUMBER}|:[a-z_]+)?))*")
_PARAMETER = re.compile(r"\[[A-Za-z0-9_]+: .*\]")
_END = "end of trees"

Fields = dict[str, str]


def check_lightgbm(text: str) -> None:
    """Raise ValueError if a model in LightGBM's text format is damaged or is no ranker.

    Lengths agree, indices of features, nodes, leaves and categories are within bounds, and nodes form trees.
    """
    if "\0" in text or "\r" in text:
        raise ValueError("it contains a zero byte or a carriage return")
    _check_parameters(text)
    head_text, mark, _ = text.partition("\nTree=")
    head = _parse_fields(head_text.partition("\n" + _END)[0].split("\n"), "the head")
    n_scores = {_count(head, "num_class", "the head"), _count(head, "num_tree_per_iteration", "the head")}
    if n_scores != {1}:
        raise ValueError(f"it is no ranker: it gives {max(n_scores)} scores a row")
    if "objective" in head and not _OBJECTIVE.fullmatch(head["objective"]):
        raise ValueError(f"the head has objective={head['objective'][:40]}")
    n_features = _count(head, "max_feature_idx", "the head") + 1
    for name in ("feature_names", "feature_infos"):
        found = len(head.get(name, "").split())
        if found != n_features:
            raise ValueError(f"max_feature_idx tells of {n_features} features, but {name} has {found}")
    blocks = _tree_blocks(text, len(head_text) + 1, head) if mark else []
    if not blocks and head.get("tree_sizes"):
        raise ValueError("tree_sizes tells of trees, but there are none")
    trees = [_parse_tree(block, f"tree {i}") for i, block in enumerate(blocks)]
    if trees:
        _check_trees(trees, n_features)


def _check_parameters(text: str) -> None:
    """Check the parameters of the training, which follow the trees; LightGBM reads a name and a value in each line."""
    after_trees = text[text.rfind("\n" + _END) + 1 :].split("\n")
    starts = [i for i, line in enumerate(after_trees) if line.startswith("parameters:")]
    for line in after_trees[starts[0] + 1 :] if starts else []:
        if line.startswith("end of parameters"):
            return
        if line and not _PARAMETER.fullmatch(line):
            raise ValueError(f"the line {line[:40]!r} is no parameter")


def _tree_blocks(text: str, start: int, head: Fields) -> list[str]:
    """The text of each tree; their sizes must be those that the head tells, by which LightGBM finds them."""
    end = text.find("\n" + _END + "\n", start) + 1
    if end == 0:
        raise ValueError(f"there is no line {_END!r}")
    starts = [match.start() for match in re.finditer(r"^Tree=", text[start:end], re.MULTILINE)]
    bounds = [start + position for position in starts] + [end]
    blocks = [text[a:b] for a, b in itertools.pairwise(bounds)]
    if "tree_sizes" in head:
        # Sizes count bytes.
        found = [len(block.encode()) for block in blocks]
        if _integers(head["tree_sizes"], "tree_sizes of the head").tolist() != found:
            raise ValueError("tree_sizes disagrees with the trees")
    return blocks


def _parse_fields(lines: list[str], where: str) -> Fields:
    fields: Fields = {}
    for line in lines:
        name, _, value = line.partition("=")
        if name in fields and line:
            raise ValueError(f"{where} has {name!r} twice")
        fields[name] = value
    return fields


def _parse_tree(block: str, where: str) -> Fields:
    """Fields of a tree, with the numbers of their values checked."""
    title, *lines = block.rstrip("\n").split("\n")
    if not re.fullmatch(r"Tree=[0-9]+", title):
        raise ValueError(f"{where} has the title {title[:40]!r}")
    fields = _parse_fields(lines, where)
    unknown = [line for line in lines if line.partition("=")[0] not in FIELDS or "=" not in line]
    if unknown:
        raise ValueError(f"{where} has the line {unknown[0][:40]!r}, which is none of a tree")
    n_leaves, n_categorical = _count(fields, "num_leaves", where), _count(fields, "num_cat", where)
    linear = fields.get("is_linear", "0")
    if n_leaves < 1 or linear not in ("0", "1"):
        raise ValueError(f"{where} has num_leaves={n_leaves} and is_linear={linear[:40]}")
    needed = {"leaf_value": n_leaves}
    if n_leaves > 1 or linear == "1":
        needed |= dict.fromkeys(_PER_SPLIT, n_leaves - 1)
        needed |= {name: n_leaves - 1 for name in _PER_SPLIT_OPTIONAL if name in fields}
        needed |= {name: n_leaves for name in _PER_LEAF_OPTIONAL if name in fields}
        if linear == "1":
            needed |= {"leaf_const": n_leaves, "num_features": n_leaves}
        if n_categorical:
            needed |= {"cat_boundaries": n_categorical + 1}
    for name, n in needed.items():
        found = len(fields.get(name, "").split())
        if found != n:
            raise ValueError(f"{where} needs {n} values of {name}, but has {found}")
    for name, value in fields.items():
        if not _NUMBERS.fullmatch(value):
            raise ValueError(f"{name} of {where} are not numbers")
    return fields


def _check_trees(trees: list[Fields], n_features: int) -> None:
    """Check the indices of all trees together."""
    n_leaves = np.array([int(tree["num_leaves"]) for tree in trees])
    n_splits = n_leaves - 1
    of_split = np.repeat(np.arange(len(trees)), n_splits)
    texts = {name: " ".join(tree.get(name, "") for tree in trees if tree["num_leaves"] != "1") for name in _PER_SPLIT}
    feature, left, right = (_integers(texts[name], name) for name in ("split_feature", "left_child", "right_child"))
    refuse_where((feature < 0) | (feature >= n_features), of_split, "the feature of a split does not exist")
    _check_children(left, right, n_leaves)
    for i, tree in enumerate(trees):
        # Most trees have splits of kind 2 only: numbers, whose missing values go left.
        if tree["num_leaves"] != "1" and (tree["num_cat"] != "0" or tree.get("decision_type", "").strip("2 ")):
            _check_decisions(tree, f"tree {i}")
        if tree.get("is_linear") == "1":
            _check_linear(tree, n_features, f"tree {i}")


def _check_children(left: Ints, right: Ints, n_leaves: Ints) -> None:
    """Check that splits and leaves form trees; leaf j is the child -1 - j."""
    n_splits, sizes = n_leaves - 1, 2 * n_leaves - 1
    of_split = np.repeat(np.arange(len(n_leaves)), n_splits)
    # Number the leaves of a tree after its splits.
    nodes = [np.where(side < 0, n_splits[of_split] - 1 - side, side) for side in (left, right)]
    for side, number in zip((left, right), nodes, strict=True):
        refuse_where((side >= 0) & (number >= n_splits[of_split]), of_split, "a child does not exist")
    is_split = ranges(0, sizes) < np.repeat(n_splits, sizes)
    children = np.full((2, sizes.sum()), NO_CHILD)
    children[:, is_split] = nodes
    check_forest(children[0], children[1], sizes, np.ones(len(is_split), dtype=bool))


def _check_decisions(tree: Fields, where: str) -> None:
    """Check the kinds of splits, and the sets of categories of those that are categorical."""
    kinds = _integers(tree.get("decision_type", ""), f"decision_type of {where}")
    # Bit 0: categorical. Bit 1: missing values go left. Bits 2 and 3: what is missing, 0 to 2.
    if ((kinds < 0) | (kinds >> 2 > 2)).any():
        raise ValueError(f"{where} has an unknown decision_type")
    n_categorical = int(tree["num_cat"])
    of_category = [text for text, kind in zip(tree["threshold"].split(), kinds.tolist(), strict=False) if kind & 1]
    if any(not (text.isdecimal() and int(text) < n_categorical) for text in of_category):
        raise ValueError(f"{where}: a set of categories does not exist")
    if not n_categorical:
        return
    bounds = _integers(tree["cat_boundaries"], f"cat_boundaries of {where}")
    words = _integers(tree.get("cat_threshold", ""), f"cat_threshold of {where}")
    if bounds[0] != 0 or (np.diff(bounds) < 0).any() or bounds[-1] != len(words):
        raise ValueError(f"{where}: cat_boundaries disagrees with cat_threshold")
    if ((words < 0) | (words >= 2**32)).any():
        raise ValueError(f"{where}: cat_threshold is out of range")


def _check_linear(tree: Fields, n_features: int, where: str) -> None:
    """Check the features of the linear models of leaves."""
    counts = _integers(tree["num_features"], f"num_features of {where}")
    features = _integers(tree.get("leaf_features", ""), f"leaf_features of {where}")
    n_coefficients = len(tree.get("leaf_coeff", "").split())
    if (counts < 0).any() or not counts.sum() == len(features) == n_coefficients:
        raise ValueError(f"{where}: num_features, leaf_features and leaf_coeff disagree")
    if ((features < 0) | (features >= n_features)).any():
        raise ValueError(f"{where}: a feature of a leaf does not exist")


def _count(fields: Fields, name: str, where: str) -> int:
    text = fields.get(name, "")
    if not re.fullmatch("0|[1-9][0-9]{0,8}", text):
        raise ValueError(f"{where} has no {name}" if not text else f"{where} has {name}={text[:40]}")
    return int(text)


def _integers(text: str, name: str) -> Ints:
    if not _INTEGERS.fullmatch(text):
        raise ValueError(f"{name} are not integers")
    return np.array(list(map(int, text.split())), dtype=np.int64)


def with_named_objective(text: str) -> str:
    """Return the text of a model with the objective "regression" in place of a custom one.

    LightGBM writes no name for a custom objective, but converters and explainers need one. The scores of "regression"
    are the plain sums over trees.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)
