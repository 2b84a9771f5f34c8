"""``boostrank compare``: train rankers on the same folds and compare them by measures of the test queries."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer
from threadpoolctl import threadpool_limits

from boostrank.backends.lightgbm.backend import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost.backend import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.cli import options, reports
from boostrank.cli.documents import read_documents, read_folds
from boostrank.cli.options import MEASURING, OUTPUT, RUNNING, TRAINING, console, error_console, given, option
from boostrank.cli.python_files import load_rankers
from boostrank.cli.reports import OutputFiles, counted
from boostrank.cli.tables import ColumnOptions
from boostrank.comparison import Comparison
from boostrank.comparison import compare as compare_rankers
from boostrank.datasets import Dataset, Fold
from boostrank.datasets.synthetic import make_ranking
from boostrank.inputs.arrays import Floats, Ints
from boostrank.metrics import expected_ndcg
from boostrank.model_selection import query_folds
from boostrank.rankers.bagging import threads_per_member
from boostrank.surrogates import SURROGATES
from boostrank.training.losses import DEFAULT_LOSS
from boostrank.training.settings import NODE_SHARE, QUERY_SHARE, TREE_SHARE

NATIVE = ("lambdarank", "rank_xendcg", "rank:ndcg")
# Surrogates of pairs that are compared only if --objectives names them, so that there are fewer trainings. Without the
# compiled library, the first one takes more time than all others.
LEFT_OUT = ("pairwise-logistic", "pairwise-squared-hinge")
# Losses of the literature that are not consistent: least squares on gains, ListNet and RankCosine.
INCONSISTENT = ("squared/none", "softmax/softmax", "cosine/l2")
SYNTHETIC_OBJECTIVES = (
    "lambdarank,rank:ndcg,ensemble,consistent-lambdarank,softmax,logistic,squared,squared/none,softmax/softmax"
)
SYNTHETIC_QUERIES = 600
DEFAULT_FOLDS = 5
# Objectives on a user's data: LambdaMART of both libraries, the default loss, and two that look at the list otherwise.
DATA_OBJECTIVES = f"lambdarank,rank:ndcg,{DEFAULT_LOSS},softmax,pairwise-exponential"
ALL = "all"
#: Name of the measure that only synthetic data have.
EXPECTED = "expected ndcg"


def all_objectives() -> str:
    """Objectives of ``--objectives all``: native ones, the default, surrogates, and inconsistent losses."""
    return ",".join([*NATIVE, DEFAULT_LOSS, *(name for name in SURROGATES if name not in LEFT_OUT), *INCONSISTENT])


def default_jobs(n_folds: int) -> int:
    """Number of trainings at the same time: one for each fold, and at most one for each processor.

    Every training that runs at the same time takes memory for its data in the form of its library.
    """
    return min(joblib.cpu_count(), n_folds)


def default_text() -> str:
    """The default objectives, for --help."""
    return (
        f"Default objectives on your data: {DATA_OBJECTIVES}; synthetic data: {SYNTHETIC_OBJECTIVES}; "
        f"{ALL}: {all_objectives()}."
    ).replace(",", ", ")


def random_trees(objective: Any) -> dict[str, Any]:
    """Parameters of random trees: a round draws half of the queries, or of the rows for objectives of the libraries."""
    sample: dict[str, Any] = {"subsample_queries": QUERY_SHARE}
    if objective in (*LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES):
        sample = {"subsample": QUERY_SHARE}
    if objective in LIGHTGBM_OBJECTIVES:
        sample["subsample_freq"] = 1
    return {"colsample_bytree": TREE_SHARE, "colsample_bynode": NODE_SHARE, **sample}


def compare(
    path: Annotated[
        Path | None,
        typer.Argument(
            metavar="PATH",
            callback=options.from_pipe,
            help="Folder of folds (Fold1/train.txt, vali.txt, test.txt, ..., or tables), or one file, which is divided "
            "by query; by default synthetic data.",
        ),
    ] = None,
    qid: options.QidOption = None,
    label: options.LabelOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    categorical: options.CategoricalOption = None,
    backend: options.BackendOption = "both",
    objectives: Annotated[
        str | None,
        option(
            TRAINING,
            "NAMES",
            "Objectives, as in boostrank fit -h and below, separated by commas; the first one is the baseline.",
        ),
    ] = None,
    ranker: Annotated[
        list[str] | None,
        option(
            TRAINING,
            "FILE.py:NAME",
            "Your own estimator, such as a CatBoostRanker, in a Python file, which is executed. May be repeated.",
        ),
    ] = None,
    rounds: options.RoundsOption = 500,
    patience: Annotated[int, option(TRAINING, "N", "Stop after N rounds without gain.", min=1)] = 100,
    learning_rate: options.RateOption = 0.1,
    leaves: options.LeavesOption = 15,
    measures: Annotated[
        str, option(MEASURING, "NAMES", "A table for each, as in ndcg@1,map,AP; boostrank evaluate -h lists all.")
    ] = "ndcg@10",
    gain: options.GainOption = None,
    empty: options.EmptyOption = None,
    k: options.KOption = None,
    folds: Annotated[
        int | None,
        option(RUNNING, "N", f"Folds of a file or synthetic data (default {DEFAULT_FOLDS}).", min=3),
    ] = None,
    seed: options.SeedOption = 0,
    jobs: Annotated[
        int | None,
        option(
            RUNNING, "N", "Trainings at a time; by default one for each fold, at most one for each processor.", min=1
        ),
    ] = None,
    threads: Annotated[
        int | None,
        option(RUNNING, "N", "Threads of each (default: processors / --jobs).", min=1),
    ] = None,
    results: Annotated[
        Path | None,
        option(RUNNING, "FOLDER", "Keeps finished trainings: the same command goes on.", "--results", "--resume"),
    ] = None,
    output: options.OutputOption = None,
    plot: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "Image of the differences in the last of --measures."),
    ] = None,
    queries_plot: options.QueriesPlotOption = None,
    html: Annotated[Path | None, option(OUTPUT, "FILE", "Report with tables, plots and settings.")] = None,
    layout: options.LayoutOption = None,
) -> None:
    """Train rankers on the same folds, and compare them on the test queries.

    Rankers but those of --ranker have equal settings and random trees. NDCG
    on the validation queries decides how many rounds each keeps.
    """
    wanted = options.split_outside_brackets(measures)
    has_expected = path is None and EXPECTED in wanted
    others = [name for name in wanted if not (has_expected and name == EXPECTED)]
    chosen = options.parse_measures(",".join(others), given(gain=gain, empty=empty)) if others else {}
    files = OutputFiles(output, plot, None, html, queries_plot)
    files.check()
    if results is not None:
        options.require_folder_of(results)
    # The names are checked before the data are read, so that a wrong name is an error at once.
    names = objectives or (DATA_OBJECTIVES if path else SYNTHETIC_OBJECTIVES)
    names = all_objectives() if names == ALL else names
    settings = {
        **given(gain=gain),
        "k": k,
        "n_estimators": rounds,
        "early_stopping_rounds": patience,
        "learning_rate": learning_rate,
        "random_state": seed,
    }
    ours, theirs = options.make_rankers(names, backend, settings, leaves), load_rankers(ranker or [])
    columns = ColumnOptions(qid, label, features, drop, categorical)
    parts, known = _folds(path, columns, folds, seed)
    jobs = default_jobs(len(parts)) if jobs is None else jobs
    threads = threads_per_member(jobs, jobs) if threads is None else threads
    for one in ours.values():
        one.set_params(n_jobs=threads, **random_trees(one.objective))
    rankers = {**ours, **theirs}
    n_rankers, n_folds = len(rankers), len(parts)
    trainings = counted(n_rankers * n_folds, "training")
    plan = f"{counted(n_rankers, 'ranker')}, {counted(n_folds, 'fold')}: {trainings}, {_at_a_time(jobs, threads)}"
    error_console.print(plan)
    with _limited_threads(jobs, threads):
        comparison = compare_rankers(
            rankers,
            parts,
            measures=chosen | (known if has_expected else {}),
            random_state=seed,
            n_jobs=jobs,
            results=results,
            progress=True,
        )
    n_more = len(options.make_rankers(all_objectives(), backend, {}, leaves)) if path and not objectives else 0
    _show(comparison, n_more)
    files.write_comparison(comparison, comparison.measures[-1], layout or "marks")


def _folds(
    path: Path | None, columns: ColumnOptions, n_folds: int | None, seed: int
) -> tuple[list[Fold], dict[str, Any]]:
    """The folds of a folder, a file or synthetic data, and measures that only these data have."""
    if path is None:
        options.refuse_unused("a CSV, TSV or Parquet file", **columns._asdict())
    elif path.is_dir():
        options.refuse_unused("a file, or no path: a folder has its own folds", folds=n_folds)
        return read_folds(path, columns), {}
    n_folds = DEFAULT_FOLDS if n_folds is None else n_folds
    if path is not None:
        return query_folds(read_documents(path, columns).dataset, n_folds, random_state=seed), {}
    X, y, qid, bayes = make_ranking(SYNTHETIC_QUERIES, random_state=seed, return_bayes=True)
    optimum = float(np.mean(expected_ndcg(bayes, bayes, qid)))
    console.print(
        f"Synthetic data: {SYNTHETIC_QUERIES} queries whose optimal ranking is known; it has the {EXPECTED} "
        f"{optimum:.4f} (--measures 'ndcg@10,{EXPECTED}')."
    )

    def expected(y: Floats, scores: Floats, tested: Ints, *, per_query: bool = True) -> Floats:
        values: Floats = expected_ndcg(bayes[np.isin(qid, tested)], scores, tested)
        return values

    return query_folds(Dataset(X, y, qid), n_folds, random_state=seed), {EXPECTED: expected}


def _at_a_time(jobs: int, threads: int | None) -> str:
    text = "one after the other" if jobs == 1 else f"{jobs} at a time"
    return text if threads is None else f"{text} with {counted(threads, 'thread')} each"


def _limited_threads(jobs: int, threads: int | None) -> contextlib.AbstractContextManager[Any]:
    """Limit the threads of estimators that have no setting for them; the rankers of this package have one."""
    if threads is None:
        return contextlib.nullcontext()
    if jobs == 1:
        return threadpool_limits(threads)
    return joblib.parallel_config("loky", inner_max_num_threads=threads)


def _show(comparison: Comparison, n_more: int) -> None:
    reports.show_comparison(comparison)
    if EXPECTED in comparison.measures:
        reports.show_text(
            f"{EXPECTED}: mean NDCG over all labels that the documents may have, with gain exp2 and without cutoff. "
            "What it lacks of that of the optimal ranking is the regret."
        )
    reports.show_text(
        "diff: to the baseline. p (Holm): paired randomization test over the test queries, adjusted by Holm's method; "
        "significant below 0.05. w/t/l: queries won, tied, lost. rounds: mean number."
    )
    if n_more:
        reports.show_text(f"These are the default objectives. --objectives {ALL} compares {n_more} rankers.")
