"""Measures as other libraries compute them, by their public functions.

Their names are those of :func:`boostrank.reconcile`.

Every function takes the name of the metric in that library, then labels, scores and sorted query
ids, and returns the library's mean. A library that has no function of labels and scores gets the
scores as the initial scores of a model without trees.
"""

import re
import warnings

import numpy as np

#: Distributions of the libraries that boostrank does not depend on.
OTHERS = ("catboost", "ir-measures", "pytrec-eval-terrier", "ranx")


def scikit_learn(metric, y, scores, qid, weights=None):
    """A loop over queries.

    A query of one document, for which `ndcg_score` raises, gets an irrelevant last document.
    """
    import sklearn.metrics

    name, _, k = metric.rstrip(")").partition("(k=")
    function = getattr(sklearn.metrics, name)
    values = []
    for query in np.unique(qid):
        labels, predicted = y[qid == query], scores[qid == query]
        if name == "average_precision_score":
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "No positive class found")
                values.append(function(labels, predicted))
            continue
        if name == "ndcg_score" and len(labels) == 1:
            labels, predicted = np.append(labels, 0), np.append(predicted, predicted[0] - 1)
        values.append(function([labels], [predicted], **({"k": int(k)} if k else {})))
    return np.average(values, weights=weights)


def lightgbm(metric, y, scores, qid, weights=None):
    """Evaluation of a booster at its initial scores."""
    import lightgbm as lgb

    sizes = np.unique(qid, return_counts=True)[1]
    data = lgb.Dataset(
        np.arange(len(y), dtype=float)[:, None],
        y,
        group=sizes,
        weight=None if weights is None else np.repeat(weights, sizes),
        init_score=scores,
        params={"verbosity": -1},
    )
    name, _, k = metric.partition("@")
    settings = {"objective": "lambdarank", "metric": name, "eval_at": [int(k)], "verbosity": -1}
    return lgb.Booster(settings, data).eval_train()[0][2]


def xgboost(metric, y, scores, qid, weights=None):
    """Evaluation of a booster without rounds at its base margin."""
    import xgboost as xgb

    data = xgb.DMatrix(np.zeros((len(y), 1)), y, qid=qid, base_margin=scores, weight=weights)
    booster = xgb.train({"objective": "rank:ndcg", "eval_metric": metric, "base_score": 0}, data, 0)
    return float(booster.eval(data).rsplit(":", 1)[1])


def catboost(metric, y, scores, qid, weights=None):
    """CatBoost's function eval_metric."""
    from catboost.utils import eval_metric

    per_document = (
        None if weights is None else np.repeat(weights, np.unique(qid, return_counts=True)[1])
    )
    return eval_metric(y, scores, metric, group_id=qid, group_weight=per_document, thread_count=1)[
        0
    ]


def by_query(values, qid, digits=0, prefix="q"):
    """Python numbers in dictionaries, by query and then by row.

    The number of the row gets leading zeros up to `digits`.
    """
    nested = {}
    for row, (query, value) in enumerate(zip(qid.tolist(), values.tolist(), strict=True)):
        nested.setdefault(f"{prefix}{query:0{digits}}", {})[f"{row:0{digits}}"] = value
    return nested


def pytrec_eval_of_run(metric, qrels, run):
    """Measures of trec_eval."""
    import pytrec_eval

    metric, _, level = metric.rstrip(")").partition(" (relevance_level=")
    name = re.sub("_([0-9]+)$", r".\1", metric)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {name}, relevance_level=int(level or 1))
    return np.mean([values[metric] for values in evaluator.evaluate(run).values()])


def pytrec_eval(metric, y, scores, qid):
    """Measures of trec_eval; the name of a document is its row."""
    return pytrec_eval_of_run(metric, by_query(y, qid), by_query(scores, qid))


def ranx_of_run(metric, qrels, run):
    """Evaluation of Qrels and Run that are made of dictionaries of floats."""
    import ranx

    return float(ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metric, make_comparable=True))


def ranx(metric, y, scores, qid):
    """Measures of ranx.

    It compiles its functions for each type of the values and for each length of the names, so these
    are always the same.
    """
    return ranx_of_run(
        metric, *(by_query(values.astype(float), qid, digits=8) for values in (y, scores))
    )


def ir_measures_of_run(metric, qrels, run):
    """Measures by their names."""
    import ir_measures

    measure = ir_measures.parse_measure(metric)
    return ir_measures.calc_aggregate([measure], qrels, run)[measure]


def ir_measures(metric, y, scores, qid):
    """Measures of ir_measures; queries have numbers, because gdeval takes nothing else."""
    return ir_measures_of_run(metric, *(by_query(values, qid, prefix="") for values in (y, scores)))


CALLS = {
    "scikit-learn": scikit_learn,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
    "ir_measures": ir_measures,
}
# Those that take judgments and a run: relevance and score by document by query.
CALLS_OF_RUNS = {
    "pytrec_eval": pytrec_eval_of_run,
    "ranx": ranx_of_run,
    "ir_measures": ir_measures_of_run,
}
