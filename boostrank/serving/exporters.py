"""Export of a model to a search engine, and the proof on rows that it gives the same scores."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, refuse
from boostrank.inputs.files import write_lines
from boostrank.inputs.table import Table, is_pandas
from boostrank.inputs.warnings import warn
from boostrank.serving.documents import SOLR_LARGEST, SOLR_ZERO, WRITERS, write_solr_wrapper
from boostrank.serving.evaluators import CHANGES, FORMATS, EngineModel, read_model, read_version
from boostrank.serving.forest import LARGEST, UNIT, ZERO, Forest, rows_at_splits
from boostrank.serving.requests import feature_names

if TYPE_CHECKING:
    from scipy import sparse

    from boostrank.rankers.model import TrainedModel

#: Types in files of skops with rankers and bags of rankers, as its argument `trusted` takes them.
TRUSTED_TYPES = [
    "boostrank.rankers.bagging.BaggedRanker",
    "boostrank.rankers.lightgbm.LightGBMRanker",
    "boostrank.rankers.xgboost.XGBoostRanker",
    "boostrank.training.features.ColumnCategories",
    "boostrank.training.query_features.QueryFeatures",
]
#: Bytes of a node of ZooKeeper, in which Solr keeps all models of a collection.
ZOOKEEPER_BYTES = 0xFFFFF
#: Bytes of compiled models that the plugins keep in memory, if the heap has ten times as much.
CACHE_BYTES = 10 * 2**20
#: Bytes of a compiled node of a tree in the plugins.
NODE_BYTES = 40
# How an engine of which the value of "absent" is this one reads documents without a value of a
# feature.
_READS_ABSENT = {
    "zero": "takes absent features for 0",
    "right": "sends absent features right at every split",
}
_FAULT = "Please report this model as a fault of boostrank"


def export(
    ranker: TrainedModel,
    path: str | os.PathLike[str],
    format: str,
    *,
    features: Iterable[str] | None = None,
    name: str | None = None,
    version: str | None = None,
    absent: str | None = None,
    shift: str | None = None,
    check: ArrayLike | sparse.spmatrix | None = None,
    store: str | None = None,
    resource: str | None = None,
) -> None:
    """Write the model of a ranker as Elasticsearch, OpenSearch, Solr or Vespa take it.

    The method `export` of rankers and bags calls this function. treelite reads the trees.

    The engine computes the scores of `predict`, up to the precision of float32: it holds features
    in float32, except Vespa, and, except Vespa and Elastic, adds up the leaves in float32.

    The file is only written if the document gives the scores of the model. This is computed as the
    engine does (see :func:`boostrank.serving.evaluate`) for rows next to each threshold of each
    tree, on both sides, for rows without the feature of each split and without all features, and
    for the rows of `check`.

    Parameters
    ----------
    ranker : LightGBMRanker, XGBoostRanker or BaggedRanker
        Fitted.
    path : path
        Where to write: the body of the request ``_createmodel`` of the plugins of Elasticsearch and
        OpenSearch, the body of the request that creates a trained model of Elastic, the body of a
        request to Solr's model store, or a file, which ends with ``.json``, of Vespa's folder
        ``models``.
    format : {"elasticsearch", "opensearch", "elastic", "solr", "vespa"}
        "elasticsearch" is the plugin; "elastic" is the learning to rank that Elasticsearch has
        itself.
    features : sequence of str, or mapping, optional
        Names of the features in the engine, in the sequence of the columns of X. The default is
        `feature_names_in_`. For Elastic, a mapping also gives the query that computes each of them;
        without it they get an example, a match of the parameter ``keywords`` in the field with the
        name of the feature.
    name : str, optional
        Name of the model in the engine; the default is that of the file, without its ending. Vespa
        has no other.
    version : str, optional
        Version of Elasticsearch, OpenSearch, Solr or Vespa, such as "3.5"; by default the newest,
        with a warning if others would give documents without a value other scores.
    absent : {"missing", "zero"}, optional
        What a feature that a document does not have counts as: a missing value, for which the
        splits have learned directions, or the value 0. By default a missing value if the training
        had any, otherwise 0; with a warning if `version` counts it as something else, or if a model
        of XGBoost does not show whether the training had any.
    shift : "min", optional
        Add the least number to all scores that makes none negative, as Lucene wants: the least sum
        of leaves, one of each tree, becomes 0, or more by the rounding of float32. Elastic does it
        itself from 8.19 on.
    check : array-like, sparse matrix or DataFrame, shape (n_documents, n_features), optional
        Features, as of `predict`, on which scores are compared too; if the model has no names, a
        DataFrame may have those of `features`. Where `absent` is "zero", scores of the model are
        those of 0 in place of missing values.
    store : str, optional
        Name of Solr's feature store.
    resource : str, optional
        Path by which Solr finds the file, if it is too large for ZooKeeper: the body for the model
        store is written beside it, with the ending ``.wrapper.json``, and names this path.

    Raises
    ------
    ImportError
        If treelite is not installed: ``pip install boostrank[serve]``.
    ValueError
        For names that the engine does not take, and models that it cannot represent: with
        `query_features`, with categorical splits, with linear trees, with LightGBM's
        `zero_as_missing` or XGBoost's `missing`, with trees of more than 300 levels; if `version`
        cannot follow `absent`; and if a score differs. Then there is no file, or the old one.

    Warns
    -----
    UserWarning
        If it is not certain what absent features count as, and if the model is near a limit of the
        engine.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
    >>> ranker = br.LightGBMRanker(n_estimators=5).fit(X.astype(np.float32), y, qid)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "shop.json")
    >>> br.serving.export(
    ...     ranker, path, "elasticsearch", features=[f"feature_{i}" for i in range(10)], check=X
    ... )
    >>> document = json.loads(path.read_text())
    >>> document["model"]["name"], document["model"]["model"]["type"]
    ('shop', 'model/xgboost+json')
    >>> folder.cleanup()
    """
    check_is_fitted(ranker, "booster_")
    check_choice("format", format, FORMATS)
    if ranker.query_features_ is not None:
        raise ValueError(
            f"a ranker with query_features cannot be exported to {format}: its features are "
            "relative to all documents of a query, and the engine scores each document alone. "
            "Train it with query_features=None"
        )
    reading = read_version(format, version)
    names = feature_names("features", ranker if features is None else features, format)
    if len(names) != ranker.n_features_in_:
        refuse("features", names, f"{ranker.n_features_in_} names, one of each column of X")
    _check_texts(format, name=name, store=store, resource=resource)
    if format == "vespa" and Path(path).suffix != ".json":
        expected = "a path that ends with .json, the only models that Vespa reads as XGBoost's"
        refuse("path", str(path), expected)
    X = _rows_of_check(ranker, check, names)
    if absent is not None:
        check_choice("absent", absent, ("missing", "zero"))
    if shift is not None:
        check_choice("shift", shift, ("min",))
    library = ranker._library
    booster = ranker.booster_
    forest, follows_absent = _with_absent(
        Forest.of_booster(library, booster), absent, format, version
    )
    constant = 0.0 if shift is None else forest.least_shift()
    forest = forest.plus(constant)
    title = name or Path(path).stem
    options: dict[str, Any] = {}
    if format == "solr":
        options["store"] = store
    elif format == "elastic":
        options["queries"] = features if isinstance(features, Mapping) else {}
        options["has_field_names"] = reading["field_names"] == "needed"
    document = WRITERS[format](forest, names, title, **options)
    model = read_model(format, document, version)
    # What Elastic adds itself.
    added = 0.0
    if reading.get("negative") == "shifted":
        added = max(added, -forest.lowest)

    def predict(values: Floats) -> Floats:
        values = np.where(np.isnan(values) & (absent == "zero"), 0.0, values)
        return library.predict(booster, values) + constant + added

    tolerance = _tolerance(forest.size + added, len(forest.trees))
    _check_scores(format, model, names, X, predict, tolerance)
    _check_splits(format, model, names, forest, follows_absent, ranker, constant)
    if resource is not None:
        wrapper = write_solr_wrapper(title, store, resource)
        write_lines(Path(path).with_suffix(".wrapper.json"), [wrapper])
    write_lines(path, [document])
    _warn_of_size(format, document, forest, resource)


def _rows_of_check(ranker: TrainedModel, check: Any, names: Sequence[str]) -> Floats:
    """The features of the argument `check` as an array; without it a row of zeros."""
    if check is None:
        # One row at least: what the engine would refuse is refused.
        return np.zeros((1, len(names)))
    table = Table(check)
    has_names = hasattr(ranker, "feature_names_in_")
    frame: Any = table.values
    if is_pandas(frame) and not has_names and set(names) <= set(frame):
        table = Table(frame[names].to_numpy(np.float64, na_value=np.nan))
    X: Any = ranker._checked_features(table)
    if is_pandas(X):
        return X.to_numpy(np.float64, na_value=np.nan)
    if hasattr(X, "toarray"):
        return X.toarray()
    return np.asarray(X)


def _check_texts(engine: str, **texts: str | None) -> None:
    """Check the names of the model, of Solr's feature store, and of its file."""
    for argument, text in texts.items():
        is_taken = engine == "solr" or (argument == "name" and engine != "vespa")
        is_name = isinstance(text, str) and text and (argument == "resource" or "/" not in text)
        if text is None or (is_taken and is_name):
            continue
        if not is_taken:
            refuse(argument, text, f"left out: {engine} takes none")
        refuse(argument, text, "a text without '/', which separates parts of URLs")


def _with_absent(
    forest: Forest, absent: str | None, engine: str, version: str | None
) -> tuple[Forest, bool]:
    """The trees with the directions for absent features, and whether the engine follows them.

    Raises
    ------
    ValueError
        If this version of the engine does not follow `absent`.
    """
    reads = read_version(engine, version)["absent"]
    is_zero = absent == "zero"
    if absent is None:
        is_zero = not forest.knows_missing or reads == "zero"
    wanted = forest.with_missing_as_zero() if is_zero else forest
    follows = {
        "node": True,
        "zero": wanted.treats_missing_as_zero,
        "right": not any(split.default_left for split in wanted.splits),
    }
    changes = [
        change for change in CHANGES if change.engine == engine and change.aspect == "absent"
    ]
    spans = [(version, reads)]
    if version is None:
        spans = [
            (f"{change.since} to before {later.since}", change.value)
            for change, later in pairwise(changes)
        ]
    # The missing values of the training count as 0 if the engine knows nothing else.
    is_lost = absent is None and reads == "zero" and forest.knows_missing
    others = [
        f"{versions} {_READS_ABSENT[value]}"
        for versions, value in spans
        if is_lost or not follows[value]
    ]
    if others:
        meaning = "0" if is_zero and not is_lost else "missing values"
        newer = f"{changes[-1].since} or newer"
        if engine == "solr":
            newer += ', with "defaultValue": "NaN" in its features'
        text = (
            f"{engine} {' and '.join(others)}, but this model takes them for {meaning}. Use "
            f"{newer}, or give every document a value of every feature"
        )
        if absent is not None and version is not None:
            refuse("absent", absent, "left out", f": {text}")
        if absent is None and version is not None:
            warn(text)
        elif absent is None:
            warn(f"{text}. Give version if it is known, or absent to choose")
    elif absent is None and forest.knows_missing is None and reads != "zero":
        warn(
            "the model does not show whether its training had missing values, and absent features "
            "count as 0: give absent='missing' if it had some, and absent='zero' otherwise"
        )
    return wanted, follows[reads]


def _tolerance(size: float, n_trees: int) -> float:
    """The largest difference of scores that float32 explains; `size` is that of the forest."""
    return 4 * UNIT * size * (1 + n_trees**0.5)


def _check_splits(
    engine: str,
    model: EngineModel,
    names: Sequence[str],
    forest: Forest,
    follows: bool,
    ranker: TrainedModel,
    constant: float,
) -> None:
    """Raise ValueError if a round gives rows at its splits other outputs than that of the ranker.

    The constant is a part of the first tree. An engine that does not follow directions gets no
    absent values.
    """
    library = ranker._library
    booster = ranker.booster_
    is_zero = forest.treats_missing_as_zero
    n_rounds = library.n_rounds(booster)
    base_score = library.base_score(booster)
    n_trees = len(forest.trees)
    for i in range(n_rounds):
        numbers = range(i * n_trees // n_rounds, (i + 1) * n_trees // n_rounds)
        trees = [forest.trees[number] for number in numbers]
        X = np.concatenate([rows_at_splits(tree, len(names)) for tree in trees])
        is_left_out = np.isnan(X) & (not follows)
        if engine == "solr":
            # Solr takes numbers around 0 for 0.
            is_left_out |= (X > -SOLR_ZERO) & (X <= ZERO) & (X != 0)
        X = X[~is_left_out.any(axis=1)]
        columns = model.columns(dict(zip(names, X.T, strict=True)))
        outputs: Floats = np.sum(
            [model.outputs(model.trees[number], columns) for number in numbers], axis=0
        )
        expected = library.predict(booster, np.where(np.isnan(X) & is_zero, 0, X), range(i, i + 1))
        expected += constant if i == 0 else -base_score
        size = forest._replace(trees=trees).size + abs(base_score)
        errors = np.abs(outputs - expected)
        if not (errors <= _tolerance(size, len(trees))).all():
            row = int(np.argmax(errors))
            values = {
                name: float(value) for name, value in zip(names, X[row], strict=True) if value != 0
            }
            raise ValueError(
                f"{engine} would give round {i} of the model {outputs[row]:.9g}, not "
                f"{expected[row]:.9g}, for a document with 0 and {values}. {_FAULT}"
            )


def _check_scores(
    engine: str,
    model: EngineModel,
    names: Sequence[str],
    X: Floats,
    predict: Callable[[Floats], Floats],
    tolerance: float,
) -> None:
    """Raise ValueError, with the cause, if an engine gives rows of `X` other scores."""

    def compare(rows: Floats) -> tuple[Floats, Floats, Floats]:
        scores = model.scores(dict(zip(names, rows.T, strict=True)))
        expected = predict(rows)
        return scores, expected, np.abs(scores - expected)

    scores, expected, errors = compare(X)
    differ = ~(errors <= tolerance)
    if not differ.any():
        return
    i = int(np.argmax(np.where(differ, errors, -1)))
    row = X[i]
    cause = _FAULT
    for fault, repaired in _possible_faults(engine, row).items():
        # Rows in which one value is another one, and one in which all are.
        changed_once = np.where(np.eye(len(row)) > 0, repaired, row)
        _, _, errors = compare(np.vstack([changed_once, repaired]))
        if errors.min() <= tolerance:
            j = int(np.argmin(errors[:-1]))
            cause = f"{engine.capitalize()} {fault.format(row[j], names[j])}"
            break
    raise ValueError(
        f"{engine} would give {differ.sum()} of {len(X)} rows of check another score than the "
        f"model: row {i} {scores[i]:.9g}, not {expected[i]:.9g}; float32 explains {tolerance:.1g}. "
        f"{cause}"
    )


def _possible_faults(engine: str, row: Floats) -> dict[str, Floats]:
    """Possible faults of the values of a row, each with the row that has other values for them.

    The engine and the model agree about the other row if that is the fault.
    """
    number = "thresholds" if engine == "vespa" else "features"
    with np.errstate(over="ignore"):
        rounded = row.astype(np.float32).astype(np.float64)
    largest = float(np.nextafter(np.float32(LARGEST), np.float32(0)))
    without_small = row
    if engine == "solr":
        largest = SOLR_LARGEST
        without_small = np.where(np.abs(row) < SOLR_ZERO, 0, row)
    return {
        f"holds {number} in float32, which has no {{}} of {{!r}}: train on float32, and check "
        "on it": rounded,
        "takes {} of {!r} for infinity: use smaller numbers": np.clip(row, -largest, largest),
        f"takes numbers from {-SOLR_ZERO:.2g} to 1e-35 for 0, such as {{}} of {{!r}}: replace "
        "them by 0": without_small,
        "or the model knows no missing values: {} of {!r}; see absent": np.where(
            np.isnan(row), 0, row
        ),
    }


def _warn_of_size(engine: str, document: str, forest: Forest, resource: str | None) -> None:
    """Warn of a model that takes more than half of a limit, because engines keep others beside it.

    Such another one is the next model.
    """
    compiled = NODE_BYTES * sum(map(len, forest.trees))
    if engine == "solr" and resource is None and len(document) > ZOOKEEPER_BYTES / 2:
        warn(
            f"the model has {len(document):,} bytes, and SolrCloud keeps all models of a "
            f"collection in a node of ZooKeeper of at most {ZOOKEEPER_BYTES:,} (jute.maxbuffer): "
            "give resource, a file on the nodes of Solr"
        )
    if engine in ("elasticsearch", "opensearch") and compiled > CACHE_BYTES / 2:
        warn(
            f"the compiled model takes about {compiled:,} bytes, and the plugin keeps at most "
            f"{CACHE_BYTES:,}, or a tenth of the heap (ltr.caches.max_mem): models that do not fit "
            "are compiled for each query"
        )
