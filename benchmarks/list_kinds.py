"""Kinds of features of lists, and whether left-out queries can choose between them.

All is measured on training queries.

python benchmarks/list_kinds.py DATA ... --runs FOLDER [--splits 2] [--libraries lightgbm xgboost]
                                [--settings none both ...] [--jobs 2] [--output FOLDER]

DATA as for quality.py. In each fold, the queries that are not for testing are divided `--splits`
times at random into three quarters to train on and one quarter to hold out; test queries are not
used. Columns of each kind are added to those of X, without columns that repeat others, and a ranker
is trained with its defaults. Trees draw as many features as from X alone, or (in the rows "all
features") the same share of all. Held-out lists are cut as in cut_lists.py. The table,
list_kinds.csv, has differences of NDCG@10 to the ranker without features of lists on the same
lists, as means over the data sets, with standard errors over queries, and the least one of a data
set. A query that is held out several times counts once, with its mean.

The row "chosen by left-out queries" takes, in each training, that of the rankers without features
of lists and with "standardize", "rank" or both of them whose loss on the queries that rounds left
out fell most.
"""

import itertools
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from cut_lists import N_BEST, SHARES, best_feature, lists_of
from defaults import HELD_OUT
from jobs import read_results, run_jobs
from quality_methods import OURS, RUNNING
from reporting import make_parser, publish
from workloads import data_name, read_folds, training_queries

import boostrank as br
from boostrank.training.defaults import MIN_NODE_FEATURES, NODE_SHARE, TREE_SHARE

LISTS = [*SHARES, f"{N_BEST} best"]


def scaled(center, width, values):
    """Values from `center` in multiples of `width`, 0 where all values of a list are equal."""
    widths = width(values)
    return (values - center(values)) / np.where(widths > 0, widths, 1.0)


def ranks(values):
    """Ranks, 1 for the smallest value; equal ones share their mean."""
    return pd.DataFrame(values).rank().to_numpy()


def gap(values):
    """Distance to the next smaller value, in standard deviations."""
    levels = np.sort(values, axis=0)
    below = np.empty_like(values)
    for column, (own, sorted_values) in enumerate(zip(values.T, levels.T, strict=True)):
        position = np.searchsorted(sorted_values, own)
        below[:, column] = np.where(position > 0, sorted_values[np.maximum(position, 1) - 1], own)
    return scaled(lambda _: below, partial(np.std, axis=0), values)


def quartile_range(values):
    """Distance of the quartiles, or the standard deviation where that is 0."""
    distance = np.subtract(*np.quantile(values, [0.75, 0.25], axis=0))
    return np.where(distance > 0, distance, np.std(values, axis=0))


deviation, middle, least, most = (
    partial(function, axis=0) for function in (np.std, np.median, np.min, np.max)
)
#: Functions of the values of a list, shape (n_documents, n_columns).
KINDS = {
    "standardize": partial(scaled, partial(np.mean, axis=0), deviation),
    "rank": lambda values: ranks(values) / len(values),
    "median and quartiles": partial(scaled, middle, quartile_range),
    "minmax": partial(scaled, least, partial(np.ptp, axis=0)),
    "distance to the largest": partial(scaled, most, deviation),
    "rank from the largest": lambda values: ranks(-values),
    "at most 10 from the largest": lambda values: np.minimum(ranks(-values), 10.0),
    "gap": gap,
}
BOTH = ("standardize", "rank")
#: The kinds of each setting, and whether trees draw a share of all features.
SETTINGS = {
    "none": ((), False),
    **{
        kind: ((kind,), False) for kind in ("standardize", "rank", "minmax", "median and quartiles")
    },
    "both": (BOTH, False),
    "minmax, rank": (("minmax", "rank"), False),
    "minmax, standardize": (("minmax", "standardize"), False),
    "both, all features": (BOTH, True),
    "distance to the largest": (("distance to the largest",), False),
    "standardize, rank from the largest": (("standardize", "rank from the largest"), False),
    "standardize, at most 10 from the largest": (
        ("standardize", "at most 10 from the largest"),
        False,
    ),
    **{
        f"both, {kind}": ((*BOTH, kind), False)
        for kind in ("gap", "minmax", "rank from the largest")
    },
}
CHOICES, CHOSEN = ("none", "standardize", "rank", "both"), "chosen by left-out queries"


def with_features(kinds, columns, data):
    """X with the features of these kinds of some columns."""
    queries, X = br.Queries.from_qid(data.qid), np.asarray(data.X, dtype=float)
    grouped, parts = queries.group(X[:, columns]), [X]
    for kind in kinds:
        rows = [
            KINDS[kind](grouped[start:end]) for start, end in itertools.pairwise(queries.indptr)
        ]
        parts.append(queries.ungroup(np.concatenate(rows).astype(np.float32)))
    return np.hstack(parts)


def different(X, n):
    """Indices of the first `n` columns, and of the others that repeat no column before them."""
    _, first = np.unique(X.astype(np.float32), axis=1, return_index=True)
    return [*range(n), *sorted(i for i in first if i >= n)]


def shares(n_columns, n_features, of_all):
    """The shares of the features of our defaults, such as the rankers take them."""
    n = n_features if of_all else n_columns
    share = min(1.0, max(TREE_SHARE * NODE_SHARE, MIN_NODE_FEATURES / n)) * n / n_features
    by_tree = min(1.0, share / NODE_SHARE)
    return {"colsample_bytree": by_tree, "colsample_bynode": min(1.0, share / by_tree)}


def run(data, number, split, library, setting):
    """One job: NDCG@10 of the held-out queries of each kind of lists.

    It is NaN without a relevant document.
    """
    fold = training_queries(read_folds(data)[number])
    kept, held_out = (
        br.Dataset(fold.X[rows], fold.y[rows], fold.qid[rows])
        for rows in br.split_queries(fold.qid, HELD_OUT, random_state=split)
    )
    kinds, of_all = SETTINGS[setting]
    columns = br.QueryFeatures("standardize").fit(kept.X, qid=kept.qid).columns_
    X, n = with_features(kinds, columns, kept), kept.X.shape[1]
    used = different(X, n)
    settings = shares(n, len(used), of_all)
    values, names = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = OURS[library](**RUNNING[library], random_state=split, **settings)
        ranker.fit(X[:, used], kept.y, kept.qid)
        for name, rows in lists_of(held_out, best_feature(kept), number).items():
            cut = br.Dataset(held_out.X[rows], held_out.y[rows], held_out.qid[rows])
            scores = ranker.predict(with_features(kinds, columns, cut)[:, used])
            values[name] = br.ndcg_score(
                cut.y, scores, cut.qid, k=10, empty="skip", per_query=True
            ).tolist()
            # The queries in the sequence in which they first appear, which is that of their values.
            names[name] = pd.unique(cut.qid).tolist()
    return {
        "data": data_name(data),
        "library": library,
        "training": f"{number}, {split}",
        "setting": setting,
        "query": names,
        "ndcg": values,
        "rounds": int(ranker.best_iteration_),
        "improvement": float(np.cumsum(ranker.oob_improvement_).max()),
    }


def chosen_by_improvement(results):
    """The result of each training among :data:`CHOICES` with the largest improvement."""
    trainings = {}
    for result in results:
        if result["setting"] in CHOICES:
            trainings.setdefault(
                (result["library"], result["data"], result["training"]), []
            ).append(result)
    complete = [candidates for candidates in trainings.values() if len(candidates) == len(CHOICES)]
    best = [max(candidates, key=lambda result: result["improvement"]) for candidates in complete]
    return [{**result, "setting": CHOSEN} for result in best]


def agreement(results):
    """The share of trainings in which improvement and NDCG@10 agree on "both" against "none"."""
    rows = pd.DataFrame(results)
    whole = [np.nanmean(np.array(values["whole"], dtype=float)) for values in rows["ndcg"]]
    keys = ["library", "data", "training", "setting"]
    pairs = (
        rows.assign(ndcg=whole)
        .set_index(keys)[["improvement", "ndcg"]]
        .unstack("setting")
        .swaplevel(axis=1)
    )
    signs = np.sign(pairs["both"] - pairs["none"]).dropna()
    share = (signs.product(axis=1) > 0).mean()
    return f"both and none: improvement and NDCG@10 agree in {share:.0%} of {len(signs)}"


def table_of(results):
    """Mean difference, its standard error and the least one by kind of lists, a row by setting."""
    rows = pd.DataFrame([{**result, "lists": name} for result in results for name in LISTS])
    for field in ("ndcg", "query"):
        rows[field] = [
            values[name] for values, name in zip(rows[field], rows["lists"], strict=True)
        ]
    rows = rows.explode(["query", "ndcg"]).astype({"ndcg": float}).dropna(subset="ndcg")
    values = (
        rows.groupby(["library", "lists", "data", "query", "setting"], sort=False)["ndcg"]
        .mean()
        .unstack("setting")
    )
    differences = (
        values.sub(values["none"], axis=0).stack().dropna().rename("difference").reset_index()
    )
    by_set = differences.groupby(["library", "setting", "lists", "data"], sort=False)[
        "difference"
    ].agg(["mean", "sem"])
    groups = by_set.groupby(["library", "setting", "lists"], sort=False)
    table = pd.DataFrame(
        {
            "mean": groups["mean"].mean(),
            "mean_se": groups["sem"].agg(lambda errors: np.sqrt((errors**2).sum()) / len(errors)),
            "least": groups["mean"].min(),
        }
    )
    table = table.unstack("lists").swaplevel(axis=1)[LISTS]
    table.columns = [f"{lists}, {name}" for lists, name in table.columns]
    order = [(library, name) for library in OURS for name in (*SETTINGS, CHOSEN) if name != "none"]
    return table.loc[[row for row in order if row in table.index]].reset_index()


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument(
        "--splits", type=int, default=2, help="random divisions of the training queries of a fold"
    )
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    jobs = {
        arguments.runs
        / f"{data_name(data)}-{number}-{split}-{library}-{setting.replace(' ', '_')}.json": (
            *(data, number, split),
            *(library, setting),
        )
        for split in range(arguments.splits)
        for data in arguments.data
        for number in range(len(read_folds(data)))
        for library in arguments.libraries
        for setting in arguments.settings
    }
    run_jobs(run, jobs, arguments.jobs)
    results = read_results(arguments.runs)
    table = table_of([*results, *chosen_by_improvement(results)])
    publish(
        table,
        "list_kinds",
        arguments.output,
        title="NDCG@10 with features of lists minus that without, on held-out training queries",
        seeds="the number of the division",
        notes=[agreement(results)],
        formats={name: ".4f" if name.endswith("se") else "+.4f" for name in table.columns[2:]},
    )


if __name__ == "__main__":
    main()
