"""``boostrank evaluate``: the NDCG of scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from boostrank.cli import reports
from boostrank.cli.options import (
    CutoffsOption,
    DataPath,
    EmptyName,
    EmptyOption,
    GainName,
    GainOption,
    TiesName,
    console,
    parse_cutoffs,
)
from boostrank.datasets import read_letor
from boostrank.metrics import check_scores, get_measure, reconcile
from boostrank.queries import Queries

DEFAULT_CUTOFFS = "1,5,10,all"


def evaluate(
    data: DataPath,
    scores: Annotated[
        Path, typer.Argument(help="File with one score per line, as predict writes it.", show_default=False)
    ],
    cutoffs: CutoffsOption = DEFAULT_CUTOFFS,
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    ties: Annotated[
        TiesName,
        typer.Option(
            help="How documents of equal score are ranked: all permutations on average, in the order of the rows "
            "(stable), or so that NDCG is best or worst."
        ),
    ] = TiesName.average,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Also print the NDCG that other libraries compute for these scores, and why it differs, at the first "
            "of --cutoffs (by default at 10).",
        ),
    ] = False,
) -> None:
    """Print the NDCG of scores for the documents of a LETOR file."""
    ks = parse_cutoffs(cutoffs)
    dataset = read_letor(data)
    values = _read_scores(scores)
    settings: dict[str, Any] = {"gain": gain.value, "empty": empty.value, "ties": ties.value}
    measures = {str(k or "all"): get_measure("ndcg", k=k, **settings) for k in ks}
    results = {name: measure(dataset.y, values, dataset.qid) for name, measure in measures.items()}
    queries = Queries.from_qid(dataset.qid).n_queries
    console.print(
        f"{queries} queries, {len(values)} documents; gain: {gain}, ties: {ties}, empty queries: {empty}",
        highlight=False,
    )
    console.print(reports.ndcg_table(results))
    if explain:
        k = 10 if cutoffs == DEFAULT_CUTOFFS else ks[0]
        found = reconcile(dataset.y, values, dataset.qid, k=k, **settings)
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
