"""Functions that are made from classes of measures, and what a call of `ndcg_score` computes once."""

import ast
import inspect
import pickle
from pathlib import Path

import numpy as np
import pytest

import boostrank as br
from boostrank.core import dcg
from boostrank.metrics import base, labels, score_functions

NAMES = [name for name in br.metrics.__all__ if name.endswith("_score") and name != "ndcg_score"]


def declared_settings():
    """Names of the parameters that the stub declares for each function."""
    stub, settings, functions = Path(score_functions.__file__).with_suffix(".pyi"), {}, {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            own = [each.target.id for each in node.body if isinstance(each, ast.AnnAssign)]
            bases = [ast.unparse(each) for each in node.bases]
            settings[node.name] = {*own, *(name for each in bases for name in settings.get(each, ()))}
        elif isinstance(node, ast.FunctionDef):
            functions[node.name] = settings[ast.unparse(node.args.kwarg.annotation.slice)]
    return functions


def test_functions_have_the_signature_of_their_measure_and_of_the_stub():
    declared = declared_settings()
    assert sorted(declared) == sorted(NAMES)
    for name in NAMES:
        function = getattr(br.metrics, name)
        parameters = inspect.signature(function).parameters
        assert list(parameters)[:3] == ["y_true", "y_score", "qid"]
        assert list(parameters)[-3:] == ["empty", "sample_weight", "per_query"]
        assert declared[name] == set(parameters) - {"y_true", "y_score", "qid"}
        assert (function.__module__, function.__qualname__) == (score_functions.__name__, name)
        assert pickle.loads(pickle.dumps(function)) is function
        for section in ("Parameters", "Returns", "Raises", "References", "Examples"):
            assert function.__doc__.count(f"\n{section}\n---") == 1
        for parameter in parameters:
            assert parameter in function.__doc__
    assert str(inspect.signature(br.metrics.auc_score)) == (
        "(y_true: 'ArrayLike', y_score: 'ArrayLike', qid: 'ArrayLike | None' = None, *, threshold: 'float' = 1, "
        "empty: 'Empty' = 'skip', sample_weight: 'ArrayLike | None' = None, per_query: 'bool' = False) "
        "-> 'float | Floats'"
    )
    for unknown in ("k", "judged_only"):
        with pytest.raises(TypeError, match=rf"^auc_score\(\) got an unexpected keyword argument '{unknown}'"):
            br.metrics.auc_score([1, 0], [1, 0], [7, 7], **{unknown: 1})


def test_ndcg_score_makes_one_dcg_and_reads_labels_once(monkeypatch):
    counts = {"made": 0, "discounts": 0, "labels": 0}

    def count(owner, name, key):
        original = getattr(owner, name)

        def counted(*args, **kwargs):
            counts[key] += 1
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, counted)

    count(dcg.DCG, "__post_init__", "made")
    count(dcg.DCG, "discounts", "discounts")
    for module in (base, labels, dcg):
        count(module, "check_relevance", "labels")
    assert br.ndcg_score([2, 0, 1], np.array([3.0, 2.0, 1.0]), [7, 7, 7], k=2) < 1.0
    # Discounts are computed to check them, for the ideal ranking, and for the ranking by scores.
    assert counts == {"made": 1, "discounts": 3, "labels": 1}
