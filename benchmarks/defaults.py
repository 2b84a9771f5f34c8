"""Which objective and which k the rankers should have by default: NDCG@10 without any tuning.

python benchmarks/defaults.py DATA ... --runs FOLDER                     # all losses, on validation queries
python benchmarks/defaults.py DATA ... --runs FOLDER --inner 3 --objectives cosine,softmax     # some, with less noise
python benchmarks/defaults.py DATA ... --runs FOLDER --test cosine:10    # the choice, on test queries

DATA as for quality.py. Objectives are trained with the default parameters of the library, with k = 10 and without k.
With k = 10 there are also two kinds of random trees, which may matter as much as the loss: random thresholds
(extra_trees of LightGBM), and 0.3 of the features at each node. XGBoost is also trained with LightGBM's learning rate
and its minimum of 20 documents in a leaf. Differences are to the LambdaMART of the library with its default trees.
With --inner N the queries that are not for testing are cut into N folds, each of which is held out once, and trees are
not random. In the mean all data sets have the same weight. Each fold of a library is a file in FOLDER, so that an
interrupted run continues where it stopped.

The table is defaults_validation.csv, defaults_inner3.csv or defaults_test.csv.
"""

import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from quality import write_run
from reporting import make_parser, publish
from rich.progress import track
from workloads import LAMBDAMART, RANKERS, read_folds

import boostrank as br
from boostrank.significance import bootstrap_interval
from boostrank.surrogates import SURROGATES

OBJECTIVES = [*SURROGATES, "edge-logistic"]
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
RANDOM_TREES = ("extra trees", "0.3 a node")
#: The trees that our rankers have by default; the empty name stands for the default of the library.
CHOSEN = {"lightgbm": "", "xgboost": "rate 0.1"}


def candidates(library, objectives, with_random_trees):
    """Objective, k and kind of trees of everything that is trained; random trees with k = 10 only."""
    for trees in TREES[library]:
        if trees in RANDOM_TREES and not with_random_trees:
            continue
        yield LAMBDAMART[library], 10, trees
        for objective in objectives:
            yield objective, 10, trees
            if trees not in RANDOM_TREES:
                yield objective, None, trees


def ndcg(library, candidate, train, held_out):
    """NDCG@10 of each query that is held out, NaN if it has no relevant document."""
    objective, k, trees = candidate
    ranker = RANKERS[library](objective, k=k, random_state=0, n_jobs=1, **TREES[library][trees])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = ranker.fit(*train).predict(held_out.X)
    return br.ndcg_score(held_out.y, scores, held_out.qid, k=10, empty="skip", per_query=True).tolist()


def splits(fold, n_inner):
    """Pairs of data to train on and data to hold out, of the queries that are not for testing."""
    if n_inner is None:
        return [(fold.train, fold.validation)]
    parts = (fold.train, fold.validation)
    # Both parts of a fold may use the same query ids.
    qid = np.concatenate([pd.factorize(part.qid)[0] + i * len(fold.train.qid) for i, part in enumerate(parts)])
    stack = partial(sp.vstack, format="csr") if sp.issparse(fold.train.X) else np.concatenate
    X, y = stack([part.X for part in parts]), np.concatenate([part.y for part in parts])
    inner = br.QueryKFold(n_inner, shuffle=True, random_state=0).split(X, y, qid)
    return [[br.Dataset(X[rows], y[rows], qid[rows]) for rows in pair] for pair in inner]


def run(data, number, library, tried, n_inner, test):
    """Objective, k, trees and NDCG@10 of each query that is held out, for each candidate on one fold."""
    fold = read_folds(data)[number]
    parts = [(fold.train, fold.test)] if test else splits(fold, n_inner)
    return [[*candidate, [value for part in parts for value in ndcg(library, candidate, *part)]] for candidate in tried]


def chosen_candidates(library, choice):
    """LambdaMART with the default trees of the library, the choice, and LambdaMART with the trees of the choice."""
    objective, _, k = choice.partition(":")
    tried = [(LAMBDAMART[library], 10, ""), (objective, int(k) if k else None, CHOSEN[library])]
    if CHOSEN[library]:
        tried.append((LAMBDAMART[library], 10, CHOSEN[library]))
    return tried


def measure(data_sets, folder, objectives, n_inner, choice, n_jobs):
    """A row per data set, library, candidate and query."""
    prefix = f"inner{n_inner}" if n_inner else "validation"
    if choice:
        prefix = f"test-{choice.replace(':', '-')}"
    jobs = {}
    for data in data_sets:
        for number in range(len(read_folds(data))):
            for library in RANKERS:
                if choice:
                    tried = chosen_candidates(library, choice)
                else:
                    tried = list(candidates(library, objectives, with_random_trees=n_inner is None))
                path = folder / f"{prefix}-{Path(data).name}-{number}-{library}.json"
                jobs[path] = (data, number, library, tried, n_inner, bool(choice))
    with ProcessPoolExecutor(n_jobs) as pool:
        results = {path: pool.submit(run, *job) for path, job in jobs.items() if not path.exists()}
        for path, result in track(results.items()):
            write_run(path, result.result())
    tables = []
    for path, (data, number, library, *_) in jobs.items():
        table = pd.DataFrame(json.loads(path.read_text()), columns=["objective", "k", "trees", "ndcg"])
        tables.append(table.assign(data=Path(data).name, fold=number, library=library))
    return pd.concat(tables).explode("ndcg").astype({"ndcg": float}).fillna({"ndcg": 0.0})


def difference_table(rows, library):
    """A row per candidate: its differences to LambdaMART, and their mean over the data sets."""
    rows = rows.assign(k=rows["k"].map(lambda k: "" if pd.isna(k) else f"{k:.0f}"))
    means = rows.pivot_table("ndcg", ["objective", "k", "trees"], "data", sort=False)
    differences = means - means.loc[(LAMBDAMART[library], "10", "")]
    differences.insert(0, "mean", differences.mean(axis=1))
    table = differences.reset_index().rename_axis(columns=None)
    table.insert(0, "library", library)
    return table.sort_values(["objective", "k", "trees"])


def choice_table(rows, library):
    """A row per data set: the choice against LambdaMART on test queries, each with its default parameters."""
    table = []
    for data, part in rows.groupby("data", sort=False):
        is_lambdamart, has_default_trees = part["objective"] == LAMBDAMART[library], part["trees"] == ""
        theirs, ours = (part[kind]["ndcg"].to_numpy() for kind in (is_lambdamart & has_default_trees, ~is_lambdamart))
        test = br.permutation_test(ours, theirs, random_state=0)
        interval = bootstrap_interval(ours, theirs, random_state=0)
        table.append(
            {
                "library": library,
                "data": data,
                "lambdamart": theirs.mean(),
                "lambdamart_chosen_trees": part[is_lambdamart & ~has_default_trees]["ndcg"].mean(),
                "choice": ours.mean(),
                "difference": test.difference,
                "low": interval.low,
                "high": interval.high,
                "p": test.p_value,
            }
        )
    mean = sum(row["difference"] for row in table) / len(table)
    return pd.DataFrame([*table, {"library": library, "data": "mean", "difference": mean}])


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the result of each fold")
    parser.add_argument("--objectives", default=",".join(OBJECTIVES), help="separated by commas; all by default")
    parser.add_argument("--inner", type=int, help="number of folds of the queries that are not for testing")
    parser.add_argument("--test", metavar="OBJECTIVE[:K]", help="measure this choice, on test queries")
    parser.add_argument("--jobs", type=int, default=2, help="folds at the same time, of one thread each")
    arguments = parser.parse_args()
    arguments.runs.mkdir(parents=True, exist_ok=True)
    objectives = arguments.objectives.split(",")
    rows = measure(arguments.data, arguments.runs, objectives, arguments.inner, arguments.test, arguments.jobs)
    by_library = rows.groupby("library", sort=False)
    if arguments.test:
        table = pd.concat([choice_table(part, library) for library, part in by_library])
        name, title = "test", f"NDCG@10 on test queries: LambdaMART and {arguments.test}, without tuning"
    else:
        table = pd.concat([difference_table(part, library) for library, part in by_library])
        name = f"inner{arguments.inner}" if arguments.inner else "validation"
        title = "Differences of NDCG@10 to the LambdaMART of the library, without tuning, on queries that are held out"
    formats = dict.fromkeys(rows["data"].unique(), "+.4f")
    publish(table, f"defaults_{name}", arguments.output, title=title, seeds="0", formats=formats)


if __name__ == "__main__":
    main()
