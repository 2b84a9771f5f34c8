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
from boostrank.inputs.warnings import warn
from boostrank.serving.evaluators import evaluate
from boostrank.serving.forest import Forest
from boostrank.serving.writers import FORMATS, SOLR_ZERO, Target

#: What a feature that a document does not have counts as.
ABSENT = ("missing", "zero")
#: Number of times that a shift may be larger than all scores.
MAX_SHIFT = 1000
# What the engine needs to know missing values; otherwise they count as 0, or go right at each split.
_NEEDED = {
    "elasticsearch": "the plugin 1.5.9 or newer",
    "opensearch": "the plugin of the middle of 2026 or newer",
    "solr": 'Solr 9.2 or newer, and features whose "defaultValue" is "NaN"',
}


def export_model(
    path: str | os.PathLike[str],
    library: Backend,
    booster: Any,
    engine: str,
    *,
    known: Sequence[str] | None,
    features: Any = None,
    name: str | None = None,
    store: str | None = None,
    shift: Any = None,
    absent: str | None = None,
    X: Floats | None = None,
) -> None:
    """Write a booster as the document of a search engine; `known` are the names of its features, if it has any.

    The other parameters are those of :meth:`boostrank.LightGBMRanker.export`, where `X` is called `check`: an array
    with NaN for missing values.
    """
    check_choice("engine", engine, FORMATS)
    if absent is not None:
        check_choice("absent", absent, ABSENT)
    target = _make_target(path, engine, _names(features, known, library.n_features(booster)), name, store)
    if shift is not None and shift != "min":
        check_number("shift", shift)
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
            f"shift={shift:g} is more than {MAX_SHIFT:,} times as large as all scores, which are at most {forest.size:g}: "
            "sums in float32 would lose their differences. Give shift='min'"
        )
    forest = forest.plus(constant)
    document = FORMATS[engine](forest, target)
    if X is None:
        # It refuses what the engine would refuse.
        evaluate(engine, document, {feature: [0.0] for feature in target.features})
    else:

        def predict(values: Floats) -> Floats:
            values = np.where(np.isnan(values), 0.0, values) if absent == "zero" else values
            return library.predict(booster, values) + constant

        check_scores(
            engine, document, target.features, X, predict, 4 * forest.rounding * (1 + len(forest.trees) ** 0.5)
        )
    write_atomically(path, lambda temporary: Path(temporary).write_text(document, encoding="utf-8"))


def check_scores(
    engine: str,
    document: str,
    features: Sequence[str],
    X: Floats,
    predict: Callable[[Floats], Floats],
    tolerance: float,
) -> None:
    """Raise ValueError, with the cause, if an engine gives rows of `X` other scores than `predict`."""
    with np.errstate(over="ignore"):
        rounded = X.astype(np.float32)
    found = evaluate(engine, document, {name: rounded[:, i] for i, name in enumerate(features)})
    expected = predict(X)
    differ = ~(np.abs(found - expected) <= tolerance)
    if not differ.any():
        return
    i = int(np.argmax(np.abs(found - expected)))
    if (np.abs(found - predict(rounded.astype(np.float64))) <= tolerance)[differ].all():
        # Rows in which one value is rounded.
        rows = np.where(np.eye(X.shape[1], dtype=bool), rounded[i], X[i])
        j = int(np.argmax(np.abs(predict(rows) - expected[i])))
        cause = (
            f"The engine holds features in float32, which has no {X[i, j]!r} of {features[j]!r}: train on "
            "X.astype(numpy.float32), or on smaller numbers such as differences"
        )
    elif np.isnan(X[differ]).any(axis=1).all():
        cause = (
            "These rows have missing values, which the model was not trained with or the format cannot express: "
            "replace them as the engine does, or see absent"
        )
    elif engine == "solr" and (np.abs(X[differ]) < SOLR_ZERO)[X[differ] != 0].any():
        cause = (
            f"Solr takes numbers between {-SOLR_ZERO:.2g} and 1e-35 for 0: replace them by 0, or multiply the feature"
        )
    else:
        cause = "Please report this model as a fault of boostrank"
    raise ValueError(
        f"{engine} would give {differ.sum()} of {len(X)} rows of check another score than the model: row {i} "
        f"{found[i]:.9g}, not {expected[i]:.9g}; float32 explains {tolerance:.1g}. {cause}"
    )


def _names(features: Any, known: Sequence[str] | None, number: int) -> list[str]:
    """The names of the features in the engine, by index."""
    if isinstance(features, Mapping):
        own = [] if known is None else list(known)
        for name in features:
            if name not in own:
                raise ValueError(
                    f"features has {name!r}, which is no feature of the model{did_you_mean(name, own)}; without names "
                    "in the model, give a sequence of names"
                )
        features = [features.get(name, name) for name in own]
    elif features is None:
        if known is None:
            raise ValueError(
                f"the model knows no names of its features: give features, {number} names in the engine, in the "
                "sequence of the columns of X, or train on a DataFrame"
            )
        features = list(known)
    names = list(features) if isinstance(features, (Sequence, np.ndarray)) and not isinstance(features, str) else []
    faults = [repr(name) for i, name in enumerate(names) if not isinstance(name, str) or not name or name in names[:i]]
    if len(names) != number or faults:
        reason = f"not these: {', '.join(faults[:5])}" if faults else f"got {len(names)} in {features!r:.200}"
        raise ValueError(
            f"features must be a sequence of {number} different names, in the sequence of the columns of X; {reason}"
        )
    return [str(name) for name in names]


def _make_target(
    path: str | os.PathLike[str], engine: str, features: list[str], name: str | None, store: str | None
) -> Target:
    """The names in the engine; that of the model is by default the name of the file without its ending."""
    if store is not None and engine != "solr":
        raise ValueError(f"store is the feature store of Solr; a model of {engine} does not name one: leave it out")
    if name is not None and engine == "vespa":
        raise ValueError(f"a model of Vespa has the name of its file; leave out name={name!r}")
    for argument, value in (("name", name), ("store", store)):
        if value is not None and (not isinstance(value, str) or not value or "/" in value):
            raise ValueError(
                f"{argument} must be a text that is not empty, without '/', which URLs contain; got {value!r}"
            )
    return Target(features, Path(path).stem if name is None else name, store)
