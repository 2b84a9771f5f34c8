"""``boostrank fit``: train a ranker and save its model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from boostrank.backends.progress import BAR
from boostrank.cli import options
from boostrank.cli.documents import read_documents
from boostrank.cli.options import MEASURING, ROUNDS, RUNNING, TRAINING, console, error_console, given, option
from boostrank.cli.reports import counted
from boostrank.cli.tables import ColumnOptions
from boostrank.datasets import Dataset
from boostrank.queries.queries import Queries
from boostrank.training.losses import DEFAULT_LOSS
from boostrank.training.settings import AUTO, DEFAULT_PATIENCE


def fit(
    data: options.DataPath,
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="File to write the model to, in its library's format.")
    ],
    qid: options.QidOption = None,
    label: options.LabelOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    categorical: options.CategoricalOption = None,
    objective: Annotated[
        str,
        option(
            TRAINING,
            "NAME",
            "ensemble (two consistent losses), a surrogate (softmax), one with other targets (softmax/softmax), a loss "
            "of edges (edge-logistic), an objective of the library (lambdarank), or auto, which chooses by "
            "cross-validation.",
        ),
    ] = DEFAULT_LOSS,
    backend: Annotated[options.Library, option(TRAINING, "LIBRARY", "lightgbm or xgboost.")] = "lightgbm",
    learning_rate: Annotated[
        float | None,
        option(TRAINING, "X", "By default 0.04, more with few rounds; 0.1 for objectives of the library.", min=1e-6),
    ] = None,
    leaves: options.LeavesOption = None,
    rounds: Annotated[
        str | None,
        option(
            ROUNDS,
            "N|auto",
            "Maximum number; auto finds the best one by cross-validation. By default 375, and 100 for the library's "
            "objectives.",
        ),
    ] = None,
    validation: Annotated[
        Path | None,
        option(ROUNDS, "FILE", "Queries to choose the number by (early stopping), with the columns of DATA."),
    ] = None,
    patience: Annotated[
        int | None,
        option(ROUNDS, "N", f"Stop after N rounds without gain; by default {DEFAULT_PATIENCE}.", min=1),
    ] = None,
    folds: Annotated[
        int | None, option(ROUNDS, "N", "Folds of --objective auto (by default 3) and --rounds auto (5).", min=2)
    ] = None,
    gain: options.GainOption = None,
    k: options.KOption = None,
    eval_metric: Annotated[
        str | None,
        option(MEASURING, "NAME", "Measure that chooses the rounds, such as map@10; by default NDCG."),
    ] = None,
    threads: Annotated[int | None, option(RUNNING, "N", "Number of threads; by default all processors.", min=1)] = None,
    seed: options.SeedOption = 0,
) -> None:
    """Train a ranker, and save the model in its library's own format.

    The data are a LETOR file, or a table with a column for the query
    ids, one for the labels, and features in the other columns. The model
    keeps the names of the features.
    """
    measure = options.parse_measure("--eval-metric", eval_metric, given(gain=gain)) if eval_metric else None
    if rounds not in (None, AUTO) and (not rounds.isdecimal() or int(rounds) < 1):
        raise ValueError(f"--rounds must be a number of at least 1, or auto; got {rounds!r}")
    chooses_rounds, uses_folds = rounds == AUTO or validation is not None, AUTO in (rounds, objective)
    if rounds == AUTO and validation is not None:
        raise ValueError("give either --rounds auto or --validation, by which the number of rounds is chosen")
    if not chooses_rounds:
        needed = "--validation or --rounds auto"
        options.refuse_unused(needed, patience=patience, eval_metric=None if uses_folds else eval_metric)
    if not uses_folds:
        options.refuse_unused("--objective auto or --rounds auto", folds=folds)
    settings = {
        **given(gain=gain, learning_rate=learning_rate),
        "n_estimators": rounds if rounds in (None, AUTO) else int(rounds),
        "early_stopping_rounds": (patience or DEFAULT_PATIENCE) if chooses_rounds else None,
        "cv": folds,
        "k": k,
        "n_jobs": threads,
        "random_state": seed,
    }
    rankers = options.make_rankers(objective, backend, settings, leaves)
    if len(rankers) != 1:
        raise ValueError(f"fit trains one model, but --objective {objective!r} has several; see boostrank compare")
    (ranker,) = rankers.values()
    options.require_folder_of(model)
    documents = read_documents(data, ColumnOptions(qid, label, features, drop, categorical))
    dataset = documents.dataset
    parts = None
    if validation is not None:
        parts = [tuple(read_documents(validation, ColumnOptions(qid, label), model=documents.features).dataset)]
    if uses_folds:
        error_console.print("cross-validation over the training queries ...")
    ranker.fit(*dataset, eval_set=parts, eval_metric=measure, verbose=BAR)
    ranker.save_model(model)
    for line in (*_results(ranker, parts is not None), f"{model}: {_size(ranker, dataset)}"):
        console.print(line, soft_wrap=True)


def _results(ranker: Any, has_validation: bool) -> Iterator[str]:
    """Describe the results of the training, one line for each kind of result."""
    if ranker.objective == AUTO:
        changed = {"objective": ranker.objective_, **ranker.best_params_}
        yield "chosen: " + ", ".join(f"{name}={value}" for name, value in changed.items())
    if AUTO in (ranker.n_estimators, ranker.objective):
        table = ranker.cv_results_
        chosen = int(table["chosen"].argmax())
        metric, n_rounds = table["metric"][chosen], int(table["n_rounds"][chosen])
        value, n_trained = table["mean_test_score"][chosen], int(table["rounds_trained"][chosen])
        yield f"cross-validation: {metric} {value:.4f} with {_of_rounds(ranker, n_rounds, n_trained)}, mean over folds"
    if has_validation:
        ((name, curves),) = ranker.evals_result_.items()
        metric, curve = next(iter(curves.items()))
        value, n_rounds = ranker.best_score_[name][metric], ranker.best_iteration_
        yield f"validation: {metric} {value:.4f} with {_of_rounds(ranker, n_rounds, len(curve))}"


def _of_rounds(ranker: Any, n_best: int, n_trained: int) -> str:
    """The number of rounds that was chosen, out of those that were trained."""
    if ranker.early_stopping_rounds is None:
        return counted(n_best, "round")
    if n_best == ranker.n_estimators:
        return f"all of {counted(n_best, 'round')} (more may be better: --rounds)"
    return f"{counted(n_best, 'round')}, the best of {n_trained}"


def _size(ranker: Any, dataset: Dataset) -> str:
    """The size of a model and of its training data, in words."""
    n_queries = Queries.from_qid(dataset.qid).n_queries
    return (
        f"{counted(ranker.best_iteration_, 'round')}, {counted(ranker.n_features_in_, 'feature')}, "
        f"{counted(len(dataset.y), 'document')} of {counted(n_queries, 'query', 'queries')}"
    )
