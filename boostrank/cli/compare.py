"""``boostrank compare``: train rankers on the same folds and compare them by measures of the test queries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import joblib
import typer
from scipy.sparse import issparse
from sklearn.base import clone
from typer import Argument, Option

from boostrank.cli import options, reports
from boostrank.cli.documents import ColumnOptions, read_documents
from boostrank.cli.options import refuse_unused, set_options
from boostrank.comparison import compare as compare_rankers
from boostrank.datasets import Dataset, Fold, read_letor_folds
from boostrank.datasets.synthetic import make_ranking
from boostrank.model_selection import query_folds
from boostrank.rankers import LightGBMRanker
from boostrank.training.losses import DEFAULT_LOSS, find_loss
from boostrank.training.settings import NODE_SHARE, QUERY_SHARE, TREE_SHARE

OF_SYNTHETIC = (
    "lambdarank,rank:ndcg,ensemble,consistent-lambdarank,softmax,logistic,squared,squared/none,softmax/softmax"
)
SYNTHETIC_QUERIES = 600
# Settings of the trees of all rankers.
LEARNING_RATE, N_LEAVES = 0.1, 15
# Objectives on a user's data: LambdaMART of both libraries, the default loss, and two that look at the list otherwise.
OF_DATA = f"lambdarank,rank:ndcg,{DEFAULT_LOSS},softmax,pairwise-exponential"

PATH = "Folder of LETOR folds (Fold1/train.txt, ...), or a file, divided by query; by default synthetic data."
OBJECTIVES = (
    "Objectives, as of fit, separated by commas; the first one is the baseline. By default "
    f"{OF_DATA.replace(',', ', ')}; on synthetic data {OF_SYNTHETIC.replace(',', ', ')}."
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
    backend: Literal["lightgbm", "xgboost", "both"] = "both",
    objectives: Annotated[str | None, Option(help=OBJECTIVES)] = None,
    rounds: Annotated[int, Option(help="Maximum number of rounds.", min=1)] = 500,
    patience: Annotated[int, Option(help="Stop after N rounds without gain.", min=1)] = 100,
    measures: Annotated[str, Option(help=options.MEASURES_HELP)] = "ndcg@10",
    gain: options.GainOption = None,
    empty: options.EmptyOption = None,
    k: options.KOption = None,
    folds: Annotated[int | None, Option(help="Folds of a file or of synthetic data; by default 5.", min=3)] = None,
    seed: options.SeedOption = 0,
    jobs: Annotated[int | None, Option(help="Trainings at a time; by default one for each fold.", min=1)] = None,
    results: Annotated[Path | None, Option(help=RESULTS)] = None,
    output: options.OutputOption = None,
    plot: Annotated[Path | None, Option(help="File for an image of the differences in the last measure.")] = None,
    html: Annotated[Path | None, Option(help="File for a report with tables, plots and settings.")] = None,
) -> None:
    """Train rankers on the same folds, and compare them on the test queries.

    They have equal settings and random trees. NDCG on the validation
    queries decides how many rounds each keeps. "query features" are
    features that say how a document stands in the list of its query.
    """
    files = {"output": output, "plot": plot, "html": html}
    reports.check_files(**files)
    # The names are checked before the data are read, so that a wrong name is an error at once.
    measured = options.parse_measures("--measures", measures, set_options(gain=gain, empty=empty))
    rankers = options.make_rankers(
        objectives or (OF_DATA if path else OF_SYNTHETIC),
        backend,
        N_LEAVES,
        **set_options(gain=gain),
        k=k,
        n_estimators=rounds,
        early_stopping_rounds=patience,
        learning_rate=LEARNING_RATE,
        random_state=seed,
    )
    for boosted in rankers.values():
        boosted.set_params(**random_trees(boosted))
    parts = _folds(path, ColumnOptions(qid, label, features, drop, categorical, missing), folds, seed)
    if objectives is None and not issparse(parts[0].train.X):
        of_default_loss = {name: ranker for name, ranker in rankers.items() if ranker.objective == DEFAULT_LOSS}
        for name, ranker in of_default_loss.items():
            rankers[f"{name} with query features"] = clone(ranker).set_params(query_features=["standardize", "rank"])
    jobs = jobs or min(joblib.cpu_count(), len(parts))
    comparison = compare_rankers(
        rankers, folds=parts, measures=measured, random_state=seed, n_jobs=jobs, results=results, progress=True
    )
    reports.show_comparison(comparison)
    reports.write_comparison(comparison, comparison.measures[-1], "marks", files)


def random_trees(ranker: Any) -> dict[str, Any]:
    """Parameters of random trees: a round draws half of the queries, or of the rows for objectives of the libraries."""
    sample: dict[str, Any] = {"subsample_queries": QUERY_SHARE}
    if find_loss(ranker.objective) is None:
        sample = {"subsample": QUERY_SHARE, **({"subsample_freq": 1} if isinstance(ranker, LightGBMRanker) else {})}
    return {"colsample_bytree": TREE_SHARE, "colsample_bynode": NODE_SHARE, **sample}


def _folds(path: Path | None, columns: ColumnOptions, n_folds: int | None, seed: int) -> Sequence[Fold]:
    """The folds of a folder, a file or synthetic data."""
    if path is None or path.is_dir():
        refuse_unused("a CSV, TSV or Parquet file", **columns._asdict())
    if path is not None and path.is_dir():
        refuse_unused("a file, or no path: a folder has its own folds", folds=n_folds)
        return read_letor_folds(path)
    if path is None:
        typer.echo(f"Synthetic data: {SYNTHETIC_QUERIES} queries.")
        data = make_ranking(SYNTHETIC_QUERIES, random_state=seed)
    else:
        data = Dataset(*read_documents(path, columns))
    return query_folds(data, n_folds or 5, random_state=seed)
