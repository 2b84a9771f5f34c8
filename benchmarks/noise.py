"""Defaults and LambdaMART by number of queries and noise of the labels: NDCG@10 on synthetic test queries.

python benchmarks/noise.py --runs FOLDER [--seeds 1] [--jobs 2] [--queries 50 200 1000 5000]

Real data sets differ in how much their features say about the labels. Here that is known. A document has 20 features of
its own and 4 of its query. Its quality is a sum of linear, piecewise linear, periodic and product terms of them with
the variance 1, and the label is determined by the quality plus normal noise with the standard deviation "noise": grades
0 to 4, or 1 for the best document of each query and 0 for the others. Queries have 5 to 15 or 20 to 60 documents. Each
ranker is trained with its default parameters. The table, noise.csv, has the differences of ours to the LambdaMART of
the library on 1000 test queries, means over the seeds, with standard errors over the queries of all seeds.
"""

import itertools
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import read_results, run_jobs
from quality_methods import BASELINES, OURS, RUNNING
from reporting import make_parser, publish

import boostrank as br
from boostrank.model_selection.estimators import accept_qid

QUERIES, MEAN_DOCUMENTS, NOISE, LABELS = [50, 200, 1000, 5000], (10, 40), (0.0, 0.5, 1.5), ("grades", "one")
N_TEST = 1000
N_FEATURES, N_QUERY_FEATURES = 20, 4
#: Shares of the documents whose grade is at least 1, 2, 3 and 4.
SHARES = (0.5, 0.25, 0.1, 0.03)


def make_data(n_queries, mean_documents, noise, labels, seed):
    """Synthetic queries as a Dataset."""
    random = np.random.default_rng([seed, n_queries, mean_documents])
    sizes = random.integers(mean_documents // 2, mean_documents * 3 // 2 + 1, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    X = random.standard_normal((len(qid), N_FEATURES), dtype=np.float32)
    # Some features have few values, as counts do.
    X[:, 5:8] = np.round(1.5 * X[:, 5:8])
    of_query = random.standard_normal((n_queries, N_QUERY_FEATURES), dtype=np.float32)[qid]
    quality = X[:, 0] + 0.7 * np.maximum(X[:, 1], 0) + 0.8 * np.sin(2 * X[:, 2]) + 0.6 * X[:, 3] * X[:, 4]
    quality += 0.5 * X[:, 5] * (of_query[:, 0] > 0) + 0.4 * X[:, 6] + 0.9 * of_query[:, 1]
    seen = quality / quality.std() + noise * random.standard_normal(len(qid))
    if labels == "grades":
        y = np.digitize(seen, np.quantile(seen, 1.0 - np.array(SHARES)))
    else:
        y = (seen == pd.Series(seen).groupby(qid).transform("max").to_numpy()).astype(int)
    return br.Dataset(np.hstack([X, of_query]), y, qid)


def run(library, n_queries, mean_documents, noise, labels, seed):
    """One job: NDCG@10 of each test query by each ranker of a library."""
    data = make_data(n_queries + N_TEST, mean_documents, noise, labels, seed)
    kept = data.qid < n_queries
    train, test = data.take(np.flatnonzero(kept)), data.take(np.flatnonzero(~kept))
    values = {}
    for name, make in {"LambdaMART": BASELINES[library].make, "ours": OURS[library]}.items():
        ranker = accept_qid(make(**RUNNING[library], random_state=seed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = ranker.fit(*train).predict(test.X)
        ndcg = br.ndcg_score(test.y, scores, test.qid, k=10, empty="skip", per_query=True)
        values[name] = ndcg[~np.isnan(ndcg)].tolist()
    cell = {"library": library, "labels": labels, "queries": n_queries, "documents": mean_documents, "noise": noise}
    return {**cell, "seed": seed, "values": values}


def table_of(results):
    """A row for each library and kind of data."""
    keys = ["library", "labels", "queries", "documents", "noise"]
    rows = []
    for cell, of_cell in pd.DataFrame(results).groupby(keys):
        ndcg = {name: np.concatenate([one[name] for one in of_cell["values"]]) for name in of_cell["values"].iloc[0]}
        row = {**dict(zip(keys, cell, strict=True)), "lambdamart_ndcg": ndcg["LambdaMART"].mean()}
        difference = ndcg["ours"] - ndcg["LambdaMART"]
        error = difference.std(ddof=1) / np.sqrt(len(difference))
        rows.append({**row, "difference": difference.mean(), "difference_se": error})
    return pd.DataFrame(rows)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the result of each job")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--queries", type=int, nargs="+", default=QUERIES, help="numbers of training queries")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each")
    arguments = parser.parse_args()
    jobs = {}
    for cell in itertools.product(OURS, arguments.queries, MEAN_DOCUMENTS, NOISE, LABELS, range(arguments.seeds)):
        jobs[arguments.runs / ("-".join(map(str, cell)) + ".json")] = cell
    run_jobs(run, jobs, arguments.jobs)
    table = table_of(read_results(arguments.runs))
    formats = {name: "+.4f" if "se" not in name else ".4f" for name in table if "difference" in name}
    publish(
        table,
        "noise",
        arguments.output,
        title="Differences of NDCG@10 of our defaults to the LambdaMART of the library, by noise",
        seeds=", ".join(map(str, range(arguments.seeds))),
        formats=formats,
    )
    for library, of_library in table.groupby("library"):
        difference = of_library["difference"]
        z = difference / of_library["difference_se"]
        print(
            f"{library}: mean {difference.mean():+.4f}, worse by 2 standard errors in {(z < -2).sum()} of {len(z)} "
            f"rows, better in {(z > 2).sum()}, worst {difference.min():+.4f}"
        )


if __name__ == "__main__":
    main()
