"""How often 95% intervals of a mean difference contain it, by number of queries.

python benchmarks/interval_coverage.py --data FOLDER [--samples 2000] [--output FOLDER]

FOLDER is that of the data sets of quality.py. The population is the 467 queries of DBENT with the
differences of two of its runs in NDCG@10 and in the reciprocal rank. Queries are drawn from it with
replacement. The interval of each sample is that of `boostrank.significance.confidence_interval`, by
Student's t, or ends at the 2.5% and 97.5% quantiles of the means of 2,000 resamples, as that of the
percentile bootstrap.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from reporting import make_parser, publish, resampled_means

import boostrank as br
from boostrank.significance import confidence_interval

RUNS, SIZES, SEED, RESAMPLES = (34, 18), (5, 10, 20, 29, 30, 50, 100, 300), 0, 2000


def student(values):
    return confidence_interval(values, np.zeros(len(values)))


def bootstrap(values):
    return np.quantile(resampled_means(values[None], RESAMPLES, SEED)[0], [0.025, 0.975])


def coverage(values, size, samples, interval):
    """The share of samples whose interval contains the mean of all values.

    The other result is the mean width of the intervals.
    """
    rows = np.random.default_rng(SEED).integers(0, len(values), (samples, size))
    low, high = np.transpose([interval(values[drawn]) for drawn in rows])
    return np.mean((low <= values.mean()) & (values.mean() <= high)), np.mean(high - low)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=2000)
    arguments = parser.parse_args()
    X, y, qid = br.read_letor(arguments.data / "DBENT" / "all.txt.gz")
    X = np.asarray(X)
    rows = []
    for measure in ("ndcg@10", "mrr"):
        first, second = (
            br.evaluate(y, X[:, run], qid, measure, per_query=True)[measure].to_numpy()
            for run in RUNS
        )
        for size in SIZES:
            row = {"measure": measure, "queries": size}
            for interval in (student, bootstrap):
                found = coverage(first - second, size, arguments.samples, interval)
                row[f"share_{interval.__name__}"], row[f"width_{interval.__name__}"] = found
            rows.append(row)
    title = (
        f"Share of {arguments.samples:,} samples of queries whose 95% interval contains the mean "
        "difference"
    )
    publish(pd.DataFrame(rows), "interval_coverage", arguments.output, title=title, seeds=str(SEED))


if __name__ == "__main__":
    main()
