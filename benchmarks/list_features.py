"""Time and memory of features relative to the list of a query.

python benchmarks/list_features.py [--documents 100000] [--turns 5] [--output FOLDER]

list_features.csv has nanoseconds a value of each kind, with the compiled library and with NumPy, on
one thread, for columns of random numbers in lists of several lengths. list_features_fit.csv has the
time of a fit of 100 rounds with `query_features`, against that of the same fit without, and the
peak memory of fits of this number of documents and of five times as many: 136 float32 features,
queries of 120 documents, one thread. Fits take turns; each peak is that of a process of its own.
"""

import time
from functools import partial
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from quality_methods import OURS, RUNNING
from reporting import make_parser, publish
from timing import median_ratios, run_in_fresh_process, seconds_in_turns
from workloads import make_queries

from boostrank.kernels import list_features
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads

LENGTHS, N_COLUMNS, N_VALUES, N_ROUNDS = (10, 40, 120, 1000), 50, 2_000_000, 100
#: Peaks are those of this many times the documents too.
LARGER = 5
KINDS = {
    "none": None,
    "rank": ["rank"],
    "standardize": ["standardize"],
    "both": ["standardize", "rank"],
}
PEAK = """
import numpy as np
from quality_methods import OURS
X, y, qid = (np.load({folder!r} + name + ".npy") for name in ("/X", "/y", "/qid"))
ranker = OURS[{library!r}](n_estimators=2, n_jobs=1, query_features={kinds!r})
ranker.fit(X[:500], y[:500], qid[:500])
def memory(name):
    # The peak that resource.getrusage gives is also that of the process that started this one.
    for line in open("/proc/self/status"):
        if line.startswith(name):
            return int(line.split()[1]) * 1024
before = memory("VmRSS")
OURS[{library!r}](n_estimators=2, n_jobs=1, query_features={kinds!r}).fit(X, y, qid)
print((memory("VmHWM") - before) / X.nbytes)
"""


def speed(turns):
    """Rows of nanoseconds a value."""
    random, rows = np.random.default_rng(0), []
    for length in LENGTHS:
        n_queries = N_VALUES // N_COLUMNS // length
        queries = Queries.from_sizes(np.full(n_queries, length))
        X = random.standard_normal((queries.n_documents, N_COLUMNS))
        for dtype in ("float32", "float64"):
            columns = X.astype(dtype)
            for kind in ("rank", "standardize"):
                features = [(kind, column) for column in range(N_COLUMNS)]
                calls = {
                    "compiled": partial(list_features.compute, columns, features, queries),
                    "NumPy": partial(list_features._compute, columns, features, queries),
                }
                with use_threads(1):
                    seconds = seconds_in_turns(
                        calls, turns, warm_up=True, clock=time.process_time
                    ).median()
                values = {f"ns_{name}": 1e9 * seconds[name] / columns.size for name in calls}
                rows.append({"kind": kind, "length": length, "dtype": dtype, **values})
    return pd.DataFrame(rows)


def fits(documents, turns):
    """Rows of times and peaks of fits, relative to the fit without features of lists."""
    X, y, qid = make_queries(documents)
    times = {}
    for library, make in OURS.items():
        rankers = {
            (library, name): make(**RUNNING[library], n_estimators=N_ROUNDS, query_features=kinds)
            for name, kinds in KINDS.items()
        }
        calls = {key: partial(ranker.fit, X, y, qid) for key, ranker in rankers.items()}
        times |= median_ratios(
            seconds_in_turns(calls, turns, clock=time.process_time), (library, "none")
        ).to_dict()
    columns = {
        "times_none": times,
        **{f"peak_at_{n}": peaks(n) for n in (documents, LARGER * documents)},
    }
    return pd.DataFrame(columns).rename_axis(["library", "query_features"]).reset_index()


def peaks(documents):
    """Peak memory of fits beyond that of X, relative to it, by library and features of lists."""
    with TemporaryDirectory() as folder:
        for name, values in make_queries(documents)._asdict().items():
            np.save(f"{folder}/{name}.npy", values)
        return {
            (library, name): run_in_fresh_process(
                PEAK.format(folder=folder, library=library, kinds=kinds)
            )[0]
            for library in OURS
            for name, kinds in KINDS.items()
        }


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    publish(
        speed(arguments.turns),
        "list_features",
        arguments.output,
        title="Nanoseconds of processor time for each value of a feature of lists, one thread",
        seeds="0",
    )
    publish(
        fits(arguments.documents, arguments.turns),
        "list_features_fit",
        arguments.output,
        title="Processor time of a fit with features of lists, relative to one without, and peaks "
        "of the memory of fits of these numbers of documents beyond X, relative to that of X",
        seeds="0",
        formats={
            f"peak_at_{n}": ".2f" for n in (arguments.documents, LARGER * arguments.documents)
        },
    )


if __name__ == "__main__":
    main()
