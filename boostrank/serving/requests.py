"""Requests to search engines: sets of features, their log, upload of the model, and ranking."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from boostrank.inputs.checks import check_choice, check_count, did_you_mean, refuse
from boostrank.serving.evaluators import (
    ELASTIC_NAME,
    ELASTIC_NAME_FORM,
    FORMATS,
    SOLR,
    JsonObject,
    is_vespa_name,
)

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

# Parameters of a request, in Mustache's templates.
_PARAMETERS = re.compile(r"{{(?:#toJson}}|#join}}|{)?\s*(\w+)")
# Parameters of a feature of Solr, its external feature information.
_INFORMATION = re.compile(r"\${(\w+)")

# Rank features of Vespa without arguments: a function of the rank profile with such a name would
# replace them.
_VESPA_FEATURES = {
    "fieldInfo",
    "firstPhase",
    "firstPhaseMax",
    "firstPhaseRank",
    "globalSequence",
    "match",
    "nativeAttributeMatch",
    "nativeDotProduct",
    "nativeFieldMatch",
    "nativeProximity",
    "nativeRank",
    "now",
    "num_docs_indexed",
    "queryTermCount",
    "random",
    "randomNormal",
    "randomNormalStable",
    "rankingExpression",
    "secondPhase",
}

# Names of rank profiles of Vespa, and what other engines take as names.
_PROFILE = r"[A-Za-z_][A-Za-z0-9_-]*"
_NAME = r"[^/]+"

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


class _Search(NamedTuple):
    """The arguments that the requests of an engine have in common; they are those of `requests`."""

    index_name: str
    query: JsonObject | str | None
    parameters: dict[str, object]
    window: int
    model: str

    @property
    def text_query(self) -> JsonObject | str:
        """The query; by default a search for `keywords` in all fields."""
        return self.query or {"multi_match": {"query": self.parameters["keywords"]}}


def requests(
    format: str,
    names: Iterable[str] | BaseEstimator,
    *,
    model: str = "model",
    index: str = "documents",
    query: JsonObject | str | None = None,
    parameters: Mapping[str, object] | None = None,
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
    pattern = _INFORMATION if format == "solr" else _PARAMETERS
    values: dict[str, object] = {key: key for key in ("keywords", *pattern.findall(features))}
    values |= parameters or {}
    search = _Search(quote(index), query, values, window, model)
    if format == "solr":
        return _of_solr(features, search)
    if format == "vespa":
        return _of_vespa(features, search)
    if format == "elastic":
        return _of_elastic(features, search)
    return _of_plugin(features, search)


def feature_set(
    format: str,
    names: Iterable[str] | BaseEstimator,
    *,
    name: str | None = None,
    queries: Mapping[str, JsonObject | str] | None = None,
    absent: str | None = None,
) -> str:
    """Write the template of a feature set with the features of a model.

    Complete and upload it. A search engine computes each feature from a request: a query, a field,
    or an expression. If the same definitions log the features for training and compute them for the
    model, both have the same values. Features without a request get an example: a match of the
    parameter ``keywords`` in a field with the name of the feature. Put your own fields and queries
    in its place.

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
    features = feature_names("names", names, format)
    requested = features
    if format == "vespa":
        # What Vespa has itself, or has arguments or an output, is a rank feature of Vespa, and no
        # function of the profile.
        functions = set(filter(str.isidentifier, features)) - _VESPA_FEATURES
        requested = [feature for feature in features if feature in functions]
    _check_queries(queries, features, requested)
    if format == "vespa":
        _check_expressions(queries)
    if name is not None:
        _check_name("name", name, format)
    check_absent(absent, format)
    if format == "vespa":
        expressions = {feature: f"attribute({feature})" for feature in requested} | queries
        return _rank_profile(features, name or "features", expressions)
    document: object
    if format == "solr":
        store = name or "_DEFAULT_"
        document = [
            _solr_feature(feature, store, queries.get(feature), absent) for feature in features
        ]
    else:
        requests_of = {feature: example_query(feature) for feature in features} | queries
        document = requests_of
        if format != "elastic":
            entries = [_plugin_feature(*item) for item in requests_of.items()]
            document = {"featureset": {"name": name or "features", "features": entries}}
    return json.dumps(document, indent=2, ensure_ascii=False)


def example_query(feature: str) -> JsonObject:
    """A match of the parameter ``keywords`` in the field with the name of the feature."""
    return {"match": {feature: "{{keywords}}"}}


def feature_names(argument: str, names: object, engine: str) -> list[str]:
    """The names of features as texts, from one or several names, or from a ranker.

    Raises ValueError for names that cannot be used, and for a ranker that knows none.
    """
    if hasattr(names, "fit"):
        names = getattr(names, "feature_names_in_", ())
    texts: list[str] = []
    if isinstance(names, str):
        texts = [names]
    elif isinstance(names, Iterable):
        texts = list(map(str, names))
    # Without quotes in a rank profile, only such names are read as one name.
    is_valid = is_vespa_name if engine == "vespa" else bool
    faults = [text for i, text in enumerate(texts) if text in texts[:i] or not is_valid(text)]
    if faults or not texts:
        expected = f"different names of the features, as {engine} takes them"
        refuse(argument, faults, expected, got="" if faults else "none")
    return texts


def _check_queries(
    queries: Iterable[str], features: Sequence[str], requested: Sequence[str]
) -> None:
    """Raise ValueError for a query of what is no feature, or is one that the engine has itself."""
    for name in queries:
        if name not in requested:
            kind = "a function of the rank profile" if name in features else "in names"
            raise ValueError(
                f"queries has {name!r}, which is not {kind}{did_you_mean(name, requested)}"
            )


def _check_expressions(queries: Mapping[str, object]) -> None:
    """Raise ValueError for what is no ranking expression of Vespa."""
    for name, expression in queries.items():
        if not (isinstance(expression, str) and _EXPRESSION.fullmatch(expression)):
            expected = "an expression of Vespa in one line, which closes its braces"
            refuse(f"queries[{name!r}]", expression, expected)


def _plugin_feature(name: str, query: object) -> dict[str, Any]:
    """A feature of the plugins of Elasticsearch and OpenSearch, with the query's parameters."""
    parameters = list(dict.fromkeys(_PARAMETERS.findall(json.dumps(query))))
    return {"name": name, "params": parameters, "template_language": "mustache", "template": query}


def _solr_feature(
    name: str, store: str, query: JsonObject | str | None, absent: str | None
) -> dict[str, Any]:
    """A feature of Solr; ``${keywords}`` is the parameter ``efi.keywords`` of the request."""
    if not isinstance(query, Mapping):
        text = query or f"{{!field f={_quoted(name)}}}${{keywords}}"
        query = {"class": f"{SOLR}.feature.SolrFeature", "params": {"q": text}}
    params = dict(query.get("params", {}))
    if absent:
        params["defaultValue"] = "NaN"
    return {"store": store, "name": name, **query, "params": params}


def _rank_profile(names: Sequence[str], profile: str, functions: Mapping[str, object]) -> str:
    """The rank profile that computes features, some of them by functions."""
    lines = [f"rank-profile {profile} inherits default {{"]
    for name, expression in functions.items():
        lines += [f"    function {name}() {{", f"        expression: {expression}", "    }"]
    lines += ["    match-features {", *(f"        {name}" for name in names), "    }", "}"]
    return "\n".join(lines)


def check_absent(absent: object, engine: str) -> None:
    """Raise ValueError if features that are absent cannot be so in an engine."""
    if absent not in (None, "missing") or (absent and engine != "solr"):
        refuse("absent", absent, "None, or 'missing' for Solr", f" for {engine}")


def _check_name(argument: str, name: object, engine: str) -> None:
    pattern = _PROFILE if engine == "vespa" else _NAME
    if not (isinstance(name, str) and re.fullmatch(pattern, name)):
        refuse(
            argument,
            name,
            "a text without '/', and for Vespa of letters, digits, '_' and '-', no digit first",
        )


def _quoted(value: object) -> str:
    """A value of a local parameter of Solr."""
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


def _of_plugin(features: str, search: _Search) -> dict[str, Request]:
    body = json.loads(features)
    name = body["featureset"]["name"]
    query = search.text_query
    # A filter changes no score.
    logged = {"_name": LOG, "featureset": name, "params": search.parameters}
    log = {
        "query": {"bool": {"must": query, "filter": {"sltr": logged}}},
        "size": search.window,
        "_source": False,
        "ext": {"ltr_log": {"log_specs": {"name": LOG, "named_query": LOG}}},
    }
    model = {"model": search.model, "params": search.parameters}
    # By default the score of the first query would be added to that of the model.
    rescore = {"query_weight": 0, "rescore_query": {"sltr": model}}
    rank = {"query": query, "rescore": {"window_size": search.window, "query": rescore}}
    set_path = f"/_ltr/_featureset/{quote(name)}"
    search_path = f"/{search.index_name}/_search"
    return {
        "store": Request("PUT", "/_ltr"),
        "features": Request("POST", set_path, body),
        "log": Request("POST", search_path, log),
        "delete": Request("DELETE", f"/_ltr/_model/{quote(search.model)}"),
        "upload": Request("POST", f"{set_path}/_createmodel"),
        "rank": Request("POST", search_path, rank),
    }


def _of_elastic(features: str, search: _Search) -> dict[str, Request]:
    query = search.text_query
    named = [{"bool": {"must": by, "_name": name}} for name, by in json.loads(features).items()]
    # Scores of queries with names are logged; those without weight change no score.
    logged = {"bool": {"should": named, "boost": 0}}
    source = {
        "query": {"bool": {"must": query, "should": logged}},
        "size": search.window,
        "_source": False,
    }
    log = {"source": source, "params": search.parameters}
    model = {"model_id": search.model, "params": search.parameters}
    rescore = {"window_size": search.window, "learning_to_rank": model}
    rank = {"query": query, "rescore": rescore}
    search_path = f"/{search.index_name}/_search"
    model_path = f"/_ml/trained_models/{quote(search.model)}"
    return {
        "log": Request("POST", f"{search_path}/template?include_named_queries_score=true", log),
        "delete": Request("DELETE", model_path),
        "upload": Request("PUT", model_path),
        "rank": Request("POST", search_path, rank),
    }


def _of_solr(features: str, search: _Search) -> dict[str, Request]:
    body = json.loads(features)
    information = " ".join(
        f"efi.{key}={_quoted(value)}" for key, value in search.parameters.items()
    )
    query = {"query": search.query or search.parameters["keywords"], "limit": search.window}
    features_field = f"[features store={_quoted(body[0]['store'])} format=dense {information}]"
    model = f"model={_quoted(search.model)} reRankDocs={search.window}"
    params = {"rq": f"{{!ltr {model} {information}}}"}
    root = f"/solr/{search.index_name}"
    models_path = f"{root}/schema/model-store"
    return {
        "features": Request("PUT", f"{root}/schema/feature-store", body),
        "log": Request("POST", f"{root}/query", {**query, "fields": ["id", features_field]}),
        "delete": Request("DELETE", f"{models_path}/{quote(search.model)}"),
        "upload": Request("PUT", models_path),
        "rank": Request("POST", f"{root}/query", {**query, "fields": ["id"], "params": params}),
    }


def _of_vespa(features: str, search: _Search) -> dict[str, Request]:
    name = features.split()[1]
    model = search.model
    if model == name:
        refuse("model", model, "another name than that of the rank profile with the features")
    query = {
        "yql": search.query or f"select * from {search.index_name} where userQuery()",
        "query": search.parameters["keywords"],
    }
    for key, value in search.parameters.items():
        if key != "keywords":
            query[f"input.query({key})"] = value
    query["hits"] = search.window
    profile = [
        f"rank-profile {model} inherits {name} {{",
        "    second-phase {",
        f'        expression: xgboost("{model}.json")',
        f"        rerank-count: {search.window}",
        "    }",
        "}",
    ]
    folder = f"schemas/{search.index_name}"
    return {
        "features": Request("COPY", f"{folder}/{name}.profile", features),
        "log": Request("POST", "/search/", {**query, "ranking.profile": name}),
        "upload": Request("COPY", f"models/{model}.json"),
        "profile": Request("COPY", f"{folder}/{model}.profile", "\n".join(profile)),
        "rank": Request("POST", "/search/", {**query, "ranking.profile": model}),
    }
