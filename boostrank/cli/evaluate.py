"""``boostrank evaluate``: measures of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from boostrank.cli import reports
from boostrank.cli.options import (
    DEFAULT_MEASURES,
    DataPath,
    EmptyOption,
    GainOption,
    MeasuresOption,
    TiesName,
    console,
    given,
    parse_measures,
)
from boostrank.datasets import read_letor
from boostrank.metrics import Measure, Reconciliation, check_scores, reconcile
from boostrank.metrics.ndcg import NDCG
from boostrank.queries import Queries


def evaluate(
    data: DataPath,
    scores: Annotated[
        Path, typer.Argument(help="File with one score per line, as predict writes it.", show_default=False)
    ],
    measures: MeasuresOption = DEFAULT_MEASURES,
    gain: GainOption = None,
    empty: EmptyOption = None,
    ties: Annotated[
        TiesName | None,
        typer.Option(
            help="How documents of equal score are ranked: all permutations on average (the default), in the order of "
            "the rows (stable), or so that the measure is best or worst.",
            show_default=False,
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also print the NDCG that other libraries compute for these scores, and why it differs from the last "
            "NDCG of --measures.",
        ),
    ] = False,
) -> None:
    """Print measures of scores for the documents of a LETOR file, by default NDCG.

    --gain, --empty and --ties apply to those measures that have such a setting.
    """
    chosen = parse_measures(measures, given(gain=gain, empty=empty, ties=ties))
    explained = _last_ndcg(chosen) if explain else None
    dataset = read_letor(data)
    values = _read_scores(scores)
    if len(values) != len(dataset.y):
        raise ValueError(f"{scores} has {len(values)} scores for the {len(dataset.y)} documents of {data}")
    results = [float(measure(dataset.y, values, dataset.qid)) for measure in chosen]
    queries = Queries.from_qid(dataset.qid).n_queries
    console.print(f"{queries} queries, {len(values)} documents", highlight=False)
    console.print(reports.measure_table(chosen, results))
    if explained is not None:
        settings = {name: value for name, value in vars(explained).items() if name != "judged_only"}
        _print_reconciliation(reconcile(dataset.y, values, dataset.qid, **settings))


def _last_ndcg(measures: list[Measure]) -> NDCG:
    found = [measure for measure in measures if isinstance(measure, NDCG)]
    if not found:
        raise ValueError("--explain needs an NDCG, such as ndcg@10, among --measures")
    return found[-1]


def _print_reconciliation(found: Reconciliation) -> None:
    console.print(f"\n{found.head}", highlight=False)
    console.print(reports.reconciliation_table(found))
    console.print(
        "Each row shows the NDCG that a library computes for these scores, its difference to the value above, and "
        "the parts of this difference. For these parts the settings of boostrank are replaced by those of the "
        "library, one after the other, and each part is the change of NDCG by one replacement. Where a library has "
        "no fixed rule for ties, the lowest and the highest possible NDCG are shown.",
        highlight=False,
    )


def _read_scores(path: Path) -> Any:
    lines = path.read_text().split()
    try:
        return check_scores([float(line) for line in lines])
    except ValueError:
        bad = next((i for i, line in enumerate(lines) if not _is_finite(line)), 0)
        raise ValueError(f"{path}, line {bad + 1}: {lines[bad][:40]!r} is not a finite score") from None


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False
