"""Our defaults and LambdaMART by kind of data and noise of the labels, on synthetic data.

They are compared by NDCG@10 on test queries.

python benchmarks/noise.py --runs FOLDER [--kinds grades one interactions offsets]
                           [--libraries lightgbm xgboost] [--queries 50 200 1000] [--seeds 1]
                           [--jobs 2]

Real data sets differ in how much their features say about the labels. Here that is known. Each
ranker is trained on each kind, and predicts 1000 test queries:

grades        20 features of the document and 4 of its query. The quality is a sum of linear,
              piecewise linear, periodic and product terms of them with the variance 1, and the
              label is determined by the quality plus normal noise with the standard deviation
              "noise". Queries have 5 to 15 or 20 to 60 documents.
one           the same, but the label is 1 for the best document of each query and 0 for the others
interactions  60 features, interactions among them, grades as rare as in web search; 500 queries of
              60 documents
offsets       a feature that is the quality plus an offset of the query, and five of noise; labels
              without noise; 200 queries of 20 documents

--queries replaces the numbers of training queries of all kinds. The peers are the library's
LambdaMART with its default parameters, and with 500 rounds; "better" is the one of these with the
higher mean on the test queries of this kind. The table, noise.csv, has the mean NDCG@10 over seeds,
our differences to the peers, their standard errors over the queries of all seeds, rounds and
processor seconds of a fit. Each fit is a file in FOLDER: after a change of our rankers, delete
those whose names end with "-ours.json".
"""

import itertools
import json
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import run_jobs
from quality_methods import BASELINES, OURS, RUNNING, processor_seconds
from reporting import make_parser, publish
from workloads import grades, make_interactions, make_offsets

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

#: Numbers of training queries, mean documents of a query, and noise of each kind.
KINDS = {
    "grades": ([50, 200, 1000], [10, 40], [0.0, 0.5, 1.5]),
    "one": ([50, 200, 1000], [10, 40], [0.0, 0.5, 1.5]),
    "interactions": ([500], [60], [0.3, 1.0]),
    "offsets": ([200], [20], [0.0]),
}
N_TEST = 1000
N_FEATURES, N_QUERY_FEATURES = 20, 4
#: Shares of the documents whose grade is at least 1, 2, 3 and 4.
SHARES = (0.5, 0.25, 0.1, 0.03)
#: Parameters of the peers of a library.
PEERS = {"default": {}, "500": {"n_estimators": 500}}
RANKERS = (*PEERS, "ours")
CELL = ["library", "kind", "queries", "documents", "noise"]


def make_data(kind, n_queries, n_documents, noise, seed):
    """Synthetic queries of a kind, as a Dataset."""
    if kind == "interactions":
        return make_interactions(n_queries, noise, [seed, n_queries], n_documents=n_documents)
    if kind == "offsets":
        return make_offsets(n_queries, [seed, n_queries], n_documents=n_documents)
    random = np.random.default_rng([seed, n_queries, n_documents])
    sizes = random.integers(n_documents // 2, n_documents * 3 // 2 + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = random.standard_normal((len(qid), N_FEATURES), dtype=np.float32)
    # Some features have few values, as counts do.
    X[:, 5:8] = np.round(1.5 * X[:, 5:8])
    of_query = random.standard_normal((n_queries, N_QUERY_FEATURES), dtype=np.float32)[qid]
    quality = (
        X[:, 0] + 0.7 * np.maximum(X[:, 1], 0) + 0.8 * np.sin(2 * X[:, 2]) + 0.6 * X[:, 3] * X[:, 4]
    )
    quality += 0.5 * X[:, 5] * (of_query[:, 0] > 0) + 0.4 * X[:, 6] + 0.9 * of_query[:, 1]
    seen = quality / quality.std() + noise * random.standard_normal(len(qid))
    best = pd.Series(seen).groupby(qid).transform("max").to_numpy()
    return br.Dataset(
        np.hstack([X, of_query]),
        grades(seen, SHARES) if kind == "grades" else (seen == best) * 1,
        qid,
    )


def run(library, kind, n_queries, n_documents, noise, seed, name):
    """One job: NDCG@10 of each test query by one ranker."""
    data = make_data(kind, n_queries + N_TEST, n_documents, noise, seed)
    is_train = data.qid < n_queries
    train, test = data.take(np.flatnonzero(is_train)), data.take(np.flatnonzero(~is_train))
    make = OURS[library] if name == "ours" else partial(BASELINES[library].make, **PEERS[name])
    ranker = accept_qid(make(**RUNNING[library], random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, seconds = processor_seconds(library, lambda: ranker.fit(*train))
        scores = ranker.predict(test.X)
    ndcg = br.ndcg_score(test.y, scores, test.qid, k=10, empty="skip", per_query=True)
    cell = dict(zip(CELL, (library, kind, n_queries, n_documents, noise), strict=True))
    about = {"seed": seed, "ranker": name, "rounds": int(ranker.best_iteration_), "fit_s": seconds}
    return {**cell, **about, "ndcg": ndcg[~np.isnan(ndcg)].tolist()}


def jobs_of(arguments):
    """File and arguments of each job; the rankers of the same data follow each other."""
    jobs = {}
    for kind, library in itertools.product(arguments.kinds, arguments.libraries):
        queries, documents, noise = KINDS[kind]
        seeds = range(arguments.seeds)
        for cell in itertools.product(
            arguments.queries or queries, documents, noise, seeds, RANKERS
        ):
            job = (library, kind, *cell)
            jobs[arguments.runs / ("-".join(map(str, job)) + ".json")] = job
    return jobs


def table_of(results):
    """A row for each library and kind of data."""
    rows = []
    for cell, of_cell in pd.DataFrame(results).groupby(CELL, sort=False):
        by_ranker = of_cell.sort_values("seed").groupby("ranker")
        ndcg = {name: np.concatenate(list(lists)) for name, lists in by_ranker["ndcg"]}
        means = {name: values.mean() for name, values in ndcg.items()}
        better = max(PEERS, key=means.get)
        row = dict(zip(CELL, cell, strict=True)) | {f"ndcg_{name}": means[name] for name in RANKERS}
        for title, peer in {**{name: name for name in PEERS}, "better": better}.items():
            difference = ndcg["ours"] - ndcg[peer]
            row[f"difference_{title}"] = difference.mean()
            row[f"difference_{title}_se"] = difference.std(ddof=1) / np.sqrt(len(difference))
        row |= {"better": better, "rounds": by_ranker["rounds"].mean()["ours"]}
        rows.append(row | {f"{name}_fit_s": by_ranker["fit_s"].mean()[name] for name in RANKERS})
    return pd.DataFrame(rows)


def print_summary(table):
    """Our differences to the better of the two peers, a line for each library."""
    for library, of_library in table.groupby("library"):
        difference = of_library["difference_better"]
        z = difference / of_library["difference_better_se"]
        worst = of_library.loc[difference.idxmin(), CELL[1:]]
        print(
            f"{library}, ours minus the better of LambdaMART with its default and with 500 rounds: "
            f"mean {difference.mean():+.4f}; significantly (2 standard errors) worse in "
            f"{(z < -2).sum()} and better in {(z > 2).sum()} of {len(z)} rows; worst "
            f"{difference.min():+.4f} ({', '.join(map(str, worst))})"
        )


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument(
        "--queries",
        type=int,
        nargs="+",
        help="numbers of training queries, in place of those of KINDS",
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    jobs = jobs_of(arguments)
    run_jobs(run, jobs, arguments.jobs)
    table = table_of([json.loads(path.read_text()) for path in jobs])
    formats = {
        name: ".4f" if name.endswith("_se") else "+.4f"
        for name in table
        if name.startswith("difference")
    }
    publish(
        table,
        "noise",
        arguments.output,
        title="NDCG@10 of our defaults and of the LambdaMART of the library, with its default and "
        "with 500 rounds",
        seeds=", ".join(map(str, range(arguments.seeds))),
        formats={**formats, "rounds": ".0f"},
        notes=["better: the peer with the higher mean on the test queries of this row"],
    )
    print_summary(table)


if __name__ == "__main__":
    main()
