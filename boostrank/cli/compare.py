"""``boostrank compare``: train rankers on the same folds, and compare them on the test queries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import joblib
import numpy as np
import pandas as pd
import typer
from sklearn.base import clone
from typer import Argument, Option

from boostrank.backends.libraries import import_backend
from boostrank.cli import options, reports
from boostrank.cli.columns import (
    ADVICE_ON_EQUAL_LABELS,
    EQUAL_LABELS,
    are_equal_within_queries,
    refuse_infinity,
    warn_of_features,
)
from boostrank.cli.documents import ColumnOptions, read_documents, read_groups, read_times
from boostrank.cli.tables import is_table
from boostrank.comparison import Comparison
from boostrank.comparison import compare as compare_rankers
from boostrank.datasets import Dataset, make_ranking, read_letor_folds
from boostrank.inputs.arrays import Floats
from boostrank.inputs.checks import check_choice
from boostrank.metrics import Measure
from boostrank.model_selection import QueryKFold, QueryTimeSplit
from boostrank.ndcg.gains import MAX_EXP2_LABEL, Gain, gains_of_labels
from boostrank.queries.id_columns import without_id_warnings
from boostrank.queries.queries import Queries
from boostrank.training.defaults import NODE_SHARE, QUERY_SHARE, TREE_SHARE
from boostrank.training.losses import find_loss

# Package of each ranker, and parameters that say nothing about quality.
RANKERS: dict[str, tuple[str, dict[str, Any]]] = {
    "LGBMRanker": ("lightgbm", {"verbose": -1}),
    "XGBRanker": ("xgboost", {"enable_categorical": True}),
    "LightGBMRanker": ("boostrank", {}),
    "XGBoostRanker": ("boostrank", {}),
    "CatBoostRanker": ("catboost", {"verbose": 0, "allow_writing_files": False}),
}
# The library of our own rankers.
LIBRARIES = {"LightGBMRanker": "lightgbm", "XGBoostRanker": "xgboost"}
# The largest labels of the libraries: with a table of gains, and with their own gain 2^y - 1.
MAX_LABEL_OF_TABLE = 10_000
MAX_LABEL_OF_LIGHTGBM = 30
MAX_LABEL_OF_XGBOOST = 31
USUAL_RANKERS = "LGBMRanker,XGBRanker,LightGBMRanker,XGBoostRanker"
SYNTHETIC_QUERIES = 600
SYNTHETIC_FOLDS = 10
FOLDS = 5
# Settings of the trees of all objectives.
LEARNING_RATE = 0.1
N_LEAVES = 15
PATIENCE = 100
DEFAULT_ROUNDS = 500

PATH = (
    "Folder of LETOR folds (Fold1/train.txt, ...), or a file, divided by query; by default "
    "synthetic data."
)
NAMES = (
    "Rankers with their defaults; the first one is the baseline. "
    f"By default {USUAL_RANKERS}; or CatBoostRanker."
)
OBJECTIVES = (
    "Compare losses with equal trees instead: lambdarank,rank:ndcg,softmax; the first one is the "
    "baseline."
)
QUERY_FEATURES = (
    "Further rows: our rankers with standardize,rank, or also minmax: how documents stand in "
    "their lists."
)
REPEATS = (
    "Repeat the folds with other seeds, say 10 times: tests over folds count the training too."
)
FOLDS_HELP = (
    f"Folds of a file, by default {FOLDS}, or of synthetic data, by default {SYNTHETIC_FOLDS}."
)
RESULTS = "Folder that keeps finished trainings: the same command goes on where it was stopped."
NOTE_ON_DEFAULTS = "Rankers with their defaults; by --rankers also CatBoostRanker, far slower."
NOTE_ON_LISTS = "If lists are complete at prediction, try --query-features standardize,rank too."
NOTE_ON_TREES = (
    f"Equal trees, not the defaults: random, {N_LEAVES} leaves, rate {LEARNING_RATE}, early "
    "stopping."
)


@dataclass(frozen=True)
class Settings:
    """The options of the command that its steps share; None stands for one that is not given."""

    path: Path | None
    columns: ColumnOptions
    group: str | None
    time: str | None
    rankers: str | None
    query_features: str | None
    objectives: str | None
    backend: str | None
    rounds: int | None
    k: int | None
    gain: Gain | None
    folds: int | None
    repeats: int | None
    seed: int
    n_jobs: int
    results: Path | None


def compare(
    path: Annotated[Path | None, Argument(metavar="[PATH]", help=PATH)] = None,
    qid: options.QidOption = None,
    label: options.LabelOption = None,
    group: options.GroupOption = None,
    time: options.TimeOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    categorical: options.CategoricalOption = None,
    missing: options.MissingOption = None,
    rankers: Annotated[str | None, Option(help=NAMES)] = None,
    query_features: Annotated[str | None, Option(help=QUERY_FEATURES)] = None,
    objectives: Annotated[str | None, Option(help=OBJECTIVES)] = None,
    backend: Annotated[
        Literal["lightgbm", "xgboost"] | None, Option(help="Library of objectives; or both.")
    ] = None,
    rounds: Annotated[
        int | None, Option(help="Most rounds of objectives; by default 500.", min=1)
    ] = None,
    k: options.KOption = None,
    measures: Annotated[str, Option(help=options.MEASURES_HELP)] = "ndcg@10",
    gain: options.GainOption = None,
    empty: options.EmptyOption = None,
    folds: Annotated[int | None, Option(help=FOLDS_HELP, min=2)] = None,
    repeats: Annotated[int | None, Option(help=REPEATS, min=2)] = None,
    seed: options.SeedOption = 0,
    jobs: Annotated[
        int | None, Option(help="Trainings at a time; by default up to five.", min=1)
    ] = None,
    results: Annotated[Path | None, Option(help=RESULTS)] = None,
    output: options.OutputOption = None,
    plot: Annotated[
        Path | None, Option(help="File for an image of the differences in the last measure.")
    ] = None,
    html: Annotated[
        Path | None, Option(help="File for a report with tables, plots and settings.")
    ] = None,
) -> None:
    """Train rankers on the same folds, and compare them on the test queries.

    They are those of LightGBM, XGBoost and boostrank as people use them,
    with their defaults. --objectives compares losses instead.
    """
    columns = ColumnOptions(qid, label, features, drop, categorical, missing)
    if columns.weights is not None:
        raise ValueError(
            f"--label: compare takes one column of labels, and {label!r} names several: fit and "
            "evaluate take them, and br.compare in Python"
        )
    settings = Settings(
        path=path,
        columns=columns,
        group=group,
        time=time,
        rankers=rankers,
        query_features=query_features,
        objectives=objectives,
        backend=backend,
        rounds=rounds,
        k=k,
        gain=gain,
        folds=folds,
        repeats=repeats,
        seed=seed,
        n_jobs=jobs or min(joblib.cpu_count(), FOLDS),
        results=results,
    )
    files = {"output": output, "plot": plot, "html": html}
    reports.check_files(**files)
    # The names are checked before the data are read, so that a wrong name is an error at once.
    of_measures = options.set_options(gain=gain, empty=empty)
    measured = options.parse_measures("--measures", measures, of_measures)
    compared = make_rankers(settings)
    trains_xgboost = any("xgb" in name.lower() for name in compared)
    takes_negative = gain == "rank" and all(one.takes_negative for one in measured.values())
    data = read_data(settings, trains_xgboost=trains_xgboost, takes_negative=takes_negative)
    labels = check_labels_differ(data)
    hand_on_gain(compared, labels, gain)
    set_up_catboost(compared, data, settings.n_jobs)
    print_note(settings)
    # They have been given, with the names of the columns.
    with without_id_warnings():
        comparison = train(compared, data, measured, settings)
    reports.show_comparison(comparison)
    reports.write_comparison(comparison, comparison.measures[-1], "marks", files)


def make_rankers(settings: Settings) -> dict[str, Any]:
    """The unfitted rankers to compare, by name."""
    if settings.objectives is None:
        options.refuse_unused(
            "--objectives", backend=settings.backend, rounds=settings.rounds, k=settings.k
        )
        names = settings.rankers or usual_rankers()
        rankers = default_rankers(names, settings.gain, settings.seed)
    else:
        options.refuse_unused("a comparison without --objectives", rankers=settings.rankers)
        rankers = rankers_with_equal_trees(
            settings.objectives,
            settings.backend or installed_backend(),
            k=settings.k,
            n_estimators=settings.rounds or DEFAULT_ROUNDS,
            random_state=settings.seed,
            learning_rate=LEARNING_RATE,
            early_stopping_rounds=PATIENCE,
            **options.set_options(gain=settings.gain),
        )
    if settings.query_features is not None:
        kinds = options.split_outside_brackets(settings.query_features)
        rankers |= with_query_features(rankers, kinds)
    return rankers


def usual_rankers() -> str:
    """The usual rankers, without those whose library is not installed, which a line names."""
    names = USUAL_RANKERS.split(",")
    backend = installed_backend()
    if backend == "both":
        return USUAL_RANKERS
    kept = [name for name in names if LIBRARIES.get(name, RANKERS[name][0]) == backend]
    others = " and ".join(name for name in names if name not in kept)
    missing = "xgboost" if backend == "lightgbm" else "lightgbm"
    typer.echo(f"Without {others}: {missing} is not installed (pip install {missing}).")
    return ",".join(kept)


def installed_backend() -> str:
    """The only library that is installed, or "both", also if none is."""
    installed = [name for name in LIBRARIES.values() if find_spec(name)]
    return installed[0] if len(installed) == 1 else "both"


def default_rankers(names: str, gain: Gain | None, seed: int) -> dict[str, Any]:
    """Unfitted rankers with their defaults, by name such as "LGBMRanker()"."""
    rankers: dict[str, Any] = {}
    for name in options.split_outside_brackets(names):
        check_choice("a name of --rankers", name, RANKERS)
        package, parameters = RANKERS[name]
        if package == "boostrank":
            parameters = parameters | options.set_options(gain=gain)
            import_backend(LIBRARIES[name])
        ranker_class = getattr(import_backend(package), name)
        rankers[f"{name}()"] = ranker_class(random_state=seed, **parameters)
    return rankers


def rankers_with_equal_trees(objectives: str, backend: str, **settings: Any) -> dict[str, Any]:
    """Unfitted rankers of objectives, by name such as "lightgbm softmax", with equal random trees.

    A round draws half of the queries, or of the rows for objectives of the libraries.
    """
    rankers = options.make_rankers(objectives, backend, N_LEAVES, **settings)
    for name, ranker in rankers.items():
        # A missing library is an error before the data are read.
        import_backend(name.partition(" ")[0])
        sample: dict[str, Any] = {"subsample_queries": QUERY_SHARE}
        if find_loss(ranker.objective) is None:
            sample = {"subsample": QUERY_SHARE}
            if name.startswith("lightgbm"):
                sample["subsample_freq"] = 1
        ranker.set_params(colsample_bytree=TREE_SHARE, colsample_bynode=NODE_SHARE, **sample)
    return rankers


def with_query_features(rankers: Mapping[str, Any], kinds: list[str]) -> dict[str, Any]:
    """Those of the rankers that have query features, with these kinds of them, by new names."""
    return {
        f"{name}, query features": clone(ranker).set_params(query_features=kinds)
        for name, ranker in rankers.items()
        if "query_features" in ranker.get_params()
    }


def read_data(
    settings: Settings, *, trains_xgboost: bool = False, takes_negative: bool = False
) -> dict[str, Any]:
    """The data and the folds, as arguments of :func:`boostrank.compare`.

    They are the folds of a folder, or the rows of a file or synthetic ones.
    """
    path = settings.path
    folds = {"folds": settings.folds, "repeats": settings.repeats}
    groups = None
    times = None
    if path is None or path.is_dir():
        options.refuse_unused("a CSV, TSV or Parquet file", **settings.columns._asdict())
    if path is None or not is_table(path):
        of_table = {"group": settings.group, "time": settings.time}
        options.refuse_unused("a CSV, TSV or Parquet file", **of_table)
    if settings.time is not None and settings.repeats is not None:
        raise ValueError("give --time or --repeats: folds in time are not drawn at random")
    if path is None:
        data = make_ranking(SYNTHETIC_QUERIES, random_state=settings.seed)
        n_folds = settings.folds or SYNTHETIC_FOLDS
    elif path.is_dir():
        options.refuse_unused("a file, or no path: a folder has its own folds", **folds)
        return {"folds": read_letor_folds(path)}
    else:
        columns = settings.columns
        if settings.group is not None:
            groups = read_groups(path, settings.group)
            columns = columns._replace(drop=[*(columns.drop or ()), settings.group])
        if settings.time is not None:
            times = read_times(path, settings.time)
            columns = columns._replace(drop=[*(columns.drop or ()), settings.time])
        data = Dataset(*read_documents(path, columns, may_be_negative=takes_negative))
        warn_of_features(path, data.X, data.qid, columns.features)
        if trains_xgboost:
            refuse_infinity(path, data.X)
        n_folds = settings.folds or FOLDS
    if isinstance(data.X, pd.DataFrame):
        # Libraries refuse some names of features.
        names = [*map(str, range(data.X.shape[1]))]
        data = data._replace(X=data.X.set_axis(names, axis=1))
    counts = reports.counted(Queries.from_qid(data.qid).n_queries, "query", "queries")
    if groups is not None:
        counts += f" in {Queries.from_qid(groups).n_queries} groups"
    n_documents = reports.counted(len(data.y), "document")
    typer.echo(f"{path or 'Synthetic data'}: {counts}, {n_documents}, {n_folds} folds.")
    cv: int | QueryKFold | QueryTimeSplit = n_folds
    if times is not None:
        cv = QueryTimeSplit(n_folds, time=times)
    elif settings.repeats is None:
        cv = QueryKFold(n_folds, shuffle=True, random_state=settings.seed)
    return {**data._asdict(), "cv": cv, "repeats": settings.repeats, "groups": groups}


def check_labels_differ(data: Mapping[str, Any]) -> Floats:
    """The labels of the data, or of all parts of all folds.

    Raises ValueError if no query has labels that differ: all rankers would be equally good.
    """
    parts = [Dataset(data["X"], data["y"], data["qid"])] if "X" in data else []
    for fold in data.get("folds", ()):
        parts += [part for part in fold[1:] if part is not None]
    if all(are_equal_within_queries(part.y, part.qid) for part in parts):
        raise ValueError(f"{EQUAL_LABELS}: there is nothing to compare. {ADVICE_ON_EQUAL_LABELS}")
    return np.concatenate([part.y for part in parts])


def hand_on_gain(rankers: Mapping[str, Any], labels: Floats, gain: Gain | None) -> None:
    """Give the rankers of the libraries the gain of the comparison, for labels up to the largest.

    Raises ValueError, with what to do, if one of them does not take the labels with this gain.
    """
    largest = float(labels.max())
    are_whole = bool((labels % 1 == 0).all())
    if gain in (None, "exp2") and largest > MAX_EXP2_LABEL:
        raise ValueError(
            f"the gain 2^y - 1 takes labels up to {MAX_EXP2_LABEL:,}, and the largest one is "
            f"{largest:g}: use --gain linear"
        )
    faults: dict[str, str] = {}
    for name, set_gain in (
        ("LGBMRanker", _set_gain_of_lightgbm),
        ("XGBRanker", _set_gain_of_xgboost),
    ):
        ranker = rankers.get(f"{name}()")
        fault = None if ranker is None else set_gain(ranker, gain, largest, are_whole)
        if fault is not None:
            faults[name] = f"{name} takes {fault}"
    if not faults:
        return
    shown = f"the largest one is {largest:g}"
    if not are_whole:
        shown = f"one is {labels[labels % 1 != 0][0]:g}"
    names = [name.removesuffix("()") for name in rankers]
    kept = ",".join(name for name in names if name in RANKERS and name not in faults)
    raise ValueError(
        f"of the labels, {shown}, and {'; '.join(faults.values())}. Or use --rankers {kept}"
    )


def _set_gain_of_lightgbm(
    ranker: Any, gain: Gain | None, largest: float, are_whole: bool
) -> str | None:
    """Set a table of gains; returns which labels the ranker takes if it does not take these."""
    if gain == "rank":
        return "no gain by rank"
    if not are_whole or largest > MAX_LABEL_OF_TABLE:
        return f"only whole labels up to {MAX_LABEL_OF_TABLE:,}"
    if gain is not None or largest > MAX_LABEL_OF_LIGHTGBM:
        every_label = np.arange(max(largest, MAX_LABEL_OF_LIGHTGBM) + 1)
        ranker.set_params(label_gain=gains_of_labels(gain or "exp2", every_label).tolist())
    return None


def _set_gain_of_xgboost(
    ranker: Any, gain: Gain | None, largest: float, are_whole: bool
) -> str | None:
    """Set one of two gains; returns which labels the ranker takes if it does not take these."""
    if gain == "linear":
        ranker.set_params(ndcg_exp_gain=False)
    elif gain not in (None, "exp2"):
        return "no other gain than exp2 and linear"
    elif not are_whole or largest > MAX_LABEL_OF_XGBOOST:
        return (
            f"only whole labels up to {MAX_LABEL_OF_XGBOOST} with the gain 2^y - 1 (--gain linear "
            "takes all)"
        )
    return None


def set_up_catboost(rankers: Mapping[str, Any], data: Mapping[str, Any], n_jobs: int) -> None:
    """Give CatBoost, if it is compared, the features that are categories, and its threads."""
    ranker = rankers.get("CatBoostRanker()")
    if ranker is None:
        return
    # Rounded up.
    n_threads = -(-joblib.cpu_count() // n_jobs)
    categories = None
    X = data.get("X")
    if isinstance(X, pd.DataFrame):
        categories = [*X.select_dtypes("category")]
    ranker.set_params(thread_count=n_threads, cat_features=categories)


def print_note(settings: Settings) -> None:
    """Print which rankers are compared."""
    if settings.objectives is not None:
        typer.echo(NOTE_ON_TREES)
        return
    typer.echo(NOTE_ON_DEFAULTS)
    if settings.query_features is None:
        typer.echo(NOTE_ON_LISTS)


def train(
    rankers: Mapping[str, Any],
    data: Mapping[str, Any],
    measures: dict[str, Measure],
    settings: Settings,
) -> Comparison:
    """Train the rankers on all folds; an interrupt says how to go on."""
    try:
        return compare_rankers(
            rankers,
            **data,
            measures=measures,
            random_state=settings.seed,
            n_jobs=settings.n_jobs,
            results=settings.results,
            progress=True,
        )
    except KeyboardInterrupt:
        kept = "if --results FOLDER keeps them"
        if settings.results is not None:
            kept = f"which are in {settings.results}"
        typer.echo(f"The same command does not repeat finished trainings, {kept}.", err=True)
        raise
