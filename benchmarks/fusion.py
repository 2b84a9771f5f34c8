"""Fusion of 18 retrieval runs of DBpedia-Entity: rules, learned weights, and a ranker.

Weights are learned from judged queries.

python benchmarks/fusion.py --data FOLDER [--output FOLDER]

FOLDER is that of the data sets of quality.py. The features 1, 3, ..., 35 of DBENT are the scores of
18 runs, -1 where a run missed a document; they are read as runs. Five folds of queries: weights and
the ranker, which has the same 18 features, learn from four. NDCG@10 of the fifth fold, over all
judged documents that some run found; p-values are those of a randomization test over queries
against "rrf", corrected by Holm's method.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from reporting import make_parser, publish

import boostrank as br
from boostrank.significance import holm

N_RUNS, SEED = 18, 0


def as_runs(X, qid):
    """The columns of scores as runs of document numbers, without those that were missed."""
    documents = np.arange(len(qid))
    runs = {}
    for number in range(N_RUNS):
        scores = X[:, 2 * number]
        found = scores != -1
        runs[f"run {number}"] = pd.DataFrame(
            {
                "query_id": qid[found].astype(str),
                "doc_id": documents[found].astype(str),
                "score": scores[found],
            }
        )
    return runs


def of_queries(runs, qid):
    """The rows of the runs that belong to these queries."""
    ids = set(np.unique(qid).astype(str))
    return {name: run[run["query_id"].isin(ids)] for name, run in runs.items()}


def scores_of(run, qid):
    """Scores of a run for the rows of the data; those that it missed are below all others."""
    scores = np.full(len(qid), -np.inf)
    scores[run["doc_id"].astype(int)] = run["score"]
    return np.where(np.isinf(scores), run["score"].min() - 1.0, scores)


def fused(runs, train, qrels):
    """The fused runs of one fold, by method.

    `train` and `qrels` are runs and judgments of the other folds.
    """
    methods = {"rrf": br.fuse(runs)}
    for normalize in ("min_max", "z_score", "rank"):
        methods[f"combsum, {normalize}"] = br.fuse(runs, "combsum", normalize=normalize)
    methods["combmnz, min_max"] = br.fuse(runs, "combmnz")
    for method, normalize in (("rrf", "none"), ("combsum", "min_max"), ("combsum", "rank")):
        weights = br.fusion_weights(qrels, train, method, normalize=normalize)
        name = method if method == "rrf" else f"{method}, {normalize}"
        methods[f"{name}, learned weights"] = br.fuse(
            runs, method, normalize=normalize, weights=weights
        )
    return methods


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    arguments = parser.parse_args()
    data = br.read_letor(arguments.data / "DBENT" / "all.txt.gz")
    X, y, qid = np.asarray(data.X)[:, : 2 * N_RUNS], data.y, data.qid
    runs = as_runs(X, qid)
    scores = {}
    for train, test in br.QueryKFold(5, shuffle=True, random_state=SEED).split(X, y, groups=qid):
        qrels = pd.DataFrame(
            {"query_id": qid[train].astype(str), "doc_id": train.astype(str), "relevance": y[train]}
        )
        of_train = of_queries(runs, qid[train])
        for name, run in fused(of_queries(runs, qid[test]), of_train, qrels).items():
            scores.setdefault(name, np.zeros(len(y)))[test] = scores_of(run, qid)[test]
        best = max(
            runs,
            key=lambda name: br.evaluate_run(qrels, of_train[name], "nDCG@10", queries="common")[
                "nDCG@10"
            ],
        )
        scores.setdefault("best run of the training queries", np.zeros(len(y)))[test] = scores_of(
            runs[best], qid
        )[test]
        ranker = br.LightGBMRanker(random_state=SEED).fit(X[train][:, ::2], y[train], qid[train])
        scores.setdefault("LightGBMRanker", np.zeros(len(y)))[test] = ranker.predict(
            X[test][:, ::2]
        )
    values = {name: br.ndcg_score(y, s, qid, k=10, per_query=True) for name, s in scores.items()}
    baseline = values["rrf"]
    tests = {
        name: br.permutation_test(v, baseline, random_state=SEED)
        for name, v in values.items()
        if name != "rrf"
    }
    p_holm = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    rows = [
        {
            "method": name,
            "ndcg": np.mean(v),
            "difference": np.mean(v) - np.mean(baseline),
            "p_holm": p_holm.get(name, np.nan),
        }
        for name, v in values.items()
    ]
    table = pd.DataFrame(rows).sort_values("ndcg", ascending=False, kind="stable")
    publish(
        table,
        "fusion",
        arguments.output,
        title=f"NDCG@10 of {len(baseline)} queries by fusion",
        seeds=str(SEED),
    )


if __name__ == "__main__":
    main()
