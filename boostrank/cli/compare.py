"""``boostrank compare``: who beats whom on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from boostrank import reports
from boostrank.cli.options import (
    Backend,
    BackendOption,
    CutoffsOption,
    EmptyName,
    EmptyOption,
    GainName,
    GainOption,
    KOption,
    LeavesOption,
    PatienceOption,
    RateOption,
    RoundsOption,
    SeedOption,
    console,
    make_rankers,
    parse_cutoffs,
)
from boostrank.comparison import Comparison
from boostrank.comparison import compare as compare_rankers
from boostrank.datasets import Dataset, Fold, read_letor, read_letor_folds
from boostrank.datasets.synthetic import make_ranking
from boostrank.files import write_atomically
from boostrank.metrics import expected_ndcg, get_measure
from boostrank.model_selection import query_folds

DEFAULT_OBJECTIVES = (
    "lambdarank,rank_xendcg,rank:ndcg,squared,poisson,logistic,softmax,centered-squared,centered-logistic,pnorm,"
    "cosine,normalized-pnorm,pairwise-exponential,pairwise-squared,squared/none,softmax/softmax,cosine/l2"
)
SYNTHETIC_OBJECTIVES = "lambdarank,rank:ndcg,pairwise-exponential,softmax,logistic,squared,squared/none,softmax/softmax"
SYNTHETIC_QUERIES = 600


def compare(
    path: Annotated[
        Path | None,
        typer.Argument(help="Folder of LETOR folds, or one LETOR file. Synthetic data without it.", show_default=False),
    ] = None,
    backend: BackendOption = Backend.both,
    objectives: Annotated[
        str | None,
        typer.Option(
            help="Comma separated; SURROGATE/NORMALIZE for other targets, e.g. softmax/softmax is ListNet. "
            "A native objective runs on its own backend only. The first is the baseline.",
            show_default=False,
        ),
    ] = None,
    cutoffs: CutoffsOption = "1,5,10",
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    k: KOption = None,
    rounds: RoundsOption = 500,
    patience: PatienceOption = 50,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 15,
    folds: Annotated[int, typer.Option(min=3, help="Folds of a single file or of the synthetic data.")] = 5,
    seed: SeedOption = 0,
    output: Annotated[Path | None, typer.Option(help="Write the table as .csv, .json or .md.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the differences at the last cutoff into this file.")] = None,
) -> None:
    """Train rankers on the same folds and compare their NDCG on test queries.

    All have the same learning rate, leaves and most rounds; the number of rounds is chosen on validation queries.
    """
    ks = parse_cutoffs(cutoffs)
    reports.check_suffix(output)
    rankers = make_rankers(
        objectives or (DEFAULT_OBJECTIVES if path else SYNTHETIC_OBJECTIVES),
        backend,
        {"gain": gain.value, "k": k, "n_estimators": rounds, "early_stopping_rounds": patience}
        | {"learning_rate": learning_rate, "random_state": seed},
        leaves,
    )
    extra = {}
    if path is None:
        X, y, qid, bayes = make_ranking(SYNTHETIC_QUERIES, random_state=seed, return_bayes=True)
        parts = query_folds(Dataset(X, y, qid), folds, random_state=seed)

        def regret(fold: Fold, scores: Any) -> Any:
            known = bayes[np.isin(qid, fold.test.qid)]
            return expected_ndcg(known, scores, fold.test.qid) - expected_ndcg(known, known, fold.test.qid)

        extra = {"-regret": regret}
        console.print(f"Synthetic data: {SYNTHETIC_QUERIES} queries whose Bayes-optimal ranking is known.")
    else:
        parts = read_letor_folds(path) if path.is_dir() else query_folds(read_letor(path), folds, random_state=seed)
    with _progress() as progress:
        total = len(rankers) * len(parts)
        # The bar moves when a training begins, so it starts one behind.
        task = progress.add_task("", total=total, completed=-1)

        def advance(fold: str, name: str) -> None:
            progress.update(task, advance=1, description=f"{fold}: {name}")

        comparison = compare_rankers(
            rankers,
            parts,
            measures=[get_measure("ndcg", k=k, gain=gain.value, empty=empty.value) for k in ks],
            extra_measures=extra,
            random_state=seed,
            progress=advance,
        )
        progress.update(task, completed=total, description="done")
    _show(comparison, output, plot)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _show(comparison: Comparison, output: Path | None, plot: Path | None) -> None:
    for table in reports.comparison_tables(comparison):
        console.print(table)
    console.print(
        "p (Holm): two-sided paired randomization test over the test queries of all folds, adjusted for the number of "
        "rankers."
    )
    if output is not None:
        write_atomically(output, lambda name: reports.write_table(comparison, name))
        console.print(f"table: {output}")
    if plot is not None:
        reports.write_plot(comparison, plot)
        console.print(f"plot: {plot}")
