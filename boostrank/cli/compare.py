"""``boostrank compare``: train rankers on the same folds and compare them by measures of the test queries."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import joblib
import numpy as np
import typer
from threadpoolctl import threadpool_limits

from boostrank.backends.lightgbm.backend import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost.backend import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.cli import reports
from boostrank.cli.documents import read_documents, read_folds
from boostrank.cli.options import (
    DEFAULT_MEASURES,
    BackendOption,
    CategoricalOption,
    DropOption,
    EmptyOption,
    FeaturesOption,
    GainOption,
    KOption,
    LabelOption,
    LeavesOption,
    MeasuresOption,
    OutputOption,
    QidOption,
    RateOption,
    RoundsOption,
    SeedOption,
    console,
    error_console,
    given,
    make_rankers,
    parse_measures,
    refuse_unused,
    require_folder_of,
)
from boostrank.cli.python_files import load_rankers
from boostrank.cli.reports import OutputFiles, counted
from boostrank.cli.tables import ColumnOptions
from boostrank.comparison import Comparison
from boostrank.comparison import compare as compare_rankers
from boostrank.comparison.saved_results import SavedResults
from boostrank.datasets import Dataset, Fold
from boostrank.datasets.synthetic import make_ranking
from boostrank.inputs.arrays import Floats
from boostrank.metrics import expected_ndcg
from boostrank.model_selection import query_folds
from boostrank.objectives.losses import DEFAULT_LOSS
from boostrank.rankers.bagging import threads_per_member
from boostrank.rankers.settings import NODE_SHARE, QUERY_SHARE, TREE_SHARE
from boostrank.surrogates import SURROGATES

NATIVE = ("lambdarank", "rank_xendcg", "rank:ndcg")
# Surrogates of pairs that are compared only if --objectives names them, so that there are fewer trainings. Without the
# compiled library, the first one takes more time than all others.
LEFT_OUT = ("pairwise-logistic", "pairwise-squared-hinge", "pairwise-hinge")
# Losses of the literature that are not consistent: least squares on gains, ListNet and RankCosine.
INCONSISTENT = ("squared/none", "softmax/softmax", "cosine/l2")
SYNTHETIC_OBJECTIVES = (
    "lambdarank,rank:ndcg,consistent-lambdarank,softmax,logistic,squared,squared/none,softmax/softmax"
)
SYNTHETIC_QUERIES = 600
DEFAULT_FOLDS = 5
# Objectives on a user's data: LambdaMART of both libraries, the default loss, and two that look at the list otherwise.
DATA_OBJECTIVES = f"lambdarank,rank:ndcg,{DEFAULT_LOSS},softmax,pairwise-exponential"
ALL = "all"
#: Name of the measure of rankings of synthetic data.
EXPECTED = "expected ndcg"


def all_objectives() -> str:
    """Objectives of ``--objectives all``: native ones, surrogates, and inconsistent losses."""
    return ",".join([*NATIVE, *(name for name in SURROGATES if name not in LEFT_OUT), *INCONSISTENT])


def default_jobs(n_folds: int) -> int:
    """Number of trainings at the same time: one for each fold, and at most one for each processor.

    Every training that runs at the same time takes memory for its data in the form of its library.
    """
    return min(joblib.cpu_count(), n_folds)


def default_text() -> str:
    """The default objectives, for --help."""
    texts = {
        "Default objectives on synthetic data": SYNTHETIC_OBJECTIVES,
        "Default objectives on your data": DATA_OBJECTIVES,
        f"--objectives {ALL}": all_objectives(),
    }
    return "\n\n".join(f"{start}: {objectives.replace(',', ', ')}." for start, objectives in texts.items())


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
            help="Folder of folds (Fold1/train.txt, Fold1/vali.txt, Fold1/test.txt, ..., or such tables), or one "
            "LETOR, CSV, TSV or Parquet file, whose queries are divided into folds at random. By default "
            "synthetic data."
        ),
    ] = None,
    qid: QidOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    backend: BackendOption = "both",
    objectives: Annotated[
        str | None,
        typer.Option(
            help="Objectives, separated by commas: surrogates (softmax), surrogates with other targets "
            "(softmax/softmax is ListNet), losses of edges (edge-logistic), and objectives of LightGBM (lambdarank) or "
            "XGBoost (rank:ndcg), which run on their own library only, and auto, which chooses one of several by "
            "cross-validation over the training queries; or all. The first one is the baseline. The defaults, and "
            "what all stands for, are listed below."
        ),
    ] = None,
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            help="FILE.py:NAME, one more estimator to compare, with its own settings: an instance in a Python file, or "
            "a class. LightGBM's LGBMRanker, XGBoost's XGBRanker, CatBoost's CatBoostRanker or any other. May be "
            "repeated."
        ),
    ] = None,
    measures: MeasuresOption = DEFAULT_MEASURES,
    gain: GainOption = None,
    empty: EmptyOption = None,
    k: KOption = None,
    rounds: RoundsOption = 500,
    patience: Annotated[
        int,
        typer.Option(
            min=1, help="Stop when NDCG on the validation queries has not improved for this number of rounds."
        ),
    ] = 30,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 15,
    folds: Annotated[
        int | None,
        typer.Option(
            min=3, help=f"Number of folds of a single file or of the synthetic data. By default {DEFAULT_FOLDS}."
        ),
    ] = None,
    seed: SeedOption = 0,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of trainings at the same time, each in a process. By default one for each fold, and at most "
            "one for each processor. Each takes memory for its data.",
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of threads of each training. By default the processors divided by --jobs. Estimators of "
            "--ranker that have a setting for it keep that.",
        ),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(
            "--results",
            "--resume",
            help="File that keeps the result of each training as it ends. If the command is stopped, the same command "
            "goes on where it stopped. A training is run again if its data, its settings or the versions of the "
            "libraries have changed. Without this option a temporary file is used, which is deleted at the end.",
        ),
    ] = None,
    output: OutputOption = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Image file for a plot of the differences to the baseline in the last of --measures."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="HTML file for a report with tables, plots and settings.")] = None,
) -> None:
    """Train rankers on the same folds and compare them on the test queries, by default by NDCG.

    All rankers, except those of --ranker, have the same learning rate, the
    same number of leaves and the same maximum number of rounds, and random
    trees: a round draws half of the queries (of the rows for objectives of
    the libraries), and a node 40% of the features. How many rounds each of
    them uses is decided by NDCG on the validation queries.
    --gain applies to their training and to the measures that have a gain.
    """
    chosen = parse_measures(measures, given(gain=gain, empty=empty))
    files = OutputFiles(output, plot, report=html)
    files.check()
    if results is not None:
        require_folder_of(results)
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
    ours, theirs = make_rankers(names, backend, settings, leaves), load_rankers(ranker or [])
    columns = ColumnOptions(qid, label, features, drop, categorical)
    parts, extra = _folds(path, columns, folds, seed)
    jobs = default_jobs(len(parts)) if jobs is None else jobs
    threads = threads_per_member(jobs, jobs) if threads is None else threads
    for one in ours.values():
        one.set_params(n_jobs=threads, **random_trees(one.objective))
    rankers = {**ours, **theirs}
    n_rankers, n_folds = len(rankers), len(parts)
    trainings = counted(n_rankers * n_folds, "training")
    plan = f"{counted(n_rankers, 'ranker')}, {counted(n_folds, 'fold')}: {trainings}, {_at_a_time(jobs, threads)}"
    error_console.print(plan)
    with kept_results(results) as file, _limited_threads(jobs, threads):
        comparison = compare_rankers(
            rankers,
            parts,
            measures=chosen,
            extra_measures=extra,
            random_state=seed,
            n_jobs=jobs,
            results=file,
            progress=True,
        )
    n_more = len(make_rankers(all_objectives(), backend, {}, leaves)) if path and not objectives else 0
    _show(comparison, list(chosen)[-1], files, n_more)


def _folds(
    path: Path | None, columns: ColumnOptions, n_folds: int | None, seed: int
) -> tuple[list[Fold], dict[str, Callable[[Fold, Floats], Floats]]]:
    """The folds of a folder, a file or synthetic data, and measures that only these data have."""
    if path is None:
        refuse_unused("a CSV, TSV or Parquet file", **columns._asdict())
    elif path.is_dir():
        refuse_unused("a file, or no path: a folder has its own folds", folds=n_folds)
        return read_folds(path, columns), {}
    n_folds = DEFAULT_FOLDS if n_folds is None else n_folds
    if path is not None:
        return query_folds(read_documents(path, columns).dataset, n_folds, random_state=seed), {}
    X, y, qid, bayes = make_ranking(SYNTHETIC_QUERIES, random_state=seed, return_bayes=True)
    optimum = float(np.mean(expected_ndcg(bayes, bayes, qid)))
    console.print(
        f"Synthetic data: {SYNTHETIC_QUERIES} queries whose optimal ranking is known; it has the {EXPECTED} "
        f"{optimum:.4f}."
    )

    def expected(fold: Fold, scores: Floats) -> Floats:
        values: Floats = expected_ndcg(bayes[np.isin(qid, fold.test.qid)], scores, fold.test.qid)
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


def _show(comparison: Comparison, plotted: str, files: OutputFiles, n_more: int) -> None:
    reports.show_comparison(comparison)
    if EXPECTED in comparison.measures:
        reports.show_text(
            f"{EXPECTED}: the NDCG of a ranking that is expected over all labels which its documents may have, with "
            "gain exp2 and without cutoff. What it lacks of that of the optimal ranking is the regret."
        )
    reports.show_text(
        "diff: difference to the baseline. p (Holm): p-value of a two-sided paired randomization test over the test "
        "queries of all folds, adjusted for the number of rankers by Holm's method; significant is below 0.05. w/t/l: "
        "queries won, tied and lost. rounds: mean number of boosting rounds."
    )
    if n_more:
        reports.show_text(f"These are the default objectives. --objectives {ALL} compares {n_more} rankers.")
    files.write_comparison(comparison, plotted)


@contextlib.contextmanager
def kept_results(path: Path | None) -> Iterator[Path]:
    """A file for results: that of the user, or a temporary one, which is deleted unless the command is stopped.

    After an error or Ctrl-C, a message says which file has the results, and which command goes on with them.
    """
    if path is None:
        descriptor, name = tempfile.mkstemp(prefix="boostrank-compare-", suffix=".jsonl")
        os.close(descriptor)
        file = Path(name)
    else:
        file = path
    try:
        yield file
    except BaseException:
        kept = _n_trainings(file)
        if path is None and not kept:
            file.unlink(missing_ok=True)
        if kept:
            arguments = [*sys.argv[1:], *(["--results", str(file)] if path is None else [])]
            error_console.print(f"{kept} {'training is' if kept == 1 else 'trainings are'} kept in {file}. To go on:")
            error_console.print(f"  {shlex.join(['boostrank', *arguments])}")
        raise
    if path is None:
        # Folders for temporary files may be cleaned while the command runs.
        file.unlink(missing_ok=True)


def _n_trainings(file: Path) -> int:
    """Number of the trainings in a file; 0 if it is no file of results, since the error of the command says so."""
    try:
        return SavedResults(file).n_trainings
    except (ValueError, OSError):
        return 0
