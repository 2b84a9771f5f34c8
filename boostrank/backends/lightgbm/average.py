"""The mean of models of LightGBM as one model, which has the trees of all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from boostrank.backends.base import import_backend
from boostrank.backends.model_checks import require_same_models

# Fields of a tree that are proportional to its output. LightGBM's own `Tree::Shrinkage` multiplies the same ones.
_OUTPUTS = re.compile(r"^(leaf_value|internal_value|leaf_const|leaf_coeff|shrinkage)=(.*)$", re.MULTILINE)
_END = "\nend of trees\n"


class _Model(NamedTuple):
    """The text of a model in three parts.

    Attributes
    ----------
    head : dict of str to str
        The fields before the trees, in their sequence. A line without a value is a field with the value "".
    trees : list of str
        The text of each tree, without its title.
    tail : str
        What follows the trees.
    """

    head: dict[str, str]
    trees: list[str]
    tail: str


def average(boosters: Sequence[Any]) -> Any:
    """Return one booster whose raw score of every row is the mean of the raw scores of the boosters.

    It has the trees of the first booster, then those of the second, ..., with outputs divided by the number of
    boosters. Of a booster with a best iteration, it has the trees up to this one. The parameters that it records are
    those of the first booster. The average of random forests is no random forest, because LightGBM divides the scores
    of a forest by the number of its trees, unless it is asked for raw scores.

    Raises
    ------
    ValueError
        If the boosters have different features or categories.
    """
    models = [_parse(booster.model_to_string()) for booster in boosters]
    require_same_models("names of features", [model.head["feature_names"] for model in models])
    require_same_models("categories of columns", [booster.pandas_categorical or [] for booster in boosters])
    trees = [_scale(tree, len(boosters)) for model in models for tree in model.trees]
    blocks = [f"Tree={i}\n{tree}" for i, tree in enumerate(trees)]
    infos = zip(*(model.head["feature_infos"].split() for model in models), strict=True)
    head = {
        **models[0].head,
        "feature_infos": " ".join(_merge_infos(features) for features in infos),
        # Sizes count bytes.
        "tree_sizes": " ".join(str(len(block.encode())) for block in blocks),
    }
    head.pop("average_output", None)
    lines = [f"{name}={value}" if value else name for name, value in head.items()]
    text = "\n".join(lines) + "\n\n" + "".join(blocks) + _END.lstrip("\n") + models[0].tail
    return import_backend("lightgbm").Booster(model_str=text)


def _parse(text: str) -> _Model:
    start, end = text.find("\nTree="), text.find(_END)
    lines = text[:start].rstrip("\n").split("\n")
    fields = (line.partition("=") for line in lines)
    trees = re.split(r"^Tree=[0-9]+\n", text[start + 1 : end + 1], flags=re.MULTILINE)[1:]
    # The importances that follow the trees are of this model only. LightGBM computes them again.
    tail = text[end + len(_END) :].partition("\nparameters:")
    return _Model({name: value for name, _, value in fields}, trees, "".join(tail[1:]))


def _scale(tree: str, n_boosters: int) -> str:
    """The text of a tree with its outputs divided by the number of boosters; white space is kept."""

    def divide(field: re.Match[str]) -> str:
        values = re.sub(r"\S+", lambda number: repr(float(number.group()) / n_boosters), field.group(2))
        return f"{field.group(1)}={values}"

    return _OUTPUTS.sub(divide, tree)


def _merge_infos(infos: Sequence[str]) -> str:
    """The range of a feature, ``[smallest:largest]``, or its categories, ``0:1:2``, over several training sets.

    The info of a feature that was constant in a training set is "none".
    """
    known = [info for info in infos if info != "none"]
    if not known:
        return "none"
    if all(info.startswith("[") for info in known):
        lows, highs = zip(*(info.strip("[]").split(":") for info in known), strict=True)
        return f"[{min(lows, key=float)}:{max(highs, key=float)}]"
    return ":".join(dict.fromkeys(category for info in known for category in info.split(":")))
