"""Templates of feature sets: they have the names of the model, and the requests that were given."""

import json
import re

import pytest
from cases import for_each

from boostrank.serving import feature_set

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
    assert text.split("match-features")[1].split()[1:-2] == ["nativeRank", "bm25(title)", "firstPhase", "rank"]


def test_solr_gets_a_store_and_classes():
    field = {"class": "org.apache.solr.ltr.feature.FieldValueFeature", "params": {"field": "price"}}
    price, title = json.loads(feature_set("solr", ["price", "title"], queries={"price": field}, absent="missing"))
    params = {"field": "price", "defaultValue": "NaN"}
    assert price == {"store": "_DEFAULT_", "name": "price", "class": field["class"], "params": params}
    assert title["params"]["q"] == "{!field f='title'}${keywords}"
    (price,) = json.loads(feature_set("solr", ["price"], name="shop", queries={"price": "{!dismax qf=a}${words}"}))
    (quoted,) = json.loads(feature_set("solr", ["o'b\\c"]))
    assert quoted["params"]["q"] == r"{!field f='o\'b\\c'}${keywords}"
    assert (price["store"], price["params"]) == ("shop", {"q": "{!dismax qf=a}${words}"})


@for_each(
    "engine, names, settings, fault",
    [
        ("lucene", ["a"], {}, "format must be one of elasticsearch"),
        ("solr", ["a", "b", "a"], {}, r"names must be different names.*\['a'\]"),
        ("vespa", ["max(a,b)"], {}, r"as vespa takes them; got \['max\(a,b\)'\]"),
        ("opensearch", ["title"], {"queries": {"titel": {}}}, "'titel', which is not in names .did you mean 'title'"),
        ("vespa", ["bm25(t)"], {"queries": {"bm25(t)": "1"}}, "not a function of the rank profile"),
        ("vespa", ["now"], {"queries": {"now": "1"}}, "'now', which is not a function of the rank profile"),
        ("vespa", ["price"], {"name": "x } }"}, "name must be .* for Vespa of letters, digits, .*; got 'x } }'"),
        *(
            ("vespa", ["price"], {"queries": {"price": query}}, r"queries\['price'\] must be an expression of Vespa")
            for query in ("1 } {", "1\n2", {"match": {}})
        ),
        ("vespa", ['bm25("a\n")'], {}, "as vespa takes them"),
        ("solr", ["price"], {"name": "a/b"}, "name must be a text without '/'"),
        ("vespa", ["price"], {"absent": "missing"}, "absent must be None, or 'missing' for Solr"),
        ("solr", ["price"], {"absent": "zero"}, "got 'zero' for solr"),
    ],
)
def test_faults_of_arguments_are_named(engine, names, settings, fault):
    with pytest.raises(ValueError, match=fault):
        feature_set(engine, names, **settings)
