"""Requests to search engines: sets of features, which are logged and computed for the model; upload
and ranking.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from boostrank.inputs.checks import check_choice, check_count, did_you_mean, refuse
from boostrank.serving.evaluators import (
    ELASTIC_NAME,
    ELASTIC_NAME_FORM,
    FORMATS,
    SOLR,
    is_vespa_name,
)

# Parameters of a request, in Mustache's templates.
_PARAMETERS = re.compile(r"{{(?:#toJson}}|#join}}|{)?\s*(\w+)")
# Parameters of a feature of Solr, its external feature information.
_INFORMATION = re.compile(r"\${(\w+)")

# Rank features of Vespa without arguments: a function of the rank profile with such a name would
# replace them.
_VESPA_FEATURES = {
    *(
        "fieldInfo",
        "firstPhase",
        "firstPhaseMax",
        "firstPhaseRank",
        "globalSequence",
        "match",
        "nativeAttributeMatch",
    ),
    *(
        "nativeDotProduct",
        "nativeFieldMatch",
        "nativeProximity",
        "nativeRank",
        "now",
        "num_docs_indexed",
    ),
    *(
        "queryTermCount",
        "random",
        "randomNormal",
        "randomNormalStable",
        "rankingExpression",
        "secondPhase",
    ),
}

# Names of rank profiles of Vespa, and what other engines take as names.
_PROFILE, _NAME = r"[A-Za-z_][A-Za-z0-9_-]*", r"[^/]+"

# The name of the query that computes the features to be logged, and of the log.
LOG = "features"

# An expression of Vespa in one line, with braces up to two levels deep.
_EXPRESSION = re.compile(r"(?=.*\S)([^{}\n]|{([^{}\n]|{[^{}\n]*})*})*")


class Request(NamedTuple):
    """A request to a search engine, or a file of an application package of Vespa.

    Attributes
    ----------
    method : str
        Such as "POST"; "COPY" for a file.
    path : str
        The address on the server, or the path in the application package.
    body : dict, list, str or None
        What is sent as JSON, or the text of a rank profile. That of "upload" is the file of
        :func:`export`.
    """

    method: str
    path: str
    body: Any = None


def requests(
    format: str,
    names: Any,
    *,
    model: str = "model",
    index: str = "documents",
    query: Any = None,
    parameters: Mapping[str, Any] | None = None,
    window: int = 100,
    **settings: Any,
) -> dict[str, Request]:
    """Make the requests that lead from a set of features to documents in the sequence of the model.

    Send them one after the other; between "log" and "delete" the model is trained and exported.
    "delete" removes a model of this name, because engines do not replace models; until "upload"
    there is none. A new name for each model avoids this. Vespa takes files: deploy the application
    package when they are in their places.

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "elastic", "solr", "vespa"}
    names : sequence of str or ranker
        Names of the features in the engine, in the sequence of the columns of X; or a fitted ranker
        that knows them.
    model : str, default "model"
        Name of the model in the engine.
    index : str, default "documents"
        The index, the collection, or the schema of Vespa that has the documents.
    query : optional
        What finds documents: a query as a dict, or text for Solr and Vespa. The default searches
        for the parameter `keywords`.
    parameters : mapping of str, optional
        Values of the parameters of the query and of features, such as ``{"keywords": "lamp"}``;
        those without a value have their own names as values. In Vespa, all but `keywords` are
        inputs, as in the feature ``query(price)``.
    window : int, default 100
        Number of documents that are logged, and that the model ranks: on each shard, or node of
        Vespa.
    **settings
        `name`, `queries` and `absent` of :func:`feature_set`.

    Returns
    -------
    dict of str to Request
        By purpose, in the sequence in which they are sent.

    Raises
    ------
    ValueError
        As :func:`feature_set`; and if both rank profiles of Vespa, of the features and of the
        model, have one name.

    Examples
    --------
    >>> import boostrank as br
    >>> made = br.serving.requests("elasticsearch", ["title"], model="shop", index="products")
    >>> for purpose, request in made.items():
    ...     print(f"{purpose}: {request.method} {request.path}")
    store: PUT /_ltr
    features: POST /_ltr/_featureset/features
    log: POST /products/_search
    delete: DELETE /_ltr/_model/shop
    upload: POST /_ltr/_featureset/features/_createmodel
    rank: POST /products/_search
    """
    check_count("window", window)
    _check_name("model", model, format)
    if format == "elastic" and not re.fullmatch(ELASTIC_NAME, model):
        refuse("model", model, f"a text of {ELASTIC_NAME_FORM}")
    _check_name("index", index, format)
    features = feature_set(format, names, **settings)
    found = (_INFORMATION if format == "solr" else _PARAMETERS).findall(features)
    values = {**{key: key for key in ("keywords", *found)}, **(parameters or {})}
    make: Any = {"solr": _of_solr, "vespa": _of_vespa, "elastic": _of_elastic}.get(
        format, _of_plugin
    )
    return make(features, quote(index), query, values, window, model)


def feature_set(
    format: str,
    names: Any,
    *,
    name: str | None = None,
    queries: Mapping[str, Any] | None = None,
    absent: str | None = None,
) -> str:
    """Write the template of a feature set with the features of a model, to be completed and
    uploaded.

    A search engine computes each feature from a request: a query, a field, or an expression. If the
    same definitions log the features for training and compute them for the model, both have the
    same values. Features without a request get an example: a match of the parameter ``keywords`` in
    a field with the name of the feature. Put your own fields and queries in its place.

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "elastic", "solr", "vespa"}
    names : sequence of str or ranker
        Names of the features in the engine, in the sequence of the columns of X; or a fitted ranker
        that knows them.
    name : str, optional
        The name of the set, which is Solr's feature store or Vespa's rank profile. By default
        "features"; with Solr "_DEFAULT_", where models without a store look for their features.
    queries : mapping of str, optional
        What to compute, by the name of the feature. For Elasticsearch and OpenSearch a query as a
        dict, which may have parameters such as ``{{keywords}}``. For Solr the text `q` of a
        ``SolrFeature``, or a dict with `class` and `params`. For Vespa a ranking expression as
        text.
    absent : "missing", optional
        For Solr, and models that were exported with ``absent="missing"``: features that a document
        does not have are NaN, and not 0.

    Returns
    -------
    str
        JSON, or the rank profile of a schema of Vespa. For Elastic, whose models have the set, it
        is the mapping that :func:`export` takes as `features`.

    Raises
    ------
    ValueError
        If a name is there twice, `queries` has another name, the engine cannot have such a name,
        feature or expression, or `absent` is given for another engine than Solr.

    Examples
    --------
    >>> import boostrank as br
    >>> queries = {"title": {"match": {"title": "{{keywords}}"}}}
    >>> print(br.serving.feature_set("elasticsearch", ["title"], name="shop", queries=queries))
    {
      "featureset": {
        "name": "shop",
        "features": [
          {
            "name": "title",
            "params": [
              "keywords"
            ],
            "template_language": "mustache",
            "template": {
              "match": {
                "title": "{{keywords}}"
              }
            }
          }
        ]
      }
    }
    >>> queries = {"price": "attribute(price)"}
    >>> print(br.serving.feature_set("vespa", ["bm25(title)", "price"], queries=queries))
    rank-profile features inherits default {
        function price() {
            expression: attribute(price)
        }
        match-features {
            bm25(title)
            price
        }
    }
    """
    check_choice("format", format, FORMATS)
    queries = dict(queries or {})
    names = feature_names("names", names, format)
    # What Vespa has itself, or has arguments or an output, is a rank feature of Vespa, and no
    # function of the profile.
    own = [
        key
        for key in names
        if format == "vespa" and (not key.isidentifier() or key in _VESPA_FEATURES)
    ]
    requested = [feature for feature in names if feature not in own]
    if unknown := [feature for feature in queries if feature not in requested]:
        kind = "a function of the rank profile" if unknown[0] in names else "in names"
        raise ValueError(
            f"queries has {unknown[0]!r}, which is not {kind}{did_you_mean(unknown[0], requested)}"
        )
    for key, expression in queries.items() if format == "vespa" else ():
        if not (isinstance(expression, str) and _EXPRESSION.fullmatch(expression)):
            refuse(
                f"queries[{key!r}]",
                expression,
                "an expression of Vespa in one line, which closes its braces",
            )
    if name is not None:
        _check_name("name", name, format)
    check_absent(absent, format)
    if format == "vespa":
        return _rank_profile(
            names, name or "features", {key: f"attribute({key})" for key in requested} | queries
        )
    if format == "solr":
        document: Any = [
            _solr_feature(key, name or "_DEFAULT_", queries.get(key), absent) for key in names
        ]
    elif format == "elastic":
        document = {key: queries.get(key, {"match": {key: "{{keywords}}"}}) for key in names}
    else:
        features = [
            _plugin_feature(key, queries.get(key, {"match": {key: "{{keywords}}"}}))
            for key in names
        ]
        document = {"featureset": {"name": name or "features", "features": features}}
    return json.dumps(document, indent=2, ensure_ascii=False)


def feature_names(argument: str, names: Any, engine: str) -> list[str]:
    """The names of features as texts, from one or several names, or from a ranker; ValueError for
    those without use.
    """
    given = getattr(names, "feature_names_in_", () if hasattr(names, "fit") else names)
    texts = (
        [given]
        if isinstance(given, str)
        else [*map(str, given if isinstance(given, Iterable) else ())]
    )
    # Without quotes in a rank profile, only such names are read as one name.
    is_valid = is_vespa_name if engine == "vespa" else bool
    faults = [
        feature for i, feature in enumerate(texts) if feature in texts[:i] or not is_valid(feature)
    ]
    if faults or not texts:
        got = "" if faults else "none"
        refuse(
            argument, faults, f"different names of the features, as {engine} takes them", got=got
        )
    return texts


def _plugin_feature(name: str, query: Any) -> dict[str, Any]:
    """A feature of the plugins of Elasticsearch and OpenSearch; its parameters are those of the
    query.
    """
    parameters = list(dict.fromkeys(_PARAMETERS.findall(json.dumps(query))))
    return {"name": name, "params": parameters, "template_language": "mustache", "template": query}


def _solr_feature(name: str, store: str, query: Any, absent: str | None) -> dict[str, Any]:
    """A feature of Solr; ``${keywords}`` is the parameter ``efi.keywords`` of the request."""
    if not isinstance(query, Mapping):
        text = query or f"{{!field f={_quoted(name)}}}${{keywords}}"
        query = {"class": f"{SOLR}.feature.SolrFeature", "params": {"q": text}}
    params = query.get("params", {}) | ({"defaultValue": "NaN"} if absent else {})
    return {"store": store, "name": name, **query, "params": params}


def _rank_profile(names: Sequence[str], profile: str, functions: Mapping[str, str]) -> str:
    """The rank profile that computes features, some of them by functions."""
    lines = [f"rank-profile {profile} inherits default {{"]
    for name, expression in functions.items():
        lines += [f"    function {name}() {{", f"        expression: {expression}", "    }"]
    lines += ["    match-features {", *(f"        {name}" for name in names), "    }", "}"]
    return "\n".join(lines)


def check_absent(absent: Any, engine: str) -> None:
    """Raise ValueError if features that are absent cannot be so in an engine."""
    if absent not in (None, "missing") or (absent and engine != "solr"):
        refuse("absent", absent, "None, or 'missing' for Solr", f" for {engine}")


def _check_name(argument: str, name: Any, engine: str) -> None:
    if not (isinstance(name, str) and re.fullmatch(_PROFILE if engine == "vespa" else _NAME, name)):
        refuse(
            argument,
            name,
            "a text without '/', and for Vespa of letters, digits, '_' and '-', no digit first",
        )


def _quoted(value: Any) -> str:
    """A value of a local parameter of Solr."""
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _of_plugin(
    features: str, index: str, query: Any, values: Any, window: int, model: str
) -> dict[str, Request]:
    query, body = query or {"multi_match": {"query": values["keywords"]}}, json.loads(features)
    name = body["featureset"]["name"]
    # A filter changes no score.
    sltr = {"sltr": {"_name": LOG, "featureset": name, "params": values}}
    log = {"query": {"bool": {"must": query, "filter": sltr}}, "size": window, "_source": False}
    log["ext"] = {"ltr_log": {"log_specs": {"name": LOG, "named_query": LOG}}}
    # By default the score of the first query would be added to that of the model.
    rescore = {"query_weight": 0, "rescore_query": {"sltr": {"model": model, "params": values}}}
    rank = {"query": query, "rescore": {"window_size": window, "query": rescore}}
    return {
        "store": Request("PUT", "/_ltr"),
        "features": Request("POST", f"/_ltr/_featureset/{quote(name)}", body),
        "log": Request("POST", f"/{index}/_search", log),
        "delete": Request("DELETE", f"/_ltr/_model/{quote(model)}"),
        "upload": Request("POST", f"/_ltr/_featureset/{quote(name)}/_createmodel"),
        "rank": Request("POST", f"/{index}/_search", rank),
    }


def _of_elastic(
    features: str, index: str, query: Any, values: Any, window: int, model: str
) -> dict[str, Request]:
    query = query or {"multi_match": {"query": values["keywords"]}}
    named = [{"bool": {"must": by, "_name": name}} for name, by in json.loads(features).items()]
    # Scores of queries with names are logged; those without weight change no score.
    search = {"query": {"bool": {"must": query, "should": {"bool": {"should": named, "boost": 0}}}}}
    log = {"source": {**search, "size": window, "_source": False}, "params": values}
    rescore = {"window_size": window, "learning_to_rank": {"model_id": model, "params": values}}
    return {
        "log": Request("POST", f"/{index}/_search/template?include_named_queries_score=true", log),
        "delete": Request("DELETE", f"/_ml/trained_models/{quote(model)}"),
        "upload": Request("PUT", f"/_ml/trained_models/{quote(model)}"),
        "rank": Request("POST", f"/{index}/_search", {"query": query, "rescore": rescore}),
    }


def _of_solr(
    features: str, index: str, query: Any, values: Any, window: int, model: str
) -> dict[str, Request]:
    root, common = f"/solr/{index}", {"query": query or values["keywords"], "limit": window}
    information = " ".join(f"efi.{key}={_quoted(value)}" for key, value in values.items())
    body = json.loads(features)
    log = f"[features store={_quoted(body[0]['store'])} format=dense {information}]"
    rank = {"rq": f"{{!ltr model={_quoted(model)} reRankDocs={window} {information}}}"}
    return {
        "features": Request("PUT", f"{root}/schema/feature-store", body),
        "log": Request("POST", f"{root}/query", {**common, "fields": ["id", log]}),
        "delete": Request("DELETE", f"{root}/schema/model-store/{quote(model)}"),
        "upload": Request("PUT", f"{root}/schema/model-store"),
        "rank": Request("POST", f"{root}/query", {**common, "fields": ["id"], "params": rank}),
    }


def _of_vespa(
    features: str, index: str, query: Any, values: Any, window: int, model: str
) -> dict[str, Request]:
    name = features.split()[1]
    if model == name:
        refuse("model", model, "another name than that of the rank profile with the features")
    inputs = {f"input.query({key})": value for key, value in values.items() if key != "keywords"}
    search = {
        "yql": query or f"select * from {index} where userQuery()",
        "query": values["keywords"],
        **inputs,
    }
    second = f'    second-phase {{\n        expression: xgboost("{model}.json")\n        rerank-count: {window}\n    }}'
    profile = f"rank-profile {model} inherits {name} {{\n{second}\n}}"
    return {
        "features": Request("COPY", f"schemas/{index}/{name}.profile", features),
        "log": Request("POST", "/search/", {**search, "hits": window, "ranking.profile": name}),
        "upload": Request("COPY", f"models/{model}.json"),
        "profile": Request("COPY", f"schemas/{index}/{model}.profile", profile),
        "rank": Request("POST", "/search/", {**search, "hits": window, "ranking.profile": model}),
    }
