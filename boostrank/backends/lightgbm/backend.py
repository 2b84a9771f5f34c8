"""LightGBM's models, and the other parts of a :class:`~boostrank.backends.interface.Backend`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends import models
from boostrank.backends.libraries import import_backend, onnx_inputs
from boostrank.backends.lightgbm import parameters as parameters
from boostrank.backends.lightgbm.features import check_n_rows as check_n_rows
from boostrank.backends.lightgbm.features import plain_matrix
from boostrank.backends.lightgbm.parameters import check_categories as check_categories
from boostrank.backends.lightgbm.parameters import takes_infinity as takes_infinity
from boostrank.backends.lightgbm.training import stopping_callbacks as stopping_callbacks
from boostrank.backends.lightgbm.training import train as train
from boostrank.backends.lightgbm.training import with_named_objective
from boostrank.inputs.streams import FeatureMatrix, FeatureStream

if TYPE_CHECKING:
    from lightgbm import Booster, LGBMRanker

    from boostrank.backends.libraries import Parameters
    from boostrank.backends.records import EvalResults

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
_MISSING_TYPE = 12
_MISSING_ZERO = 4

T = TypeVar("T", bound=np.generic)


def as_booster(model: object) -> Booster:
    """The booster of a model: itself, or that of an estimator of LightGBM.

    Raises TypeError for anything else.
    """
    lgb = import_backend("lightgbm")
    booster = model.booster_ if isinstance(model, lgb.LGBMModel) else model
    if not isinstance(booster, lgb.Booster):
        raise TypeError(f"init_model must be a model of LightGBM; got {type(model).__name__}")
    return booster


def predict(
    booster: Booster, X: FeatureMatrix, rounds: range | None = None, **threads: int
) -> NDArray[np.float64]:
    """Scores of the rows of X, float64, shape (n_documents,)."""
    return _join(_predict(booster, X, rounds, raw_score=True, **threads))


def leaves(
    booster: Booster, X: FeatureMatrix, rounds: range | None = None, **threads: int
) -> NDArray[np.int32]:
    """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""
    return _join(_predict(booster, X, rounds, pred_leaf=True, **threads))


def contributions(
    booster: Booster, X: FeatureMatrix, rounds: range | None = None, **threads: int
) -> Any:
    """SHAP values of the features and the expected score, shape (n_documents, n_features + 1).

    They are sparse for sparse X.
    """
    lgb = import_backend("lightgbm")
    try:
        values = _predict(booster, X, rounds, pred_contrib=True, **threads)
    except lgb.basic.LightGBMError as error:
        raise ValueError(f"there are no contributions (pred_contrib): {error}") from error
    if not issparse(X):
        return _join(values)
    in_csr_format: Any = type(X)
    return in_csr_format(values[0])


def prediction_threads(number: int) -> dict[str, int]:
    """The argument of LightGBM's prediction; 0 and negative numbers leave the choice to OpenMP."""
    return {"num_threads": number}


def base_score(booster: Booster) -> float:
    """The score before the first round: 0, because LightGBM's first tree contains it."""
    return 0.0


def _predict(
    booster: Booster, X: FeatureMatrix, rounds: range | None, **settings: int | bool
) -> list[Any]:
    """The predictions of LightGBM for each block of rows."""
    if rounds is not None:
        settings.update(start_iteration=rounds.start, num_iteration=len(rounds))
    if isinstance(X, FeatureStream):
        return [booster.predict(block, **settings) for block in X.blocks()]
    return [booster.predict(plain_matrix(X), **settings)]


def _join(results: list[NDArray[T]]) -> NDArray[T]:
    """Concatenate the results of blocks; the result of a single block is not copied."""
    return results[0] if len(results) == 1 else np.concatenate(results)


def importances(booster: Booster, kind: str) -> NDArray[Any]:
    """Importance of each feature: ``"split"``, the number of splits, or ``"gain"``, their gain."""
    return booster.feature_importance(importance_type=kind)


def feature_names(booster: Booster) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_name()
    if names == [UNNAMED_FEATURE.format(i) for i in range(len(names))]:
        return None
    return [parameters.FEATURE_NAMES.decode(name) for name in names]


def categories(booster: Booster) -> dict[int, list[Any] | None]:
    """The categories of each feature that was a column of a categorical type, by its index."""
    by_column = booster.pandas_categorical
    if not by_column:
        return {}
    # LightGBM 4.6 leaves the parameters of a model that it reads in its text. The first round is
    # enough of it.
    line = _CATEGORICAL_FEATURES.search(booster.model_to_string(num_iteration=1))
    indices = sorted(map(int, line[1].split(","))) if line else []
    if len(indices) != len(by_column):
        return {}
    return dict(zip(indices, by_column, strict=True))


def n_features(booster: Booster) -> int:
    """Number of features."""
    return booster.num_feature()


def n_rounds(booster: Booster) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.current_iteration()


def save(
    booster: Booster, path: str | os.PathLike[str], notes: models.Notes = MappingProxyType({})
) -> None:
    """Write a model file in LightGBM's text format."""
    # The field is in the first lines of the file, which a truncated file still has, and where
    # LightGBM ignores unknown fields.
    fields = f"\n{models.CHECKSUM_FIELD}={models.BLANK_CHECKSUM}"
    for about, note in notes.items():
        fields += f"\n{models.NOTE_FIELDS[about]}={note}"
    text = booster.model_to_string().replace("\nnum_class=", f"{fields}\nnum_class=", 1)
    models.write_with_checksum(path, text.encode())


def load(source: models.ModelSource) -> tuple[Booster, models.Notes]:
    """Read a booster and its notes from a model file in LightGBM's text format.

    The content of a file may be given in its place.
    """
    lgb = import_backend("lightgbm")
    content, has_checksum = models.read_with_checksum(source)
    name = models.source_name(source)
    try:
        if not has_checksum:
            _check_complete(content)
        text = content.decode()
        booster = lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, ValueError) as error:
        raise ValueError(f"{name} cannot be loaded as a ranker of LightGBM: {error}") from error
    n_scores = booster.num_model_per_iteration()
    if n_scores != 1:
        raise ValueError(f"{name} is no ranker: it gives {n_scores} scores a row")
    head = text[: text.find("\nTree=")]
    notes = {}
    for about, name in models.NOTE_FIELDS.items():
        note = re.search(f"^{name}=(.*)$", head, re.MULTILINE)
        if note is not None:
            notes[about] = note[1]
    return booster, notes


def _check_complete(content: bytes) -> None:
    """Raise ValueError for a model that was cut, or that another text follows.

    LightGBM would crash when it reads it.
    """
    head, *trees = content.partition(b"\nend of trees\n")[0].split(b"\nTree=")
    lines = head.split(b"\n")
    # The size of a tree counts its title and the end of its last line.
    sizes = b"tree_sizes=" + b" ".join(b"%d" % (len(b"Tree=\n") + len(tree)) for tree in trees)
    marks = (b"\ntree_sizes=", b"\nend of trees", b"\nend of parameters\n")
    are_once = all(content.count(mark) == 1 for mark in marks)
    if lines[0] != b"tree" or sizes not in lines or not are_once or b"\0" in content:
        raise ValueError("it is not a complete LightGBM model file")


def had_missing_values(booster: Booster) -> bool | None:
    """None: the splits of LightGBM's models show it."""
    return None


def to_onnx(booster: Booster) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools = import_backend("onnxmltools")
    plain = _with_plain_sums(booster, "onnxmltools", "ONNX")
    return onnxmltools.convert_lightgbm(plain, initial_types=onnx_inputs(booster.num_feature()))


def to_ranker(booster: Booster, parameters: Parameters, results: EvalResults) -> LGBMRanker:
    """The fitted LGBMRanker with this booster."""
    # Imported on use: few models need it.
    from boostrank.backends.lightgbm.library_ranker import as_ranker

    return as_ranker(booster, parameters, results, feature_names(booster) is not None)


def to_treelite(booster: Booster) -> Any:
    """Convert the booster to a ``treelite.Model``."""
    treelite = import_backend("treelite")
    plain = _with_plain_sums(booster, "treelite", "an export")
    for of_tree in _DECISION_TYPES.findall(plain.model_to_string()):
        if any(int(kind) & _MISSING_TYPE == _MISSING_ZERO for kind in of_tree.split()):
            raise ValueError(
                "treelite does not know zero_as_missing: train without it for an export"
            )
    return treelite.frontend.from_lightgbm(plain)


def _with_plain_sums(booster: Booster, converter: str, purpose: str) -> Booster:
    """A copy whose objective converters know; ValueError for linear trees, which they do not."""
    text = with_named_objective(booster.model_to_string())
    if "\nis_linear=1\n" in text:
        raise ValueError(
            f"{converter} ignores linear models in leaves: train without linear_tree for {purpose}"
        )
    return import_backend("lightgbm").Booster(model_str=text)


def average(boosters: Sequence[Booster], divisor: float = 1.0) -> Booster:
    """Return one booster whose raw score of every row is the mean of those of the boosters.

    The mean is divided by `divisor`. The booster has the trees of the first one, then those of the
    second, ..., with outputs divided by the number of boosters and by `divisor`. Of a booster with
    a best iteration, it has the trees up to this one. The parameters and the ranges of features
    that it records are those of the first booster. The average of random forests is no random
    forest, because LightGBM divides the scores of a forest by the number of its trees, unless it is
    asked for raw scores.
    """
    parts = [_parse(booster.model_to_string()) for booster in boosters]
    blocks: list[str] = []
    for _, trees, _ in parts:
        for tree in trees:
            blocks.append(f"Tree={len(blocks)}\n{_scale(tree, len(boosters) * divisor)}")
    head, _, tail = parts[0]
    # Sizes count bytes.
    head["tree_sizes"] = " ".join(str(len(block.encode())) for block in blocks)
    head.pop("average_output", None)
    lines = [f"{name}={value}" if value else name for name, value in head.items()]
    text = "\n".join(lines) + "\n\n" + "".join(blocks) + _END.lstrip("\n") + tail
    return import_backend("lightgbm").Booster(model_str=text)


def _parse(text: str) -> tuple[dict[str, str], list[str], str]:
    """The text of a model in three parts: the fields, the text of each tree, and what follows.

    A line without a value is a field with the value "". Trees are without their titles.
    """
    start = text.find("\nTree=")
    end = text.find(_END)
    fields = {}
    for line in text[:start].rstrip("\n").split("\n"):
        name, _, value = line.partition("=")
        fields[name] = value
    trees = re.split(r"^Tree=[0-9]+\n", text[start + 1 : end + 1], flags=re.MULTILINE)[1:]
    # The importances that follow the trees are of this model only. LightGBM computes them again.
    _, title, parameters_of_model = text[end + len(_END) :].partition("\nparameters:")
    return fields, trees, title + parameters_of_model


def _scale(tree: str, divisor: float) -> str:
    """The text of a tree with its outputs divided by a number."""

    def divide(number: re.Match[str]) -> str:
        return repr(float(number.group()) / divisor)

    def divide_values(field: re.Match[str]) -> str:
        # White space is kept.
        values = re.sub(r"\S+", divide, field.group(2))
        return f"{field.group(1)}={values}"

    return _OUTPUTS.sub(divide_values, tree)
