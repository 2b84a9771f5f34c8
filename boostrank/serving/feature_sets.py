"""Templates of feature sets, so that the features which a search engine logs are those of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from boostrank.inputs.checks import check_choice, did_you_mean, refuse
from boostrank.serving.evaluators import FORMATS, SOLR, is_vespa_name

# Parameters of a request, in Mustache's templates.
_PARAMETERS = re.compile(r"{{(?:#toJson}}|#join}}|{)?\s*(\w+)")

# Rank features of Vespa without arguments: a function of the rank profile with such a name would replace them.
_VESPA_FEATURES = {
    *("fieldInfo", "firstPhase", "firstPhaseMax", "firstPhaseRank", "globalSequence", "match", "nativeAttributeMatch"),
    *("nativeDotProduct", "nativeFieldMatch", "nativeProximity", "nativeRank", "now", "num_docs_indexed"),
    *("queryTermCount", "random", "randomNormal", "randomNormalStable", "rankingExpression", "secondPhase"),
}

# An expression of Vespa in one line, with braces up to two levels deep.
_EXPRESSION = re.compile(r"(?=.*\S)([^{}\n]|{([^{}\n]|{[^{}\n]*})*})*")


def feature_set(
    format: str,  # noqa: A002
    names: Sequence[str],
    *,
    name: str | None = None,
    queries: Mapping[str, Any] | None = None,
    absent: str | None = None,
) -> str:
    """Write the template of a feature set with the features of a model, to be completed and uploaded.

    A search engine computes each feature from a request: a query, a field, or an expression. If the same definitions
    log the features for training and compute them for the model, both have the same values. Features without a request
    get an example: a match of the parameter ``keywords`` in a field with the name of the feature. Put your own fields
    and queries in its place.

    Parameters
    ----------
    format : {"elasticsearch", "opensearch", "solr", "vespa"}
    names : sequence of str
        Names of the features in the engine, such as ``ranker.feature_names_in_``, in the sequence of the columns of X.
    name : str, optional
        The name of the set, which is Solr's feature store or Vespa's rank profile. By default "features"; with Solr
        "_DEFAULT_", where models without a store look for their features.
    queries : mapping of str, optional
        What to compute, by the name of the feature. For Elasticsearch and OpenSearch a query as a dict, which may have
        parameters such as ``{{keywords}}``. For Solr the text `q` of a ``SolrFeature``, or a dict with `class` and
        `params`. For Vespa a ranking expression as text.
    absent : "missing", optional
        For Solr, and models that were exported with ``absent="missing"``: features that a document does not have are
        NaN, and not 0.

    Returns
    -------
    str
        JSON, or the rank profile of a schema of Vespa.

    Raises
    ------
    ValueError
        If a name is there twice, `queries` has another name, the engine cannot have such a name, feature or expression,
        or `absent` is given for another engine than Solr.

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
    >>> print(br.serving.feature_set("vespa", ["bm25(title)", "price"], queries={"price": "attribute(price)"}))
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
    names = [names] if isinstance(names, str) else [str(feature) for feature in names]
    # Without quotes in a rank profile, only such names are read as one name.
    is_valid = is_vespa_name if format == "vespa" else bool
    faults = [feature for i, feature in enumerate(names) if feature in names[:i] or not is_valid(feature)]
    if faults or not names:
        refuse("names", faults or names, f"different names of features, as {format} takes them")
    # What Vespa has itself, or has arguments or an output, is a rank feature of Vespa, and no function of the profile.
    own = [key for key in names if format == "vespa" and (not key.isidentifier() or key in _VESPA_FEATURES)]
    requested = [feature for feature in names if feature not in own]
    if unknown := [feature for feature in queries if feature not in requested]:
        kind = "a function of the rank profile" if unknown[0] in names else "in names"
        raise ValueError(f"queries has {unknown[0]!r}, which is not {kind}{did_you_mean(unknown[0], requested)}")
    for key, expression in queries.items() if format == "vespa" else ():
        if not (isinstance(expression, str) and _EXPRESSION.fullmatch(expression)):
            refuse(f"queries[{key!r}]", expression, "an expression of Vespa in one line, which closes its braces")
    pattern = r"[A-Za-z_][A-Za-z0-9_-]*" if format == "vespa" else r"[^/]+"
    if name is not None and not (isinstance(name, str) and re.fullmatch(pattern, name)):
        refuse("name", name, "a text without '/', and for Vespa of letters, digits, '_' and '-', no digit first")
    if absent not in (None, "missing") or (absent and format != "solr"):
        refuse("absent", absent, "None, or 'missing' for Solr", f" for {format}")
    if format == "vespa":
        return _rank_profile(names, name or "features", {key: f"attribute({key})" for key in requested} | queries)
    if format == "solr":
        document: Any = [_solr_feature(key, name or "_DEFAULT_", queries.get(key), absent) for key in names]
    else:
        features = [_plugin_feature(key, queries.get(key, {"match": {key: "{{keywords}}"}})) for key in names]
        document = {"featureset": {"name": name or "features", "features": features}}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _plugin_feature(name: str, query: Any) -> dict[str, Any]:
    """A feature of the plugins of Elasticsearch and OpenSearch; its parameters are those of the query."""
    parameters = list(dict.fromkeys(_PARAMETERS.findall(json.dumps(query))))
    return {"name": name, "params": parameters, "template_language": "mustache", "template": query}


def _solr_feature(name: str, store: str, query: Any, absent: str | None) -> dict[str, Any]:
    """A feature of Solr; ``${keywords}`` is the parameter ``efi.keywords`` of the request."""
    if not isinstance(query, Mapping):
        field = name.replace("\\", "\\\\").replace("'", "\\'")
        text = query or f"{{!field f='{field}'}}${{keywords}}"
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
