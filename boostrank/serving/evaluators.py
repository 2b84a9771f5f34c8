"""Scores that search engines compute from the documents of models, in the arithmetic of their own parsers and trees.

This module follows the source of the engines, not the functions that write documents: ``XGBoostJsonParser`` and
``NaiveAdditiveDecisionTree`` of the plugins of Elasticsearch and OpenSearch, ``MultipleAdditiveTreesModel`` of Solr,
and ``XGBoostParser`` of Vespa.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import check_choice

#: Formats of documents, and of templates of feature sets.
FORMATS = ("elasticsearch", "opensearch", "solr", "vespa")
ABSENT = ("direction", "zero", "right")
PLUGIN_TYPE = "model/xgboost+json"
SOLR_MODEL = "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
SOLR_NORMALIZER = "org.apache.solr.ltr.norm.StandardNormalizer"
#: Solr adds this to every threshold.
SOLR_SLACK = np.float32(1e-6)
#: Objectives after which the plugins change no score, and those after which they compute the logistic function.
RAW_OBJECTIVES = ("binary:logitraw", "rank:ndcg", "rank:map", "rank:pairwise", "reg:linear")
LOGISTIC_OBJECTIVES = ("binary:logistic", "reg:logistic")
# The fields of a node in the JSON of XGBoost, and their types.
_FIELDS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("nodeid", "depth", "yes", "no", "missing"), int),
    **dict.fromkeys(("split_condition", "leaf"), (int, float)),
    "split": str,
    "children": list,
}
# The name of a rank feature of Vespa: an identifier, and it may have arguments, quoted or not, and an output.
_VESPA_NAME = re.compile(
    r"""(?P<head>[A-Za-z_@][\w@$]*)(?P<arguments>\((?:[\w@$.,\ ()-]|"[^"\\]*"|'[^'\\]*')+\))?(\.[\w@$]+)*""", re.ASCII
)
# Functions and keywords of Vespa's expressions, which are computed and not looked up.
_VESPA_FUNCTIONS = re.compile(
    "f|map|map_subspaces|filter_subspaces|reduce|join|merge|concat|rename|tensor|unpack_bits|expand|range|diag|random|avg"
    "|count|prod|sum|max|min|median|argmax|argmin|cell_cast|cell_order|top|cos|sin|tan|cosh|sinh|tanh|acos|asin|atan|exp"
    "|atan2|ldexp|log|log10|pow|sqrt|square|cube|ceil|abs|fabs|floor|fmod|round|sign|isNan|relu|sigmoid|elu|erf|bit|switch"
    "|hamming|matmul|xw_plus_b|softmax|l1_normalize|l2_normalize|euclidean_distance|cosine_similarity"
)
_VESPA_KEYWORDS = {"if", "in", "true", "false"}


class _Split(NamedTuple):
    """The rows that go left, and both children."""

    goes_left: Bools
    left: Any
    right: Any


def evaluate(
    format: str,  # noqa: A002
    document: Any,
    features: Mapping[str, ArrayLike],
    *,
    absent: str = "direction",
) -> NDArray[np.float64]:
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
        The values of each feature, by its name in the engine; NaN where a document does not have it.
    absent : {"direction", "zero", "right"}, default "direction"
        What the engine does with NaN. "direction": it goes where the node says, as the plugin of Elasticsearch does
        since 2024, that of OpenSearch since the middle of 2026, Vespa, and Solr since 9.2 with ``isNullSameAsZero:
        false``. "zero": it is the value 0, as in earlier versions of both plugins. "right": it goes right at every
        node, as in the plugin of OpenSearch 3.3 and the versions after it. Solr without that setting has 0 in any case.

    Returns
    -------
    ndarray of float64, shape (n_documents,)

    Raises
    ------
    ValueError
        If the engine refuses the document, or needs a feature that `features` does not have.

    Examples
    --------
    >>> leaves = [{"nodeid": 1, "leaf": 0.25}, {"nodeid": 2, "leaf": -0.5}]
    >>> split = {"nodeid": 0, "depth": 0, "split": "bm25", "split_condition": 3, "yes": 1, "no": 2, "missing": 1}
    >>> evaluate("elasticsearch", [split | {"children": leaves}], {"bm25": [2.9, 3.0, float("nan")]}).tolist()
    [0.25, -0.5, 0.25]
    """
    check_choice("format", format, FORMATS)
    check_choice("absent", absent, ABSENT if format in ("elasticsearch", "opensearch") else ABSENT[:2])
    if isinstance(document, str):
        document = json.loads(document)
    columns = {name: np.array(values, dtype=np.float32) for name, values in features.items()}
    if absent == "zero":
        columns = _fill_with_zeros(columns)
    evaluator = _solr if format == "solr" else _vespa if format == "vespa" else _plugin
    return evaluator(document, columns, absent).astype(np.float64)


def _require(valid: object, message: str) -> None:
    """Raise ValueError with a message if the document is not valid."""
    if not valid:
        raise ValueError(f"the search engine would not read this document as it is meant: {message}")


def _require_fields(what: str, given: Any, required: set[str], optional: Iterable[str] = ()) -> None:
    _require(isinstance(given, Mapping), f"{what} must be an object; got {type(given).__name__}")
    valid = required <= set(given) <= required.union(optional)
    _require(valid, f"{what} has the fields {', '.join(map(str, given)) or 'none'}")


def _fill_with_zeros(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: np.where(np.isnan(values), np.float32(0), values) for name, values in columns.items()}


def _column(columns: Mapping[str, Floats], name: str) -> Floats:
    _require(name in columns, f"it needs the feature {name!r}; features are {', '.join(columns)}")
    return columns[name]


def _finite(value: Any, field: str) -> np.float32:
    """A number as the engine holds it."""
    with np.errstate(over="ignore"):
        number = np.float32(value)
    _require(np.isfinite(number), f"{field} must be a number within the range of float32; got {value!r}")
    return number


def _sum_leaves(
    trees: list[Any], visit: Callable[[Any, NDArray[np.intp]], Any], n_rows: int, dtype: type[np.floating[Any]]
) -> Floats:
    """Add the leaves of all trees, in their sequence. `visit` returns a split, or the value of a leaf."""
    total = np.zeros(n_rows, dtype)
    for tree in trees:
        values = np.zeros(n_rows, dtype)
        nodes = [(tree, np.arange(n_rows))]
        while nodes:
            node, rows = nodes.pop()
            found = visit(node, rows)
            if isinstance(found, _Split):
                nodes += [(found.left, rows[found.goes_left]), (found.right, rows[~found.goes_left])]
            else:
                values[rows] = found
        total += values
    return total


def _n_rows(columns: Mapping[str, Floats]) -> int:
    lengths = {values.shape for values in columns.values()}
    _require(len(lengths) == 1 and len(next(iter(lengths))) == 1, "features must be columns of one length")
    return next(iter(lengths))[0]


def _read_xgboost(node: Any) -> tuple[Any, ...]:
    """The parts of a node in the JSON of XGBoost: name, threshold, yes, no, and whether NaN goes to yes; or a leaf."""
    _require_fields("a node", node, {"nodeid"}, set(_FIELDS))
    for field, value in node.items():
        valid = isinstance(value, _FIELDS[field]) and not isinstance(value, bool)
        _require(valid, f"{field} of a node is {value!r}")
    if "leaf" in node:
        _require("children" not in node, "a node has both a leaf and children")
        return (_finite(node["leaf"], "leaf"),)
    _require_fields("a split", node, set(_FIELDS) - {"leaf", "missing"}, {"missing"})
    yes, no = node["yes"], node["no"]
    numbers = [isinstance(child, Mapping) and child.get("nodeid") for child in node["children"]]
    _require(
        numbers == [yes, no] and yes != no, f"children of node {node['nodeid']} must be yes and no, in this sequence"
    )
    _require(node.get("missing", no) in (yes, no), f"missing of node {node['nodeid']} must be yes or no")
    threshold = _finite(node["split_condition"], "split_condition")
    return node["split"], threshold, *node["children"], node.get("missing") == yes


def _plugin(document: Any, columns: Mapping[str, Floats], absent: str) -> Floats:
    """Scores of the plugins of Elasticsearch and OpenSearch."""
    if isinstance(document, Mapping) and "model" in document:
        _require_fields("the document", document, {"model"})
        _require_fields("the model", document["model"], {"name", "model"})
        definition = document["model"]["model"]
        _require_fields("the inner model", definition, {"type", "definition"})
        _require(
            definition["type"] == "model/xgboost+json", f"type is {definition['type']!r}, not 'model/xgboost+json'"
        )
        document = definition["definition"]
        document = json.loads(document) if isinstance(document, str) else document
    settings: Any = {"splits": document} if isinstance(document, list) else document
    _require_fields("the definition", settings, {"splits"}, {"objective", "missing_as_zero"})
    objective = settings.get("objective", RAW_OBJECTIVES[0])
    _require(objective in RAW_OBJECTIVES + LOGISTIC_OBJECTIVES, f"the objective is {objective!r}")
    _require(isinstance(settings["splits"], list) and settings["splits"], "it must have at least one tree")
    if settings.get("missing_as_zero", False):
        columns = _fill_with_zeros(columns)

    def visit(node: Any, rows: NDArray[np.intp]) -> Any:
        if len(parts := _read_xgboost(node)) == 1:
            return parts[0]
        name, threshold, yes, no, nan_to_yes = parts
        values = _column(columns, name)[rows]
        return _Split((threshold > values) | (np.isnan(values) & (nan_to_yes and absent == "direction")), yes, no)

    scores = _sum_leaves(settings["splits"], visit, _n_rows(columns), np.float32)
    if objective in LOGISTIC_OBJECTIVES:
        return (1 / (1 + np.exp(-scores.astype(np.float64)))).astype(np.float32)
    return scores


def is_vespa_name(name: str) -> bool:
    """Whether an expression of Vespa reads a name as one feature, and does not compute it.

    Examples
    --------
    >>> [is_vespa_name(name) for name in ("closeness(field,embedding)", "term(0).weight", "max(a,b)", "price-discount")]
    [True, True, False, False]
    """
    found = _VESPA_NAME.fullmatch(name)
    if found is None or found["head"] in _VESPA_KEYWORDS or name.count("(") != name.count(")"):
        return False
    return not (found["arguments"] and _VESPA_FUNCTIONS.fullmatch(found["head"]))


def _vespa(document: Any, columns: Mapping[str, Floats], absent: str) -> Floats:
    """Scores of Vespa, which turns the trees into one expression of float64 numbers."""
    _require(isinstance(document, list) and document, "it must be an array of at least one tree")

    def visit(node: Any, rows: NDArray[np.intp]) -> Any:
        if len(parts := _read_xgboost(node)) == 1:
            return node["leaf"]
        name, threshold, yes, no, nan_to_yes = parts
        _require(
            is_vespa_name(name),
            f"{name!r} is not the name of a rank feature, such as bm25(title), or of a function without arguments; "
            "give such names as features",
        )
        values = _column(columns, name)[rows].astype(np.float64)
        return _Split(~(values >= threshold) if nan_to_yes else values < threshold, yes, no)

    return _sum_leaves(document, visit, _n_rows(columns), np.float64)


def _solr(document: Any, columns: Mapping[str, Floats], absent: str) -> Floats:
    """Scores of Solr's MultipleAdditiveTreesModel."""
    _require_fields("the document", document, {"class", "name", "features", "params"}, {"store"})
    _require(document["class"] == SOLR_MODEL, f"the class is {document['class']!r}")
    _require_fields("params", document["params"], {"trees"}, {"isNullSameAsZero"})
    null_is_zero = document["params"].get("isNullSameAsZero", True)
    _require(isinstance(null_is_zero, bool), f"isNullSameAsZero must be true or false; got {null_is_zero!r}")
    inputs: dict[str, Floats] = {}
    for feature in document["features"]:
        _require_fields("a feature", feature, {"name"}, {"norm"})
        name = feature["name"]
        _require(isinstance(name, str) and name not in inputs, f"the feature {name!r} is there twice, or is no text")
        values = _column(columns, name)
        values = np.where(np.isnan(values), np.float32(0), values) if null_is_zero else values
        inputs[name] = _normalize(feature["norm"], values) if "norm" in feature else values

    def visit(node: Any, rows: NDArray[np.intp]) -> Any:
        if "feature" not in node:
            _require_fields("a leaf", node, {"value"})
            return _text_number(node["value"], "value")
        nan = set() if null_is_zero else {"missing"}
        _require_fields("a split", node, {"feature", "threshold", "left", "right"} | nan, {"missing"})
        _require(node["feature"] in inputs, f"a tree with {node['feature']!r} counts 0, because features lack it")
        threshold = _finite(_text_number(node["threshold"], "threshold") + SOLR_SLACK, "threshold")
        values = inputs[node["feature"]][rows]
        nan_to_left = not null_is_zero and node["missing"] == "left"
        return _Split((values <= threshold) | (np.isnan(values) & nan_to_left), node["left"], node["right"])

    total = np.zeros(_n_rows(inputs), np.float32)
    for tree in document["params"]["trees"]:
        _require_fields("a tree", tree, {"weight", "root"})
        total += _text_number(tree["weight"], "weight") * _sum_leaves([tree["root"]], visit, len(total), np.float32)
    return total


def _text_number(value: Any, field: str) -> np.float32:
    """A number of Solr, which must be a text: its setters do not take the numbers of JSON."""
    _require(isinstance(value, str), f'{field} must be a text such as "0.5"; got {value!r}')
    return _finite(value, field)


def _normalize(norm: Any, values: Floats) -> Floats:
    _require_fields("norm", norm, {"class", "params"})
    _require(norm["class"] == SOLR_NORMALIZER, f"the class of norm is {norm['class']!r}, not {SOLR_NORMALIZER!r}")
    _require_fields("params of norm", norm["params"], {"avg", "std"})
    average, deviation = (_text_number(norm["params"][key], key) for key in ("avg", "std"))
    _require(deviation > 0, f"std must be above 0; got {deviation}")
    with np.errstate(over="ignore"):
        return (values - average) / deviation
