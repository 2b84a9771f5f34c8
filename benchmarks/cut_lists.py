"""NDCG@10 with features of lists whose lists at prediction are cut otherwise than in training.

python benchmarks/cut_lists.py DATA ... --runs FOLDER [--libraries lightgbm xgboost] [--jobs 2]
                                  [--output FOLDER]

DATA as for quality.py. Each ranker is trained on whole lists of all queries of a fold that are not
for testing. The lists of its test queries are whole, a random half or quarter of their documents,
or the ten best of a first stage: the single feature that ranks best by itself on the training
queries. The table, cut_lists.csv, has the mean over folds of NDCG@10 minus that of the default
ranker on the same lists; the rows "mean" are means over data sets.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import read_results, run_jobs
from quality_methods import OURS, RUNNING
from reporting import make_parser, publish
from workloads import data_name, read_folds, training_queries

import boostrank as br
from boostrank import Queries

SETTINGS = {
    "default": None,
    "standardize": "standardize",
    "rank": "rank",
    "minmax": "minmax",
    "both": ["standardize", "rank"],
    "minmax, rank": ["minmax", "rank"],
    "both, cut copies": br.QueryFeatures(cut_copies=1),
    "both, 2 cut copies": br.QueryFeatures(cut_copies=2),
}
SHARES, N_BEST = {"whole": 1.0, "half": 0.5, "quarter": 0.25}, 10


def run(data, number, library, setting):
    """One job: NDCG@10 of a ranker on the test queries of a fold, on each kind of lists."""
    fold = read_folds(data)[number]
    train = training_queries(fold)
    ranker = OURS[library](
        **RUNNING[library], random_state=number, query_features=SETTINGS[setting]
    )
    with warnings.catch_warnings():
        # Lists differ from those of the training.
        warnings.simplefilter("ignore")
        ranker.fit(*train)
        values = {}
        for name, rows in lists_of(fold.test, best_feature(train), number).items():
            X, y, qid = fold.test.X[rows], fold.test.y[rows], fold.test.qid[rows]
            values[name] = br.ndcg_score(y, ranker.predict(X, qid=qid), qid, k=10, empty="skip")
    names = {"data": data_name(data), "library": library, "query_features": setting, "fold": number}
    return {**names, "rounds": int(ranker.best_iteration_), "ndcg": values}


def best_feature(data):
    """The feature with the best NDCG@10 as a score."""
    values = [br.ndcg_score(data.y, data.X[:, i], data.qid, k=10) for i in range(data.X.shape[1])]
    return int(np.argmax(values))


def lists_of(test, first_stage, seed):
    """The rows that are left of the lists of test queries."""
    queries, random = Queries.from_qid(test.qid), np.random.default_rng(seed)
    ranks = queries.ungroup(queries.ranks(queries.group(random.random(len(test.y)))))
    sizes = queries.ungroup(queries.repeat(queries.sizes))
    rows = {name: ranks <= np.maximum(1, np.round(share * sizes)) for name, share in SHARES.items()}
    best = queries.ungroup(queries.ranks(queries.group(test.X[:, first_stage])))
    return {**rows, f"{N_BEST} best": best <= N_BEST}


def table_of(results):
    """Differences to the default ranker on the same lists, and mean numbers of rounds."""
    rows = pd.DataFrame(results)
    values = pd.DataFrame(rows["ndcg"].tolist()).assign(rounds=rows["rounds"])
    keys = ["library", "data", "query_features"]
    means = values.groupby([rows[key] for key in keys], sort=False).mean().reset_index()
    lists = [*SHARES, f"{N_BEST} best"]
    base = means[means["query_features"] == "default"].set_index(keys[:2])[lists]
    means[lists] -= base.loc[list(zip(means["library"], means["data"], strict=True))].to_numpy()
    over_sets = (
        means.groupby(["library", "query_features"], sort=False)
        .mean(numeric_only=True)
        .reset_index()
    )
    return pd.concat([means, over_sets.assign(data="mean")])


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    jobs = {
        arguments.runs / f"{data_name(data)}-{number}-{library}-{setting.replace(' ', '_')}.json": (
            *(data, number, library),
            setting,
        )
        for data in arguments.data
        for number in range(len(read_folds(data)))
        for library in arguments.libraries
        for setting in SETTINGS
    }
    run_jobs(run, jobs, arguments.jobs)
    table = table_of(read_results(arguments.runs))
    publish(
        table,
        "cut_lists",
        arguments.output,
        title="NDCG@10 with features of lists minus that of the default ranker, by how the lists "
        "at prediction are cut",
        seeds="the number of the fold",
        formats={**dict.fromkeys([*SHARES, f"{N_BEST} best"], "+.4f"), "rounds": ".0f"},
    )


if __name__ == "__main__":
    main()
