"""``boostrank fit``: train a ranker and save its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from boostrank.cli.options import (
    Backend,
    BackendOption,
    DataPath,
    GainOption,
    KOption,
    LeavesOption,
    PatienceOption,
    RateOption,
    RoundsOption,
    SeedOption,
    console,
    given,
    make_rankers,
    parse_measure,
    require_folder_of,
)
from boostrank.datasets import read_letor
from boostrank.losses import DEFAULT_LOSS


def fit(
    train: DataPath,
    model: Annotated[
        Path, typer.Argument(help="File to write the model to, in its backend's own format.", show_default=False)
    ],
    objective: Annotated[
        str,
        typer.Option(
            help="A surrogate (softmax), a surrogate with other targets (softmax/softmax), a loss of edges "
            "(edge-logistic), or an objective of the backend itself (lambdarank)."
        ),
    ] = DEFAULT_LOSS,
    backend: BackendOption = Backend.lightgbm,
    validation: Annotated[
        Path | None,
        typer.Option(
            help="LETOR file of validation queries. Without it there is no early stopping.", show_default=False
        ),
    ] = None,
    eval_metric: Annotated[
        str | None,
        typer.Option(
            help="Measure for early stopping, such as map@10; by default NDCG with --k and --gain.", show_default=False
        ),
    ] = None,
    gain: GainOption = None,
    k: KOption = None,
    rounds: RoundsOption = 100,
    patience: PatienceOption = 50,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 31,
    seed: SeedOption = 0,
) -> None:
    """Train a ranker on a LETOR file and save the model in its backend's own format."""
    measure = parse_measure("--eval-metric", eval_metric, given(gain=gain)) if eval_metric else None
    if measure is not None and validation is None:
        raise ValueError("--eval-metric needs --validation: without validation queries there is no early stopping")
    settings = {
        **given(gain=gain),
        "k": k,
        "n_estimators": rounds,
        "early_stopping_rounds": patience if validation else None,
        "learning_rate": learning_rate,
        "random_state": seed,
    }
    rankers = make_rankers(objective, backend, settings, leaves)
    if len(rankers) != 1:
        raise ValueError(
            f"fit trains one model, but {objective!r} with --backend {backend} asks for {len(rankers)}: "
            f"{', '.join(rankers)}"
        )
    (ranker,) = rankers.values()
    require_folder_of(model)
    data = read_letor(train)
    parts = [tuple(read_letor(validation, n_features=data.X.shape[1]))] if validation else None
    ranker.fit(*data, eval_set=parts, eval_metric=measure).save_model(model)
    console.print(f"{model}: {ranker.best_iteration_} rounds, {data.X.shape[1]} features, {len(data.y)} documents")
