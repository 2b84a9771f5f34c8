"""Answers of search engines to requests that log features, read as features to train on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from boostrank.inputs.checks import check_choice, named_part, refuse
from boostrank.inputs.table import QID
from boostrank.serving.evaluators import Document
from boostrank.serving.requests import check_absent, feature_names

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# The documents in an answer; in a document its id, and the log of its features.
_PLACES = {
    **dict.fromkeys(("elasticsearch", "opensearch"), ("hits", "hits", "_id", "fields", "_ltrlog")),
    "elastic": ("hits", "hits", "_id", "matched_queries"),
    "solr": ("response", "docs", "id", "[features]"),
    "vespa": ("root", "children", "id", "fields", "matchfeatures"),
}
# Solr's name and value of a feature. Names may have commas too.
_PAIR = r"(.+?)=(-?(?:[0-9.]+(?:E-?[0-9]+)?|Infinity)|NaN)(?:,|$)"
_ADVICE = "send the body of the request 'log' that boostrank.serving.requests makes"


def read_log(
    format: str,
    answers: Mapping[object, Document],
    names: Iterable[str] | BaseEstimator,
    *,
    absent: str | None = None,
) -> pd.DataFrame:
    """Read the features that a search engine has logged.

    Requests for them are those of :func:`requests`, "log".

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "elastic", "solr", "vespa"}
    answers : mapping
        The answer of the engine to each query, by the id of the query: JSON, as text or as
        ``json.load`` returns it.
    names : sequence of str or ranker
        Names of the features, as they were given to :func:`requests`.
    absent : "missing", optional
        As in :func:`feature_set`, for Solr: features that Solr leaves out are NaN, and not 0.

    Returns
    -------
    DataFrame of float32
        The features, which are the columns, of each document, in the sequence of the answers. The
        index has the levels "qid" and "document": rankers take the query ids from it, and
        ``X.join(labels, how="inner")`` joins a Series of labels with the same index. Values that
        the engine does not have are NaN; ``X.fillna(0)`` is what versions see that take 0 in their
        place.

    Raises
    ------
    ValueError
        For an error in place of an answer, the answer of another engine, a document without logged
        features or with those of two sets, features that are not those of `names`, and if no
        document has a value.

    Examples
    --------
    >>> import boostrank as br
    >>> logged = [{"name": "title", "value": 1.5}, {"name": "price"}]
    >>> answer = {
    ...     "hits": {"hits": [{"_id": "doc7", "fields": {"_ltrlog": [{"features": logged}]}}]}
    ... }
    >>> br.serving.read_log("elasticsearch", {"lamp": answer}, ["price", "title"])
                   price  title
    qid  document
    lamp doc7        NaN    1.5
    """
    check_choice("format", format, _PLACES)
    check_absent(absent, format)
    if not isinstance(answers, Mapping):
        refuse("answers", answers, "a mapping of the ids of queries to the answers of the engine")
    features = feature_names("names", names, format)
    default = 0.0 if format == "solr" and absent is None else np.nan
    rows: dict[tuple[object, object], list[float]] = {}
    for qid, answer in answers.items():
        with named_part(f"the answer of {format} to the query {qid!r}"):
            for document, pairs in _logged(format, answer):
                values = dict(pairs)
                if (qid, document) in rows or len(values) < len(pairs):
                    raise ValueError(
                        f"document {document!r} or a feature of it is there twice: {pairs}"
                    )
                # Solr and Elastic may leave out features without a value.
                has_all = format in ("solr", "elastic") or len(values) == len(features)
                if not has_all or not values.keys() <= set(features):
                    others = sorted(values.keys() ^ set(features))
                    raise ValueError(
                        f"document {document!r} and names differ by {others}: give equal features"
                    )
                rows[qid, document] = [values.get(feature, default) for feature in features]
    index = pd.MultiIndex.from_tuples(rows, names=[QID, "document"])
    X = pd.DataFrame(list(rows.values()), index, features, dtype=np.float32)
    if len(X) and X.isna().all(axis=None):
        raise ValueError(f"no document has a value: {_ADVICE}")
    return X


def _logged(engine: str, answer: object) -> list[tuple[object, list[tuple[str, float]]]]:
    """The id of each document, and the names and values of its features."""
    outer, inner, identifier, *place = _PLACES[engine]
    try:
        parsed: Any = json.loads(answer) if isinstance(answer, (str, bytes)) else answer
        if engine == "vespa" and parsed[outer].get("errors"):
            raise ValueError("it has errors")
        # Vespa leaves out a list without documents.
        found = {"children": []} | parsed[outer]
        documents = []
        for hit in found[inner]:
            # Elastic leaves out the field of a document without features.
            log = reduce(getitem, place, {"matched_queries": {}} | hit)
            documents.append((hit[identifier], _pairs(log)))
        return documents
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        fault = f"it has no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"{fault}; {_ADVICE}, and give the whole answer; got {str(answer)[:300]}"
        ) from error


def _pairs(log: Any) -> list[tuple[str, Any]]:
    """The names and values of the features of a document, in the form of any of the engines."""
    if isinstance(log, str):
        if re.sub(_PAIR, "", log):
            refuse("[features]", log, "name=value,name=value")
        return [(name, float(value)) for name, value in re.findall(_PAIR, log)]
    if isinstance(log, Mapping):
        pairs = []
        for long_name, value in log.items():
            # Vespa may give functions of the rank profile this longer name.
            name = re.sub(r"^rankingExpression\((.*)\)$", r"\1", long_name)
            # JSON has no NaN.
            pairs.append((name, np.nan if value is None else float(value)))
        return pairs
    (sets,) = log
    if len(sets) != 1:
        refuse("_ltrlog", sets, "the log of one set of features", got=f"those of {', '.join(sets)}")
    (entries,) = sets.values()
    return [(entry["name"], float(entry.get("value", np.nan))) for entry in entries]
