"""Which objective and which k the rankers should have by default: NDCG@10 without any tuning.

python benchmarks/defaults.py DATA ... --results FOLDER                     # all, on validation queries
python benchmarks/defaults.py DATA ... --results FOLDER --inner 5 --objectives cosine,softmax     # some, less noise
python benchmarks/defaults.py DATA ... --results FOLDER --test cosine:10    # the choice, on test queries

DATA as for quality.py. Objectives are trained with the backend's default parameters, k = 10 and none; k = 10 also with
two kinds of randomness that are said to matter as much as the loss: random thresholds (extra_trees of LightGBM) and 0.3
of the features at each node; XGBoost also with LightGBM's learning rate, and its 20 documents in a leaf. Differences
are to the backend's LambdaMART with its usual trees. With --inner, all queries that are not for testing are held out
once, in so many folds, and trees are not random. Each data set counts the same in the mean. Each fold of a backend is a
file in FOLDER: an interrupted run goes on.
"""

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from environment import describe
from quality import read_folds, write
from rich.progress import track

import boostrank as br
from boostrank.surrogates import REGISTRY

RANKERS = {"lightgbm": (br.LightGBMRanker, "lambdarank"), "xgboost": (br.XGBoostRanker, "rank:ndcg")}
OBJECTIVES = [*REGISTRY, "edge-logistic"]
TREES = {
    "lightgbm": {"": {}, "extra trees": {"extra_trees": True}, "0.3 a node": {"feature_fraction_bynode": 0.3}},
    "xgboost": {
        "": {"learning_rate": 0.3},
        "0.3 a node": {"learning_rate": 0.3, "colsample_bynode": 0.3},
        "rate 0.1": {"learning_rate": 0.1},
        "20 a leaf": {"learning_rate": 0.3, "min_child_weight": 20.0},
        "rate 0.1, 20 a leaf": {"learning_rate": 0.1, "min_child_weight": 20.0},
    },
}
RANDOM = ("extra trees", "0.3 a node")
#: The kind that rankers have by default; "" is that of the backend.
CHOSEN = {"lightgbm": "", "xgboost": "rate 0.1"}


def candidates(backend, objectives, with_random_trees):
    """Objective, k and kind of trees; random trees with k = 10 alone."""
    for trees in TREES[backend]:
        if trees in RANDOM and not with_random_trees:
            continue
        yield RANKERS[backend][1], 10, trees
        for objective in objectives:
            yield objective, 10, trees
            if trees not in RANDOM:
                yield objective, None, trees


def ndcg(backend, candidate, train, held_out):
    """NDCG@10 of each held-out query, NaN if it has no relevant document."""
    objective, k, trees = candidate
    ranker = RANKERS[backend][0](objective, k=k, random_state=0, n_jobs=1, **TREES[backend][trees])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = ranker.fit(*train).predict(held_out.X)
    return br.ndcg_score(held_out.y, scores, held_out.qid, k=10, empty="skip", per_query=True).tolist()


def splits(fold, n_inner):
    """What to train on and what to hold out, of the queries that are not for testing."""
    if n_inner is None:
        return [(fold.train, fold.validation)]
    parts = (fold.train, fold.validation)
    # Both parts of a fold may number their queries alike.
    qid = np.concatenate([pd.factorize(part.qid)[0] + i * len(fold.train.qid) for i, part in enumerate(parts)])
    stack = partial(sp.vstack, format="csr") if sp.issparse(fold.train.X) else np.concatenate
    X, y = stack([part.X for part in parts]), np.concatenate([part.y for part in parts])
    inner = br.QueryKFold(n_inner, shuffle=True, random_state=0).split(X, y, qid)
    return [[br.Dataset(X[rows], y[rows], qid[rows]) for rows in pair] for pair in inner]


def run(data, number, backend, tried, n_inner, test):
    """Per candidate the NDCG@10 of each query held out."""
    fold = read_folds(data)[number]
    parts = [(fold.train, fold.test)] if test else splits(fold, n_inner)
    return [[*candidate, [value for part in parts for value in ndcg(backend, candidate, *part)]] for candidate in tried]


def measure(data_sets, folder, objectives, n_inner, choice, n_jobs):
    """A row per data set, backend, candidate and query."""
    objective, _, k = (choice or "").partition(":")
    jobs = {}
    for data in data_sets:
        for number in range(len(read_folds(data))):
            for backend, (_, native) in RANKERS.items():
                tried = list(candidates(backend, objectives, with_random_trees=n_inner is None))
                part = f"inner{n_inner}" if n_inner else "validation"
                if choice:
                    tried = [(native, 10, ""), (objective, int(k) if k else None, CHOSEN[backend])]
                    tried += [(native, 10, CHOSEN[backend])] if CHOSEN[backend] else []
                    part = f"test-{choice.replace(':', '-')}"
                path = folder / f"{part}-{Path(data).name}-{number}-{backend}.json"
                jobs[path] = (data, number, backend, tried, n_inner, bool(choice))
    with ProcessPoolExecutor(n_jobs) as pool:
        results = {path: pool.submit(run, *job) for path, job in jobs.items() if not path.exists()}
        for path, result in track(results.items()):
            write(path, result.result())
    columns = ["objective", "k", "trees", "ndcg"]
    tables = [
        pd.DataFrame(json.loads(path.read_text()), columns=columns).assign(
            data=Path(job[0]).name, fold=job[1], backend=job[2]
        )
        for path, job in jobs.items()
    ]
    return pd.concat(tables).explode("ndcg").astype({"ndcg": float}).fillna({"ndcg": 0.0})


def print_differences(rows, backend):
    """A row per candidate, by its mean difference to LambdaMART over the data sets."""
    rows = rows.assign(k=rows["k"].map(lambda k: "" if pd.isna(k) else f"{k:.0f}"))
    means = rows.pivot_table("ndcg", ["objective", "k", "trees"], "data", sort=False)
    native = RANKERS[backend][1]
    differences = means - means.loc[(native, "10", "")]
    differences.insert(0, "mean", differences.mean(axis=1))
    print(f"\n| {backend} | k | trees | " + " | ".join(differences.columns) + " |")
    print("|---|---:|---" + "|---:" * differences.shape[1] + "|")
    for (objective, k, trees), row in differences.sort_values("mean", ascending=False).iterrows():
        print(f"| {objective} | {k} | {trees} | " + " | ".join(f"{value:+.4f}" for value in row) + " |")


def print_test(rows, backend, choice):
    """The choice against LambdaMART on test queries, both with the parameters that they have by default."""
    native, trees = RANKERS[backend][1], CHOSEN[backend]
    same = f" | {native}, {trees}" if trees else ""
    print(f"\n| {backend} | {native}{same} | {choice} | difference | low | high | p |")
    print("|---" + "|---:" * (7 if trees else 6) + "|")
    gains = []
    for data, part in rows.groupby("data", sort=False):
        is_native, has_usual_trees = part["objective"] == native, part["trees"] == ""
        theirs, ours = (part[kind]["ndcg"].to_numpy() for kind in (is_native & has_usual_trees, ~is_native))
        test = br.permutation_test(ours, theirs, random_state=0)
        ends = br.significance.bootstrap_interval(ours, theirs, random_state=0)
        gains.append(test.difference)
        means = [theirs.mean(), *([part[is_native & ~has_usual_trees]["ndcg"].mean()] if trees else []), ours.mean()]
        cells = [
            *(f"{mean:.4f}" for mean in means),
            *(f"{value:+.4f}" for value in (test.difference, ends.low, ends.high)),
        ]
        print(f"| {data} | {' | '.join(cells)} | {test.p_value:.3f} |")
    print(f"| mean |{' |' * (3 if trees else 2)} {sum(gains) / len(gains):+.4f} | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--objectives", default=",".join(OBJECTIVES))
    parser.add_argument("--inner", type=int, help="folds of the queries that are not for testing")
    parser.add_argument("--test", metavar="OBJECTIVE[:K]", help="the choice, on test queries")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    objectives = arguments.objectives.split(",")
    rows = measure(arguments.data, arguments.results, objectives, arguments.inner, arguments.test, arguments.jobs)
    print(describe())
    for backend, part in rows.groupby("backend", sort=False):
        if arguments.test:
            print_test(part, backend, arguments.test)
        else:
            print_differences(part, backend)


if __name__ == "__main__":
    main()
