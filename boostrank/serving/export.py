"""Export of a model to a search engine: names, missing values, the least score, and the proof on real rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from boostrank.backends.base import Backend
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, check_number, did_you_mean
from boostrank.inputs.files import write_atomically
from boostrank.inputs.frames import is_pandas
from boostrank.inputs.warnings import warn
from boostrank.serving.evaluators import FORMATS, evaluate
from boostrank.serving.forest import UNIT, Forest
from boostrank.serving.writers import SOLR_ZERO, WRITERS, Target

FilePath = str | os.PathLike[str]
#: How many times as large as all scores a shift may be.
MAX_SHIFT = 1000
# What the engine needs to know missing values; otherwise they count as 0, or go right at each split.
_NEEDED = {
    "elasticsearch": "a plugin of 2024 or newer",
    "opensearch": "a plugin of the middle of 2026 or newer",
    "solr": 'Solr 9.2 or newer, and features whose "defaultValue" is "NaN"',
}


def export_model(
    path: FilePath, library: Backend, booster: Any, engine: str, target: Target, shift: Any, absent: Any, X: Any
) -> None:
    """Write a booster as the document of a search engine; `X` are the features to check, or None.

    The other parameters are those of :meth:`boostrank.LightGBMRanker.export`.
    """
    if absent is not None:
        check_choice("absent", absent, ("missing", "zero"))
    if shift != "min":
        check_number("shift, if it is not 'min',", shift, optional=True)
    forest = Forest.of_booster(library, booster)
    if absent is None and forest.knows_missing and engine in _NEEDED:
        warn(
            f"this model was trained with missing values, and {engine} knows them only with {_NEEDED[engine]}. Give "
            "absent='missing' if it is so; give absent='zero' if absent features are to count as 0"
        )
    if absent == "zero" or (absent is None and not forest.knows_missing):
        forest = forest.with_missing_as_zero()
    constant = forest.least_shift() if shift == "min" else shift or 0.0
    if abs(constant) > MAX_SHIFT * forest.size > 0:
        raise ValueError(
            f"shift={shift:g} is more than {MAX_SHIFT:,} times the largest score, at most {forest.size:g}: sums in "
            "float32 would lose the differences of scores. Give shift='min'"
        )
    forest = forest.plus(constant)
    document = WRITERS[engine](forest, target)

    def predict(values: Floats) -> Floats:
        values = np.where(np.isnan(values), 0.0, values) if absent == "zero" else values
        return library.predict(booster, values) + constant

    tolerance = 4 * UNIT * forest.size * (1 + len(forest.trees) ** 0.5)
    # One row at least: what the engine would refuse is refused.
    X = np.zeros((1, len(target.features))) if X is None else X
    X = X.to_numpy(np.float64, na_value=np.nan) if is_pandas(X) else getattr(X, "toarray", lambda: np.asarray(X))()
    check_scores(engine, document, target.features, X, predict, tolerance)
    write_atomically(path, lambda temporary: Path(temporary).write_text(document, encoding="utf-8"))


def check_scores(
    engine: str, document: str, features: Sequence[str], X: Floats, predict: Callable[..., Floats], tolerance: float
) -> None:
    """Raise ValueError, with the cause, if an engine gives rows of `X` other scores than `predict`."""
    with np.errstate(over="ignore"):
        rounded = X.astype(np.float32)
    found, expected = evaluate(engine, document, dict(zip(features, rounded.T, strict=True))), predict(X)
    errors = np.abs(found - expected)
    differ = errors > tolerance
    if not differ.any():
        return
    i = int(np.argmax(errors))
    cause = "Please report this model as a fault of boostrank"
    if abs(found[i] - predict(rounded[[i]].astype(np.float64))[0]) <= tolerance:
        # Rows in which one value is rounded.
        j = int(np.argmax(np.abs(predict(np.where(np.eye(X.shape[1]) > 0, rounded[i], X[i])) - expected[i])))
        cause = f"The engine holds features in float32, which has no {X[i, j]} of {features[j]!r}: train on float32"
    elif np.isnan(X[i]).any():
        cause = "The model or the format knows no missing values: replace them in X as the engine does, or see absent"
    elif engine == "solr" and ((np.abs(X[i]) < SOLR_ZERO) & (X[i] != 0)).any():
        cause = f"Solr takes numbers from {-SOLR_ZERO:.2g} to 1e-35 for 0: replace them by 0, or multiply the feature"
    raise ValueError(
        f"{engine} would give {differ.sum()} of {len(X)} rows of check another score than the model: row {i} "
        f"{found[i]:.9g}, not {expected[i]:.9g}; float32 explains {tolerance:.1g}. {cause}"
    )


def make_target(
    path: FilePath, engine: str, known: Any, number: int, features: Any, name: str | None, store: str | None
) -> Target:
    """The names in the engine; `known` are those of the features in the model, or None, and `number` their number."""
    check_choice("format", engine, FORMATS)
    for argument, text, is_taken in (("name", name, engine != "vespa"), ("store", store, engine == "solr")):
        if text is not None and (not is_taken or not isinstance(text, str) or not text or "/" in text):
            expected = (
                "a text without '/', which separates parts of URLs" if is_taken else f"left out: {engine} takes none"
            )
            raise ValueError(f"{argument} must be {expected}; got {text!r}")
    own = [] if known is None else list(known)
    if isinstance(features, Mapping):
        for feature in features:
            if feature not in own:
                near = did_you_mean(feature, own) or "; the model knows " + (", ".join(map(str, own[:9])) or "no names")
                raise ValueError(f"features has {feature!r}, which is no feature of the model{near}")
        features = [features.get(feature, feature) for feature in own]
    names = list(own if features is None else features) if not isinstance(features, str) else [features]
    wrong = [text for i, text in enumerate(names) if not isinstance(text, str) or not text or text in names[:i]]
    if wrong or len(names) != number:
        given = f"these are not: {wrong[:5]}" if wrong else f"got {len(names)}" if names else "the model has none"
        raise ValueError(
            f"features must be {number} different names in the engine, in the sequence of the columns of X; {given}"
        )
    return Target(names, Path(path).stem if name is None else name, store)
