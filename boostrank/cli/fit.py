"""``boostrank fit``: train a ranker and save its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from boostrank.backends.progress import BAR
from boostrank.cli.data_files import read_documents
from boostrank.cli.options import (
    CategoricalOption,
    DataPath,
    DropOption,
    FeaturesOption,
    GainOption,
    KOption,
    LabelOption,
    LeavesOption,
    Library,
    QidOption,
    SeedOption,
    console,
    error_console,
    given,
    make_rankers,
    parse_measure,
    parse_rounds,
    require_folder_of,
)
from boostrank.cli.reports import counted
from boostrank.cli.stopping import Stopping
from boostrank.core.queries import Queries
from boostrank.datasets import Dataset
from boostrank.objectives.losses import DEFAULT_LOSS
from boostrank.rankers.settings import DEFAULT_PATIENCE


def fit(
    train: DataPath,
    model: Annotated[
        Path, typer.Argument(help="File to write the model to, in its backend's own format.", show_default=False)
    ],
    qid: QidOption = None,
    label: LabelOption = None,
    features: FeaturesOption = None,
    drop: DropOption = None,
    categorical: CategoricalOption = None,
    objective: Annotated[
        str,
        typer.Option(
            help="A surrogate (softmax), a surrogate with other targets (softmax/softmax), a loss of edges "
            "(edge-logistic), an objective of the backend itself (lambdarank), or auto: chosen among a few by "
            "cross-validation over the training queries."
        ),
    ] = DEFAULT_LOSS,
    backend: Annotated[Library, typer.Option(help="Boosting library.")] = "lightgbm",
    validation: Annotated[
        Path | None,
        typer.Option(
            help="File of validation queries, by which the number of rounds is chosen (early stopping). Of a table, "
            "the columns have the names of those of TRAIN.",
            show_default=False,
        ),
    ] = None,
    validation_fraction: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of the training queries, above 0 and below 1, that is held out at random in place of "
            "--validation.",
            show_default=False,
        ),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            metavar="",
            help="After early stopping by --validation-fraction, train on all queries with the number of rounds that "
            "was found.",
        ),
    ] = False,
    eval_metric: Annotated[
        str | None,
        typer.Option(
            help="Measure by which the number of rounds is chosen, such as map@10; by default NDCG with --k and "
            "--gain.",
            show_default=False,
        ),
    ] = None,
    gain: GainOption = None,
    k: KOption = None,
    rounds: Annotated[
        str,
        typer.Option(
            help="Maximum number of boosting rounds, or auto: the best number by cross-validation over the training "
            "queries."
        ),
    ] = "100",
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Stop when the measure of validation queries, or its mean over folds, has not improved for this "
            f"number of rounds. By default {DEFAULT_PATIENCE} where there are such queries.",
            show_default=False,
        ),
    ] = None,
    ensemble: Annotated[
        Literal["folds"] | None,
        typer.Option(
            help="folds: the model is the mean of those of the folds of a cross-validation over the training queries.",
            show_default=False,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Number of folds for --objective auto (3 by default), --rounds auto and --ensemble folds (5).",
            show_default=False,
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            help="Learning rate. By default 0.1, or up to 0.3 if short trainings show that trees learn little noise.",
            show_default=False,
        ),
    ] = None,
    leaves: LeavesOption = 31,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads. By default all processors.", show_default=False)
    ] = None,
    seed: SeedOption = 0,
) -> None:
    """Train a ranker, and save the model in its library's own format.

    The data are a LETOR file, or a table with a column for the query
    ids, one for the labels, and features in the other columns. The model
    keeps the names of the features.
    """
    measure = parse_measure("--eval-metric", eval_metric, given(gain=gain)) if eval_metric else None
    stopping = Stopping(
        objective,
        parse_rounds(rounds),
        validation,
        validation_fraction,
        refit,
        patience,
        measure,
        ensemble,
        folds,
    )
    stopping.check()
    settings = {
        **given(gain=gain, learning_rate=learning_rate),
        **stopping.parameters(),
        "k": k,
        "n_jobs": threads,
        "random_state": seed,
    }
    rankers = make_rankers(objective, backend, settings, leaves)
    if len(rankers) != 1:
        raise ValueError(f"fit trains one model, but --objective {objective!r} has several; see boostrank compare")
    (ranker,) = rankers.values()
    require_folder_of(model)
    data = read_documents(train, qid=qid, label=label, features=features, drop=drop, categorical=categorical)
    dataset = data.dataset
    parts = None
    if validation is not None:
        parts = [tuple(read_documents(validation, qid=qid, label=label, model=data.features).dataset)]
    if stopping.uses_folds:
        error_console.print("cross-validation over the training queries ...")
    ranker.fit(*dataset, eval_set=parts, eval_metric=measure, verbose=BAR)
    ranker.save_model(model)
    for line in (*stopping.results(ranker), f"{model}: {_size(ranker, dataset)}"):
        console.print(line, soft_wrap=True)


def _size(ranker: Any, dataset: Dataset) -> str:
    """The size of a model and of its training data, in words."""
    n_queries = Queries.from_qid(dataset.qid).n_queries
    return (
        f"{counted(ranker.best_iteration_, 'round')}, {counted(ranker.n_features_in_, 'feature')}, "
        f"{counted(len(dataset.y), 'document')} of {counted(n_queries, 'query', 'queries')}"
    )
