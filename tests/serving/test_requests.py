"""Requests: sets of features with the names of the model, addresses, and bodies that belong
together."""

import json
import re

import pytest
from cases import for_each

import boostrank as br
from boostrank.serving import feature_set, requests

HOSTILE = ['quo"te', "back\\slash", "ünïcode 特", "closeness(field,embedding)", "{{x}}"]


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_plugins_get_names_parameters_and_queries(engine):
    query = {"match": {"title": "{{words}} {{#toJson}}tags{{/toJson}} {{words}}"}}
    body = json.loads(feature_set(engine, HOSTILE, queries={HOSTILE[0]: query}))["featureset"]
    assert [feature["name"] for feature in body["features"]] == HOSTILE
    expected = {"params": ["words", "tags"], "template_language": "mustache", "template": query}
    assert body["features"][0] == {"name": HOSTILE[0], **expected}
    assert body["features"][1]["template"] == {"match": {HOSTILE[1]: "{{keywords}}"}}


def test_one_name_is_no_sequence_of_letters():
    assert feature_set("vespa", "price") == feature_set("vespa", ["price"])


def test_features_that_vespa_has_itself_are_not_replaced():
    text = feature_set("vespa", ["nativeRank", "bm25(title)", "firstPhase", "rank"])
    assert re.findall(r"function (.*) {", text) == ["rank()"]
    assert text.split("match-features")[1].split()[1:-2] == [
        "nativeRank",
        "bm25(title)",
        "firstPhase",
        "rank",
    ]


def test_solr_gets_a_store_and_classes():
    field = {"class": "org.apache.solr.ltr.feature.FieldValueFeature", "params": {"field": "price"}}
    price, title = json.loads(
        feature_set("solr", ["price", "title"], queries={"price": field}, absent="missing")
    )
    params = {"field": "price", "defaultValue": "NaN"}
    assert price == {
        "store": "_DEFAULT_",
        "name": "price",
        "class": field["class"],
        "params": params,
    }
    assert title["params"]["q"] == "{!field f='title'}${keywords}"
    (price,) = json.loads(
        feature_set("solr", ["price"], name="shop", queries={"price": "{!dismax qf=a}${words}"})
    )
    (quoted,) = json.loads(feature_set("solr", ["o'b\\c"]))
    assert quoted["params"]["q"] == r"{!field f='o\'b\\c'}${keywords}"
    assert (price["store"], price["params"]) == ("shop", {"q": "{!dismax qf=a}${words}"})


@for_each(
    "engine, names, settings, fault",
    [
        ("lucene", ["a"], {}, "format must be one of elasticsearch"),
        ("solr", ["a", "b", "a"], {}, r"names must be different names.*\['a'\]"),
        ("vespa", ["max(a,b)"], {}, r"as vespa takes them; got \['max\(a,b\)'\]"),
        (
            "opensearch",
            ["title"],
            {"queries": {"titel": {}}},
            "'titel', which is not in names .did you mean 'title'",
        ),
        ("vespa", ["bm25(t)"], {"queries": {"bm25(t)": "1"}}, "not a function of the rank profile"),
        (
            "vespa",
            ["now"],
            {"queries": {"now": "1"}},
            "'now', which is not a function of the rank profile",
        ),
        (
            "vespa",
            ["price"],
            {"name": "x } }"},
            "name must be .* for Vespa of letters, digits, .*; got 'x } }'",
        ),
        *(
            (
                "vespa",
                ["price"],
                {"queries": {"price": query}},
                r"queries\['price'\] must be an expression of Vespa",
            )
            for query in ("1 } {", "1\n2", {"match": {}})
        ),
        ("vespa", ['bm25("a\n")'], {}, "as vespa takes them"),
        ("solr", ["price"], {"name": "a/b"}, "name must be a text without '/'"),
        ("solr", None, {}, "names must be different names of the features, .*; got none"),
        (
            "solr",
            br.LightGBMRanker(),
            {},
            "names must be different names of the features, .*; got none",
        ),
        ("vespa", ["price"], {"absent": "missing"}, "absent must be None, or 'missing' for Solr"),
        ("solr", ["price"], {"absent": "zero"}, "got 'zero' for solr"),
    ],
)
def test_faults_of_arguments_are_named(engine, names, settings, fault):
    with pytest.raises(ValueError, match=fault):
        feature_set(engine, names, **settings)


PLUGIN = "PUT /_ltr|POST /_ltr/_featureset/my%20set|POST /p%23/_search|DELETE /_ltr/_model/shop"
PLUGIN += "|POST /_ltr/_featureset/my%20set/_createmodel|POST /p%23/_search"
ELASTIC = (
    "POST /p%23/_search/template?include_named_queries_score=true|DELETE /_ml/trained_models/shop"
)
ELASTIC += "|PUT /_ml/trained_models/shop|POST /p%23/_search"
SOLR = "PUT /solr/p%23/schema/feature-store|POST /solr/p%23/query"
SOLR += "|DELETE /solr/p%23/schema/model-store/shop"
SOLR += "|PUT /solr/p%23/schema/model-store|POST /solr/p%23/query"


@pytest.mark.parametrize(
    ("engine", "addresses"), [("opensearch", PLUGIN), ("elastic", ELASTIC), ("solr", SOLR)]
)
def test_requests_have_the_names_of_each_other_and_values_of_all_parameters(engine, addresses):
    queries = {"a": "{!field f=a}${words}" if engine == "solr" else {"match": {"a": "{{words}}"}}}
    settings = {"queries": queries, "parameters": {"keywords": "it's", "size": 3}, "index": "p#"}
    made = requests(engine, ["a"], model="shop", name="my set", **settings)
    assert [f"{request.method} {request.path}" for request in made.values()] == addresses.split("|")
    log, rank = made["log"].body, made["rank"].body
    values = {"keywords": "it's", "words": "words", "size": 3}
    if engine == "solr":
        information = r"efi.keywords='it\'s' efi.words='words' efi.size='3'"
        assert log["fields"] == ["id", f"[features store='my set' format=dense {information}]"]
        rerank = {"rq": f"{{!ltr model='shop' reRankDocs=100 {information}}}"}
        assert rank == {"query": "it's", "limit": 100, "fields": ["id"], "params": rerank}
    elif engine == "elastic":
        named = [{"bool": {"must": queries["a"], "_name": "a"}}]
        assert log["source"]["query"]["bool"]["should"] == {"bool": {"should": named, "boost": 0}}
        rerank = {"learning_to_rank": {"model_id": "shop", "params": values}}
        assert (log["params"], rank["rescore"]) == (values, {"window_size": 100, **rerank})
    else:
        (spec,), sltr = log["ext"]["ltr_log"].values(), log["query"]["bool"]["filter"]["sltr"]
        assert sltr == {"_name": spec["named_query"], "featureset": "my set", "params": values}
        assert made["features"].body["featureset"]["name"] == "my set"
        # Otherwise the score of the first query would be a part of the new one.
        rerank = {"query_weight": 0, "rescore_query": {"sltr": {"model": "shop", "params": values}}}
        assert rank["rescore"] == {"window_size": 100, "query": rerank}


def test_vespa_gets_two_rank_profiles():
    made = requests(
        "vespa",
        ["price"],
        model="shop",
        index="products",
        query="select 1",
        window=7,
        parameters={"x": 3},
    )
    features, log, upload, profile, rank = made.values()
    assert features == (
        "COPY",
        "schemas/products/features.profile",
        feature_set("vespa", ["price"]),
    )
    search = {"yql": "select 1", "query": "keywords", "input.query(x)": 3, "hits": 7}
    assert log == ("POST", "/search/", {**search, "ranking.profile": "features"})
    assert rank == ("POST", "/search/", {**search, "ranking.profile": "shop"})
    assert (upload.path, profile.path) == ("models/shop.json", "schemas/products/shop.profile")
    second = 'second-phase { expression: xgboost("shop.json") rerank-count: 7 }'
    assert profile.body.split() == f"rank-profile shop inherits features {{ {second} }}".split()
    with pytest.raises(
        ValueError, match="model must be another name than that of the rank profile"
    ):
        requests("vespa", ["price"], model="features")
    with pytest.raises(ValueError, match=r"index must be a text .*; got 'my shop'"):
        requests("vespa", ["price"], index="my shop")
    with pytest.raises(
        ValueError, match=r"model must be a text of at most 64 characters: a-z .*; got 'Shop'"
    ):
        requests("elastic", ["price"], model="Shop")
