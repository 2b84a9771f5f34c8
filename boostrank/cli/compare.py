"""``boostrank compare``: train rankers on the same folds and compare them by measures of the test
queries.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import joblib
import typer
from sklearn.base import clone
from typer import Argument, Option

from boostrank.backends.base import import_backend
from boostrank.cli import options, reports
from boostrank.cli.documents import ColumnOptions, read_documents
from boostrank.comparison import compare as compare_rankers
from boostrank.datasets import Dataset, make_ranking, read_letor_folds
from boostrank.inputs.checks import check_choice
from boostrank.model_selection import QueryKFold
from boostrank.queries.queries import Queries
from boostrank.training.losses import find_loss
from boostrank.training.settings import NODE_SHARE, QUERY_SHARE, TREE_SHARE

# Package of each ranker, parameters that say nothing about quality, and those of the linear gain.
RANKERS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "LGBMRanker": ("lightgbm", {"verbose": -1}, {"label_gain": [*range(31)]}),
    "XGBRanker": ("xgboost", {"enable_categorical": True}, {"ndcg_exp_gain": False}),
    "LightGBMRanker": ("boostrank", {}, {"gain": "linear"}),
    "XGBoostRanker": ("boostrank", {}, {"gain": "linear"}),
    "CatBoostRanker": ("catboost", {"verbose": 0, "allow_writing_files": False}, {}),
}
USUAL_RANKERS = "LGBMRanker,XGBRanker,LightGBMRanker,XGBoostRanker"
SYNTHETIC_QUERIES, SYNTHETIC_FOLDS, FOLDS = 600, 10, 5
# Settings of the trees of all objectives.
LEARNING_RATE, N_LEAVES, PATIENCE = 0.1, 15, 100

PATH = "Folder of LETOR folds (Fold1/train.txt, ...), or a file, divided by query; by default synthetic data."
NAMES = f"Rankers with their defaults; the first one is the baseline. By default {USUAL_RANKERS}; or CatBoostRanker."
OBJECTIVES = "Compare losses with equal trees instead: lambdarank,rank:ndcg,softmax; the first one is the baseline."
QUERY_FEATURES = "Further rows: our rankers with standardize,rank, or also minmax: how documents stand in their lists."
REPEATS = (
    "Repeat the folds with other seeds, say 10 times: tests over folds count the training too."
)
FOLDS_HELP = (
    f"Folds of a file, by default {FOLDS}, or of synthetic data, by default {SYNTHETIC_FOLDS}."
)
RESULTS = "Folder that keeps finished trainings: the same command goes on where it was stopped."


def compare(
    path: Annotated[Path | None, Argument(metavar="[PATH]", help=PATH)] = None,
    qid: options.QidOption = None,
    label: options.LabelOption = None,
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
    files = {"output": output, "plot": plot, "html": html}
    reports.check_files(**files)
    # The names are checked before the data are read, so that a wrong name is an error at once.
    measured = options.parse_measures(
        "--measures", measures, options.set_options(gain=gain, empty=empty)
    )
    if objectives is None:
        options.refuse_unused("--objectives", backend=backend, rounds=rounds, k=k)
        compared = default_rankers(rankers or USUAL_RANKERS, gain, seed)
        note = "Rankers with their defaults; by --rankers also CatBoostRanker, far slower."
        if query_features is None:
            note += (
                "\nIf lists are complete at prediction, try --query-features standardize,rank too."
            )
    else:
        options.refuse_unused("a comparison without --objectives", rankers=rankers)
        settings = {
            **options.set_options(gain=gain),
            "k": k,
            "n_estimators": rounds or 500,
            "random_state": seed,
        }
        settings |= {"learning_rate": LEARNING_RATE, "early_stopping_rounds": PATIENCE}
        compared = rankers_with_equal_trees(objectives, backend or "both", **settings)
        note = f"Equal trees, not the defaults: random, {N_LEAVES} leaves, rate {LEARNING_RATE}, early stopping."
    if query_features is not None:
        added = {"query_features": options.split_outside_brackets(query_features)}
        ours = {
            name: ranker
            for name, ranker in compared.items()
            if "query_features" in ranker.get_params()
        }
        compared |= {
            f"{name}, query features": clone(ranker).set_params(**added)
            for name, ranker in ours.items()
        }
    columns = ColumnOptions(qid, label, features, drop, categorical, missing)
    data = read_data(path, columns, seed, folds=folds, repeats=repeats)
    jobs = jobs or min(joblib.cpu_count(), FOLDS)
    if "CatBoostRanker()" in compared:
        categories = (
            [*data["X"].select_dtypes("category")] if hasattr(data.get("X"), "columns") else None
        )
        compared["CatBoostRanker()"].set_params(
            thread_count=-(-joblib.cpu_count() // jobs), cat_features=categories
        )
    typer.echo(note)
    try:
        comparison = compare_rankers(
            compared,
            **data,
            measures=measured,
            random_state=seed,
            n_jobs=jobs,
            results=results,
            progress=True,
        )
    except KeyboardInterrupt:
        kept = f"which are in {results}" if results else "if --results FOLDER keeps them"
        typer.echo(f"The same command does not repeat finished trainings, {kept}.", err=True)
        raise
    reports.show_comparison(comparison)
    reports.write_comparison(comparison, comparison.measures[-1], "marks", files)


def default_rankers(names: str, gain: str | None, seed: int) -> dict[str, Any]:
    """Unfitted rankers with their defaults, by name such as "LGBMRanker()"."""
    rankers: dict[str, Any] = {}
    for name in options.split_outside_brackets(names):
        check_choice("a name of --rankers", name, RANKERS)
        package, parameters, of_linear_gain = RANKERS[name]
        gains = of_linear_gain if gain == "linear" else {}
        rankers[f"{name}()"] = getattr(import_backend(package), name)(
            random_state=seed, **parameters, **gains
        )
    return rankers


def rankers_with_equal_trees(objectives: str, backend: str, **settings: Any) -> dict[str, Any]:
    """Unfitted rankers of objectives, by name such as "lightgbm softmax", with equal random trees.

    A round draws half of the queries, or of the rows for objectives of the libraries.
    """
    rankers = options.make_rankers(objectives, backend, N_LEAVES, **settings)
    for name, ranker in rankers.items():
        sample: dict[str, Any] = {"subsample_queries": QUERY_SHARE}
        if find_loss(ranker.objective) is None:
            sample = {
                "subsample": QUERY_SHARE,
                **({"subsample_freq": 1} if name.startswith("lightgbm") else {}),
            }
        ranker.set_params(colsample_bytree=TREE_SHARE, colsample_bynode=NODE_SHARE, **sample)
    return rankers


def read_data(
    path: Path | None, columns: ColumnOptions, seed: int, **folds: int | None
) -> dict[str, Any]:
    """The arguments of :func:`boostrank.compare` for the folds of a folder, or the rows of a file
    or synthetic ones.
    """
    if path is None or path.is_dir():
        options.refuse_unused("a CSV, TSV or Parquet file", **columns._asdict())
    if path is not None and path.is_dir():
        options.refuse_unused("a file, or no path: a folder has its own folds", **folds)
        return {"folds": read_letor_folds(path)}
    if path is None:
        data = make_ranking(SYNTHETIC_QUERIES, random_state=seed)
    else:
        data = Dataset(*read_documents(path, columns))
    if hasattr(data.X, "columns"):
        # Libraries refuse some names of features.
        data = data._replace(X=data.X.set_axis([*map(str, range(data.X.shape[1]))], axis=1))
    n_folds = folds["folds"] or (SYNTHETIC_FOLDS if path is None else FOLDS)
    n_queries = Queries.from_qid(data.qid).n_queries
    typer.echo(
        f"{path or 'Synthetic data'}: {n_queries} queries, {len(data.y)} documents, {n_folds} "
        f"folds."
    )
    cv = n_folds if folds["repeats"] else QueryKFold(n_folds, shuffle=True, random_state=seed)
    return {**data._asdict(), "cv": cv, "repeats": folds["repeats"]}
