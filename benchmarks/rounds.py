"""Where training should end: NDCG@10 by multiples of the round that left-out queries choose.

python benchmarks/rounds.py DATA ... --runs FOLDER [--synthetic] [--rate 0.08] [--rounds 700]
                            [--libraries lightgbm xgboost] [--jobs 2]

DATA as for quality.py. In each fold, the queries that are not for testing are divided at random
into three quarters to train on and one quarter to hold out; test queries are not used. With
--synthetic, there are also the kinds of noise.py, and

copies        200 queries of the kind "grades", each five times under different ids
kinds         1000 queries of 20 documents, of eight kinds: the weights of the features are those
              of the kind, which the features say
kinds, heavy  the same, with weights of queries exp(2 z), z normal

with noise as in noise.py, 2000 rounds, and 1000 further queries in place of those held out. Each
ranker trains so many rounds at one rate. At round n, its left-out queries choose the round b(n)
where the smoothed sum of their improvements until then is largest; with a factor f, training would
end at the first n of at least 4 / rate that is f b(n) or more. The table, rounds.csv, has the
NDCG@10 there minus that at the best round of any, which no one knows in advance, as means over
folds or cells, and the number of rounds with the factor 2. Values by round are smoothed by the
mean over 50.
"""

import itertools
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import read_results, run_jobs
from noise import KINDS, N_TEST, SHARES, make_data
from quality_methods import OURS, RUNNING
from reporting import make_parser, publish
from workloads import data_name, grades, read_folds, training_queries

import boostrank as br
from boostrank.backends.left_out_queries import FIXED_TOTAL_STEP, MIN_TOTAL_STEP, best_round

HELD_OUT, FACTORS, STEP = 0.25, (1.5, 2.0, 2.5, 3.0, 4.0), 10
SYNTHETIC_ROUNDS = 2000
#: Kind, number of training queries, documents of a query, and noise of each cell.
NOISES = (0.0, 0.5, 1.5)
CELLS = [(kind, *cell) for kind, axes in KINDS.items() for cell in itertools.product(*axes)]
CELLS += [("copies", 200, 20, noise) for noise in NOISES]
CELLS += [("kinds", 1000, 20, noise) for noise in NOISES]
CELLS += [("kindsw", 1000, 20, noise) for noise in NOISES]
N_COPIES, N_KINDS, N_FEATURES, SPREAD = 5, 8, 12, 2.0


def make_kinds(n_queries, n_documents, noise, is_weighted):
    """Queries of several kinds, as a Dataset, and weights of the queries or None."""
    random = np.random.default_rng([0, n_queries, 7])
    qid = np.repeat(np.arange(n_queries), n_documents)
    X = random.standard_normal((len(qid), N_FEATURES), dtype=np.float32)
    kind = random.integers(0, N_KINDS, n_queries)
    of_kinds = np.random.default_rng(5).standard_normal((N_KINDS, N_FEATURES))
    quality = (X * of_kinds[kind[qid]]).sum(axis=1)
    seen = quality / quality.std() + noise * random.standard_normal(len(qid))
    columns = np.hstack([X, np.eye(N_KINDS, dtype=np.float32)[kind][qid]])
    weights = np.exp(SPREAD * random.standard_normal(n_queries)) if is_weighted else None
    return br.Dataset(columns, grades(seen, SHARES), qid), weights


def synthetic(kind, n_queries, n_documents, noise):
    """Queries to train on, their weights or None, and queries to test."""
    weights = None
    if kind.startswith("kinds"):
        data, weights = make_kinds(n_queries + N_TEST, n_documents, noise, kind == "kindsw")
        weights = None if weights is None else weights[:n_queries]
    else:
        name = "grades" if kind == "copies" else kind
        data = make_data(name, n_queries + N_TEST, n_documents, noise, 0)
    is_train = data.qid < n_queries
    train, test = data.take(np.flatnonzero(is_train)), data.take(np.flatnonzero(~is_train))
    if kind == "copies":
        ids = np.concatenate([train.qid + 10_000 * i for i in range(N_COPIES)])
        rows = np.tile(np.arange(len(train.y)), N_COPIES)
        train = br.Dataset(train.X[rows], train.y[rows], ids)
    return train, weights, test


def run(kind, cell, library, rate, rounds):
    """One job: NDCG@10 after every tenth round, and what left-out queries say of each round."""
    weights = None
    if kind == "real":
        data, number = cell
        X, y, qid = training_queries(read_folds(data)[number])
        kept, held_out = br.split_queries(qid, HELD_OUT, random_state=number)
        train = X[kept], y[kept], qid[kept]
        test = br.Dataset(X[held_out], y[held_out], qid[held_out])
        name, seed = data_name(data), number
    else:
        train, weights, test = synthetic(*cell)
        name, seed = "-".join(map(str, cell)), 0
    ranker = OURS[library](
        **RUNNING[library], random_state=seed, n_estimators=rounds, learning_rate=rate
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(*train, sample_weight=weights)
    stages = itertools.islice(ranker.staged_predict(test.X), STEP - 1, None, STEP)
    values = [br.ndcg_score(test.y, scores, test.qid, k=10, empty="skip") for scores in stages]
    improvement = ranker.oob_improvement_.tolist()
    return {"data": name, "kind": kind, "library": library, "ndcg": values, "imp": improvement}


def end_of(improvement, factor, least):
    """The number of rounds at which a factor ends the training."""
    ends = range(least, len(improvement))
    return next((n for n in ends if n >= factor * best_round(improvement[:n])), len(improvement))


def row_of(result, rate):
    """The values of one job at the ends, minus the best."""
    values = np.convolve(np.pad(result["ndcg"], 2, mode="edge"), np.full(5, 0.2), "valid")
    rounds = STEP * np.arange(1, len(values) + 1)
    least, fixed = round(MIN_TOTAL_STEP / rate), round(FIXED_TOTAL_STEP / rate)
    ends = {f"{f} b": end_of(result["imp"], f, least) for f in FACTORS}
    ends = {f"{fixed} rounds": fixed, **ends}
    lost = {name: np.interp(end, rounds, values) - values.max() for name, end in ends.items()}
    # The name of a cell begins with its kind.
    data = result["data"] if result["kind"] == "real" else result["data"].split("-")[0]
    about = {"library": result["library"], "kind": result["kind"], "data": data}
    return {**about, **lost, "best": values.max(), "rounds": ends["2.0 b"]}


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="*", help="as for quality.py")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--synthetic", action="store_true", help="also synthetic data")
    parser.add_argument("--rate", type=float, default=0.08, help="learning rate")
    parser.add_argument("--rounds", type=int, default=700, help="rounds on DATA")
    parser.add_argument("--libraries", nargs="+", choices=OURS, default=list(OURS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="jobs at the same time")
    arguments = parser.parse_args()
    jobs = {}
    for library in arguments.libraries:
        for data in arguments.data:
            for number in range(len(read_folds(data))):
                path = arguments.runs / f"{library}-{data_name(data)}-{number}.json"
                jobs[path] = ("real", (data, number), library, arguments.rate, arguments.rounds)
        for cell in CELLS if arguments.synthetic else ():
            path = arguments.runs / f"{library}-{'_'.join(map(str, cell))}.json"
            jobs[path] = ("syn", cell, library, arguments.rate, SYNTHETIC_ROUNDS)
    run_jobs(run, jobs, arguments.jobs)
    rows = pd.DataFrame([row_of(result, arguments.rate) for result in read_results(arguments.runs)])
    by_set = rows.groupby(["library", "kind", "data"], sort=False).mean().reset_index()
    means = by_set.groupby(["library", "kind"], sort=False).mean(numeric_only=True).reset_index()
    table = pd.concat([by_set, means.assign(data="mean")])
    publish(
        table,
        "rounds",
        arguments.output,
        title="NDCG@10 by number of rounds minus the best; left-out queries choose the round b",
        seeds="the number of the fold, and 0",
        formats={**dict.fromkeys(table.columns[3:-2], "+.4f"), "best": ".4f", "rounds": ".0f"},
    )


if __name__ == "__main__":
    main()
