"""Export of a model to a search engine: names, missing values, the least score, the document, and
its proof on rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, refuse, warn
from boostrank.inputs.files import write_lines
from boostrank.inputs.frames import is_pandas, to_pandas
from boostrank.serving.documents import SOLR_LARGEST, SOLR_ZERO, WRITERS, write_solr_wrapper
from boostrank.serving.evaluators import CHANGES, FORMATS, EngineModel, read_model, read_version
from boostrank.serving.forest import LARGEST, UNIT, ZERO, Forest, rows_at_splits
from boostrank.serving.requests import feature_names

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
    ranker: Any,
    path: str | os.PathLike[str],
    format: str,
    *,
    features: Any = None,
    name: str | None = None,
    version: str | None = None,
    absent: str | None = None,
    shift: str | None = None,
    check: Any = None,
    store: str | None = None,
    resource: str | None = None,
) -> None:
    """Write the model of a ranker as Elasticsearch, OpenSearch, Solr or Vespa take it; treelite
    reads its trees.

    The method `export` of rankers and bags calls this function.

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
    library, booster = ranker._library, ranker.booster_
    check_choice("format", format, FORMATS)
    if ranker.query_features_ is not None:
        raise ValueError(
            f"a ranker with query_features cannot be exported to {format}: its features are "
            f"relative to all documents "
            "of a query, and the engine scores each document alone. Train it with "
            "query_features=None"
        )
    reading = read_version(format, version)
    names = feature_names("features", ranker if features is None else features, format)
    if len(names) != ranker.n_features_in_:
        refuse("features", names, f"{ranker.n_features_in_} names, one of each column of X")
    _check_texts(format, name=name, store=store, resource=resource)
    if format == "vespa" and Path(path).suffix != ".json":
        refuse(
            "path",
            str(path),
            "a path that ends with .json, the only models that Vespa reads as XGBoost's",
        )
    if (
        is_pandas(check := to_pandas(check))
        and not hasattr(ranker, "feature_names_in_")
        and set(names) <= set(check)
    ):
        check = check[names].to_numpy(np.float64, na_value=np.nan)
    # One row at least: what the engine would refuse is refused.
    X: Any = np.zeros((1, len(names))) if check is None else ranker._checked_features(check)
    X = (
        X.to_numpy(np.float64, na_value=np.nan)
        if is_pandas(X)
        else getattr(X, "toarray", lambda: np.asarray(X))()
    )
    check_choice("absent", "zero" if absent is None else absent, ("missing", "zero"))
    check_choice("shift", "min" if shift is None else shift, ("min",))
    forest, follows_absent = _with_absent(
        Forest.of_booster(library, booster), absent, format, version
    )
    constant = 0.0 if shift is None else forest.least_shift()
    forest = forest.plus(constant)
    title, queries = (
        Path(path).stem if name is None else name,
        features if isinstance(features, Mapping) else {},
    )
    of_elastic = {"queries": queries, "has_field_names": reading.get("field_names") == "needed"}
    options: Any = {"solr": {"store": store}, "elastic": of_elastic}.get(format, {})
    document = WRITERS[format](forest, names, title, **options)
    model = read_model(format, document, version)
    # What Elastic adds itself.
    added = max(0.0, -forest.lowest) if reading.get("negative") == "shifted" else 0.0

    def predict(values: Floats) -> Floats:
        values = np.where(np.isnan(values) & (absent == "zero"), 0.0, values)
        return library.predict(booster, values) + constant + added

    tolerance = 4 * UNIT * (forest.size + added) * (1 + len(forest.trees) ** 0.5)
    _check_scores(format, model, names, X, predict, tolerance)
    _check_splits(format, model, names, forest, follows_absent, ranker, constant)
    if resource is not None:
        write_lines(
            Path(path).with_suffix(".wrapper.json"), [write_solr_wrapper(title, store, resource)]
        )
    write_lines(path, [document])
    _warn_of_size(format, document, forest, resource)


def _check_texts(engine: str, **texts: str | None) -> None:
    """Check the names of the model, of Solr's feature store, and of its file."""
    for argument, text in texts.items():
        is_taken = engine != "vespa" if argument == "name" else engine == "solr"
        is_name = isinstance(text, str) and text and (argument == "resource" or "/" not in text)
        if text is not None and not (is_taken and is_name):
            rule = (
                "a text without '/', which separates parts of URLs"
                if is_taken
                else f"left out: {engine} takes none"
            )
            refuse(argument, text, rule)


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
    is_zero = absent == "zero" or (absent is None and (not forest.knows_missing or reads == "zero"))
    wanted = forest.with_missing_as_zero() if is_zero else forest
    goes_right = not any(split.default_left for split in wanted.splits)
    follows = {"node": True, "zero": wanted.treats_missing_as_zero, "right": goes_right}
    changes = [
        change for change in CHANGES if change.engine == engine and change.aspect == "absent"
    ]
    spans = [
        (f"{change.since} to before {later.since}", change.value)
        for change, later in pairwise(changes)
    ]
    # The missing values of the training count as 0 if the engine knows nothing else.
    is_lost = absent is None and reads == "zero" and forest.knows_missing
    others = [
        f"{versions} {_READS_ABSENT[value]}"
        for versions, value in (spans if version is None else [(version, reads)])
        if not follows[value] or is_lost
    ]
    meaning = "0" if is_zero and not is_lost else "missing values"
    defaults = ', with "defaultValue": "NaN" in its features' if engine == "solr" else ""
    text = (
        f"{engine} {' and '.join(others)}, but this model takes them for {meaning}. Use "
        f"{changes[-1].since} or newer{defaults}, or give every document a value of every feature"
    )
    if absent is None and others:
        warn(text if version else f"{text}. Give version if it is known, or absent to choose")
    elif absent is None and forest.knows_missing is None and reads != "zero":
        warn(
            "the model does not show whether its training had missing values, and absent features "
            "count as 0: give absent='missing' if it had some, and absent='zero' otherwise"
        )
    elif version is not None and others:
        refuse("absent", absent, "left out", f": {text}")
    return wanted, follows[reads]


def _check_splits(
    engine: str,
    model: EngineModel,
    names: Sequence[str],
    forest: Forest,
    follows: bool,
    ranker: Any,
    constant: float,
) -> None:
    """Raise ValueError if the trees of a round give rows at their splits other outputs than the
    round of the ranker.

    The constant is a part of the first tree. An engine that does not follow directions gets no
    absent values.
    """
    library, booster, is_zero = ranker._library, ranker.booster_, forest.treats_missing_as_zero
    n_rounds, base_score = library.n_rounds(booster), library.base_score(booster)
    for i in range(n_rounds):
        trees = range(i * len(forest.trees) // n_rounds, (i + 1) * len(forest.trees) // n_rounds)
        X = np.concatenate([rows_at_splits(forest.trees[number], len(names)) for number in trees])
        # Solr takes numbers around 0 for 0.
        is_near = (X > -SOLR_ZERO) & (X <= ZERO) & (X != 0) & (engine == "solr")
        X = X[~(is_near | (np.isnan(X) & (not follows))).any(axis=1)]
        columns = model.columns(dict(zip(names, X.T, strict=True)))
        outputs: Floats = np.sum(
            [model.outputs(model.trees[number], columns) for number in trees], axis=0
        )
        expected = library.predict(booster, np.where(np.isnan(X) & is_zero, 0, X), range(i, i + 1))
        expected += constant if i == 0 else -base_score
        size = forest._replace(trees=[forest.trees[number] for number in trees]).size + abs(
            base_score
        )
        errors = np.abs(outputs - expected)
        if not (errors <= 4 * UNIT * size * (1 + len(trees) ** 0.5)).all():
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
    predict: Callable,
    tolerance: float,
) -> None:
    """Raise ValueError, with the cause, if an engine gives rows of `X` other scores than
    `predict`.
    """

    def compare(rows: Floats) -> tuple[Floats, Floats, Floats]:
        scores, expected = model.scores(dict(zip(names, rows.T, strict=True))), predict(rows)
        return scores, expected, np.abs(scores - expected)

    scores, expected, errors = compare(X)
    if not (differ := ~(errors <= tolerance)).any():
        return
    i = int(np.argmax(np.where(differ, errors, -1)))
    row, cause, number = X[i], _FAULT, "thresholds" if engine == "vespa" else "features"
    largest = (
        SOLR_LARGEST
        if engine == "solr"
        else float(np.nextafter(np.float32(LARGEST), np.float32(0)))
    )
    with np.errstate(over="ignore"):
        rounded = row.astype(np.float32).astype(np.float64)
    as_zero = f"takes numbers from {-SOLR_ZERO:.2g} to 1e-35 for 0, such as {{}} of {{!r}}: replace them by 0"
    # What a value may be, and the row with other values, for which the engine and the model agree
    # if it is so.
    for fault, repaired in (
        (
            f"holds {number} in float32, which has no {{}} of {{!r}}: train on float32, and check "
            f"on it",
            rounded,
        ),
        ("takes {} of {!r} for infinity: use smaller numbers", np.clip(row, -largest, largest)),
        (as_zero, np.where((np.abs(row) < SOLR_ZERO) & (engine == "solr"), 0, row)),
        (
            "or the model knows no missing values: {} of {!r}; see absent",
            np.where(np.isnan(row), 0, row),
        ),
    ):
        # Rows in which one value is another one, and one in which all are.
        errors = compare(np.vstack([np.where(np.eye(len(row)) > 0, repaired, row), repaired]))[2]
        if errors.min() <= tolerance:
            j = int(np.argmin(errors[:-1]))
            cause = f"{engine.capitalize()} {fault.format(row[j], names[j])}"
            break
    raise ValueError(
        f"{engine} would give {differ.sum()} of {len(X)} rows of check another score than the "
        f"model: row {i} {scores[i]:.9g}, not {expected[i]:.9g}; float32 explains {tolerance:.1g}. "
        f"{cause}"
    )


def _warn_of_size(engine: str, document: str, forest: Forest, resource: str | None) -> None:
    """Warn of a model that takes more than half of a limit: the engine keeps others beside it, such
    as the next one.
    """
    compiled = NODE_BYTES * sum(map(len, forest.trees))
    if engine == "solr" and resource is None and len(document) > ZOOKEEPER_BYTES / 2:
        warn(
            f"the model has {len(document):,} bytes, and SolrCloud keeps all models of a "
            f"collection in a node of ZooKeeper of at most {ZOOKEEPER_BYTES:,} (jute.maxbuffer): "
            f"give resource, a file on the nodes of Solr"
        )
    if engine in ("elasticsearch", "opensearch") and compiled > CACHE_BYTES / 2:
        warn(
            f"the compiled model takes about {compiled:,} bytes, and the plugin keeps at most "
            f"{CACHE_BYTES:,}, or a "
            "tenth of the heap (ltr.caches.max_mem): models that do not fit are compiled for each "
            "query"
        )
