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
    SeedOption,
    console,
    given,
    make_rankers,
    parse_measure,
    parse_rounds,
    require_folder_of,
)
from boostrank.datasets import read_letor
from boostrank.losses import DEFAULT_LOSS
from boostrank.rankers.settings import AUTO


def fit(
    train: DataPath,
    model: Annotated[
        Path, typer.Argument(help="File to write the model to, in its backend's own format.", show_default=False)
    ],
    objective: Annotated[
        str,
        typer.Option(
            help="A surrogate (softmax), a surrogate with other targets (softmax/softmax), a loss of edges "
            "(edge-logistic), an objective of the backend itself (lambdarank), or auto: chosen among a few by "
            "cross-validation over the training queries."
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
    rounds: Annotated[
        str,
        typer.Option(
            help="Maximum number of boosting rounds, or auto: the best number by cross-validation over the training "
            "queries."
        ),
    ] = "100",
    patience: PatienceOption = 50,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 31,
    seed: SeedOption = 0,
) -> None:
    """Train a ranker on a LETOR file and save the model in its backend's own format."""
    measure = parse_measure("--eval-metric", eval_metric, given(gain=gain)) if eval_metric else None
    n_rounds = parse_rounds(rounds)
    if n_rounds == AUTO and validation is not None:
        raise ValueError("give either --rounds auto or --validation, by which the number of rounds is chosen")
    if measure is not None and validation is None and AUTO not in (n_rounds, objective):
        raise ValueError("--eval-metric needs --validation: without validation queries there is no early stopping")
    settings = {
        **given(gain=gain),
        "k": k,
        "n_estimators": n_rounds,
        "early_stopping_rounds": patience if validation or n_rounds == AUTO else None,
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
    if objective == AUTO:
        changed = {"objective": ranker.objective_, **ranker.best_params_}
        console.print("chosen: " + ", ".join(f"{name}={value}" for name, value in changed.items()))
    console.print(f"{model}: {ranker.best_iteration_} rounds, {data.X.shape[1]} features, {len(data.y)} documents")
