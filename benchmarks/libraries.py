"""NDCG as other libraries compute it, each by its public functions, under the names of :func:`boostrank.reconcile`.

Every function takes the name of the metric in that library, then labels, scores and sorted query ids, and returns the
library's mean. A library that has no function of labels and scores gets the scores as the initial scores of a model
without trees.
"""

import numpy as np

#: Distributions of the libraries that boostrank does not depend on.
OTHERS = ("catboost", "pytrec-eval-terrier", "ranx")


def scikit_learn(metric, y, scores, qid, weights=None):
    """A loop over queries; a query of one document, for which scikit-learn raises, gets an irrelevant last document."""
    from sklearn.metrics import ndcg_score

    k = int(metric.split("=")[1].rstrip(")")) if "=" in metric else None
    values = []
    for query in np.unique(qid):
        labels, predicted = y[qid == query], scores[qid == query]
        if len(labels) == 1:
            labels, predicted = np.append(labels, 0), np.append(predicted, predicted[0] - 1)
        values.append(ndcg_score([labels], [predicted], k=k))
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

    per_document = None if weights is None else np.repeat(weights, np.unique(qid, return_counts=True)[1])
    return eval_metric(y, scores, metric, group_id=qid, group_weight=per_document, thread_count=1)[0]


def by_query(values, qid, digits=0):
    """Python numbers in dictionaries, by query and then by row, whose number gets leading zeros up to `digits`."""
    nested = {}
    for row, (query, value) in enumerate(zip(qid.tolist(), values.tolist(), strict=True)):
        nested.setdefault(f"q{query:0{digits}}", {})[f"{row:0{digits}}"] = value
    return nested


def pytrec_eval(metric, y, scores, qid):
    """Measures of trec_eval; the name of a document is its row."""
    import pytrec_eval

    name = metric.replace("_cut_", "_cut.")
    measured = pytrec_eval.RelevanceEvaluator(by_query(y, qid), {name}).evaluate(by_query(scores, qid))
    return np.mean([values[metric] for values in measured.values()])


def ranx(metric, y, scores, qid):
    """Evaluation of Qrels and Run that are made of dictionaries of floats.

    ranx compiles its functions for each type of the values and for each length of the names, so these are always the
    same.
    """
    import ranx

    judged, run = (by_query(values.astype(float), qid, digits=8) for values in (y, scores))
    return float(ranx.evaluate(ranx.Qrels(judged), ranx.Run(run), metric))


CALLS = {
    "scikit-learn": scikit_learn,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "CatBoost": catboost,
    "pytrec_eval": pytrec_eval,
    "ranx": ranx,
}
