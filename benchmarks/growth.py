"""Growth of time and memory of a fit with the data, against each library's own objectives.

python benchmarks/growth.py --runs FOLDER [--sizes 10000,...] [--lengths 120,10,5000] [--turns 3]
                            [--objectives lambdarank ...] [--rounds 20] [--output FOLDER]

Data have 136 float32 features, and queries of 120 documents as in MSLR, then of 10 and of 5,000.
All fits grow trees of equal size, with all features in each node: 31 leaves, learning rate 0.1;
default_time.py has the time of defaults. Each fit has a process of its own, which finds the data in
memory. In a turn the methods run one after the other, every second time in reverse, and ratios to
LambdaMART, which always runs, are taken within a turn; the table has medians over turns. A fit of
two queries comes before each of them, so that imports and the start of threads are not in the time.
Each fit is a row of FOLDER/growth_fits.csv, so that an interrupted run continues where it stopped.
The exponent is the slope of a linear regression of log seconds on log documents over all fits from
100,000 documents on, where fixed costs are small, with its 95% interval. 3M documents need 4 GB of
memory. Seconds are those of the processor, in which other work of the machine does not count, but
threads that wait do: with OMP_NUM_THREADS=1, ratios are good on a busy machine too. Tables of
before 2026-11-23 have seconds of the clock.
"""

import multiprocessing
import resource
import time
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from reporting import make_parser, picture_path, publish
from rich.progress import Progress
from scipy import stats
from workloads import EQUAL_TREES, LAMBDAMART, N_FEATURES, make_queries, make_ranker

from boostrank.displays import style

METHODS = {
    "lightgbm": (
        "lambdarank",
        "rank_xendcg",
        "consistent-lambdarank",
        "softmax",
        "pairwise-squared",
    ),
    "xgboost": ("rank:ndcg", "rank:pairwise", "rank:map", "consistent-lambdarank", "softmax"),
}
OBJECTIVES = tuple(
    dict.fromkeys(objective for objectives in METHODS.values() for objective in objectives)
)
JOB = ["query_length", "documents", "rounds", "turn", "library", "objective"]
MEASURED = ["fit_s", "predict_s", "peak_mb"]
GROUPS = ["query_length", "library", "objective"]
MIN_DOCUMENTS_FOR_EXPONENT = 100_000


def fit(data, rounds, library, objective):
    """Processor seconds of a fit and of a prediction, and peak memory of the process in MB."""
    X, y, qid = data
    if objective == "rank:map":
        y = np.minimum(y, 1)  # it takes relevant and irrelevant documents only
    settings = {**EQUAL_TREES, "learning_rate": 0.1, "random_state": 0}
    first = np.isin(qid, qid[[0, -1]])
    make_ranker(library, LAMBDAMART[library], 31, n_estimators=1, **settings).fit(
        X[first], y[first], qid[first]
    )
    ranker = make_ranker(library, objective, 31, n_estimators=rounds, **settings)
    start = time.process_time()
    ranker.fit(X, y, qid)
    fitted = time.process_time()
    ranker.predict(X)
    seconds = fitted - start, time.process_time() - fitted
    return [*seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]


def fit_in_own_process(*arguments):
    """Result of :func:`fit` in a copy of this process, which has not trained before."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(fit, arguments)


def jobs_of(sizes, lengths, turns, rounds, methods):
    """The fits of all turns, those of the same data one after the other."""
    return [
        (length, n, rounds, turn, *method)
        for length in lengths
        for n, n_turns in zip(sizes, turns, strict=True)
        for turn in range(n_turns)
        for method in (methods if turn % 2 == 0 else reversed(methods))
    ]


def run(path, jobs):
    """Run the fits that are missing in the file, and read the rows of `jobs`."""
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=JOB)
    done = set(known[JOB].itertuples(index=False, name=None))
    missing, made, data = [job for job in jobs if job not in done], None, None
    # Without a thread that refreshes it, since processes are copied.
    with Progress(auto_refresh=False) as progress:
        bar = progress.add_task("fits", total=sum(job[1] for job in missing))
        for job in missing:
            length, n, rounds, _, library, objective = job
            progress.update(
                bar, description=f"{library} {objective}, {n:,} documents", refresh=True
            )
            if made != (n, length):
                made, data = (n, length), None
                data = make_queries(n, length)
            row = [*job, *fit_in_own_process(data, rounds, library, objective)]
            pd.DataFrame([row], columns=[*JOB, *MEASURED]).to_csv(
                path, mode="a", index=False, header=not path.exists()
            )
            progress.update(bar, advance=n, refresh=True)
    return pd.read_csv(path).merge(pd.DataFrame(jobs, columns=JOB))


def with_ratios(rows):
    """The fits with their ratios to the LambdaMART of the same library, data and turn."""
    keys = ["query_length", "documents", "turn", "library"]
    lambdamart = rows[rows["objective"] == rows["library"].map(LAMBDAMART)].set_index(keys)
    lambdamart = lambdamart.reindex(pd.MultiIndex.from_frame(rows[keys]))
    return rows.assign(
        times_lambdamart=rows["fit_s"].to_numpy() / lambdamart["fit_s"].to_numpy(),
        peak_times_lambdamart=rows["peak_mb"].to_numpy() / lambdamart["peak_mb"].to_numpy(),
    )


def exponent(rows):
    """Slope of log seconds over log documents with its 95% interval; NaN with too few fits."""
    large = rows[rows["documents"] >= MIN_DOCUMENTS_FOR_EXPONENT]
    slope = low = high = np.nan
    if large["documents"].nunique() > 1:
        line = stats.linregress(np.log(large["documents"]), np.log(large["fit_s"]))
        slope = line.slope
        if len(large) > 2:
            margin = stats.t.ppf(0.975, len(large) - 2) * line.stderr
            low, high = slope - margin, slope + margin
    return {"exponent": slope, "exponent_low": low, "exponent_high": high}


def summarize(rows):
    """Medians over turns, a row per length of queries, method and number of documents."""
    columns = ["fit_s", "times_lambdamart", "peak_mb", "peak_times_lambdamart", "predict_s"]
    parts = []
    for _, part in with_ratios(rows).groupby(GROUPS, sort=False):
        by_size = part.groupby([*GROUPS, "documents"], sort=False)
        ratios = by_size["times_lambdamart"].agg(
            times_lambdamart_low="min", times_lambdamart_high="max"
        )
        medians = by_size[columns].median().join(ratios).assign(turns=by_size.size())
        parts.append(medians.reset_index().assign(**exponent(part)))
    return pd.concat(parts).sort_values([*GROUPS, "documents"])


def plot(table, path, seconds):
    """Draw seconds over documents, and below them ratios to LambdaMART.

    Each length of queries is a column of panels.
    """
    lengths = list(table["query_length"].unique())
    size = (max(7.0, 1.2 + 3.6 * len(lengths)), 6.4)
    figure, axes = plt.subplots(
        2,
        len(lengths),
        figsize=size,
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for column, length in zip(axes.T, lengths, strict=True):
        methods = table[table["query_length"] == length].groupby(
            ["library", "objective"], sort=False
        )
        for (name, line), look in zip(methods, style.styles(len(methods)), strict=True):
            settings = {
                "label": " ".join(name),
                "linewidth": 1.2,
                "markersize": 3,
                **look._asdict(),
            }
            column[0].plot(line["documents"], line["fit_s"], **settings)
            if name[1] not in LAMBDAMART.values():
                column[1].plot(line["documents"], line["times_lambdamart"], **settings)
        column[1].axhline(1.0, color=style.DARK, linewidth=1)
        column[0].set(xscale="log", yscale="log")
        column[0].set_title(f"queries of {length:,} documents", size=10)
        column[1].set(xscale="log", xlabel="documents")
        for ax in column:
            style.light_grid(ax)
            ax.minorticks_off()
        sizes = sorted(table["documents"].unique())
        column[1].set_xticks(
            sizes, [f"{n / 1e6:g}M" if n >= 1_000_000 else f"{n / 1000:g}k" for n in sizes]
        )
    low, high = table["fit_s"].min(), table["fit_s"].max()
    ticks = [
        tick
        for tick in np.outer(10.0 ** np.arange(-3, 5), [1, 2, 5]).ravel()
        if low / 2 < tick < high * 2
    ]
    axes[0, 0].set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes[0, 0].set_ylabel(seconds)
    # From 0, so that heights are in the ratio of the times.
    axes[1, 0].set_ylim(0.0, max(1.1, 1.1 * table["times_lambdamart"].max()))
    axes[1, 0].set_ylabel("the same, divided by the time of\nLambdaMART of the same library")
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=2,
        fontsize=7,
        frameon=False,
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def numbers(text):
    """Integers of at least 1 that are separated by commas."""
    values = [int(value) for value in text.split(",")]
    if min(values) < 1:
        raise ValueError(text)
    return values


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the seconds of each fit"
    )
    parser.add_argument(
        "--sizes", type=numbers, default="10000,30000,100000,300000,1000000,3000000"
    )
    parser.add_argument("--lengths", type=numbers, default="120,10,5000")
    parser.add_argument(
        "--turns", type=numbers, default="3", help="number of turns, or one for each size"
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    arguments = parser.parse_args()
    sizes, turns = arguments.sizes, arguments.turns
    turns = turns * len(sizes) if len(turns) == 1 else turns
    if len(turns) != len(sizes):
        parser.error(
            f"--turns has {len(turns)} numbers for {len(sizes)} sizes: give one number, or one for "
            "each size"
        )
    if max(arguments.lengths) > min(sizes):
        parser.error(
            f"--lengths has queries that are longer than the smallest of --sizes, {min(sizes)} "
            "documents"
        )
    matplotlib.use("Agg")
    arguments.runs.mkdir(parents=True, exist_ok=True)
    chosen = {*arguments.objectives, *LAMBDAMART.values()}
    methods = [
        (library, name) for library, names in METHODS.items() for name in names if name in chosen
    ]
    jobs = jobs_of(sizes, arguments.lengths, turns, arguments.rounds, methods)
    table = summarize(run(arguments.runs / "growth_fits.csv", jobs))
    publish(
        table,
        "growth",
        arguments.output,
        title=f"Processor seconds, peak memory of a fit: {N_FEATURES} features, "
        f"{arguments.rounds} rounds, 31 leaves",
        seeds="0",
        notes=[
            "exponent_low and exponent_high: its 95% interval; times_lambdamart_low and _high: "
            "least and largest turn"
        ],
    )
    label = f"processor seconds of a fit, {arguments.rounds} rounds"
    plot(table, picture_path("growth", arguments.output), label)


if __name__ == "__main__":
    main()
