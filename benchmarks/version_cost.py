"""Time and peak memory of a fit in this checkout against those of another checkout, such as an earlier version.

python benchmarks/version_cost.py CHECKOUT [--documents 200000] [--rounds 50] [--turns 7] [--output FOLDER]

CHECKOUT is a folder with another version of boostrank, such as `git worktree add CHECKOUT COMMIT` makes. Each fit runs
in a process of its own. In every turn both versions run once, and in every second turn the other version runs first.
NDCG@10 of a validation set is computed in every round. Ratios are those of one turn; the table has their medians.
"""

import subprocess
from pathlib import Path

import pandas as pd
from reporting import make_parser, publish
from timing import run_in_fresh_process
from workloads import LAMBDAMART

ROOT = Path(__file__).parents[1]
CODE = """
import sys
folder, library, objective, n_documents, rounds = *sys.argv[1:4], *map(int, sys.argv[4:])
sys.path.insert(0, folder)
import resource, time
import boostrank as br
from workloads import make_queries
assert br.__file__.startswith(folder), br.__file__
data, valid = make_queries(n_documents, 120), make_queries(n_documents // 10, 120)
ranker_class = br.LightGBMRanker if library == "lightgbm" else br.XGBoostRanker
ranker = ranker_class(objective, n_estimators=rounds, random_state=0)
start = time.perf_counter()
ranker.fit(*data, eval_set=[valid], eval_metric="ndcg@10")
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def main():
    parser = make_parser(__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--turns", type=int, default=7)
    arguments = parser.parse_args()
    folders = {"here": ROOT, "other": arguments.checkout.resolve()}
    rows = []
    for turn in range(arguments.turns):
        for library, lambdamart in LAMBDAMART.items():
            for objective in ("pairwise-exponential", lambdamart):
                for version in list(folders)[:: 1 if turn % 2 == 0 else -1]:
                    job = (library, objective, arguments.documents, arguments.rounds)
                    measured = run_in_fresh_process(CODE, folders[version], *job)
                    rows.append([turn, library, objective, version, *measured])
    fits = pd.DataFrame(rows, columns=["turn", "library", "objective", "version", "fit_s", "peak_mb"])
    wide = fits.pivot(index=["library", "objective", "turn"], columns="version", values=["fit_s", "peak_mb"])
    ratios = pd.DataFrame(
        {f"times_other_{name}": wide[name]["here"] / wide[name]["other"] for name in ("fit_s", "peak_mb")}
    )
    ratios.insert(0, "fit_s", wide["fit_s"]["here"])
    table = ratios.groupby(["library", "objective"], sort=False).median().reset_index()
    commit = subprocess.run(
        ["git", "-C", folders["other"], "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    publish(
        table.rename(
            columns={"times_other_fit_s": "times_other_version", "times_other_peak_mb": "peak_times_other_version"}
        ),
        "version_cost",
        arguments.output,
        title=f"A fit against that of commit {commit}: {arguments.documents:,} documents, {arguments.rounds} rounds",
        seeds="0",
        formats={"times_other_version": ".3f", "peak_times_other_version": ".3f"},
    )


if __name__ == "__main__":
    main()
