"""Scores that search engines compute from the documents of models, in the arithmetic of their own parsers and trees.

This module follows the source of the engines, not the functions that write documents: ``XGBoostJsonParser`` and
``NaiveAdditiveDecisionTree`` of the plugins of Elasticsearch and OpenSearch, ``MultipleAdditiveTreesModel`` of Solr,
and ``XGBoostParser`` of Vespa.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Floats, Ints
from boostrank.inputs.checks import check_choice

#: Formats of documents, and of templates of feature sets.
FORMATS = ("elasticsearch", "opensearch", "solr", "vespa")
#: The package of the classes that documents of Solr name.
SOLR = "org.apache.solr.ltr"
_SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "children"}
# Functions of Vespa's expressions, which are computed and not looked up if arguments follow.
_VESPA_FUNCTIONS = """f|map|map_subspaces|filter_subspaces|reduce|join|merge|concat|rename|tensor|range|unpack_bits
    |expand|diag|random|avg|count|prod|sum|max|min|median|argmax|argmin|cell_cast|cell_order|top|a?cosh?|a?sinh?|a?tanh?|atan2
    |exp|ldexp|log|log10|pow|sqrt|square|cube|ceil|f?abs|floor|fmod|round|sign|isNan|relu|sigmoid|elu|erf|bit|hamming
    |matmul|xw_plus_b|softmax|l1_normalize|l2_normalize|euclidean_distance|cosine_similarity|switch"""
# An identifier that is no keyword, and the constants among the arguments of rank features, in verbose notation.
_VESPA_IDENTIFIER = rf"(?!(if|in|true|false)(?![\w@$])|({_VESPA_FUNCTIONS})\() [A-Za-z_@][\w@$]*"
_VESPA_CONSTANT = r"""true|false|-?\d{1,18}(\.\d+)? | "[^"\\\n]*" | '[^'"\\\n]*'"""


def evaluate(format: str, document: Any, features: Mapping[str, ArrayLike]) -> NDArray[np.float64]:  # noqa: A002
    """Compute the scores that a search engine gives documents, from the model that is uploaded to it.

    Features are float32 numbers there, as in all these engines. The plugins of Elasticsearch and OpenSearch go left if
    ``threshold > value``, and add the leaves in float32. Solr goes left if ``value <= threshold + 1e-6``, where the
    addition and the sum of the leaves are rounded to float32. Vespa goes left if ``value < threshold``, and adds in
    float64. A document that the engine would refuse is refused here, and so is one which it would read in another way
    than its author meant, such as a tree of Solr with a feature that the model does not name.

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "solr", "vespa"}
    document : dict, list or str
        The model as it is uploaded, as text or as what ``json.load`` returns. For Elasticsearch and OpenSearch also
        only the definition, which is the list of trees.
    features : mapping of str to array-like, each of shape (n_documents,)
        The values of each feature, by its name in the engine; NaN where a document does not have it. NaN goes where the
        node says, as in the plugins of Elasticsearch since 2024 and of OpenSearch since the middle of 2026. Before,
        these take 0, except that of OpenSearch from 3.3, which goes right at every node. Solr takes 0, unless
        ``isNullSameAsZero`` is false, which it has from 9.2.

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
    >>> split = {"nodeid": 0, "depth": 0, "split": "bm25", "split_condition": 3, "yes": 1, "no": 2, "missing": 1}
    >>> trees, X = [split | {"children": leaves}], {"bm25": [2.9, 3.0, float("nan")]}
    >>> br.serving.evaluate("elasticsearch", trees, X).tolist()
    [0.25, -0.5, 0.25]
    """
    check_choice("format", format, FORMATS)
    document = json.loads(document) if isinstance(document, str) else document
    columns = {name: np.array(values, dtype=np.float32) for name, values in features.items()}
    _require(len({values.shape for values in columns.values()}) == 1, "features must be columns of one length")
    zeros: Floats = np.zeros_like(next(iter(columns.values())))
    if format == "solr":
        scores = _solr(document, columns, zeros)
    elif format == "vespa":
        faults = [repr(name) for name in columns if not is_vespa_name(name)]
        reason = "is not the name of a rank feature, such as bm25(title), or of a function; give such names as features"
        _require(not faults, f"{', '.join(faults)} {reason}")
        scores = _xgboost(document, columns, zeros.astype(np.float64))
    else:
        scores = _xgboost(_definition(document) if isinstance(document, Mapping) else document, columns, zeros)
    return scores.astype(np.float64)


def is_vespa_name(name: str) -> bool:
    """Whether an expression of Vespa reads a name as one feature, and does not compute it.

    Examples
    --------
    >>> [is_vespa_name(name) for name in ("closeness(field,embedding)", "term(0).weight", "max(a,b)", "a(1)b(2)")]
    [True, True, False, False]
    """
    feature, outputs = _VESPA_IDENTIFIER, r"(\.[A-Za-z0-9_@][\w@$]*)*"
    # Features in arguments of features may have arguments again, so deep at most.
    for _ in range(3):
        argument = rf"\ *({_VESPA_CONSTANT}|{feature})\ *"
        feature = rf"{_VESPA_IDENTIFIER}(\({argument}(,{argument})*\))?{outputs}"
    return bool(re.fullmatch(feature, name, re.ASCII | re.VERBOSE))


def _require(valid: object, message: str) -> None:
    """Raise ValueError with a message if the document is not valid."""
    if not valid:
        raise ValueError(f"the search engine would not read this document as it is meant: {message}")


def _require_fields(name: str, node: Any, required: set[str], optional: Iterable[str] = ()) -> None:
    fields = set(node) if isinstance(node, Mapping) else set()
    _require(required <= fields <= required.union(optional), f"{name} has the fields {', '.join(sorted(fields))}")


def _column(columns: Mapping[str, Floats], name: str) -> Floats:
    _require(name in columns, f"it needs the feature {name!r}; features are {', '.join(columns)}")
    return columns[name]


def _number(value: Any, field: str, kinds: type | tuple[type, ...] = (int, float)) -> np.float32:
    """A number as the engine holds it; Solr takes numbers only as texts."""
    _require(isinstance(value, kinds) and not isinstance(value, bool), f"{field} must not be {value!r}")
    with np.errstate(over="ignore"):
        number = np.float32(value)
    _require(np.isfinite(number), f"{field} must be within the range of float32; got {value!r}")
    return number


def _sum_leaves(trees: list[Any], visit: Callable[[Any, Ints], Any], zeros: Floats) -> Floats:
    """Add the leaves of all trees to zeros, in their sequence, in the type of these.

    `visit` returns the value of a leaf, or which rows of those with these numbers go left, and both children.
    """
    total = zeros.copy()
    for tree in trees:
        values = zeros.copy()
        nodes = [(tree, np.arange(len(zeros)))]
        while nodes:
            node, rows = nodes.pop()
            match visit(node, rows):
                case goes_left, left, right:
                    nodes += [(left, rows[goes_left]), (right, rows[~goes_left])]
                case leaf:
                    values[rows] = leaf
        total += values
    return total


def _definition(document: Any) -> Any:
    """The trees in the body of the request that creates a model in the plugins."""
    _require_fields("the document", document, {"model"})
    _require_fields("model", document["model"], {"name", "model"})
    model = document["model"]["model"]
    _require_fields("the inner model", model, {"type", "definition"})
    _require(model["type"] == "model/xgboost+json", f"type is {model['type']!r}, not 'model/xgboost+json'")
    return json.loads(model["definition"]) if isinstance(model["definition"], str) else model["definition"]


def _xgboost(trees: Any, columns: Mapping[str, Floats], zeros: Floats) -> Floats:
    """Scores of the plugins and of Vespa."""
    _require(isinstance(trees, list) and trees, "it must be an array of at least one tree")

    def visit(node: Any, rows: Ints) -> Any:
        if "leaf" in node:
            _require_fields("a leaf", node, {"nodeid", "leaf"}, {"depth"})
            _number(node["leaf"], "leaf")
            return node["leaf"]
        _require_fields("a split", node, _SPLIT, {"missing"})
        yes, no, missing = node["yes"], node["no"], node.get("missing", node["no"])
        integers = all(isinstance(number, int) for number in (yes, no, missing, node["depth"]))
        numbers = [child.get("nodeid") for child in node["children"]]
        valid = integers and yes != no and numbers == [yes, no] and missing in numbers
        _require(valid, f"node {node['nodeid']} must have the children yes and no, and one of them for missing")
        values = _column(columns, node["split"])[rows]
        is_less = values < _number(node["split_condition"], "split_condition")
        return is_less | (np.isnan(values) & (missing == yes)), *node["children"]

    return _sum_leaves(trees, visit, zeros)


def _solr(document: Any, columns: Mapping[str, Floats], zeros: Floats) -> Floats:
    """Scores of Solr's MultipleAdditiveTreesModel."""
    _require_fields("the document", document, {"class", "name", "features", "params"}, {"store"})
    _require(document["class"] == f"{SOLR}.model.MultipleAdditiveTreesModel", f"the class is {document['class']!r}")
    _require_fields("params", document["params"], {"trees"}, {"isNullSameAsZero"})
    null_is_zero = document["params"].get("isNullSameAsZero", True)
    _require(isinstance(null_is_zero, bool), f"isNullSameAsZero must be true or false; got {null_is_zero!r}")
    inputs: dict[str, Floats] = {}
    for feature in document["features"]:
        _require_fields("a feature", feature, {"name"}, {"norm"})
        _require(feature["name"] not in inputs, f"the feature {feature['name']!r} is there twice")
        values = _column(columns, feature["name"])
        values = np.where(np.isnan(values) & null_is_zero, np.float32(0), values)
        inputs[feature["name"]] = _normalize(feature["norm"], values) if "norm" in feature else values
    _require(inputs, "it must have at least one feature")
    required = {"feature", "threshold", "left", "right"} | (set() if null_is_zero else {"missing"})

    def visit(node: Any, rows: Ints) -> Any:
        if "feature" not in node:
            _require_fields("a leaf", node, {"value"})
            return _number(node["value"], "value", str)
        _require_fields("a split", node, required, {"missing"})
        _require(node["feature"] in inputs, f"a tree with {node['feature']!r} counts 0, because features lack it")
        values = inputs[node["feature"]][rows]
        is_left = values <= _number(node["threshold"], "threshold", str) + np.float32(1e-6)
        is_left |= np.isnan(values) & (not null_is_zero and node["missing"] == "left")
        return is_left, node["left"], node["right"]

    total = zeros.copy()
    for tree in document["params"]["trees"]:
        _require_fields("a tree", tree, {"weight", "root"})
        total += _number(tree["weight"], "weight", str) * _sum_leaves([tree["root"]], visit, zeros)
    return total


def _normalize(norm: Any, values: Floats) -> Floats:
    _require_fields("norm", norm, {"class", "params"})
    _require(norm["class"] == f"{SOLR}.norm.StandardNormalizer", f"the class of norm is {norm['class']!r}")
    _require_fields("params of norm", norm["params"], {"avg", "std"})
    average, deviation = (_number(norm["params"][key], key, str) for key in ("avg", "std"))
    _require(deviation > 0, f"std must be above 0; got {deviation}")
    with np.errstate(over="ignore"):
        return (values - average) / deviation
