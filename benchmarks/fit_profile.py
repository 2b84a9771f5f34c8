"""Where the time of a fit goes: how much of it boostrank spends outside the library that grows the trees.

python benchmarks/fit_profile.py [--documents 3000000] [--objective softmax] [--rounds 20] [--output FOLDER]

A fit of each library runs under Python's profiler. The table has the seconds of the whole fit, of all functions outside
the library (lightgbm or xgboost), and of the slowest of these functions.
"""

import cProfile
import pstats

import pandas as pd
from reporting import make_parser, publish
from workloads import RANKERS, make_queries


def seconds_by_function(library, objective, rounds, data):
    """Seconds spent in each function itself, by its file and name."""
    ranker = RANKERS[library](objective, n_estimators=rounds, random_state=0)
    with cProfile.Profile() as profile:
        ranker.fit(*data)
    # The third number of a row is the time in the function itself, without the functions that it calls.
    return {(file, name): row[2] for (file, _, name), row in pstats.Stats(profile).stats.items()}


def is_native(library, file):
    """Whether a file belongs to lightgbm or xgboost."""
    return f"/{library}/" in file and "boostrank" not in file


def rows_of(library, seconds, n_functions):
    """Rows of one library: the whole fit, all outside the library, and the slowest functions there."""
    outside = {function: s for function, s in seconds.items() if not is_native(library, function[0])}
    slowest = sorted(outside.items(), key=lambda item: item[1], reverse=True)[:n_functions]
    rows = [("the whole fit", sum(seconds.values())), (f"all outside {library}", sum(outside.values()))]
    rows += [(f"{'/'.join(file.split('/')[-2:])} {name}", s) for (file, name), s in slowest]
    return [(library, name, s, s / rows[0][1]) for name, s in rows]


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=3_000_000)
    parser.add_argument("--objective", default="softmax")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--functions", type=int, default=5, help="how many functions outside the library are shown")
    arguments = parser.parse_args()
    data = make_queries(arguments.documents)
    rows = []
    for library in RANKERS:
        seconds = seconds_by_function(library, arguments.objective, arguments.rounds, data)
        rows += rows_of(library, seconds, arguments.functions)
    publish(
        pd.DataFrame(rows, columns=["library", "function", "seconds", "share"]),
        "fit_profile",
        arguments.output,
        title=f"Seconds of a fit by function: {len(data.y):,} documents, {arguments.objective}",
        seeds="0",
    )


if __name__ == "__main__":
    main()
