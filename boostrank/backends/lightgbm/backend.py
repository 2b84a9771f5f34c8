"""LightGBM as a :class:`~boostrank.backends.base.Backend`: its models, and the names of the other
parts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends import models
from boostrank.backends.base import import_backend, onnx_inputs
from boostrank.backends.lightgbm import parameters as parameters
from boostrank.backends.lightgbm.parameters import check_categories as check_categories
from boostrank.backends.lightgbm.parameters import takes_infinity as takes_infinity
from boostrank.backends.lightgbm.training import check_n_rows as check_n_rows
from boostrank.backends.lightgbm.training import plain_matrix, with_named_objective
from boostrank.backends.lightgbm.training import stopping_callbacks as stopping_callbacks
from boostrank.backends.lightgbm.training import train as train
from boostrank.inputs.streams import FeatureStream

#: Name of feature i in the models if the training data had no names.
UNNAMED_FEATURE = "Column_{}"
# Fields of a tree that are proportional to its output. LightGBM's own `Tree::Shrinkage` multiplies
# the same ones.
_OUTPUTS = re.compile(
    r"^(leaf_value|internal_value|leaf_const|leaf_coeff|shrinkage)=(.*)$", re.MULTILINE
)
_END = "\nend of trees\n"
_CATEGORICAL_FEATURES = re.compile(r"^\[categorical_feature: ([\d,]+)\]$", re.MULTILINE)
_DECISION_TYPES = re.compile(r"^decision_type=(.*)$", re.MULTILINE)
# The bits of a decision type that say which values are missing, and their value if zeros are.
_MISSING_TYPE, _MISSING_ZERO = 12, 4


def as_booster(model: Any) -> Any:
    """The booster of a model: itself, or that of an estimator of LightGBM; TypeError for anything
    else.
    """
    lgb = import_backend("lightgbm")
    booster = model.booster_ if isinstance(model, lgb.LGBMModel) else model
    if not isinstance(booster, lgb.Booster):
        raise TypeError(f"init_model must be a model of LightGBM; got {type(model).__name__}")
    return booster


def predict(
    booster: Any, X: Any, rounds: range | None = None, **threads: int
) -> NDArray[np.float64]:
    """Scores of the rows of X, float64, shape (n_documents,)."""
    return _join(_predict(booster, X, rounds, raw_score=True, **threads))


def leaves(booster: Any, X: Any, rounds: range | None = None, **threads: int) -> NDArray[np.int32]:
    """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""
    return _join(_predict(booster, X, rounds, pred_leaf=True, **threads))


def contributions(booster: Any, X: Any, rounds: range | None = None, **threads: int) -> Any:
    """SHAP values of the features and the expected score, shape (n_documents, n_features + 1);
    sparse for sparse X.
    """
    lgb = import_backend("lightgbm")
    try:
        values = _predict(booster, X, rounds, pred_contrib=True, **threads)
    except lgb.basic.LightGBMError as error:
        raise ValueError(f"there are no contributions (pred_contrib): {error}") from error
    in_csr_format: Any = type(X)
    return in_csr_format(values[0]) if issparse(X) else _join(values)


def prediction_threads(number: int) -> dict[str, int]:
    """The argument of LightGBM's prediction; 0 and negative numbers leave the choice to OpenMP."""
    return {"num_threads": number}


def base_score(booster: Any) -> float:
    """The score before the first round: 0, because LightGBM's first tree contains it."""
    return 0.0


def _predict(booster: Any, X: Any, rounds: range | None, **settings: Any) -> list[Any]:
    """The predictions of LightGBM for each block of rows."""
    if rounds is not None:
        settings.update(start_iteration=rounds.start, num_iteration=len(rounds))
    blocks = X.blocks() if isinstance(X, FeatureStream) else [plain_matrix(X)]
    return [booster.predict(block, **settings) for block in blocks]


def _join(results: list[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate the results of blocks; the result of a single block is not copied."""
    return results[0] if len(results) == 1 else np.concatenate(results)


def importances(booster: Any, kind: str) -> NDArray[Any]:
    """Importance of each feature, of kind ``"split"`` (number of splits) or ``"gain"`` (their total
    gain).
    """
    return booster.feature_importance(importance_type=kind)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_name()
    unnamed = [UNNAMED_FEATURE.format(i) for i in range(len(names))]
    return None if names == unnamed else [parameters.FEATURE_NAMES.decode(name) for name in names]


def categories(booster: Any) -> dict[int, list[Any] | None]:
    """The categories of each feature that was a column of a categorical type, by its index."""
    by_column = booster.pandas_categorical or []
    # LightGBM 4.6 leaves the parameters of a model that it reads in its text. The first round is
    # enough of it.
    line = (
        _CATEGORICAL_FEATURES.search(booster.model_to_string(num_iteration=1))
        if by_column
        else None
    )
    indices = sorted(map(int, line[1].split(","))) if line else []
    return dict(zip(indices, by_column, strict=True)) if len(indices) == len(by_column) else {}


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_feature()


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.current_iteration()


def save(booster: Any, path: str | os.PathLike[str], note: str = "") -> None:
    """Write a model file in LightGBM's text format."""
    # The field is in the first lines of the file, which a truncated file still has, and where
    # LightGBM ignores unknown fields.
    fields = f"\n{models.CHECKSUM_FIELD}={models.BLANK_CHECKSUM}" + (
        f"\n{models.NOTE_FIELD}={note}" if note else ""
    )
    text = booster.model_to_string().replace("\nnum_class=", f"{fields}\nnum_class=", 1)
    models.write_with_checksum(path, text.encode())


def load(path: str | os.PathLike[str]) -> tuple[Any, str]:
    """Read a booster and the note from a model file in LightGBM's text format."""
    lgb = import_backend("lightgbm")
    (content, has_checksum), name = models.read_with_checksum(path), os.fspath(path)
    try:
        if not has_checksum:
            _check_complete(content)
        text = content.decode()
        booster = lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, ValueError) as error:
        raise ValueError(f"{name!r} cannot be loaded as a ranker of LightGBM: {error}") from error
    if booster.num_model_per_iteration() != 1:
        raise ValueError(
            f"{name!r} is no ranker: it gives {booster.num_model_per_iteration()} scores a row"
        )
    note = re.search(f"^{models.NOTE_FIELD}=(.*)$", text[: text.find("\nTree=")], re.MULTILINE)
    return booster, "" if note is None else note[1]


def _check_complete(content: bytes) -> None:
    """Raise ValueError for a model that was cut or that another text follows: LightGBM would crash
    when it reads it.
    """
    head, *trees = content.partition(b"\nend of trees\n")[0].split(b"\nTree=")
    lines = head.split(b"\n")
    # The size of a tree counts its title and the end of its last line.
    sizes = b"tree_sizes=" + b" ".join(b"%d" % (len(b"Tree=\n") + len(tree)) for tree in trees)
    marks = b"\ntree_sizes=", b"\nend of trees", b"\nend of parameters\n"
    are_once = all(content.count(mark) == 1 for mark in marks)
    if lines[0] != b"tree" or sizes not in lines or not are_once or b"\0" in content:
        raise ValueError("it is not a complete LightGBM model file")


def had_missing_values(booster: Any) -> bool | None:
    """None: the splits of LightGBM's models show it."""
    return None


def to_onnx(booster: Any) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools = import_backend("onnxmltools")
    plain = _with_plain_sums(booster, "onnxmltools", "ONNX")
    return onnxmltools.convert_lightgbm(plain, initial_types=onnx_inputs(booster.num_feature()))


def to_treelite(booster: Any) -> Any:
    """Convert the booster to a ``treelite.Model``."""
    treelite = import_backend("treelite")
    plain = _with_plain_sums(booster, "treelite", "an export")
    kinds = {
        int(kind) for kind in " ".join(_DECISION_TYPES.findall(plain.model_to_string())).split()
    }
    if any(kind & _MISSING_TYPE == _MISSING_ZERO for kind in kinds):
        raise ValueError("treelite does not know zero_as_missing: train without it for an export")
    return treelite.frontend.from_lightgbm(plain)


def _with_plain_sums(booster: Any, converter: str, purpose: str) -> Any:
    """A copy whose objective converters know; ValueError for linear trees, which they do not."""
    text = with_named_objective(booster.model_to_string())
    if "\nis_linear=1\n" in text:
        raise ValueError(
            f"{converter} ignores linear models in leaves: train without linear_tree for {purpose}"
        )
    return import_backend("lightgbm").Booster(model_str=text)


def average(boosters: Sequence[Any]) -> Any:
    """Return one booster whose raw score of every row is the mean of the raw scores of the
    boosters.

    It has the trees of the first booster, then those of the second, ..., with outputs divided by
    the number of boosters. Of a booster with a best iteration, it has the trees up to this one. The
    parameters and the ranges of features that it records are those of the first booster. The
    average of random forests is no random forest, because LightGBM divides the scores of a forest
    by the number of its trees, unless it is asked for raw scores.
    """
    heads, forests, tails = zip(
        *(_parse(booster.model_to_string()) for booster in boosters), strict=True
    )
    trees = [_scale(tree, len(boosters)) for forest in forests for tree in forest]
    blocks = [f"Tree={i}\n{tree}" for i, tree in enumerate(trees)]
    # Sizes count bytes.
    head = {**heads[0], "tree_sizes": " ".join(str(len(block.encode())) for block in blocks)}
    head.pop("average_output", None)
    lines = [f"{name}={value}" if value else name for name, value in head.items()]
    text = "\n".join(lines) + "\n\n" + "".join(blocks) + _END.lstrip("\n") + tails[0]
    return import_backend("lightgbm").Booster(model_str=text)


def _parse(text: str) -> tuple[dict[str, str], list[str], str]:
    """The text of a model in three parts: the fields before the trees, the text of each tree, and
    what follows them.

    A line without a value is a field with the value "". Trees are without their titles.
    """
    start, end = text.find("\nTree="), text.find(_END)
    lines = text[:start].rstrip("\n").split("\n")
    fields = (line.partition("=") for line in lines)
    trees = re.split(r"^Tree=[0-9]+\n", text[start + 1 : end + 1], flags=re.MULTILINE)[1:]
    # The importances that follow the trees are of this model only. LightGBM computes them again.
    tail = text[end + len(_END) :].partition("\nparameters:")
    return {name: value for name, _, value in fields}, trees, "".join(tail[1:])


def _scale(tree: str, n_boosters: int) -> str:
    """The text of a tree with its outputs divided by the number of boosters; white space is
    kept.
    """

    def divide(field: re.Match[str]) -> str:
        values = re.sub(
            r"\S+", lambda number: repr(float(number.group()) / n_boosters), field.group(2)
        )
        return f"{field.group(1)}={values}"

    return _OUTPUTS.sub(divide, tree)
