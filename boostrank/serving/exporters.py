"""Export of a model to a search engine: names, missing values, the least score, the document, and a proof on real rows.

The functions that write documents take the forest; the names of its features in the engine, by their index in the
model; the name of the model; and the name of Solr's feature store, or None.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, refuse, warn
from boostrank.inputs.files import write_lines
from boostrank.inputs.frames import is_pandas
from boostrank.serving.evaluators import FORMATS, SOLR, evaluate
from boostrank.serving.forest import LARGEST, UNIT, ZERO, Forest, Split, Tree

#: Types in files of skops with rankers and bags of rankers, as its argument `trusted` takes them.
TRUSTED_TYPES = [
    "boostrank.rankers.bagging.BaggedRanker",
    "boostrank.rankers.lightgbm.LightGBMRanker",
    "boostrank.rankers.xgboost.XGBoostRanker",
    "boostrank.training.features.ColumnCategories",
    "boostrank.training.losses.LossEnsemble",
    "boostrank.training.query_features.QueryFeatures",
]
#: What Solr adds to each threshold when it reads a model, in float32.
SOLR_SLACK = np.float32(1e-6)
#: The distance of 0 to the next numbers that thresholds with this slack can have, if there is no normalizer.
SOLR_ZERO = 2.0**-43
# The largest numbers on the left of thresholds that separate 0 from other numbers.
_AROUND_ZERO = np.array([np.nextafter(np.float32(-ZERO), np.float32(-1)), -1e-45, 0, ZERO], dtype=np.float32)
# What the engine needs to know missing values; otherwise they count as 0, or go right at each split.
_NEEDED = {
    "elasticsearch": "a plugin of 2024 or newer",
    "opensearch": "a plugin of the middle of 2026 or newer",
    "solr": 'Solr 9.2 or newer, and features whose "defaultValue" is "NaN"',
}


def export(
    ranker: Any,
    path: str | os.PathLike[str],
    format: str,  # noqa: A002
    *,
    features: Any = None,
    name: str | None = None,
    store: str | None = None,
    shift: str | None = None,
    absent: str | None = None,
    check: Any = None,
) -> None:
    """Write the model of a ranker as Elasticsearch, OpenSearch, Solr or Vespa take it; treelite reads its trees.

    The method `export` of rankers and bags calls this function.

    The engine computes the scores of `predict`, up to the precision of float32: it holds features in float32 and,
    except Vespa, adds up the leaves in float32.

    Parameters
    ----------
    ranker : LightGBMRanker, XGBoostRanker or BaggedRanker
        Fitted.
    path : path
        Where to write: the body of the request ``_createmodel`` of the plugins of Elasticsearch and OpenSearch, the
        body of a request to Solr's model store, or a file, which ends with ``.json``, of Vespa's folder ``models``.
    format : {"elasticsearch", "opensearch", "solr", "vespa"}
    features : sequence of str, optional
        Names of the features in the engine, in the sequence of the columns of X. The default is `feature_names_in_`.
    name : str, optional
        Name of the model in the engine; the default is that of the file, without its ending. Vespa has no other.
    store : str, optional
        Name of Solr's feature store.
    shift : "min", optional
        Add the least number to all scores that makes none negative, as Lucene wants: the least sum of leaves, one of
        each tree, becomes 0, or more by the rounding of float32.
    absent : {"missing", "zero"}, optional
        What a feature that a document does not have counts as: a missing value, for which the splits have learned
        directions, or the value 0. By default a missing value if the training had any, with a warning about
        versions of the engine that do not know them, otherwise 0. XGBoost's models show whether the training had
        missing values only if these went left at some split, and right at others.
    check : array-like, sparse matrix or DataFrame, shape (n_documents, n_features), optional
        Features, as of `predict`. The file is only written if the scores that the engine computes from it (see
        :func:`boostrank.serving.evaluate`) are those of the model on these rows; where `absent` is "zero", those of
        0 in place of missing values. Rows whose scores differ by more than the rounding have the same ranking.

    Raises
    ------
    ImportError
        If treelite is not installed: ``pip install boostrank[serve]``.
    ValueError
        For names that the engine does not take, and models that it cannot represent: with categorical splits, with
        linear trees, with LightGBM's `zero_as_missing` or XGBoost's `missing`, with trees of more than 300 levels;
        and if a score of `check` differs. Then there is no file, or the old one.

    Warns
    -----
    UserWarning
        For a model that was trained with missing values, unless `absent` is given.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=5).fit(X.astype(np.float32), y, qid)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "shop.json")
    >>> br.serving.export(ranker, path, "elasticsearch", features=[f"feature_{i}" for i in range(10)], check=X)
    >>> document = json.loads(path.read_text())
    >>> document["model"]["name"], document["model"]["model"]["type"]
    ('shop', 'model/xgboost+json')
    >>> folder.cleanup()
    """
    check_is_fitted(ranker, "booster_")
    library, booster = ranker._library, ranker.booster_
    # One row at least: what the engine would refuse is refused.
    X: Any = np.zeros((1, ranker.n_features_in_)) if check is None else ranker._checked_features(check)
    X = X.to_numpy(np.float64, na_value=np.nan) if is_pandas(X) else getattr(X, "toarray", lambda: np.asarray(X))()
    check_choice("format", format, FORMATS)
    _check_texts(format, name, store)
    names = _names_in_engine(getattr(ranker, "feature_names_in_", ()) if features is None else features, X.shape[1])
    if absent is not None:
        check_choice("absent", absent, ("missing", "zero"))
    if shift is not None:
        check_choice("shift", shift, ("min",))
    forest = Forest.of_booster(library, booster)
    if absent is None and forest.knows_missing and format in _NEEDED:
        warn(
            f"this model was trained with missing values, and {format} knows them only with {_NEEDED[format]}. Give "
            "absent='missing' if it is so; give absent='zero' if absent features are to count as 0"
        )
    if absent == "zero" or (absent is None and not forest.knows_missing):
        forest = forest.with_missing_as_zero()
    constant = 0.0 if shift is None else forest.least_shift()
    forest = forest.plus(constant)
    document = WRITERS[format](forest, names, Path(path).stem if name is None else name, store)

    def predict(values: Floats) -> Floats:
        values = np.where(np.isnan(values), 0.0, values) if absent == "zero" else values
        return library.predict(booster, values) + constant

    tolerance = 4 * UNIT * forest.size * (1 + len(forest.trees) ** 0.5)
    _check_scores(format, document, names, X, predict, tolerance)
    write_lines(path, [document])


def _check_texts(engine: str, name: str | None, store: str | None) -> None:
    """Check the names of the model and of Solr's feature store."""
    for argument, text, is_taken in (("name", name, engine != "vespa"), ("store", store, engine == "solr")):
        if text is not None and (not is_taken or not isinstance(text, str) or not text or "/" in text):
            rule = "a text without '/', which separates parts of URLs" if is_taken else f"left out: {engine} takes none"
            refuse(argument, text, rule)


def _names_in_engine(features: Any, n_features: int) -> list[str]:
    """Check the names of the features in the engine, which are empty if neither the user nor the model has any."""
    names = [features] if isinstance(features, str) else list(features)
    wrong = [text for i, text in enumerate(names) if not isinstance(text, str) or not text or text in names[:i]]
    if wrong or len(names) != n_features:
        fault = f"these are not: {wrong[:5]}" if wrong else f"got {len(names)}" if names else "the model has none"
        raise ValueError(
            f"features must be {n_features} different names in the engine, in the sequence of the columns of X; {fault}"
        )
    return names


def _check_scores(engine: str, document: str, names: list[str], X: Floats, predict: Callable, tolerance: float) -> None:
    """Raise ValueError, with the cause, if an engine gives rows of `X` other scores than `predict`."""
    with np.errstate(over="ignore"):
        rounded = X.astype(np.float32)
    scores, expected = evaluate(engine, document, dict(zip(names, rounded.T, strict=True))), predict(X)
    errors = np.abs(scores - expected)
    differ = errors > tolerance
    if not differ.any():
        return
    i = int(np.argmax(errors))
    cause = "Please report this model as a fault of boostrank"
    if abs(scores[i] - predict(rounded[[i]].astype(np.float64))[0]) <= tolerance:
        # Rows in which one value is rounded.
        j = int(np.argmax(np.abs(predict(np.where(np.eye(X.shape[1]) > 0, rounded[i], X[i])) - expected[i])))
        cause = f"The engine holds features in float32, which has no {X[i, j]} of {names[j]!r}: train on float32"
    elif np.isnan(X[i]).any():
        cause = "The model or the format knows no missing values: replace them in X as the engine does, or see absent"
    elif engine == "solr" and ((np.abs(X[i]) < SOLR_ZERO) & (X[i] != 0)).any():
        cause = f"Solr takes numbers from {-SOLR_ZERO:.2g} to 1e-35 for 0: replace them by 0, or multiply the feature"
    raise ValueError(
        f"{engine} would give {differ.sum()} of {len(X)} rows of check another score than the model: row {i} "
        f"{scores[i]:.9g}, not {expected[i]:.9g}; float32 explains {tolerance:.1g}. {cause}"
    )


def write_plugin(forest: Forest, features: Sequence[str], name: str, store: str | None = None) -> str:
    """The body of the request that creates a model in the plugins of Elasticsearch and OpenSearch.

    The trees are in the format of XGBoost's dumps, but have only the fields that the plugins take.
    """
    trees = _xgboost_trees(forest, features, lambda value: float(np.float32(value)))
    return json.dumps({"model": {"name": name, "model": {"type": "model/xgboost+json", "definition": trees}}})


def write_vespa(forest: Forest, features: Sequence[str], name: str, store: str | None = None) -> str:
    """The file of an XGBoost model in an application package of Vespa, which adds up leaves in float64."""
    return json.dumps(_xgboost_trees(forest, features, float))


def write_solr(forest: Forest, features: Sequence[str], name: str, store: str | None = None) -> str:
    """The model of the class MultipleAdditiveTreesModel for Solr's model store; all its numbers are texts.

    Solr compares with ``<=``, and adds 1e-6 to each threshold in float32. If a threshold cannot be hit so, its feature
    gets a normalizer that multiplies it by a power of two, which is exact, such that all can.

    Raises
    ------
    ValueError
        If there is no such power of two.
    """
    inputs, texts = [], dict[tuple[int, float], str]()
    # A model must have a feature, also if it has no split.
    for i in sorted({split.feature for split in forest.splits}) or [0]:
        thresholds = sorted({split.threshold for split in forest.splits if split.feature == i})
        power, numbers = _solr_numbers(np.array(thresholds), features[i])
        texts.update(zip([(i, threshold) for threshold in thresholds], numbers, strict=True))
        norm = {"class": f"{SOLR}.norm.StandardNormalizer", "params": {"avg": "0.0", "std": str(2.0**-power)}}
        inputs.append({"name": features[i]} | ({"norm": norm} if power else {}))
    has_directions = not forest.treats_missing_as_zero

    def nested(tree: Tree, i: int) -> dict[str, Any]:
        node = tree[i]
        if not isinstance(node, Split):
            return {"value": str(float(np.float32(node)))}
        split: dict[str, Any] = {"feature": features[node.feature], "threshold": texts[node.feature, node.threshold]}
        split |= {"missing": "left" if node.default_left else "right"} if has_directions else {}
        return {**split, "left": nested(tree, node.left), "right": nested(tree, node.right)}

    trees = [{"weight": "1", "root": nested(tree, 0)} for tree in forest.trees]
    document = {"class": f"{SOLR}.model.MultipleAdditiveTreesModel", "name": name}
    document |= {} if store is None else {"store": store}
    params = {"isNullSameAsZero": False, "trees": trees} if has_directions else {"trees": trees}
    return json.dumps({**document, "features": inputs, "params": params})


#: The functions that write documents, by format.
WRITERS = {"elasticsearch": write_plugin, "opensearch": write_plugin, "solr": write_solr, "vespa": write_vespa}


def _xgboost_trees(forest: Forest, features: Sequence[str], as_number: Callable[[float], float]) -> list[Any]:
    """The trees as nested nodes; numbers of float32 have the digits of float64, so that all parsers read the same."""

    def nested(tree: Tree, i: int, depth: int) -> dict[str, Any]:
        node, fields = tree[i], {"nodeid": i, "depth": depth}
        if not isinstance(node, Split):
            return fields | {"leaf": as_number(node)}
        yes, no = node.left, node.right
        split = {"split": features[node.feature], "split_condition": node.threshold, "yes": yes, "no": no}
        children = [nested(tree, child, depth + 1) for child in (yes, no)]
        return fields | split | {"missing": yes if node.default_left else no, "children": children}

    return [nested(tree, 0, 0) for tree in forest.trees]


def _solr_numbers(thresholds: Floats, feature: str) -> tuple[int, list[str]]:
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
        nearest = np.where(is_infinite, LARGEST, tried[reached.argmax(axis=0), np.arange(len(limits))])
        if (is_near | (reached.max(axis=0) == scaled)).all():
            return power, [repr(number) for number in nearest.tolist()]
    raise ValueError(
        f"Solr adds 1e-6 to thresholds, which changes those of {feature!r}, from {sizes.min():g} to {sizes.max():g}: "
        "multiply this feature by a large number before fit and in Solr, or take its logarithm"
    )
