"""Scores that search engines compute from the documents of models, in the arithmetic of their own
parsers and trees.

This module follows the source of the engines, not the functions that write documents:
``XGBoostJsonParser`` and ``NaiveAdditiveDecisionTree`` of the plugins of Elasticsearch and
OpenSearch, ``TreeInferenceModel``, ``WeightedSum`` and ``BoundedWindowInferenceModel`` of Elastic,
``MultipleAdditiveTreesModel`` of Solr, and ``XGBoostParser`` of Vespa. :data:`CHANGES` says which
of their versions read models in another way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice, refuse
from boostrank.serving.forest import Split, Tree

#: Formats of documents: of plugins, of Elastic's own learning to rank (elastic), of Solr and of
#: Vespa.
FORMATS = ("elasticsearch", "opensearch", "elastic", "solr", "vespa")
#: The package of the classes that documents of Solr name.
SOLR = "org.apache.solr.ltr"
#: Names of models of Elastic, as a pattern and in words.
ELASTIC_NAME = "[a-z0-9]([a-z0-9_.-]{0,62}[a-z0-9])?"
ELASTIC_NAME_FORM = "at most 64 characters: a-z and 0-9, between these also '_-.'"
_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "children"}
_ELASTIC_SPLIT = {"decision_type", "threshold", "split_feature", "left_child", "right_child"}
# Functions of Vespa's expressions, which are computed and not looked up if arguments follow.
_VESPA_FUNCTIONS = """f|map|map_subspaces|filter_subspaces|reduce|join|merge|concat|rename|tensor|range|unpack_bits
    |expand|diag|random|avg|count|prod|sum|max|min|median|argmax|argmin|cell_cast|cell_order|top|a?cosh?|a?sinh?|a?tanh?|atan2
    |exp|ldexp|log|log10|pow|sqrt|square|cube|ceil|f?abs|floor|fmod|round|sign|isNan|relu|sigmoid|elu|erf|bit|hamming
    |matmul|xw_plus_b|softmax|l1_normalize|l2_normalize|euclidean_distance|cosine_similarity|switch"""
# An identifier that is no keyword, and the constants among the arguments of rank features, in
# verbose notation.
_VESPA_IDENTIFIER = rf"(?!(if|in|true|false)(?![\w@$])|({_VESPA_FUNCTIONS})\() [A-Za-z_@][\w@$]*"
_VESPA_CONSTANT = r"""true|false|-?\d{1,18}(\.\d+)? | "[^"\\\n]*" | '[^'"\\\n]*'"""


class Change(NamedTuple):
    """From a version on, an engine reads models in another way.

    Attributes
    ----------
    engine, since : str
        The format, and the version. The first one of an engine is the oldest that this package
        knows.
    aspect, value : str
        "absent": a feature that a document does not have counts as 0 ("zero"), goes right at every
        split ("right"), or where the node says ("node"). "thresholds": the type in which Vespa
        compares. "field_names": whether Elastic needs the names of features as input. "negative":
        whether Elastic shifts scores of which some may be below 0.
    source : str
        Where the project of the engine changed it.
    """

    engine: str
    since: str
    aspect: str
    value: str
    source: str


#: How versions of the engines read models, the oldest first.
CHANGES = (
    Change("elasticsearch", "5.0", "absent", "zero", "the plugin's DenseLtrRanker"),
    Change(
        "elasticsearch",
        "8.11",
        "absent",
        "node",
        "pull request 482 of o19s/elasticsearch-learning-to-rank",
    ),
    Change("opensearch", "1.0", "absent", "zero", "the plugin's DenseLtrRanker"),
    Change(
        "opensearch",
        "3.2",
        "absent",
        "right",
        "pull request 206 of opensearch-learning-to-rank-base",
    ),
    Change(
        "opensearch",
        "3.8",
        "absent",
        "node",
        "pull request 379 of opensearch-learning-to-rank-base",
    ),
    Change("elastic", "8.12", "absent", "node", "TreeInferenceModel of elastic/elasticsearch"),
    Change(
        "elastic", "8.12", "field_names", "needed", "TrainedModelConfig of elastic/elasticsearch"
    ),
    Change(
        "elastic", "8.15", "field_names", "refused", "pull request 109437 of elastic/elasticsearch"
    ),
    Change(
        "elastic", "8.19", "negative", "shifted", "pull request 125694 of elastic/elasticsearch"
    ),
    Change("elastic", "9.0", "negative", "kept", "pull request 125694 of elastic/elasticsearch"),
    Change("elastic", "9.0.1", "negative", "shifted", "pull request 790 of elastic/eland"),
    Change("solr", "6.4", "absent", "zero", "SOLR-8542"),
    Change("solr", "9.2", "absent", "node", "SOLR-16596"),
    Change("vespa", "7.145", "absent", "node", "commit 414cc25c of vespa-engine/vespa"),
    Change("vespa", "8.624.72", "thresholds", "float32", "commit 0aa88a4a of vespa-engine/vespa"),
)


def read_version(engine: str, version: str | None) -> dict[str, str]:
    """How a version of an engine reads models, the value of each aspect; without a version the
    newest one.

    Examples
    --------
    >>> [read_version("opensearch", version)["absent"] for version in ("2.19", "3.2", "3.10", None)]
    ['zero', 'right', 'node', 'node']
    """
    changes = [change for change in CHANGES if change.engine == engine]
    is_version = version is None or (
        isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)*", version)
    )
    if not is_version or not (
        changes := [c for c in changes if version is None or _order(c.since) <= _order(version)]
    ):
        first = next(change.since for change in CHANGES if change.engine == engine)
        refuse(
            "version",
            version,
            f"a text such as '{first}', the version of the engine, not older than this",
        )
    return {change.aspect: change.value for change in changes}


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in (*version.split("."), "0", "0")[:3])


def evaluate(
    format: str,
    document: Any,
    features: Mapping[str, ArrayLike],
    *,
    version: str | None = None,
) -> NDArray[np.float64]:
    """Compute the scores that a search engine gives documents, from the model that is uploaded to
    it.

    Features are float32 numbers in these engines, except in Vespa, which has float64. The plugins
    of Elasticsearch and OpenSearch go left if ``threshold > value``, and add the leaves in float32.
    Elastic's own learning to rank goes left if ``value < threshold`` in float64, adds in float64,
    and rounds the sum to float32. Solr goes left if ``value <= threshold + 1e-6``, where the
    addition and the sum of the leaves are rounded to float32. Vespa goes left if ``value <
    threshold``, and adds in float64. A document that the engine would refuse is refused here, and
    so is one which it would read in another way than its author meant, such as a tree of Solr with
    a feature that the model does not name.

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "elastic", "solr", "vespa"}
    document : dict, list or str
        The model as it is uploaded, as text or as what ``json.load`` returns. For Elasticsearch and
        OpenSearch also only the definition, which is the list of trees.
    features : mapping of str to array-like, each of shape (n_documents,)
        The values of each feature, by its name in the engine; NaN where a document does not have
        it.
    version : str, optional
        Version of Elasticsearch, OpenSearch, Solr or Vespa, such as "3.5"; by default the newest.
        Versions differ in what NaN means: a direction in each node, 0, or the right child of each
        node. Solr takes 0 in all versions, unless ``isNullSameAsZero`` is false. Elastic adds a
        constant from 8.19 on if scores could be below 0.

    Returns
    -------
    ndarray of float64, shape (n_documents,)

    Raises
    ------
    ValueError
        If the engine refuses the document, or needs a feature that `features` does not have.

    Examples
    --------
    >>> import boostrank as br
    >>> leaves = [{"nodeid": 1, "leaf": 0.25}, {"nodeid": 2, "leaf": -0.5}]
    >>> split = {
    ...     "nodeid": 0, "depth": 0, "split": "bm25", "split_condition": 3,
    ...     "yes": 1, "no": 2, "missing": 1,
    ... }
    >>> trees, X = [split | {"children": leaves}], {"bm25": [2.9, 3.0, float("nan")]}
    >>> br.serving.evaluate("elasticsearch", trees, X).tolist()
    [0.25, -0.5, 0.25]
    >>> br.serving.evaluate("opensearch", trees, X, version="3.5").tolist()
    [0.25, -0.5, -0.5]
    """
    try:
        return read_model(format, document, version).scores(features)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise ValueError(
            f"this is no document of {format}, or features are no columns: {error!r}"
        ) from error


class EngineModel(NamedTuple):
    """A model as an engine holds it.

    Attributes
    ----------
    trees : list of Tree
        The splits have the names of features in place of their indices.
    prepare : callable
        Function of the columns of features, by name, that returns those which splits compare with
        thresholds.
    number : type
        The type in which leaves are added, float32 or float64.
    finish : callable
        Function of the outputs of the trees that returns the scores.
    """

    trees: list[Tree]
    prepare: Callable[[dict[str, Floats]], dict[str, Floats]]
    number: type
    finish: Callable[[Iterable[Floats]], Any] = sum

    def columns(self, features: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        """The features as the splits compare them."""
        columns: dict[str, Floats] = {
            name: np.array(values, dtype=np.float64) for name, values in features.items()
        }
        _require(
            len({values.shape for values in columns.values()}) == 1,
            "features must be columns of one length",
        )
        return self.prepare(columns)

    def outputs(self, tree: Tree, columns: Mapping[str, Floats]) -> Floats:
        """The output of a tree for each row."""
        outputs: Floats = np.zeros(len(next(iter(columns.values()))), dtype=self.number)
        rows_of = {0: np.arange(len(outputs))}
        for i, node in enumerate(tree):
            rows = rows_of.pop(i)
            if isinstance(node, Split):
                values = _column(columns, str(node.feature))[rows]
                is_left = (values < node.threshold) | (np.isnan(values) & node.default_left)
                rows_of |= {node.left: rows[is_left], node.right: rows[~is_left]}
            else:
                outputs[rows] = node
        return outputs

    def scores(self, features: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The score of each row."""
        columns = self.columns(features)
        return self.finish(self.outputs(tree, columns) for tree in self.trees).astype(np.float64)


def read_model(engine: str, document: Any, version: str | None = None) -> EngineModel:
    """Read a document as a version of an engine does; ValueError for one that it refuses, or would
    misread.
    """
    check_choice("format", engine, FORMATS)
    reading = read_version(engine, version)
    document = json.loads(document) if isinstance(document, str) else document
    if engine in ("solr", "elastic"):
        return (_solr if engine == "solr" else _elastic)(document, reading)
    is_vespa, absent = engine == "vespa", reading["absent"]
    trees = document if is_vespa or not isinstance(document, Mapping) else _definition(document)
    _require(isinstance(trees, list) and trees, "it must be an array of at least one tree")
    # The plugin of Elasticsearch that knows missing values takes no split without their direction.
    added = {"missing"} if engine == "elasticsearch" and absent == "node" else set()
    required = _SPLIT - {"depth"} if is_vespa else _SPLIT | added

    def parse(node: Any) -> Any:
        if "leaf" in node:
            _require_fields("a leaf", node, {"nodeid", "leaf"}, {"depth"})
            return _number(node["leaf"], "leaf", rounds=not is_vespa)
        _require_fields("a split", node, required, {"depth", "missing"})
        yes, no, missing = node["yes"], node["no"], node.get("missing", node["no"])
        integers = all(isinstance(field, int) for field in (yes, no, missing, node.get("depth", 0)))
        numbers = [child.get("nodeid") for child in node["children"]]
        valid = integers and yes != no and numbers == [yes, no] and missing in numbers
        _require(
            valid,
            f"node {node['nodeid']} must have the children yes and no, and one of them for missing",
        )
        rounds = not is_vespa or reading.get("thresholds") == "float32"
        threshold = _number(node["split_condition"], "split_condition", rounds=rounds)
        return node["split"], threshold, missing == yes and absent == "node", *node["children"]

    prepare = _vespa_columns if is_vespa else partial(_float32, absent_is_zero=absent == "zero")
    return EngineModel(
        [_flatten(tree, parse) for tree in trees], prepare, np.float64 if is_vespa else np.float32
    )


def _flatten(root: Any, parse: Callable[[Any], Any]) -> Tree:
    """The tree whose nodes `parse` reads: as the output of a leaf, or as a split with both children
    at the end.
    """
    nodes, tree = [root], Tree()
    for node in nodes:
        match parse(node):
            case feature, threshold, default_left, left, right:
                tree.append(Split(feature, threshold, default_left, len(nodes), len(nodes) + 1))
                nodes += [left, right]
            case leaf:
                tree.append(leaf)
    return tree


def _float32(columns: Mapping[str, Floats], absent_is_zero: bool) -> dict[str, Floats]:
    with np.errstate(over="ignore"):
        columns = {name: values.astype(np.float32) for name, values in columns.items()}
    return {
        name: np.where(np.isnan(values) & absent_is_zero, np.float32(0), values)
        for name, values in columns.items()
    }


def _vespa_columns(columns: dict[str, Floats]) -> dict[str, Floats]:
    faults = [repr(name) for name in columns if not is_vespa_name(name)]
    reason = "is not the name of a rank feature, such as bm25(title), or of a function; give such names as features"
    _require(not faults, f"{', '.join(faults)} {reason}")
    return columns


def is_vespa_name(name: str) -> bool:
    """Whether an expression of Vespa reads a name as one feature, and does not compute it.

    Examples
    --------
    >>> [is_vespa_name(name) for name in ("closeness(field,embedding)", "term(0).weight", "max(a,b)", "a(1)b(2)")]
    [True, True, False, False]
    """
    # A number and the point after it would be read together.
    feature, outputs = _VESPA_IDENTIFIER, r"(\.[A-Za-z_@][\w@$]*)*(\.[0-9][\w@$]*)?"
    # Features in arguments of features may have arguments again, so deep at most.
    for _ in range(3):
        argument = rf"\ *({_VESPA_CONSTANT}|{feature})\ *"
        feature = rf"{_VESPA_IDENTIFIER}(\({argument}(,{argument})*\))?{outputs}"
    return bool(re.fullmatch(feature, name, re.ASCII | re.VERBOSE))


def _require(valid: object, message: str) -> None:
    """Raise ValueError with a message if the document is not valid."""
    if not valid:
        raise ValueError(
            f"the search engine would not read this document as it is meant: {message}"
        )


def _require_fields(name: str, node: Any, required: set[str], optional: Iterable[str] = ()) -> None:
    fields = set(node) if isinstance(node, Mapping) else set()
    message = f"{name} has the fields {', '.join(sorted(fields))}; it must have {', '.join(sorted(required))}"
    _require(required <= fields <= required.union(optional), message)


def _column(columns: Mapping[str, Floats], name: str) -> Floats:
    _require(name in columns, f"it needs the feature {name!r}; features are {', '.join(columns)}")
    return columns[name]


def _number(
    value: Any, field: str, kinds: type | tuple[type, ...] = (int, float), *, rounds: bool = True
) -> float:
    """A number as the engine holds it, rounded to float32 or not; Solr takes numbers only as
    texts.
    """
    _require(
        isinstance(value, kinds) and not isinstance(value, bool), f"{field} must not be {value!r}"
    )
    with np.errstate(over="ignore"):
        number = np.float32(value)
    _require(np.isfinite(number), f"{field} must be within the range of float32; got {value!r}")
    return float(number if rounds else value)


def _definition(document: Any) -> Any:
    """The trees in the body of the request that creates a model in the plugins."""
    _require_fields("the document", document, {"model"})
    _require_fields("model", document["model"], {"name", "model"})
    model = document["model"]["model"]
    _require_fields("the inner model", model, {"type", "definition"})
    _require(
        model["type"] == "model/xgboost+json",
        f"type is {model['type']!r}, not 'model/xgboost+json'",
    )
    return (
        json.loads(model["definition"])
        if isinstance(model["definition"], str)
        else model["definition"]
    )


def _elastic(document: Any, reading: Mapping[str, str]) -> EngineModel:
    """A model of Elastic's own learning to rank."""
    fields = {"inference_config", "definition"} | (
        {"input"} if reading["field_names"] == "needed" else set()
    )
    _require_fields("the document", document, fields, {"model_id"})
    is_name = re.fullmatch(ELASTIC_NAME, document.get("model_id", "0"))
    _require(is_name, f"model_id, the name, must have {ELASTIC_NAME_FORM}")
    _require_fields("inference_config", document["inference_config"], {"learning_to_rank"})
    extractors = document["inference_config"]["learning_to_rank"]["feature_extractors"]
    names = [extractor["query_extractor"]["feature_name"] for extractor in extractors]
    ensemble = document["definition"]["trained_model"]["ensemble"]
    _require_fields(
        "ensemble", ensemble, {"feature_names", "trained_models", "aggregate_output", "target_type"}
    )
    _require(
        ensemble["aggregate_output"] == {"weighted_sum": {}},
        "aggregate_output must be a sum without weights",
    )
    _require(
        len(set(names)) == len(names) and ensemble["trained_models"],
        "names must differ; there must be a tree",
    )

    def flatten(tree: Any) -> Tree:
        _require_fields("a tree", tree, {"feature_names", "tree_structure", "target_type"})
        _require(
            set(tree["feature_names"]) <= set(names),
            "a feature of a tree has no extractor: it is always missing",
        )

        def parse(i: int) -> Any:
            node = tree["tree_structure"][i]
            if "leaf_value" in node:
                _require_fields("a leaf", node, {"leaf_value"}, {"node_index"})
                return _number(node["leaf_value"], "leaf_value", rounds=False)
            _require_fields("a split", node, _ELASTIC_SPLIT, {"default_left", "node_index"})
            children = node["left_child"], node["right_child"]
            valid = node["decision_type"] == "lt" and all(
                i < child < len(tree["tree_structure"]) for child in children
            )
            _require(valid, f"node {i} must have the decision_type 'lt', and children that follow")
            threshold = _number(node["threshold"], "threshold", rounds=False)
            return (
                tree["feature_names"][node["split_feature"]],
                threshold,
                node.get("default_left", False),
                *children,
            )

        return _flatten(0, parse)

    trees = [flatten(model["tree"]) for model in ensemble["trained_models"]]
    lowest = [
        np.float64(min(node for node in tree if not isinstance(node, Split))) for tree in trees
    ]
    shift = max(0, -_sum_with_compensation(lowest)) if reading.get("negative") == "shifted" else 0

    def prepare(columns: dict[str, Floats]) -> dict[str, Floats]:
        # Infinite values are missing too.
        columns = _float32(columns, absent_is_zero=False)
        return {
            name: np.where(np.isinf(values), np.nan, values.astype(np.float64))
            for name, values in columns.items()
        }

    def finish(outputs: Iterable[Floats]) -> Floats:
        return (_sum_with_compensation(outputs) + shift).astype(np.float32)

    return EngineModel(trees, prepare, np.float64, finish)


def _sum_with_compensation(outputs: Iterable[Any]) -> Any:
    """The sum of Java's streams of float64, which carries the errors of rounding along."""
    total = error = np.float64(0)
    for values in outputs:
        corrected = values - error
        total, error = total + corrected, ((total + corrected) - total) - corrected
    return total - error


def _solr(document: Any, reading: Mapping[str, str]) -> EngineModel:
    """A MultipleAdditiveTreesModel of Solr."""
    knows_null = reading["absent"] == "node"
    _require_fields("the document", document, {"class", "name", "features", "params"}, {"store"})
    _require(
        document["class"] == f"{SOLR}.model.MultipleAdditiveTreesModel",
        f"the class is {document['class']!r}",
    )
    _require_fields(
        "params", document["params"], {"trees"}, {"isNullSameAsZero"} if knows_null else ()
    )
    null_is_zero = document["params"].get("isNullSameAsZero", True)
    _require(
        isinstance(null_is_zero, bool),
        f"isNullSameAsZero must be true or false; got {null_is_zero!r}",
    )
    norms: dict[str, Any] = {}
    for feature in document["features"]:
        _require_fields("a feature", feature, {"name"}, {"norm"})
        _require(feature["name"] not in norms, f"the feature {feature['name']!r} is there twice")
        norms[feature["name"]] = feature.get("norm")
    _require(norms, "it must have at least one feature")
    required = {"feature", "threshold", "left", "right"} | (set() if null_is_zero else {"missing"})

    def parse(node: Any) -> Any:
        if "feature" not in node:
            _require_fields("a leaf", node, {"value"})
            return _number(node["value"], "value", str)
        _require_fields("a split", node, required, {"missing"} if knows_null else ())
        _require(
            node["feature"] in norms,
            f"a tree with {node['feature']!r} counts 0, because features lack it",
        )
        limit = np.float32(_number(node["threshold"], "threshold", str)) + np.float32(1e-6)
        # Solr compares with "<=".
        with np.errstate(over="ignore"):
            threshold = float(np.nextafter(limit, np.float32(np.inf)))
        return (
            node["feature"],
            threshold,
            not null_is_zero and node["missing"] == "left",
            node["left"],
            node["right"],
        )

    def prepare(columns: dict[str, Floats]) -> dict[str, Floats]:
        columns = _float32({name: _column(columns, name) for name in norms}, null_is_zero)
        return {
            name: _normalize(norm, columns[name]) if norm else columns[name]
            for name, norm in norms.items()
        }

    def finish(outputs: Iterable[Floats]) -> Any:
        return np.float32(0) + sum(
            weight * values for weight, values in zip(weights, outputs, strict=True)
        )

    trees = document["params"]["trees"]
    for tree in trees:
        _require_fields("a tree", tree, {"weight", "root"})
    weights = [np.float32(_number(tree["weight"], "weight", str)) for tree in trees]
    return EngineModel(
        [_flatten(tree["root"], parse) for tree in trees], prepare, np.float32, finish
    )


def _normalize(norm: Any, values: Floats) -> Floats:
    _require_fields("norm", norm, {"class", "params"})
    _require(
        norm["class"] == f"{SOLR}.norm.StandardNormalizer",
        f"the class of norm is {norm['class']!r}",
    )
    _require_fields("params of norm", norm["params"], {"avg", "std"})
    average, deviation = (_number(norm["params"][key], key, str) for key in ("avg", "std"))
    _require(deviation > 0, f"std must be above 0; got {deviation}")
    with np.errstate(over="ignore"):
        return (values - average) / deviation
