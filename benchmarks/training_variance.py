"""How often tests call two rankers different that are trained on few queries.

Some of these rankers are equally good.

python benchmarks/training_variance.py --runs FOLDER [--samples 100] [--output FOLDER]

A sample is 60 queries of 10 documents, with labels 0 to 4 from the sum of eight features, which are
alike, and noise. Two rankers are compared on it by NDCG@10, at the level 5%: by `br.compare(cv=5)`,
a paired test over queries; by `br.compare(cv=5, repeats=10)`, the corrected resampled t-test over
50 folds; and by the t-test over these folds without the correction. Rankers are LightGBMRanker with
10 rounds, each of which draws half of the queries. The cases are:

seeds          the same ranker with other seeds
halves         each ranker is trained on a half of the training queries, which its seed draws
features       one ranker sees the first four features, the other one the last four; also with 300
               queries
two features   one ranker sees four features, the other one these and two more, so that it is better
four features  one ranker sees four features, the other one all, so that it is better

In the case "two trainings", `LightGBMRanker()` is trained on two samples of 60 queries of
`br.make_ranking`, and both rankers are tested on 60, 200 and 1,000 further queries by the paired
test over these. Each sample is a file in FOLDER: an interrupted run continues where it stopped.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from jobs import run_jobs
from reporting import make_parser, publish
from sklearn.base import BaseEstimator
from workloads import grades

import boostrank as br
from boostrank.significance import corrected_resampled_t_test

N_DOCUMENTS, N_FEATURES, N_FOLDS, REPEATS, LEVEL = 10, 8, 5, 10, 0.05
N_TRAINED, N_TESTED = 60, (60, 200, 1000)
SHARES = (0.5, 0.25, 0.1, 0.03)
OTHER_SEED, TWO_TRAININGS = 1_000_000, "two trainings"


class PartRanker(BaseEstimator):
    """A ranker of few rounds with some of the features, trained on a share of the queries."""

    def __init__(self, first=0, last=N_FEATURES, share=1.0, random_state=0):
        self.first, self.last, self.share, self.random_state = first, last, share, random_state

    def fit(self, X, y, qid):
        """Draw queries by the seed, and train on them."""
        random = np.random.RandomState(self.random_state)
        queries = np.unique(qid)
        rows = np.isin(qid, random.choice(queries, round(self.share * len(queries)), replace=False))
        settings = {"n_estimators": 10, "learning_rate": 0.2, "subsample_queries": 0.5, "n_jobs": 1}
        ranker = br.LightGBMRanker(**settings, random_state=random.randint(2**31 - 1))
        self.ranker_ = ranker.fit(X[rows, self.first : self.last], y[rows], qid[rows])
        return self

    def predict(self, X):
        """The scores of all rows."""
        return self.ranker_.predict(X[:, self.first : self.last])


#: Number of queries, and the parameters of two rankers.
CASES = {
    "seeds": (60, {}, {}),
    "halves": (60, {"share": 0.5}, {"share": 0.5}),
    "features": (60, {"last": 4}, {"first": 4}),
    "features, 300 queries": (300, {"last": 4}, {"first": 4}),
    "two features": (60, {"last": 4}, {"last": 6}),
    "four features": (60, {"last": 4}, {}),
}


def make_queries(n_queries, seed):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_queries * N_DOCUMENTS, N_FEATURES))
    y = grades(X.sum(axis=1) + N_FEATURES**0.5 * random.standard_normal(len(X)), SHARES)
    return br.Dataset(X, y, np.repeat(np.arange(n_queries), N_DOCUMENTS))


def compare(case, seed):
    """The p-values of three tests, and the mean difference of all folds."""
    n_queries, first, second = CASES[case]
    rankers = {
        "first": PartRanker(**first),
        "second": PartRanker(**second, random_state=OTHER_SEED),
    }
    data, settings = make_queries(n_queries, seed), {"measures": "ndcg@10", "random_state": seed}
    folds = br.QueryKFold(N_FOLDS, shuffle=True, random_state=seed)
    over_queries = br.compare(rankers, *data, cv=folds, **settings).rows_of("ndcg@10").loc["second"]
    repeated = br.compare(rankers, *data, cv=N_FOLDS, repeats=REPEATS, **settings).rows_of(
        "ndcg@10"
    )
    names = [f"Fold{i}" for i in range(1, N_FOLDS * REPEATS + 1)]
    uncorrected = corrected_resampled_t_test(
        *repeated.loc[["second", "first"], names].to_numpy(), test_to_train=0
    )
    second = repeated.loc["second"]
    return {
        "difference": second["difference"],
        "queries": over_queries["p_value"],
        "corrected": second["p_value"],
        "uncorrected": uncorrected.p_value,
    }


def two_trainings(seed):
    """P-values of tests of one ranker that is trained on two samples.

    The tests are over several numbers of queries.
    """
    X, y, qid = br.make_ranking(
        2 * N_TRAINED + max(N_TESTED), n_documents=N_DOCUMENTS, random_state=seed
    )
    tested, values = qid >= 2 * N_TRAINED, []
    for i in range(2):
        rows = qid // N_TRAINED == i
        ranker = br.LightGBMRanker(random_state=i, n_jobs=1).fit(X[rows], y[rows], qid[rows])
        scores = ranker.predict(X[tested])
        values.append(br.ndcg_score(y[tested], scores, qid[tested], k=10, per_query=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {str(n): br.permutation_test(values[0][:n], values[1][:n]).p_value for n in N_TESTED}


def run(case, seed):
    """One job: the p-values of one sample."""
    return two_trainings(seed) if case == TWO_TRAININGS else compare(case, seed)


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each sample"
    )
    parser.add_argument("--samples", type=int, default=100)
    arguments = parser.parse_args()
    seeds = range(arguments.samples)
    jobs = {
        arguments.runs / f"{case}-{seed}.json": (case, seed)
        for seed in seeds
        for case in (TWO_TRAININGS, *CASES)
    }
    run_jobs(run, jobs, 1)
    rows = []
    for case in (TWO_TRAININGS, *CASES):
        results = pd.DataFrame(
            [json.loads(path.read_text()) for path, job in jobs.items() if job[0] == case]
        )
        rejected = (results < LEVEL).mean()
        if case == TWO_TRAININGS:
            rows += [
                {"case": f"{case}, {n} queries tested", "share_queries": rejected[str(n)]}
                for n in N_TESTED
            ]
        else:
            tests = {
                f"share_{test}": rejected[test] for test in ("queries", "corrected", "uncorrected")
            }
            rows.append({"case": case, "difference": results["difference"].mean(), **tests})
    title = (
        f"Share of {arguments.samples} samples in which a test at the level 5% calls two rankers "
        "different"
    )
    publish(
        pd.DataFrame(rows),
        "training_variance",
        arguments.output,
        title=title,
        seeds=f"0 to {seeds[-1]}",
    )


if __name__ == "__main__":
    main()
