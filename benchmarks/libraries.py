"""NDCG as other libraries compute it, each by its public functions, called as :func:`boostrank.reconcile` names it.

Every function takes the metric's name in that library, then labels, scores and sorted query ids, and gives its mean.
Libraries without a function of labels and scores get the scores as the start of a model without trees.
"""

from importlib.metadata import version

import numpy as np

DISTRIBUTIONS = {
    "scikit-learn": "scikit-learn",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "CatBoost": "catboost",
    "pytrec_eval": "pytrec-eval-terrier",
    "ranx": "ranx",
}


def scikit_learn(metric, y, scores, qid, weights=None):
    """A loop over queries; those of one document, which raise, get an irrelevant one after it."""
    from sklearn.metrics import ndcg_score

    k = int(metric.split("=")[1].rstrip(")")) if "=" in metric else None
    values = []
    for query in np.unique(qid):
        labels, by = y[qid == query], scores[qid == query]
        if len(labels) == 1:
            labels, by = np.append(labels, 0), np.append(by, by[0] - 1)
        values.append(ndcg_score([labels], [by], k=k))
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
    """Evaluation of a booster of no rounds at its base margin."""
    import xgboost as xgb

    data = xgb.DMatrix(np.zeros((len(y), 1)), y, qid=qid, base_margin=scores, weight=weights)
    booster = xgb.train({"objective": "rank:ndcg", "eval_metric": metric, "base_score": 0}, data, 0)
    return float(booster.eval(data).rsplit(":", 1)[1])


def catboost(metric, y, scores, qid, weights=None):
    """CatBoost's eval_metric."""
    from catboost.utils import eval_metric

    per_document = None if weights is None else np.repeat(weights, np.unique(qid, return_counts=True)[1])
    return eval_metric(y, scores, metric, group_id=qid, group_weight=per_document, thread_count=1)[0]


def by_query(values, qid):
    """Dictionaries by query and row, of Python's numbers."""
    nested = {}
    for row, (query, value) in enumerate(zip(qid.tolist(), values.tolist(), strict=True)):
        nested.setdefault(f"q{query}", {})[str(row)] = value
    return nested


def pytrec_eval(metric, y, scores, qid):
    """trec_eval's measures; documents are named by their row."""
    import pytrec_eval

    name = metric.replace("_cut_", "_cut.")
    measured = pytrec_eval.RelevanceEvaluator(by_query(y, qid), {name}).evaluate(by_query(scores, qid))
    return np.mean([values[metric] for values in measured.values()])


def ranx(metric, y, scores, qid):
    """Qrels and Run from dictionaries."""
    import ranx

    return float(ranx.evaluate(ranx.Qrels(by_query(y, qid)), ranx.Run(by_query(scores, qid)), metric))


CALLS = {
    "scikit-learn": scikit_learn,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
}


def versions():
    """Versions of the libraries."""
    return {library: version(name) for library, name in DISTRIBUTIONS.items()}
