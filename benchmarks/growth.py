"""How time and peak memory of a fit grow with the data, against the ranking objectives of each library.

python benchmarks/growth.py --runs FOLDER [--sizes 10000,...] [--lengths 120,10,5000] [--turns 3] [--output FOLDER]

Data have 136 float32 features, and queries of 120 documents as in MSLR, then of 10 and of 5,000. All fits grow trees
of equal size: 20 rounds, 31 leaves, learning rate 0.1. Each fit has a process of its own. In a turn the methods run
one after the other, and ratios to LambdaMART are taken within a turn; the table has medians over turns. Each fit is a
row of FOLDER/growth_fits.csv, so that an interrupted run continues where it stopped. The exponent is the slope of log
seconds over log documents from 100,000 documents on, where fixed costs are small.
"""

from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from reporting import make_parser, picture_path, publish
from rich.progress import Progress
from timing import run_in_fresh_process
from workloads import LAMBDAMART, N_FEATURES

from boostrank.displays import import_pyplot, style

CODE = """
import resource, sys, time
import numpy as np
from workloads import make_queries, make_ranker
n, length, rounds, (library, objective) = *map(int, sys.argv[1:4]), sys.argv[4:]
X, y, qid = make_queries(n, length)
if objective == "rank:map":
    y = np.minimum(y, 1)  # it takes relevant and irrelevant documents only
ranker = make_ranker(library, objective, 31, n_estimators=rounds, learning_rate=0.1, random_state=0)
start = time.perf_counter()
ranker.fit(X, y, qid)
fitted = time.perf_counter()
ranker.predict(X)
print(fitted - start, time.perf_counter() - fitted, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
METHODS = {
    "lightgbm": ("lambdarank", "rank_xendcg", "consistent-lambdarank", "softmax", "pairwise-squared"),
    "xgboost": ("rank:ndcg", "rank:pairwise", "rank:map", "consistent-lambdarank", "softmax"),
}
JOB = ["query_length", "documents", "turn", "library", "objective"]
MEASURED = ["fit_s", "predict_s", "peak_mb"]
GROUPS = ["query_length", "library", "objective"]
MIN_DOCUMENTS_FOR_EXPONENT = 100_000


def run(path, sizes, lengths, turns, rounds):
    """Run the fits that are missing in the file, and read all of it."""
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=JOB)
    done = set(known[JOB].itertuples(index=False, name=None))
    methods = [(library, objective) for library, objectives in METHODS.items() for objective in objectives]
    jobs = [
        (length, n, turn, *method) for length in lengths for n in sizes for turn in range(turns) for method in methods
    ]
    jobs = [job for job in jobs if job not in done]
    with Progress() as progress:
        bar = progress.add_task("fits", total=sum(job[1] for job in jobs))
        for job in jobs:
            length, n, _, library, objective = job
            row = [*job, *run_in_fresh_process(CODE, n, length, rounds, library, objective)]
            pd.DataFrame([row], columns=[*JOB, *MEASURED]).to_csv(path, mode="a", index=False, header=not path.exists())
            progress.update(bar, advance=n, description=f"{library} {objective}, {n:,} documents")
    return pd.read_csv(path)


def with_ratios(rows):
    """The fits with their ratios to the LambdaMART of the same library, data and turn."""
    keys = ["query_length", "documents", "turn", "library"]
    lambdamart = rows[rows["objective"] == rows["library"].map(LAMBDAMART)].set_index(keys)
    lambdamart = lambdamart.reindex(pd.MultiIndex.from_frame(rows[keys]))
    return rows.assign(
        times_lambdamart=rows["fit_s"].to_numpy() / lambdamart["fit_s"].to_numpy(),
        peak_times_lambdamart=rows["peak_mb"].to_numpy() / lambdamart["peak_mb"].to_numpy(),
    )


def exponent(part):
    """Slope of log seconds over log documents, NaN with fewer than two sizes that are large enough."""
    large = part[part["documents"] >= MIN_DOCUMENTS_FOR_EXPONENT]
    if len(large) < 2:
        return np.nan
    return np.polyfit(np.log(large["documents"]), np.log(large["fit_s"]), 1)[0]


def summarize(rows):
    """Medians over turns, a row per length of queries, method and number of documents."""
    columns = ["fit_s", "times_lambdamart", "peak_mb", "peak_times_lambdamart", "predict_s"]
    table = with_ratios(rows).groupby([*GROUPS, "documents"], sort=False)[columns].median().reset_index()
    exponents = [part.assign(exponent=exponent(part)) for _, part in table.groupby(GROUPS, sort=False)]
    return pd.concat(exponents).sort_values([*GROUPS, "documents"])


def plot(table, path):
    """Seconds over documents, a panel per length of queries."""
    plt = import_pyplot()
    lengths = list(table["query_length"].unique())
    figure, axes = plt.subplots(
        1, len(lengths), figsize=(3.6 * len(lengths), 3.6), sharey=True, squeeze=False, layout="constrained"
    )
    for ax, length in zip(axes[0], lengths, strict=True):
        methods = table[table["query_length"] == length].groupby(["library", "objective"], sort=False)
        for (name, line), look in zip(methods, style.styles(len(methods)), strict=True):
            ax.plot(
                line["documents"], line["fit_s"], label=" ".join(name), linewidth=1.2, markersize=3, **look._asdict()
            )
        ax.set(xscale="log", yscale="log", xlabel="documents", title=f"queries of {length:,}")
        style.light_grid(ax)
    axes[0, 0].set_ylabel("seconds of a fit, 20 rounds")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--runs", type=Path, required=True, help="folder for the seconds of each fit")
    parser.add_argument("--sizes", default="10000,30000,100000,300000,1000000,3000000")
    parser.add_argument("--lengths", default="120,10,5000")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    arguments.runs.mkdir(parents=True, exist_ok=True)
    sizes, lengths = ([int(n) for n in text.split(",")] for text in (arguments.sizes, arguments.lengths))
    table = summarize(run(arguments.runs / "growth_fits.csv", sizes, lengths, arguments.turns, arguments.rounds))
    publish(
        table,
        "growth",
        arguments.output,
        title=f"Seconds and peak memory of a fit: {N_FEATURES} features, {arguments.rounds} rounds, 31 leaves",
        seeds="0",
        notes=[f"{arguments.turns} turns"],
    )
    plot(table, picture_path("growth", arguments.output))


if __name__ == "__main__":
    main()
