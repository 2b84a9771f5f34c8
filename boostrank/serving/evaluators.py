"""Scores that search engines compute from the documents of models, in their own arithmetic.

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
_VESPA_FUNCTIONS = """f|map|map_subspaces|filter_subspaces|reduce|join|merge|concat|rename|tensor
    |range|unpack_bits|expand|diag|random|avg|count|prod|sum|max|min|median|argmax|argmin
    |cell_cast|cell_order|top|a?cosh?|a?sinh?|a?tanh?|atan2|exp|ldexp|log|log10|pow|sqrt|square
    |cube|ceil|f?abs|floor|fmod|round|sign|isNan|relu|sigmoid|elu|erf|bit|hamming|matmul
    |xw_plus_b|softmax|l1_normalize|l2_normalize|euclidean_distance|cosine_similarity|switch"""
# An identifier that is no keyword, and the constants among the arguments of rank features, in
# verbose notation.
_VESPA_IDENTIFIER = rf"(?!(if|in|true|false)(?![\w@$])|({_VESPA_FUNCTIONS})\() [A-Za-z_@][\w@$]*"
_VESPA_CONSTANT = r"""true|false|-?\d{1,18}(\.\d+)? | "[^"\\\n]*" | '[^'"\\\n]*'"""

#: An object of JSON, as ``json.load`` returns it.
JsonObject = Mapping[str, Any]
#: A model as it is uploaded: JSON as text, or as ``json.load`` returns it.
Document = str | JsonObject | list[Any]
# A node as a document has it: the output of a leaf; or the feature, the threshold, whether absent
# values go left, and the left and the right child, as nodes of the document.
_Parsed = float | tuple[str, float, bool, Any, Any]


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
    """How a version of an engine reads models, by aspect; without a version the newest one.

    Examples
    --------
    >>> [read_version("opensearch", version)["absent"] for version in ("2.19", "3.2", "3.10", None)]
    ['zero', 'right', 'node', 'node']
    """
    changes = [change for change in CHANGES if change.engine == engine]
    first = changes[0].since
    if version is not None:
        is_version = isinstance(version, str) and re.fullmatch(r"\d+(\.\d+)*", version)
        if not is_version or _order(version) < _order(first):
            rule = f"a text such as '{first}', the version of the engine, not older than this"
            refuse("version", version, rule)
        changes = [change for change in changes if _order(change.since) <= _order(version)]
    # A later change of an aspect replaces an earlier one.
    return {change.aspect: change.value for change in changes}


def _order(version: str) -> tuple[int, ...]:
    numbers = [*map(int, version.split(".")), 0, 0]
    return tuple(numbers[:3])


def evaluate(
    format: str,
    document: Document,
    features: Mapping[str, ArrayLike],
    *,
    version: str | None = None,
) -> NDArray[np.float64]:
    """Compute the scores that a search engine with an uploaded model gives documents.

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
        shapes = {values.shape for values in columns.values()}
        _require(len(shapes) == 1, "features must be columns of one length")
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
                rows_of[node.left] = rows[is_left]
                rows_of[node.right] = rows[~is_left]
            else:
                outputs[rows] = node
        return outputs

    def scores(self, features: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        """The score of each row."""
        columns = self.columns(features)
        outputs = (self.outputs(tree, columns) for tree in self.trees)
        return self.finish(outputs).astype(np.float64)


def read_model(engine: str, document: Document, version: str | None = None) -> EngineModel:
    """Read a document as a version of an engine does.

    Raises ValueError for a document that the engine refuses, or would misread.
    """
    check_choice("format", engine, FORMATS)
    reading = read_version(engine, version)
    parsed: Any = document
    if isinstance(document, str):
        parsed = json.loads(document)
    if engine == "solr":
        return _solr(parsed, reading)
    if engine == "elastic":
        return _elastic(parsed, reading)
    return _xgboost(parsed, reading, engine)


def _xgboost(
    document: JsonObject | list[Any], reading: Mapping[str, str], engine: str
) -> EngineModel:
    """A model of the plugins or of Vespa, whose trees have the format of XGBoost's dumps."""
    is_vespa = engine == "vespa"
    absent = reading["absent"]
    trees: Any = document
    if isinstance(document, Mapping) and not is_vespa:
        trees = _definition(document)
    _require(isinstance(trees, list) and trees, "it must be an array of at least one tree")
    required = set(_SPLIT)
    if is_vespa:
        required.remove("depth")
    elif engine == "elasticsearch" and absent == "node":
        # The plugin that knows missing values takes no split without their direction.
        required.add("missing")
    rounds_thresholds = not is_vespa or reading.get("thresholds") == "float32"

    def parse(node: JsonObject) -> _Parsed:
        if "leaf" in node:
            _require_fields("a leaf", node, {"nodeid", "leaf"}, {"depth"})
            return _number(node["leaf"], "leaf", rounds=not is_vespa)
        _require_fields("a split", node, required, {"depth", "missing"})
        yes = node["yes"]
        no = node["no"]
        missing = node.get("missing", no)
        integers = all(isinstance(field, int) for field in (yes, no, missing, node.get("depth", 0)))
        numbers = [child.get("nodeid") for child in node["children"]]
        _require(
            integers and yes != no and numbers == [yes, no] and missing in numbers,
            f"node {node['nodeid']} must have the children yes and no, and one of them for missing",
        )
        threshold = _number(node["split_condition"], "split_condition", rounds=rounds_thresholds)
        left, right = node["children"]
        return node["split"], threshold, missing == yes and absent == "node", left, right

    flat = [_flatten(tree, parse) for tree in trees]
    if is_vespa:
        return EngineModel(flat, _vespa_columns, np.float64)
    prepare = partial(_float32, absent_is_zero=absent == "zero")
    return EngineModel(flat, prepare, np.float32)


def _flatten(root: object, parse: Callable[[Any], _Parsed]) -> Tree:
    """The tree whose nodes `parse` reads; `root` is that of the document."""
    nodes = [root]
    tree = Tree()
    for node in nodes:
        parsed = parse(node)
        if isinstance(parsed, tuple):
            feature, threshold, default_left, *children = parsed
            # The names of features stand in place of their indices.
            number: Any = feature
            tree.append(Split(number, threshold, default_left, len(nodes), len(nodes) + 1))
            nodes += children
        else:
            tree.append(parsed)
    return tree


def _float32(columns: Mapping[str, Floats], absent_is_zero: bool) -> dict[str, Floats]:
    with np.errstate(over="ignore"):
        rounded = {name: values.astype(np.float32) for name, values in columns.items()}
    if absent_is_zero:
        for values in rounded.values():
            values[np.isnan(values)] = 0
    return rounded


def _vespa_columns(columns: dict[str, Floats]) -> dict[str, Floats]:
    faults = [repr(name) for name in columns if not is_vespa_name(name)]
    _require(
        not faults,
        f"{', '.join(faults)} is not the name of a rank feature, such as bm25(title), or of a "
        "function; give such names as features",
    )
    return columns


def is_vespa_name(name: str) -> bool:
    """Whether an expression of Vespa reads a name as one feature, and does not compute it.

    Examples
    --------
    >>> is_vespa_name("closeness(field,embedding)"), is_vespa_name("term(0).weight")
    (True, True)
    >>> is_vespa_name("max(a,b)"), is_vespa_name("a(1)b(2)")
    (False, False)
    """
    feature = _VESPA_IDENTIFIER
    # A number and the point after it would be read together.
    outputs = r"(\.[A-Za-z_@][\w@$]*)*(\.[0-9][\w@$]*)?"
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


def _require_fields(
    name: str, node: object, required: set[str], optional: Iterable[str] = ()
) -> None:
    fields = set(node) if isinstance(node, Mapping) else set()
    _require(
        required <= fields <= required.union(optional),
        f"{name} has the fields {', '.join(sorted(fields))}; it must have "
        f"{', '.join(sorted(required))}",
    )


def _column(columns: Mapping[str, Floats], name: str) -> Floats:
    _require(name in columns, f"it needs the feature {name!r}; features are {', '.join(columns)}")
    return columns[name]


def _number(
    value: Any, field: str, kinds: type | tuple[type, ...] = (int, float), *, rounds: bool = True
) -> float:
    """A number as the engine holds it, rounded to float32 or not; Solr takes only texts."""
    is_valid = isinstance(value, kinds) and not isinstance(value, bool)
    _require(is_valid, f"{field} must not be {value!r}")
    with np.errstate(over="ignore"):
        number = np.float32(value)
    _require(np.isfinite(number), f"{field} must be within the range of float32; got {value!r}")
    if not rounds:
        return float(value)
    return float(number)


def _definition(document: JsonObject) -> Any:
    """The trees in the body of the request that creates a model in the plugins."""
    _require_fields("the document", document, {"model"})
    _require_fields("model", document["model"], {"name", "model"})
    model = document["model"]["model"]
    _require_fields("the inner model", model, {"type", "definition"})
    kind = model["type"]
    _require(kind == "model/xgboost+json", f"type is {kind!r}, not 'model/xgboost+json'")
    definition = model["definition"]
    if isinstance(definition, str):
        return json.loads(definition)
    return definition


def _elastic(document: JsonObject, reading: Mapping[str, str]) -> EngineModel:
    """A model of Elastic's own learning to rank."""
    fields = {"inference_config", "definition"}
    if reading["field_names"] == "needed":
        fields.add("input")
    _require_fields("the document", document, fields, {"model_id"})
    is_name = re.fullmatch(ELASTIC_NAME, document.get("model_id", "0"))
    _require(is_name, f"model_id, the name, must have {ELASTIC_NAME_FORM}")
    config = document["inference_config"]
    _require_fields("inference_config", config, {"learning_to_rank"})
    extractors = config["learning_to_rank"]["feature_extractors"]
    names = [extractor["query_extractor"]["feature_name"] for extractor in extractors]
    ensemble = document["definition"]["trained_model"]["ensemble"]
    models = ensemble["trained_models"]
    _require_fields(
        "ensemble", ensemble, {"feature_names", "trained_models", "aggregate_output", "target_type"}
    )
    is_sum = ensemble["aggregate_output"] == {"weighted_sum": {}}
    _require(is_sum, "aggregate_output must be a sum without weights")
    _require(len(set(names)) == len(names) and models, "names must differ; there must be a tree")
    trees = [_elastic_tree(model["tree"], names) for model in models]
    shift: Any = 0
    if reading.get("negative") == "shifted":
        leaves = ([node for node in tree if not isinstance(node, Split)] for tree in trees)
        shift = max(0, -_sum_with_compensation(np.float64(min(values)) for values in leaves))

    def finish(outputs: Iterable[Floats]) -> Floats:
        return (_sum_with_compensation(outputs) + shift).astype(np.float32)

    return EngineModel(trees, _elastic_columns, np.float64, finish)


def _elastic_tree(tree: JsonObject, names: Iterable[str]) -> Tree:
    """A tree of Elastic, whose nodes stand in a list; `names` are those of all features."""
    _require_fields("a tree", tree, {"feature_names", "tree_structure", "target_type"})
    features = tree["feature_names"]
    nodes = tree["tree_structure"]
    is_known = set(features) <= set(names)
    _require(is_known, "a feature of a tree has no extractor: it is always missing")

    def parse(i: int) -> _Parsed:
        node = nodes[i]
        if "leaf_value" in node:
            _require_fields("a leaf", node, {"leaf_value"}, {"node_index"})
            return _number(node["leaf_value"], "leaf_value", rounds=False)
        _require_fields("a split", node, _ELASTIC_SPLIT, {"default_left", "node_index"})
        left = node["left_child"]
        right = node["right_child"]
        follow = i < left < len(nodes) and i < right < len(nodes)
        _require(
            node["decision_type"] == "lt" and follow,
            f"node {i} must have the decision_type 'lt', and children that follow",
        )
        threshold = _number(node["threshold"], "threshold", rounds=False)
        default_left = node.get("default_left", False)
        return features[node["split_feature"]], threshold, default_left, left, right

    return _flatten(0, parse)


def _elastic_columns(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """The features as Elastic compares them: infinite values are missing too."""
    prepared = {}
    for name, values in _float32(columns, absent_is_zero=False).items():
        prepared[name] = np.where(np.isinf(values), np.nan, values.astype(np.float64))
    return prepared


def _sum_with_compensation(outputs: Iterable[Floats | np.float64]) -> Any:
    """The sum of Java's streams of float64, which carries the errors of rounding along."""
    total: Any = np.float64(0)
    error: Any = np.float64(0)
    for values in outputs:
        corrected = values - error
        new_total = total + corrected
        error = (new_total - total) - corrected
        total = new_total
    return total - error


def _solr(document: JsonObject, reading: Mapping[str, str]) -> EngineModel:
    """A MultipleAdditiveTreesModel of Solr."""
    knows_null = reading["absent"] == "node"
    _require_fields("the document", document, {"class", "name", "features", "params"}, {"store"})
    kind = document["class"]
    _require(kind == f"{SOLR}.model.MultipleAdditiveTreesModel", f"the class is {kind!r}")
    params = document["params"]
    _require_fields("params", params, {"trees"}, {"isNullSameAsZero"} if knows_null else ())
    null_is_zero = params.get("isNullSameAsZero", True)
    _require(
        isinstance(null_is_zero, bool),
        f"isNullSameAsZero must be true or false; got {null_is_zero!r}",
    )
    norms = _solr_norms(document["features"])
    required = {"feature", "threshold", "left", "right"}
    if not null_is_zero:
        required.add("missing")
    optional = {"missing"} if knows_null else set()

    def parse(node: JsonObject) -> _Parsed:
        if "feature" not in node:
            _require_fields("a leaf", node, {"value"})
            return _number(node["value"], "value", str)
        _require_fields("a split", node, required, optional)
        feature = node["feature"]
        _require(feature in norms, f"a tree with {feature!r} counts 0, because features lack it")
        limit = np.float32(_number(node["threshold"], "threshold", str)) + np.float32(1e-6)
        # Solr compares with "<=".
        with np.errstate(over="ignore"):
            threshold = float(np.nextafter(limit, np.float32(np.inf)))
        default_left = not null_is_zero and node["missing"] == "left"
        return feature, threshold, default_left, node["left"], node["right"]

    def prepare(columns: Mapping[str, Floats]) -> dict[str, Floats]:
        used = _float32({name: _column(columns, name) for name in norms}, null_is_zero)
        return {name: _normalize(norms[name], values) for name, values in used.items()}

    def finish(outputs: Iterable[Floats]) -> Any:
        weighted = (weight * values for weight, values in zip(weights, outputs, strict=True))
        return np.float32(0) + sum(weighted)

    for tree in params["trees"]:
        _require_fields("a tree", tree, {"weight", "root"})
    weights = [np.float32(_number(tree["weight"], "weight", str)) for tree in params["trees"]]
    trees = [_flatten(tree["root"], parse) for tree in params["trees"]]
    return EngineModel(trees, prepare, np.float32, finish)


def _solr_norms(features: Iterable[JsonObject]) -> dict[str, Any]:
    """The normalizer of each feature, by name; None for a feature without one."""
    norms: dict[str, Any] = {}
    for feature in features:
        _require_fields("a feature", feature, {"name"}, {"norm"})
        name = feature["name"]
        _require(name not in norms, f"the feature {name!r} is there twice")
        norms[name] = feature.get("norm")
    _require(norms, "it must have at least one feature")
    return norms


def _normalize(norm: JsonObject | None, values: Floats) -> Floats:
    if not norm:
        return values
    _require_fields("norm", norm, {"class", "params"})
    kind = norm["class"]
    _require(kind == f"{SOLR}.norm.StandardNormalizer", f"the class of norm is {kind!r}")
    _require_fields("params of norm", norm["params"], {"avg", "std"})
    average = _number(norm["params"]["avg"], "avg", str)
    deviation = _number(norm["params"]["std"], "std", str)
    _require(deviation > 0, f"std must be above 0; got {deviation}")
    with np.errstate(over="ignore"):
        return (values - average) / deviation
