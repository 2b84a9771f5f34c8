"""Answers of engines to requests that log features: their values, documents, and faults."""

import json

import numpy as np
import pytest
from cases import for_each

from boostrank.serving import read_log

A, B = {"name": "a", "value": 1.5}, {"name": "g(b,c)"}


def plugin(n_hits=1, **logs):
    """An answer with documents that are one, for which these sets of features were logged."""
    return {"hits": {"hits": [{"_id": "d1", "fields": {"_ltrlog": [logs]}}] * n_hits}}


PLUGIN = plugin(features=[A, B])
ELASTIC = {"hits": {"hits": [{"_id": "d1", "matched_queries": {"a": 1.5}}, {"_id": "d2"}]}}
SOLR = {
    "response": {
        "docs": [{"id": "d1", "[features]": "g(b,c)=-1.5E-5,a=NaN"}, {"id": "d2", "[features]": ""}]
    }
}
VESPA = {
    "root": {
        "children": [
            {"id": "d1", "fields": {"matchfeatures": {"rankingExpression(a)": None, "g(b,c)": 2}}}
        ]
    }
}
NAN = np.nan


@for_each(
    "engine, answer, values, settings",
    [
        ("elasticsearch", PLUGIN, [[NAN, 1.5]], {}),
        ("opensearch", json.dumps(PLUGIN), [[NAN, 1.5]], {}),
        ("elastic", ELASTIC, [[NAN, 1.5], [NAN, NAN]], {}),
        ("solr", SOLR, [[-1.5e-5, NAN], [0, 0]], {}),
        ("solr", SOLR, [[-1.5e-5, NAN], [NAN, NAN]], {"absent": "missing"}),
        ("vespa", VESPA, [[2, NAN]], {}),
        ("vespa", {"root": {"id": "toplevel"}}, [], {}),
    ],
)
def test_values_are_those_of_each_document(engine, answer, values, settings):
    X = read_log(engine, {"lamp": answer}, ["g(b,c)", "a"], **settings)
    np.testing.assert_array_equal(X.to_numpy(), np.array(values, dtype=np.float32).reshape(-1, 2))
    assert list(X.index) == [("lamp", f"d{i + 1}") for i in range(len(values))]
    assert (list(X.columns), set(X.dtypes)) == (["g(b,c)", "a"], {np.dtype(np.float32)})


@for_each(
    "engine, answer, fault",
    [
        (
            "solr",
            PLUGIN,
            "the answer of solr to the query 'lamp': it has no 'response'; send .* got {'hits'",
        ),
        (
            "elasticsearch",
            {"error": {"reason": "No query named"}},
            "it has no 'hits'; .*No query named",
        ),
        ("vespa", {"root": {"errors": [{"message": "no profile"}]}}, "it has errors; .*no profile"),
        (
            "vespa",
            {"root": {"errors": [{"message": "timeout"}], "children": []}},
            "it has errors; .*timeout",
        ),
        ("elastic", PLUGIN, "no document has a value: send the body of the request 'log'"),
        ("opensearch", "<html>Bad Gateway", "send the body of the request 'log' .*; got <html>Bad"),
        ("elasticsearch", {"hits": {"hits": [{"_id": "d1"}]}}, "it has no 'fields'"),
        ("elasticsearch", plugin(a=[], b=[]), "got those of a, b"),
        ("elasticsearch", plugin(a=[A, B, A]), "document 'd1' or a feature of it is there twice"),
        ("elasticsearch", plugin(2, a=[A, B]), "is there twice"),
        ("elasticsearch", plugin(a=[A]), r"names differ by \['g\(b,c\)'\]"),
        (
            "elastic",
            {"hits": {"hits": [{"_id": "d1", "matched_queries": ["a"]}]}},
            "send the body of the request",
        ),
        (
            "solr",
            {"response": {"docs": [{"id": "d1", "[features]": "a:1;b:2"}]}},
            "must be name=value,name=value",
        ),
        (
            "solr",
            {"response": {"docs": [{"id": "d1", "[features]": "a=1,c=2"}]}},
            r"\['c', 'g\(b,c\)'\]: give equal",
        ),
        (
            "vespa",
            {"root": {"children": [{"id": 1, "fields": {"matchfeatures": {"a": {"cells": []}}}}]}},
            "not 'dict'",
        ),
    ],
)
def test_other_answers_are_errors_that_say_what_came(engine, answer, fault):
    with pytest.raises(ValueError, match=fault):
        read_log(engine, {"lamp": answer}, ["g(b,c)", "a"])
    with pytest.raises(ValueError, match="answers must be a mapping of the ids of queries"):
        read_log(engine, [answer], ["a"])
    with pytest.raises(ValueError, match=r"names must be different names .*\['a'\]"):
        read_log(engine, {"lamp": answer}, ["a", "a"])
