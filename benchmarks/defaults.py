"""Which objective and which k the rankers should have by default: NDCG@10 without any tuning.

python benchmarks/defaults.py DATA ... --results FOLDER [--jobs 2]          # on validation queries, to choose by
python benchmarks/defaults.py DATA ... --results FOLDER --test pairwise-squared:10   # the choice, on test queries

DATA as for quality.py. Every objective is trained with the parameters that a ranker has by default, k = 10 and none,
and with two kinds of randomness that are said to matter as much as the loss: random thresholds (LightGBM's
extra_trees), and 0.3 of the features at each node. Differences are to the backend's LambdaMART with its usual trees.
Each data set counts the same in the mean. Each fold of each backend is a file in FOLDER: an interrupted run goes on.
"""

import argparse
import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pandas as pd
from environment import describe
from quality import read_folds, write
from rich.progress import track

import boostrank as br
from boostrank.surrogates import REGISTRY

RANKERS = {"lightgbm": (br.LightGBMRanker, "lambdarank"), "xgboost": (br.XGBoostRanker, "rank:ndcg")}
OBJECTIVES = [*REGISTRY, "edge-logistic"]
TREES = {
    "lightgbm": {"": {}, "extra trees": {"extra_trees": True}, "0.3 a node": {"feature_fraction_bynode": 0.3}},
    "xgboost": {"": {}, "0.3 a node": {"colsample_bynode": 0.3}},
}


def candidates(backend):
    """Objective, k and kind of trees; randomness of trees with k = 10 alone."""
    native = RANKERS[backend][1]
    for trees in TREES[backend]:
        yield native, 10, trees
        for objective in OBJECTIVES:
            yield objective, 10, trees
            if not trees:
                yield objective, None, trees


def ndcg(backend, candidate, train, held_out):
    """NDCG@10 of each held-out query, NaN if it has no relevant document."""
    objective, k, trees = candidate
    ranker = RANKERS[backend][0](objective, k=k, random_state=0, n_jobs=1, **TREES[backend][trees])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = ranker.fit(*train).predict(held_out.X)
    return br.ndcg_score(held_out.y, scores, held_out.qid, k=10, empty="skip", per_query=True).tolist()


def run(data, number, backend, chosen):
    """Per candidate the NDCG@10 of each validation query, or of each test query for the chosen ones."""
    fold = read_folds(data)[number]
    held_out = fold.validation if chosen is None else fold.test
    return [[*candidate, ndcg(backend, candidate, fold.train, held_out)] for candidate in chosen or candidates(backend)]


def measure(data_sets, folder, n_jobs, choice):
    """A row per data set, backend, candidate and query."""
    objective, _, k = (choice or "").partition(":")
    jobs = {}
    for data in data_sets:
        for number in range(len(read_folds(data))):
            for backend, (_, native) in RANKERS.items():
                chosen = [(native, 10, ""), (objective, int(k) if k else None, "")] if choice else None
                part = f"test-{choice.replace(':', '-')}" if choice else "validation"
                jobs[folder / f"{part}-{Path(data).name}-{number}-{backend}.json"] = (data, number, backend, chosen)
    with ProcessPoolExecutor(n_jobs) as pool:
        results = {path: pool.submit(run, *job) for path, job in jobs.items() if not path.exists()}
        for path, result in track(results.items()):
            write(path, result.result())
    columns = ["objective", "k", "trees", "ndcg"]
    tables = [
        pd.DataFrame(json.loads(path.read_text()), columns=columns).assign(
            data=Path(data).name, backend=backend, fold=i
        )
        for path, (data, i, backend, _) in jobs.items()
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
    """The choice against LambdaMART on test queries."""
    native = RANKERS[backend][1]
    print(f"\n| {backend} | {native} | {choice} | difference | low | high | p |\n|---|---:|---:|---:|---:|---:|---:|")
    gains = []
    for data, part in rows.groupby("data", sort=False):
        theirs, ours = (part[(part["objective"] == native) == own]["ndcg"].to_numpy() for own in (True, False))
        test = br.permutation_test(ours, theirs, random_state=0)
        ends = br.bootstrap_interval(ours, theirs, random_state=0)
        gains.append(test.difference)
        interval = f"{ends.low:+.4f} | {ends.high:+.4f}"
        print(
            f"| {data} | {theirs.mean():.4f} | {ours.mean():.4f} | {gains[-1]:+.4f} | {interval} | {test.p_value:.3f} |"
        )
    print(f"| mean | | | {sum(gains) / len(gains):+.4f} | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--test", metavar="OBJECTIVE[:K]", help="the choice, on test queries")
    arguments = parser.parse_args()
    arguments.results.mkdir(parents=True, exist_ok=True)
    rows = measure(arguments.data, arguments.results, arguments.jobs, arguments.test)
    print(describe())
    for backend, part in rows.groupby("backend", sort=False):
        if arguments.test:
            print_test(part, backend, arguments.test)
        else:
            print_differences(part, backend)


if __name__ == "__main__":
    main()
