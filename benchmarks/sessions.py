"""Logs in which each query is issued five times: rounds and NDCG@10 with and without `groups`.

python benchmarks/sessions.py [--seeds 3] [--output FOLDER]

A query has 20 documents with 24 features. Its quality is a sum of terms of the features, plus
noise of the query and its documents, which all of its sessions share and no feature says, plus
noise of the session. Labels are grades of it, as in noise.py; a feature is the position of the
document in the session. Each ranker is trained on five sessions of each of 200 queries, and tested
on 1000 queries that it has not seen. Its default finds the number of rounds by left-out lists:
without `groups`, other sessions of a left-out query are trained on. "best" is the number of rounds
with the largest NDCG@10 on the test queries, of at most 1500, which no one knows in advance. The
table, sessions.csv, has means over seeds.
"""

import warnings

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from workloads import grades

import boostrank as br

N_TRAIN, N_TEST, N_SESSIONS, N_DOCUMENTS, N_FEATURES = 200, 1000, 5, 20, 24
#: Standard deviations of the noise of the query and of the session, where the quality has 1.
NOISES = [(0.5, 0.25), (1.0, 0.25), (1.0, 1.0)]
SHARES = [0.6, 0.2, 0.1, 0.07, 0.03]
MAX_ROUNDS, STEP = 1500, 25
RANKERS = {"lightgbm": br.LightGBMRanker, "xgboost": br.XGBoostRanker}


def make_log(of_query, of_session, seed):
    """Sessions to train on, the query of each row, and lists of other queries to test."""
    random = np.random.default_rng(seed)
    n_queries = N_TRAIN + N_TEST
    X = random.standard_normal((n_queries, 1, N_DOCUMENTS, N_FEATURES), dtype=np.float32)
    quality = X[..., 0] + np.abs(X[..., 1]) + np.sin(2 * X[..., 2]) + X[..., 3] * X[..., 4]
    quality = quality / quality.std()
    quality = quality + of_query * random.standard_normal(quality.shape)
    X = np.repeat(X, N_SESSIONS, axis=1)
    X[..., -1] = random.random(X.shape[:3]).argsort(axis=2)
    seen = quality + of_session * random.standard_normal(X.shape[:3])
    y = grades(seen.ravel(), SHARES).reshape(seen.shape)
    query = np.broadcast_to(np.arange(N_TRAIN)[:, None, None], y[:N_TRAIN].shape)
    session = np.arange(N_TRAIN * N_SESSIONS).repeat(N_DOCUMENTS)
    train = X[:N_TRAIN].reshape(-1, N_FEATURES), y[:N_TRAIN].ravel(), session
    test_ids = np.arange(N_TEST).repeat(N_DOCUMENTS)
    test = X[N_TRAIN:, 0].reshape(-1, N_FEATURES), y[N_TRAIN:, 0].ravel(), test_ids
    return train, query.ravel(), test


def by_rounds(ranker, test):
    """NDCG@10 of the test queries after every few rounds, by the number of rounds."""
    X, y, qid = test
    values = {}
    for number, scores in enumerate(ranker.staged_predict(X), 1):
        if number % STEP == 0:
            values[number] = float(br.ndcg_score(y, scores, qid, k=10))
    return pd.Series(values)


def measure(library, noises, seed):
    """Rounds and NDCG@10 with groups, without them, and with the best number of rounds."""
    train, query, test = make_log(*noises, seed)
    make = RANKERS[library]
    X, y, qid = test
    found = {}
    for name, groups in (("with groups", query), ("without", None)):
        ranker = make(random_state=seed, n_jobs=1).fit(*train, groups=groups)
        value = float(br.ndcg_score(y, ranker.predict(X), qid, k=10))
        found[name] = (ranker.best_iteration_, value)
    longest = make(random_state=seed, n_jobs=1, n_estimators=MAX_ROUNDS).fit(*train, groups=query)
    values = by_rounds(longest, test)
    found["best"] = (int(values.idxmax()), float(values.max()))
    return found


def main():
    """Measure all cells, and write the table."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    rows = []
    for library in RANKERS:
        for noises in NOISES:
            for seed in range(arguments.seeds):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = measure(library, noises, seed)
                for training, (rounds, value) in found.items():
                    cell = {"library": library, "of_query": noises[0], "of_session": noises[1]}
                    cell |= {"training": training, "rounds": rounds, "ndcg@10": value}
                    rows.append(cell | {"below_best": found["best"][1] - value})
                print(rows[-3:], flush=True)
    keys = ["library", "of_query", "of_session", "training"]
    table = pd.DataFrame(rows).groupby(keys, sort=False).mean().reset_index()
    publish(
        table,
        "sessions",
        arguments.output,
        title="Rounds and NDCG@10 on new queries, by whether sessions of a query are one group",
        seeds=", ".join(map(str, range(arguments.seeds))),
    )


if __name__ == "__main__":
    main()
